"""How much history is kept, and what keeps it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from table_core.options import keys_retention, keys_scan

if TYPE_CHECKING:
    from table_core.options.table import TableOptions

__all__ = ["HeldBy", "Retention"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How much history to keep (options ``snapshot.*``, ``changelog.*``)."""

    retained_min: int = 10
    retained_max: int = 2**31 - 1
    time_retained_ms: int = 3_600_000
    deletes_max: int = 50
    """Snapshots a run removes at most."""
    older_than_ms: int | None = None
    """Instead of ``time_retained_ms``: epoch ms before which a successor must have been made."""
    changelog_decoupled: bool = False
    """Changelogs live longer than snapshots: they are kept and the snapshot is copied (format 11.3)."""
    appends_are_changelog: bool = False
    """Decoupled, and without a changelog producer: files of appends are the changelog, and stay."""
    consumers_hold: bool = True
    """False with ``consumer.changelog-only``."""
    clean_folders: bool = False
    """Delete buckets and partitions whose last file went (``snapshot.clean-empty-directories``)."""
    dry_run: bool = False

    @classmethod
    def of(cls, options: TableOptions, *, has_producer: bool, dry_run: bool = False) -> Retention:
        """What ``options`` of a table say; ``has_producer``: ``changelog-producer`` is not none."""
        least = options.get(keys_retention.SNAPSHOT_NUM_RETAINED_MIN)
        most = options.get(keys_retention.SNAPSHOT_NUM_RETAINED_MAX)
        age_ms = options.get(keys_retention.SNAPSHOT_TIME_RETAINED)
        decoupled = (
            (options.get(keys_retention.CHANGELOG_NUM_RETAINED_MAX) or most) > most
            or (options.get(keys_retention.CHANGELOG_NUM_RETAINED_MIN) or least) > least
            or (options.get(keys_retention.CHANGELOG_TIME_RETAINED) or age_ms) > age_ms
        )
        return cls(
            retained_min=least,
            retained_max=most,
            time_retained_ms=age_ms,
            deletes_max=options.get(keys_retention.SNAPSHOT_EXPIRE_LIMIT),
            changelog_decoupled=decoupled,
            appends_are_changelog=decoupled and not has_producer,
            consumers_hold=not options.get(keys_scan.CONSUMER_CHANGELOG_ONLY),
            clean_folders=options.get(keys_retention.SNAPSHOT_CLEAN_EMPTY_DIRECTORIES),
            dry_run=dry_run,
        )

    @classmethod
    def of_changelogs(
        cls, options: TableOptions, *, has_producer: bool, dry_run: bool = False
    ) -> Retention:
        """How long decoupled changelogs live: ``changelog.*``, by default as snapshots."""
        keys = keys_retention
        usual = cls.of(options, has_producer=has_producer, dry_run=dry_run)
        return replace(
            usual,
            retained_min=options.get(keys.CHANGELOG_NUM_RETAINED_MIN) or usual.retained_min,
            retained_max=options.get(keys.CHANGELOG_NUM_RETAINED_MAX) or usual.retained_max,
            time_retained_ms=options.get(keys.CHANGELOG_TIME_RETAINED) or usual.time_retained_ms,
            appends_are_changelog=not has_producer,
            consumers_hold=True,
        )


class HeldBy(StrEnum):
    """What keeps the oldest snapshot that stays."""

    RETAINED_MIN = "snapshot.num-retained.min"
    AGE = "snapshot.time-retained"
    CONSUMER = "consumer"
    LIMIT = "snapshot.expire.limit"
    POSITION = "position"
    """It is the newest that holds a ``tc.`` property."""
    TURN = "turn"
    """A rollback or fast-forward is under way."""
    NEWEST = "newest changelog"
    """One changelog always stays."""
