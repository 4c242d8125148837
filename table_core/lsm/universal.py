"""Universal compaction: which sorted runs to merge next, and into which level.

A pick is always the first k runs in compaction order, so nothing newer than a picked file is
left out. ``with_older`` adds what is older and must not be left out either.

Sizes, newest first, with the usual settings (5 runs, ratio 1 %, amplification 200 %)::

    1 1 1 1 100       the four above come to 4, far below twice 100; 1 is not below 1, nor 2, nor 3:
                      four are taken, 100 is too large: to the level below that of 100
    1 50 100 100 100  above the last: 251 of 100, over 200 %: all, to the top
    1 9 9 9 9 100     the second is too large for 1, but there are 6 runs: the first two, to have 5 again,
                      then 9 is not above 10, so it goes along, and the next two as well

Source: ``org.apache.paimon.mergetree.compact.{UniversalCompaction,CompactStrategy}``; format 7.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from table_core.lsm.triggers import EarlyFull, forces_level_zero, off_peak_ratio
from table_core.options import keys_write

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.lsm.levels import Levels
    from table_core.lsm.sorted_run import Bounds, SortedRun
    from table_core.ondisk.data_file import DataFile
    from table_core.options.table import TableOptions

__all__ = ["Pick", "Settings", "full", "pick", "with_older"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the pick depends on besides the runs."""

    trigger: int = 5
    size_ratio: int = 1
    """Percent, off-peak ratio included."""
    max_size_amplification: int = 200
    early_full: EarlyFull = field(default_factory=EarlyFull)
    force_level_zero: bool = False
    """If nothing else is picked, pick all of level 0."""

    @classmethod
    def of(cls, options: TableOptions, *, hour: int, attempts: int = 0) -> Settings:
        """The settings of a table.

        Args:
            options: of the table.
            hour: local hour of the day, for off-peak compaction.
            attempts: see ``triggers.forces_level_zero``.
        """
        return cls(
            trigger=options.get(keys_write.NUM_SORTED_RUN_COMPACTION_TRIGGER),
            size_ratio=options.get(keys_write.COMPACTION_SIZE_RATIO)
            + off_peak_ratio(options, hour),
            max_size_amplification=options.get(
                keys_write.COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT
            ),
            early_full=EarlyFull.of(options),
            force_level_zero=forces_level_zero(options, attempts),
        )


@dataclass(frozen=True, slots=True)
class Pick:
    """Files to compact together, and the level they go to (never 0)."""

    output_level: int
    files: tuple[DataFile, ...]
    reason: str
    """What asked for it, for people."""


def pick(levels: Levels, settings: Settings, *, since_full_ms: int | None = None) -> Pick | None:
    """What a writer compacts on its own, or None if the levels are in shape.

    Args:
        levels: one bucket.
        settings: of the table.
        since_full_ms: time since the last full compaction, see ``EarlyFull.reason``.
    """
    if not levels.runs:
        return None
    picked = _universal(levels, settings, since_full_ms)
    if picked is None and settings.force_level_zero:
        picked = _all_of_level_zero(levels, settings)
    return picked


def full(levels: Levels, must_rewrite: Callable[[DataFile], bool] = lambda _: False) -> Pick | None:
    """What a full compaction asked for by the user covers, or None if nothing is to be done.

    Args:
        levels: one bucket.
        must_rewrite: asked when only the top level has files: True for a file that has a
            deletion vector or expired rows, or when all files are to be rewritten.
    """
    if not levels.runs:
        return None
    if len(levels.runs) > 1 or levels.runs[0].level != levels.max_level:
        return Pick(levels.max_level, levels.files, "full compaction")
    chosen = tuple(file for file in levels.files if must_rewrite(file))
    return Pick(levels.max_level, chosen, "full compaction of the top level") if chosen else None


def with_older(
    levels: Levels,
    picked: Pick,
    bounds: Bounds,
    must_meet: Callable[[DataFile, DataFile], bool],
) -> Pick:
    """``picked``, and all runs down to the last with a file that one of those taken must meet.

    ``must_meet``: asked of a file and an older one, whose keys overlap.
    """
    names = {file.file_name for file in picked.files}
    taken = before = sum(run.files[0].file_name in names for run in levels.runs)
    keys = {file.file_name: bounds(file) for run in levels.runs for file in run.files}

    def meets(older: DataFile) -> bool:
        low, high = keys[older.file_name]
        for run in levels.runs[:taken]:
            for file in run.files:
                first, last = keys[file.file_name]
                if not (high < first or last < low) and must_meet(file, older):
                    return True
        return False

    while further := [
        n for n in range(taken, len(levels.runs)) if any(map(meets, levels.runs[n].files))
    ]:
        taken = further[-1] + 1
    if taken == before:
        return picked
    return _with_level(levels, taken, f"{picked.reason}, with the older rows that they must meet")


def _universal(levels: Levels, settings: Settings, since_full_ms: int | None) -> Pick | None:
    runs, trigger = levels.runs, settings.trigger
    early = settings.early_full.reason(levels, since_full_ms)
    if early is not None:
        return Pick(levels.max_level, levels.files, early)
    if len(runs) < trigger:
        return None
    # What the upper runs hold is room that a full compaction could free at most.
    above = sum(run.size for run in runs[:-1])
    if above * 100 > settings.max_size_amplification * runs[-1].size:
        return Pick(levels.max_level, levels.files, "size amplification")
    taken = _by_size_ratio(runs, 1, settings)
    if taken > 1:
        return _with_level(levels, taken, "size ratio")
    if len(runs) > trigger:
        taken = _by_size_ratio(runs, len(runs) - trigger + 1, settings)
        if taken > 1:
            return _with_level(levels, taken, "number of runs")
    return None


def _all_of_level_zero(levels: Levels, settings: Settings) -> Pick | None:
    """All of level 0, and level 1: nothing else could be written below it."""
    runs, count = levels.runs, len(levels.level_zero)
    if count == 0:
        return None
    if count < len(runs) and runs[count].level == 1:
        count += 1
    taken = _by_size_ratio(runs, count, settings)
    return _with_level(levels, taken, "level 0 is to be emptied")


def _by_size_ratio(runs: tuple[SortedRun, ...], start: int, settings: Settings) -> int:
    """How many runs to take, beginning with ``start``: as long as the next is not much larger."""
    size = sum(run.size for run in runs[:start])
    taken = start
    for run in runs[start:]:
        if size * (100.0 + settings.size_ratio) / 100.0 < run.size:
            break
        size += run.size
        taken += 1
    return taken


def _with_level(levels: Levels, taken: int, reason: str) -> Pick:
    """The first ``taken`` runs, to just below the next one.

    Where that would be level 0, the runs up to the first above level 0 are taken along, to its
    level.

    Levels 0 0 0 3, two taken: the third is of level 0, so nothing fits between; all of level 0 and the run
    of level 3 go to level 3, which was the last, so to the top.  Levels 0 0 3, two taken: to level 2.
    """
    runs = levels.runs
    level = levels.max_level if taken == len(runs) else max(0, runs[taken].level - 1)
    if level == 0:
        while taken < len(runs) and level == 0:
            level = runs[taken].level
            taken += 1
        level = levels.max_level if taken == len(runs) else level
    files = tuple(file for run in runs[:taken] for file in run.files)
    return Pick(level, files, reason)
