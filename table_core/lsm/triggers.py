"""When to compact, apart from the shape of the levels: options, counters and the hour.

Source: ``org.apache.paimon.mergetree.compact.{EarlyFullCompaction,OffPeakHours,
ForceUpLevel0Compaction}``, ``org.apache.paimon.CoreOptions#needLookup``; format 7.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.errors import OptionError
from table_core.options import keys_merge, keys_scan, keys_write

if TYPE_CHECKING:
    from table_core.lsm.levels import Levels
    from table_core.options.table import TableOptions

__all__ = [
    "EarlyFull",
    "forces_level_zero",
    "full_by_commits",
    "needs_lookup",
    "number_of_levels",
    "off_peak_ratio",
    "stop_trigger",
]


@dataclass(frozen=True, slots=True)
class EarlyFull:
    """Thresholds, each optional, that ask for a full compaction before the shape does."""

    interval_ms: int | None = None
    total_size: int | None = None
    incremental_size: int | None = None

    @classmethod
    def of(cls, options: TableOptions) -> EarlyFull:
        """The thresholds of ``options``."""
        return cls(
            options.get(keys_write.COMPACTION_OPTIMIZATION_INTERVAL),
            options.get(keys_write.COMPACTION_TOTAL_SIZE_THRESHOLD),
            options.get(keys_write.COMPACTION_INCREMENTAL_SIZE_THRESHOLD),
        )

    def reason(self, levels: Levels, since_full_ms: int | None) -> str | None:
        """Which threshold asks for a full compaction now, or None.

        Args:
            levels: the bucket.
            since_full_ms: time since its last full compaction; None if nobody knows of one,
                which counts as long ago.
        """
        if len(levels.runs) <= 1:
            return None
        if self.interval_ms is not None and (
            since_full_ms is None or since_full_ms > self.interval_ms
        ):
            return keys_write.COMPACTION_OPTIMIZATION_INTERVAL.key
        if self.total_size is not None and levels.size < self.total_size:
            return keys_write.COMPACTION_TOTAL_SIZE_THRESHOLD.key
        if self.incremental_size is not None:
            outside = sum(run.size for run in levels.runs if run.level != levels.max_level)
            if outside > self.incremental_size:
                return keys_write.COMPACTION_INCREMENTAL_SIZE_THRESHOLD.key
        return None


def needs_lookup(options: TableOptions) -> bool:
    """Whether the table reads level-0 files only after a compaction looked up their old values."""
    return (
        options.get(keys_scan.CHANGELOG_PRODUCER) == "lookup"
        or options.get(keys_merge.MERGE_ENGINE) == "first-row"
        or options.get(keys_write.DELETION_VECTORS_ENABLED)
        or options.get(keys_write.FORCE_LOOKUP)
    )


def forces_level_zero(options: TableOptions, attempts: int = 0) -> bool:
    """Whether level 0 must be emptied although the universal pick is content.

    Args:
        options: of the table.
        attempts: how many attempts in a row picked nothing before this one, for
            ``lookup-compact = gentle``, which forces every ``lookup-compact.max-interval``-th.
    """
    if needs_lookup(options):
        if options.get(keys_write.LOOKUP_COMPACT) == "radical":
            return True
        interval = options.get(keys_write.LOOKUP_COMPACT_MAX_INTERVAL)
        trigger = options.get(keys_write.NUM_SORTED_RUN_COMPACTION_TRIGGER)
        return attempts + 1 >= (2 * trigger if interval is None else interval)
    return options.get(keys_write.COMPACTION_FORCE_UP_LEVEL_0)


def number_of_levels(options: TableOptions) -> int:
    """How many levels the options ask for: ``num-levels``, else the trigger and one.

    Raises:
        OptionError: fewer than two, which leaves compaction nowhere to write.
    """
    asked = options.get(keys_write.NUM_LEVELS)
    trigger = options.get(keys_write.NUM_SORTED_RUN_COMPACTION_TRIGGER)
    count = trigger + 1 if asked is None else asked
    if count < 2:
        option = (
            keys_write.NUM_SORTED_RUN_COMPACTION_TRIGGER if asked is None else keys_write.NUM_LEVELS
        )
        raise OptionError(
            f"option {option.key!r} leaves {count} levels; a table needs at least 2",
            option=option.key,
            value=str(trigger if asked is None else asked),
        )
    return count


def stop_trigger(options: TableOptions) -> int:
    """More runs than this make a writer wait for compaction; never below the trigger."""
    trigger = options.get(keys_write.NUM_SORTED_RUN_COMPACTION_TRIGGER)
    stop = options.get(keys_write.NUM_SORTED_RUN_STOP_TRIGGER)
    return max(trigger, trigger + 3 if stop is None else stop)


def full_by_commits(
    options: TableOptions, appends_since_full: int, since_full_ms: int | None = None
) -> bool:
    """Whether the options ask for a full compaction with this commit.

    Either every so many commits (``full-compaction.delta-commits``) or, without that, so long
    after the last one (``changelog-producer.compaction-interval``); a full-compaction changelog
    without either means with every commit.

    Args:
        options: of the table.
        appends_since_full: APPEND snapshots since the last full compaction, this one included.
        since_full_ms: time since the last full compaction, None if nobody knows of one.

    Source: ``org.apache.paimon.flink.sink.StoreSinkWrite``.
    """
    every = options.get(keys_write.FULL_COMPACTION_DELTA_COMMITS)
    if every is not None:
        return appends_since_full >= every
    interval = options.get(keys_write.CHANGELOG_PRODUCER_COMPACTION_INTERVAL)
    if interval is not None:
        return since_full_ms is None or since_full_ms >= interval
    return options.get(keys_scan.CHANGELOG_PRODUCER) == "full-compaction"


def off_peak_ratio(options: TableOptions, hour: int) -> int:
    """What ``compaction.offpeak-ratio`` adds to the size ratio at ``hour`` (local, 0 to 23)."""
    start = options.get(keys_write.COMPACTION_OFFPEAK_START_HOUR)
    end = options.get(keys_write.COMPACTION_OFFPEAK_END_HOUR)
    if start == end:
        return 0
    inside = start <= hour < end if start < end else hour >= start or hour < end
    return options.get(keys_write.COMPACTION_OFFPEAK_RATIO) if inside else 0
