"""What a format writes it reads back, for every type, nullability and cut of the rows.

Method: Hypothesis draws columns and rows; the file goes through a memory store.  The oracle is the
table that was written.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.arrow import arrow_schema, arrow_type
from table_core.storage.columns.data_format import Wanted
from table_core.storage.formats import WriterSettings, format_for
from table_core.storage.stores.memory import MemoryStorage
from table_core.testing.arrow_values import arrow_tables, field_lists

FORMATS = [("parquet", 9), ("orc", 9), ("avro", 6)]


def written(name, fields, tables, **settings):
    storage = MemoryStorage()
    writer = format_for(name).open_writer(storage, "f", fields, WriterSettings(**settings))
    for table in tables:
        writer.write(table)
        assert writer.size_estimate() >= 0
    size = writer.close()
    assert size == len(storage.read("f"))
    return storage, size


def read(name, storage, size, fields, **options):
    batches = list(
        format_for(name).read(storage, "f", None, fields, **({"batch_rows": 7} | options))
    )
    assert all(b.num_rows <= 7 for b in batches)
    return pa.Table.from_batches(batches, schema=arrow_schema(fields))


def identical(left: pa.Table, right: pa.Table) -> bool:
    """Equal, with NaN equal to NaN and types equal to the last member name."""
    return str(left.schema) == str(right.schema) and repr(left.to_pylist()) == repr(
        right.to_pylist()
    )


@pytest.mark.parametrize(("name", "digits_max"), FORMATS)
@given(data=st.data())
def test_rows_survive_a_file(name, digits_max, data):
    fields = data.draw(field_lists(digits_max=digits_max))
    table = data.draw(arrow_tables(fields, orc=name == "orc"))
    storage, size = written(name, fields, [table])
    found = read(name, storage, size, fields)
    found.validate(full=True)
    assert identical(found, table)
    assert format_for(name).columns(storage, "f", size) == [f.name for f in fields]


@pytest.mark.parametrize(("name", "digits_max"), FORMATS)
@given(data=st.data())
def test_what_a_merge_takes_survives_a_file(name, digits_max, data):
    """A take leaves nulls in NOT NULL members of what it finds missing."""
    fields = data.draw(field_lists(digits_max=digits_max))
    table = data.draw(arrow_tables(fields, orc=name == "orc").filter(lambda t: t.num_rows))
    places = st.integers(0, table.num_rows - 1)
    picks = data.draw(st.lists(places, min_size=1, max_size=9))
    lost = data.draw(st.lists(st.booleans(), min_size=len(picks), max_size=len(picks)))
    some = pa.array(picks, pa.int64(), mask=np.array(lost))
    columns = [
        table[f.name].combine_chunks().take(some if f.type.nullable else pa.array(picks))
        for f in fields
    ]
    taken = pa.Table.from_arrays(columns, schema=table.schema).slice(len(picks) // 3)
    storage, size = written(name, fields, [taken])
    assert identical(read(name, storage, size, fields), taken)


@pytest.mark.parametrize(("name", "digits_max"), FORMATS)
@given(data=st.data())
def test_columns_go_by_name_and_in_any_order(name, digits_max, data):
    fields = data.draw(field_lists(depth=1, digits_max=digits_max))
    tables = data.draw(st.lists(arrow_tables(fields, rows_max=6, orc=name == "orc"), max_size=3))
    wanted = data.draw(st.permutations(fields))[: data.draw(st.integers(0, len(fields)))]
    shuffled = [t.select(data.draw(st.permutations(t.column_names))) for t in tables]
    storage, size = written(name, fields, shuffled)
    rows = pa.concat_tables([arrow_schema(fields).empty_table(), *tables])
    if wanted:
        assert identical(read(name, storage, size, wanted), rows.select([f.name for f in wanted]))
    else:
        batches = format_for(name).read(storage, "f", None, [], batch_rows=7)
        assert sum(b.num_rows for b in batches) == rows.num_rows


@given(data=st.data())
def test_ranges_of_row_groups_hold_their_rows(data):
    """Oracle: every row of a kept or refused group lies within the ranges that were told."""
    fields = data.draw(field_lists(depth=0))
    table = data.draw(arrow_tables(fields))
    storage, size = written("parquet", fields, [table], block_size=1)
    seen = []
    found = read(
        "parquet", storage, size, fields, wanted=Wanted(keep=lambda ranges: not seen.append(ranges))
    )
    assert identical(found, table)
    assert sum(r["c0"].row_count for r in seen) == table.num_rows
    for number, field in enumerate(fields):
        nulls = [r[field.name].null_count for r in seen]
        if pa.types.is_floating(arrow_type(field.type)):
            assert set(nulls) <= {None}, "floats are written without bounds, which would hide NaN"
        else:
            assert sum(nulls) == table.column(number).null_count
