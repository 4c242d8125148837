"""Rows that wait for their bucket (``bucket = -2``) get it before a statement reads the table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from table_core.ondisk.layout import POSTPONE_BUCKET
from table_core.table.commit_io.until_compacted import until_compacted

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["in_buckets", "spreads_first", "waiting_partitions"]


def spreads_first(access: TableAccess) -> bool:
    """Whether ``in_buckets`` may commit before a statement does."""
    return access.schema.is_key_table and access.schema.bucket == POSTPONE_BUCKET


def in_buckets(access: TableAccess, head: Snapshot | None) -> Snapshot | None:
    """``head``, or a later one in which all rows of a key table have a bucket.

    No read finds rows that wait, so a statement would undo them.

    Raises:
        CommitConflictError: other writers and compactions were first every time.
    """
    if not spreads_first(access):
        return head
    from table_core.table.compact.compact import compact_rows

    return until_compacted(
        access,
        head,
        partial(waiting_partitions, access),
        partial(compact_rows, access),
        then="do the statement again",
    )


def waiting_partitions(access: TableAccess, head: Snapshot | None) -> frozenset[bytes]:
    """The partitions of ``head`` with rows that have no bucket yet."""
    if not spreads_first(access):
        return frozenset()
    live = access.files_by_bucket(head, keep=lambda entry: entry.bucket == POSTPONE_BUCKET)
    return frozenset(partition for partition, _ in live)
