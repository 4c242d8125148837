"""Small tables as large ones are met: a merge sees one row of its target at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.table.dml import key_changes, merge_into
from table_core.table.dml.row_changes import RowChanges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

    from table_core.table.metadata.access import Bucket

__all__ = ["row_by_row"]


def row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the target of a merge pass by row by row."""

    def windows(batches: Iterable[pa.RecordBatch], _: int) -> Iterator[pa.Table]:
        for batch in batches:
            for at in range(batch.num_rows):
                yield pa.Table.from_batches([batch.slice(at, 1)])

    def rows(change: RowChanges, *which: Any) -> Iterator[tuple[Bucket, str, pa.Table]]:
        for bucket, file_name, table in whole(change, *which):
            for at in range(table.num_rows):
                yield bucket, file_name, table.slice(at, 1)

    whole = RowChanges.rows
    monkeypatch.setattr(key_changes, "windows", windows)
    monkeypatch.setattr(RowChanges, "rows", rows)
    monkeypatch.setattr(merge_into.Pairing, "window_bytes", 1)
