"""Goal: each row of an append table has the id and the number that its file gives it.

Method: a row-by-row oracle beside what is read, over batches, deletion vectors and stored columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.errors import CorruptFileError
from table_core.ondisk.data_file import DataFile
from table_core.table.files.row_ids import with_tracking
from table_core.table.read.split_reader import SplitReader
from tests.tables import new_catalog, write_rows

ROWS = 200_000
"""More than a batch."""
FILE = DataFile(
    file_name="f.parquet",
    file_size=1,
    row_count=9,
    min_sequence_number=1,
    max_sequence_number=7,
    schema_id=0,
)
PATH = "b/f.parquet"
MAYBE = st.none() | st.integers(0, 99)


def expected(
    stored: list[tuple[int | None, int | None]], first_id: int | None, first: int
) -> list[tuple[int | None, int]]:
    """Paimon's rule, a row at a time."""
    return [
        (
            id_ if id_ is not None else None if first_id is None else first_id + first + at,
            number if number is not None else FILE.max_sequence_number,
        )
        for at, (id_, number) in enumerate(stored)
    ]


@given(
    stored=st.lists(st.tuples(MAYBE, MAYBE), min_size=1, max_size=9),
    has=st.sets(st.sampled_from(["_ROW_ID", "_SEQUENCE_NUMBER"])),
    first_id=MAYBE,
    first=st.integers(0, 5),
)
def test_stored_values_win_over_those_of_the_file(stored, has, first_id, first):
    names = ["_ROW_ID", "_SEQUENCE_NUMBER"]
    kept = [
        tuple(v if n in has else None for n, v in zip(names, row, strict=True)) for row in stored
    ]
    columns = dict(zip(names, zip(*kept, strict=True), strict=True))
    batch = pa.record_batch({n: pa.array(columns[n], pa.int64()) for n in names if n in has})
    rows = pa.record_batch({"v": pa.array(range(len(stored)))})
    want = expected(kept, first_id, first)
    file = replace(FILE, first_row_id=first_id)
    if any(id_ is None for id_, _ in want):
        with pytest.raises(CorruptFileError, match=r"b/f.parquet.*_ROW_ID"):
            with_tracking(rows, batch, file, first, path=PATH)
    else:
        found = with_tracking(rows, batch, file, first, path=PATH)
        assert found.schema.names == ["v", *names]
        assert [tuple(row[n] for n in names) for row in found.to_pylist()] == want


def test_ids_count_rows_that_are_deleted_and_go_on_from_batch_to_batch():
    catalog = new_catalog()
    schema = pa.schema([("v", pa.int64())])
    table = catalog.create_table("d.t", schema, options={"row-tracking.enabled": "true"})
    for rows in ([-1], range(ROWS)):
        write_rows(table, pa.table({"v": pa.array(rows, pa.int64())}))
    (split,) = table.read().splits()
    reader = SplitReader(access=table.access, fields=table.access.schema.fields)
    for deleted in (np.array([0, 5, 70_000, ROWS - 1]), np.array([], np.int64)):
        files = replace(
            reader.file_reader(split),
            tracks=True,
            deletions=(lambda _, deleted=deleted: deleted) if len(deleted) else None,
            prunes=lambda _: lambda ranges: False,  # must not be asked: what is left out counts
        )
        batches = list(files.read(split.files[1]))
        assert len(batches) > 1
        rows = pa.Table.from_batches(batches)
        left = np.delete(np.arange(ROWS), deleted)
        assert (rows["v"].to_numpy() == left).all()
        assert (rows["_ROW_ID"].to_numpy() == left + 1).all()  # one row came before
        assert set(rows["_SEQUENCE_NUMBER"].unique().to_pylist()) == {2}
