"""Expiry of snapshots and of changelogs that outlive them (format 11.1, 11.3)."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.commit.protocol import drive
from table_core.errors import ArgumentError, FilesExpiredError
from table_core.expire import plan as fx
from table_core.expire.changelogs import expire_changelogs as changelog_steps_of
from table_core.expire.protocol import expire_snapshots as steps_of
from table_core.options import keys_scan
from table_core.options.argument_kinds import require_whole
from table_core.table.maintenance.expire_effects import ExpiryEffects
from table_core.table.metadata.describing import unchanged
from table_core.table.metadata.refs.turns import expiring
from table_core.table.metadata.timestamps import PointInTime, epoch_ms
from table_core.table.metadata.unsupported import refuse_commits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import ResultDocument

__all__ = ["changelog_retention", "expire_changelogs", "expire_snapshots", "snapshot_retention"]

_log = logging.getLogger(__name__)
_ATTEMPTS: Final = 5


def expire_snapshots(
    access: TableAccess,
    *,
    retain_max: int | None,
    retain_min: int | None,
    older_than: PointInTime | None,
    max_deletes: int | None,
    dry_run: bool,
) -> ResultDocument:
    """See ``Table.expire_snapshots``.

    A tag that was to be respected may be deleted meanwhile, with what it named, and the head be
    expired by somebody else: then it begins anew, and tells of what was left to do.

    Raises:
        ArgumentError: ``retain_max`` or ``retain_min`` below 1, or the first below the second.
        NotFoundError: the table was dropped or renamed, or another one is in its place.
    """
    own = snapshot_retention(access, dry_run=dry_run)
    retention = _overridden(own, retain_max, retain_min, older_than, max_deletes)
    return _begun_anew(access, lambda: _snapshots_expired(access, retention))


def _begun_anew(access: TableAccess, expire: Callable[[], ResultDocument]) -> ResultDocument:
    """``expire``; where somebody else took away meanwhile what was to stay, once more."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return expire()
        except FilesExpiredError as error:
            _log.info("%s: expiry begins anew: %s", access.name, error)
    return expire()


def _snapshots_expired(access: TableAccess, retention: fx.Retention) -> ResultDocument:
    started_ms = access.clock.now_ms()
    access.require_same()  # before the mark: nothing is written where no table is
    with nullcontext() if retention.dry_run else expiring(access) as mark:
        done = drive(steps_of(retention), ExpiryEffects(access, mark=mark).perform)
    details = {"snapshots_expired": list(done.snapshots), "earliest_snapshot": done.end}
    return _told(access, "expire-snapshots", done, details, retention, started_ms)


def expire_changelogs(
    access: TableAccess,
    *,
    retain_max: int | None,
    retain_min: int | None,
    older_than: PointInTime | None,
    max_deletes: int | None,
    dry_run: bool,
) -> ResultDocument:
    """See ``Table.expire_changelogs``.

    It begins anew as ``expire_snapshots`` does.

    Raises:
        ArgumentError: as ``expire_snapshots``.
        NotFoundError: the table was dropped or renamed.
    """
    access.require_same()
    own = changelog_retention(access, dry_run=dry_run)
    retention = _overridden(own, retain_max, retain_min, older_than, max_deletes)
    return _begun_anew(access, lambda: _changelogs_expired(access, retention))


def _changelogs_expired(access: TableAccess, retention: fx.Retention) -> ResultDocument:
    started_ms = access.clock.now_ms()
    done = drive(changelog_steps_of(retention), ExpiryEffects(access).perform)
    details = {"changelogs_expired": list(done.snapshots), "earliest_changelog": done.end or None}
    return _told(access, "expire-changelogs", done, details, retention, started_ms)


def _told(
    access: TableAccess,
    action: str,
    done: fx.Expired,
    details: Mapping[str, object],
    retention: fx.Retention,
    started_ms: int,
) -> ResultDocument:
    told = {
        **details,
        "metadata_files_deleted": done.metadata_deleted,
        "metadata_bytes_deleted": done.metadata_bytes,
        "held_by": done.held_by.value if done.held_by else None,
        "unreadable": list(done.unreadable),
    }
    same = unchanged(access, action, told, dry_run=retention.dry_run, started_ms=started_ms)
    return same.having(files_deleted=done.files_deleted, bytes_deleted=done.bytes_deleted)


def snapshot_retention(access: TableAccess, *, dry_run: bool = False) -> fx.Retention:
    """How much history the options of the table keep.

    Raises:
        UnsupportedFeatureError: it asks for what this release does not do.
    """
    refuse_commits(access)
    producer = access.options.get(keys_scan.CHANGELOG_PRODUCER)
    return fx.Retention.of(access.options, has_producer=producer != "none", dry_run=dry_run)


def changelog_retention(access: TableAccess, *, dry_run: bool = False) -> fx.Retention:
    """How long the options of the table keep changelogs whose snapshots are gone.

    Raises:
        UnsupportedFeatureError: as of ``snapshot_retention``.
    """
    refuse_commits(access)
    producer = access.options.get(keys_scan.CHANGELOG_PRODUCER)
    has_producer = producer != "none"
    return fx.Retention.of_changelogs(access.options, has_producer=has_producer, dry_run=dry_run)


def _overridden(
    retention: fx.Retention,
    retain_max: int | None,
    retain_min: int | None,
    older_than: PointInTime | None,
    max_deletes: int | None,
) -> fx.Retention:
    """``retention`` with what the caller gave on top."""
    require_whole("retain_max", retain_max)
    require_whole("retain_min", retain_min)
    require_whole("max_deletes", max_deletes)
    retention = replace(
        retention,
        retained_max=retention.retained_max if retain_max is None else retain_max,
        retained_min=retention.retained_min if retain_min is None else retain_min,
        deletes_max=retention.deletes_max if max_deletes is None else max_deletes,
    )
    if older_than is not None:
        retention = replace(retention, older_than_ms=epoch_ms("older_than", older_than))
    if retain_max is not None and retain_min is None:
        retention = replace(retention, retained_min=min(retention.retained_min, retain_max))
    if (
        min(retention.retained_max, retention.retained_min) < 1
        or retention.retained_max < retention.retained_min
    ):
        raise ArgumentError(
            f"retain_max={retention.retained_max} and retain_min={retention.retained_min}: keep at least "
            "one snapshot, and no more at least than at most",
            argument="retain_max",
            value=retention.retained_max,
        )
    if max_deletes is not None and max_deletes < 1:
        raise ArgumentError(
            f"max_deletes={max_deletes}: at least 1; leave it out for the option of the table",
            argument="max_deletes",
            value=max_deletes,
        )
    return retention
