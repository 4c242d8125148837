"""How many rows come in a batch: all of a small file, few where texts may be longer than stored."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from table_core.datatypes.kinds import STRING, Atomic, Field, Root
from table_core.storage.formats import format_for
from table_core.storage.parquet.batch_sizes import BatchBudget, batch_budget
from table_core.storage.parquet.footer import read_chunk_stats
from table_core.storage.stores.memory import MemoryStorage

ROWS, LONG = 40_000, 4_000
FIELDS = (Field(0, "k", Atomic(Root.BIGINT)), Field(1, "s", STRING))
MB = 1 << 20


def batches(
    texts: pa.Array, batch_bytes: int, most: int = 1 << 16, **options
) -> list[pa.RecordBatch]:
    """What a file of ``texts`` is read as, stored with these ``options``."""
    table = pa.table({"k": pa.array(range(len(texts)), pa.int64()), "s": texts})
    storage, sink = MemoryStorage(), io.BytesIO()
    pq.write_table(table, sink, **options)
    storage.write("f", sink.getvalue())
    read = format_for("parquet").read
    found = list(read(storage, "f", None, FIELDS, batch_rows=most, batch_bytes=batch_bytes))
    assert pa.Table.from_batches(found).equals(table.cast(found[0].schema))
    return found


def distinct(count: int = ROWS, width: int = 10) -> pa.Array:
    return pc.utf8_lpad(pa.array(range(count)).cast(pa.string()), width, "0")


def repeated(count: int = ROWS) -> pa.Array:
    return pa.repeat(pa.scalar("x" * LONG), count)


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_that_fit_as_they_are_stored_come_at_once(encoding):
    options = {"use_dictionary": False, "column_encoding": {"s": encoding}}
    (batch,) = batches(distinct(), 4 * MB, **options)
    assert batch.num_rows == ROWS


def test_texts_that_do_not_fit_come_in_batches_of_their_size():
    found = batches(distinct(8_000, width=2_000), 4 * MB, use_dictionary=False)
    assert all(batch.nbytes <= 4 * MB for batch in found)


@pytest.mark.parametrize(
    "options",
    [{}, {"use_dictionary": False, "column_encoding": {"s": "DELTA_BYTE_ARRAY"}}],
    ids=["dictionary", "delta"],
)
def test_texts_that_may_be_longer_than_stored_begin_with_few_rows(options):
    first, *rest = batches(repeated(), 16 * MB, **options)
    assert first.num_rows < ROWS // 2
    assert all(batch.nbytes <= 16 * MB for batch in rest)


def test_a_dictionary_is_no_reason_where_its_longest_text_would_fit_in_every_row():
    (batch,) = batches(pa.array(["short", "shorter"] * (ROWS // 2)), 256 * MB)
    assert batch.num_rows == ROWS


def test_nulls_take_no_text():
    (batch,) = batches(pa.nulls(ROWS, pa.string()), 16 * MB)
    assert batch.num_rows == ROWS


def test_a_dictionary_is_no_reason_where_the_footer_tells_how_long_its_texts_are_in_all():
    (batch,) = batches(pa.array(["north", "south", "east", "west"] * (ROWS // 4)), 4 * MB)
    assert batch.num_rows == ROWS


def test_a_file_that_does_not_tell_begins_with_few_rows():
    sink = io.BytesIO()
    pq.write_table(pa.table({"s": ["north", "south"] * ROWS}), sink)
    file = pq.ParquetFile(io.BytesIO(sink.getvalue()))

    def room(**told) -> BatchBudget:
        chunks = [[c._replace(**told) for c in g] for g in read_chunk_stats(file.metadata)]
        return batch_budget(file, [0], {"s": pa.string()}, lambda: chunks, 1 << 20, 4 * MB)

    assert room() == BatchBudget(1 << 20, later=None, holds_groups=True)
    assert room(text_bytes=None) == BatchBudget(1 << 11, later=1 << 16, holds_groups=True)


def test_where_many_rows_do_not_fit_fewer_may():
    first, *rest = batches(distinct(200_000), 4 * MB, most=1 << 20, use_dictionary=False)
    assert first.num_rows == 1 << 16
    assert {batch.num_rows for batch in rest[:-1]} == {1 << 16}


def test_wide_rows_after_narrow_ones_come_in_batches_of_their_size():
    narrow, wide = distinct(40_000), distinct(400, width=100_000)
    found = batches(
        pa.chunked_array([narrow, wide]), 4 * MB, use_dictionary=False, row_group_size=200
    )
    assert max(batch.nbytes for batch in found) <= 2 * 200 * 100_000
    found = batches(pa.chunked_array([narrow, wide]), 4 * MB, row_group_size=40)
    assert max(batch.nbytes for batch in found) <= 8 * MB


def test_few_long_texts_of_a_dictionary_are_not_decoded_at_once():
    found = batches(repeated(12_000), 4 * MB)
    assert max(batch.nbytes for batch in found) <= 5 * MB
