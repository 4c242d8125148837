"""How many rows buckets of a key table have: files hold records, of which several may be one row."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from table_core.errors import TableError
from table_core.table.read.committed_rows import committed_rows
from table_core.table.read.state_plan import StatePlanner, deletions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess

__all__ = ["rows_of_buckets"]

_log: Final = logging.getLogger(__name__)

_RECORDS_MAX: Final = 5_000_000
"""More are not merged for the sake of a number: that would take longer than what it is told of."""


def rows_of_buckets(
    access: TableAccess, snapshot: Snapshot, entries: Sequence[ManifestEntry]
) -> int | None:
    """The rows of ``entries``, which are all files of their buckets in ``snapshot``; None: too many to be merged.

    Files that need no merge are not read.  None also where they cannot be read: a damaged table can be overwritten.
    """
    try:
        return _counted(access, snapshot, entries)
    except TableError as error:
        _log.info("%s: nobody counts the rows that go: %s", access.name, error)
        return None


def _counted(
    access: TableAccess, snapshot: Snapshot, entries: Sequence[ManifestEntry]
) -> int | None:
    if any(entry.bucket < 0 for entry in entries):
        return None  # rows that wait for their bucket, and may be of keys that are there
    scan = committed_rows(access, snapshot, columns=[])
    planner = StatePlanner(access=access, streams=True)
    plan = planner.plan_of(  # the scan's own would be of all partitions
        entries, planner.pruner(), deletions_of(access, snapshot), snapshot_id=snapshot.id
    )
    splits = plan.splits
    merged = [s for s in splits if not s.raw_convertible or s.deletions]
    if sum(s.row_count for s in merged) > _RECORDS_MAX:
        return None
    plain = (s for s in splits if s.raw_convertible and not s.deletions)
    rows = {f.file_name: f.row_count for s in plain for f in s.files}  # parts name one file
    total: int = sum(rows.values())
    for split in merged:
        total += sum(batch.num_rows for batch in scan.read_split(split))
    return total
