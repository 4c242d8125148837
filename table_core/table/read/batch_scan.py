"""What ``Table.read`` reads: a state, or a range of changes that options ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.options import keys_scan
from table_core.scan.time_travel import resolve
from table_core.table.metadata.clocks import warn_of_future
from table_core.table.metadata.shifted_times import warn_of_shifted_times
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.metadata.timestamps import PointInTime, epoch_ms
from table_core.table.read.changes import asked_range, range_scan
from table_core.table.read.chosen_partitions import (
    chosen_partitions,
    refuse_chosen_partitions,
)
from table_core.table.read.scan import refuse_negative, state_scan
from table_core.table.read.state_plan import refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.options.table import TableOptions
    from table_core.predicate.expression import Expression
    from table_core.table.metadata.access import TableAccess
    from table_core.table.read.scan import Scan

__all__ = ["batch_scan"]


def batch_scan(
    access: TableAccess,
    *,
    columns: Sequence[str] | None = None,
    where: str | Expression | None = None,
    limit: int | None = None,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp: PointInTime | None = None,
    watermark: int | None = None,
) -> Scan:
    """See ``Table.read``.

    Raises:
        NotFoundError: no such snapshot, tag or column.
        PredicateError: ``where`` does not parse or does not fit.
        UnsupportedFeatureError: the table needs what this release cannot read.
    """
    refuse_negative(limit)
    refuse_unreadable(access)
    warn_of_shifted_times(access)
    timeline = TableTimeline(access)
    named = any(point is not None for point in (snapshot, tag, timestamp, watermark))
    if not named and _asks_for_range(access.options):
        asked = asked_range(access)
        if asked is not None:
            refuse_chosen_partitions(access, "a range of changes")
            return range_scan(access, asked, columns=columns, where=where, limit=limit)
    state = resolve(
        access.options,
        timeline,
        snapshot=snapshot,
        tag=tag,
        timestamp_ms=None if timestamp is None else epoch_ms("timestamp", timestamp),
        watermark=watermark,
    )
    if timestamp is not None:
        warn_of_future(access, access.metadata.head())
    if state.explicit and state.snapshot is not None:
        access = access.with_schema(access.metadata.schema(state.snapshot.schema_id))
    keeps = chosen_partitions(access, state.snapshot)
    return state_scan(access, state, columns, where, limit, keeps_partition=keeps)


def _asks_for_range(options: TableOptions) -> bool:
    return any(
        options.is_set(option)
        for option in (
            keys_scan.INCREMENTAL_BETWEEN,
            keys_scan.INCREMENTAL_BETWEEN_TIMESTAMP,
            keys_scan.INCREMENTAL_TO_AUTO_TAG,
        )
    )
