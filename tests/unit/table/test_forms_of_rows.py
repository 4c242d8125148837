"""Rows in whatever form Arrow has for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string()), ("list", pa.list_(pa.int32()))])
ROWS = pa.table({"id": [1, 2, 3], "text": ["a", None, "a"], "list": [[1], [], None]}, schema=SCHEMA)
COLUMNS = {
    "dictionary": ("text", pa.array(["a", None, "a"]).dictionary_encode()),
    "large dictionary": (
        "text",
        pa.array(["a", None, "a"], pa.large_string()).dictionary_encode(),
    ),
    "view": ("text", pa.array(["a", None, "a"], pa.string_view())),
    "large": ("text", pa.array(["a", None, "a"], pa.large_string())),
    "extension": (
        "text",
        pa.ExtensionArray.from_storage(pa.json_(), pa.array(["a", None, "a"])),
    ),
    "runs": ("id", pa.RunEndEncodedArray.from_arrays([1, 2, 3], [1, 2, 3])),
    "list view": ("list", pa.array([[1], [], None], pa.list_view(pa.int32()))),
    "large list view": ("list", pa.array([[9], [1], [], None], pa.large_list_view(pa.int64()))[1:]),
    "large list": ("list", pa.array([[1], [], None], pa.large_list(pa.int64()))),
}


@pytest.fixture
def table(tmp_path: Path) -> tc.Table:
    catalog = new_catalog(f"memory://{tmp_path}")
    return catalog.create_table("d.t", SCHEMA, options={"bucket": "-1"})


def written(table: tc.Table, data: Any) -> pa.Table:
    write_rows(table, data)
    return table.read().to_arrow()


@pytest.mark.parametrize("form", COLUMNS)
def test_a_column_may_have_any_layout(table: tc.Table, form: str) -> None:
    name, column = COLUMNS[form]
    at = SCHEMA.get_field_index(name)
    assert written(table, ROWS.set_column(at, name, column)).equals(ROWS)


def test_datasets_scanners_readers_and_lists_of_batches_are_rows(
    table: tc.Table, tmp_path: Path
) -> None:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    dataset = ds.dataset(tmp_path / "rows.parquet")
    forms = [
        dataset,
        dataset.scanner(filter=ds.field("id") > 1),
        ROWS.to_reader(),
        ROWS.to_batches(),
    ]
    counts = [written(table, form).num_rows for form in forms]
    assert counts == [3, 5, 8, 11]


def test_what_is_no_row_is_refused(table: tc.Table) -> None:
    for data in ({"id": [1]}, "rows", 5):
        with pytest.raises(tc.errors.ArgumentError, match="cannot write"):
            written(table, data)
