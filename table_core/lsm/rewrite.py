"""How to carry out a pick: which files only change level, which are merged and written anew.

Picked for level 4, keys and sizes, with files below 10 small: a 1-5 (50), b 3-8 (60), c 9-10 (40), d 11-12
(5), e 13-14 (3)::

    a, b   overlap                        rewritten, merged with each other
    c      large, overlaps nothing        upgraded: its entry gets level 4, no byte is written
    d, e   small neighbours               rewritten into one file

Source: ``org.apache.paimon.mergetree.compact.{MergeTreeCompactTask,MergeTreeCompactManager,
LookupMergeTreeCompactRewriter}``; format 7.3, T46, T52.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from table_core.lsm.overlap import sections
from table_core.lsm.sorted_run import SortedRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.lsm.levels import Levels
    from table_core.lsm.sorted_run import Bounds
    from table_core.lsm.universal import Pick
    from table_core.ondisk.data_file import DataFile

__all__ = ["Rewrite", "Rules", "Step", "Upgrade", "drops_deletes", "lookup_must_rewrite", "plan"]

Section: TypeAlias = tuple[SortedRun, ...]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Delete the entry of ``file`` and add ``file.upgraded(level)``: same name, no new bytes."""

    file: DataFile
    level: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Merge each section, write the results one after the other into files of ``level``."""

    sections: tuple[Section, ...]
    """In key order.  Several only where small neighbours are worth joining."""
    level: int
    drop_deletes: bool
    """Leave retract rows out of the output; else write them."""

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Every input file."""
        return tuple(file for runs in self.sections for run in runs for file in run.files)


Step: TypeAlias = Upgrade | Rewrite


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What decides between upgrading and rewriting."""

    small_file_size: int
    """Smaller files are merged with their neighbours: target size x small-file ratio."""
    must_rewrite: Callable[[DataFile], bool] = lambda _: False
    """True for files that are rewritten wherever they go: expired rows, or all by option."""
    has_deletion_vector: Callable[[DataFile], bool] = lambda _: False
    """True for files of the output level whose deleted rows are to be applied."""
    must_rewrite_to: Callable[[DataFile, int], bool] = lambda _file, _level: False
    """True for files that cannot move to that level as they are: another file format, or values
    that the lookup of a merge engine changes."""
    deletion_vectors: bool = False
    """Whether the table marks replaced rows of higher levels, so deletes need not be kept."""


def drops_deletes(levels: Levels, output_level: int, *, deletion_vectors: bool) -> bool:
    """Whether retract rows may be left out: nothing older than the output can hold their key.

    A pick takes the first runs, so what is not picked lies above the output level; only if there
    is nothing there, or deletion vectors already hide it, a delete has done its work.
    """
    # Dropped too early, a delete lets the old row above show again.
    if output_level == 0:
        return False
    return deletion_vectors or output_level >= levels.highest_non_empty


def lookup_must_rewrite(
    file: DataFile, level: int, max_level: int, *, deletion_vectors: bool, newest_row_wins: bool
) -> bool:
    """Whether a lookup table must rewrite ``file`` instead of upgrading it to ``level``.

    Args:
        file: a file that overlaps no other picked one.
        level: where it goes.
        max_level: of the table.
        deletion_vectors: the table has them; then no retract row may leave level 0.
        newest_row_wins: the engine is deduplicate without sequence fields, so no value in a
            higher level changes what the file says.
    """
    if file.level != 0:
        return False
    if deletion_vectors and file.delete_row_count != 0:
        return True
    return level != max_level and not newest_row_wins


def plan(pick: Pick, levels: Levels, bounds: Bounds, rules: Rules) -> list[Step]:
    """The steps of ``pick``, in key order.

    A picked file that is in no step stays as it is: it is at the output level already.  Every
    other one is in exactly one step.
    """
    planner = _Planner(
        rules,
        pick.output_level,
        levels.max_level,
        drops_deletes(levels, pick.output_level, deletion_vectors=rules.deletion_vectors),
    )
    steps: list[Step] = []
    waiting: list[Section] = []
    for section in sections(pick.files, bounds):
        if len(section) > 1:
            waiting.append(tuple(section))
            continue
        for file in section[0].files:
            if file.file_size < rules.small_file_size:
                waiting.append((SortedRun.single(file),))
            else:
                steps += planner.merge(waiting)
                steps += planner.move(file)
                waiting = []
    steps += planner.merge(waiting)
    return steps


@dataclass(frozen=True, slots=True)
class _Planner:
    rules: Rules
    output_level: int
    max_level: int
    drop_deletes: bool

    def merge(self, waiting: list[Section]) -> list[Step]:
        """Join the waiting sections; one that is a single file is not worth rewriting."""
        if not waiting:
            return []
        if len(waiting) == 1 and len(waiting[0]) == 1:
            return [step for file in waiting[0][0].files for step in self.move(file)]
        return [self._rewrite(waiting)]

    def move(self, file: DataFile) -> list[Step]:
        """Bring a file that overlaps no other picked one to the output level."""
        rules, level = self.rules, self.output_level
        forced = rules.must_rewrite(file)
        if file.level == level:
            return [self._alone(file)] if forced or rules.has_deletion_vector(file) else []
        may_hold_deletes = file.delete_row_count is None or file.delete_row_count > 0
        if forced or (level == self.max_level and may_hold_deletes):
            return [self._alone(file)]
        if rules.must_rewrite_to(file, level):
            return [self._alone(file)]
        return [Upgrade(file, level)]

    def _alone(self, file: DataFile) -> Step:
        return self._rewrite([(SortedRun.single(file),)])

    def _rewrite(self, waiting: list[Section]) -> Step:
        return Rewrite(tuple(waiting), self.output_level, self.drop_deletes)
