"""A row that its own table could not read afterwards is refused when it is written, on every path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), ("v", pa.int64()), ("t", pa.string())]
)
REFUSES: dict[str, dict[str, str]] = {
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "max": {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"},
    "default function": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "fields.t.aggregate-function": "listagg",
    },
    "postponed": {"merge-engine": "partial-update", "bucket": "-2"},
    "write-only": {"merge-engine": "partial-update", "write-only": "true"},
}
TAKES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "ignored by first-row": {"merge-engine": "first-row", "ignore-delete": "true"},
    "ignored by partial-update": {"merge-engine": "partial-update", "ignore-delete": "true"},
    "removed": {
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
    },
    "summed": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "fields.t.aggregate-function": "last_value",
    },
    "removed from sums": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "max",
        "aggregation.remove-record-on-delete": "true",
    },
    "not taken back": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "max",
        "fields.v.ignore-retract": "true",
    },
}


def make(options: dict[str, str]) -> tc.Table:
    catalog = new_catalog()
    return catalog.create_table(
        "d.t", SCHEMA, primary_key=("k",), options={"bucket": "1", **options}
    )


def rows(*kinds: str) -> pa.Table:
    data = {"k": range(1, len(kinds) + 1), "v": [5] * len(kinds), "t": ["x"] * len(kinds)}
    return pa.table(data, schema=SCHEMA).append_column("_ROW_KIND", pa.array(kinds))


def put(table: tc.Table, *kinds: str, overwrite: Any = None) -> None:
    write_rows(table, rows(*kinds), overwrite=overwrite)


def prepared(table: tc.Table, *kinds: str) -> None:
    writer = table.write()
    writer.write(rows(*kinds))
    table.commit([writer.prepare()])


PATHS: dict[str, Callable[..., None]] = {
    "write": put,
    "overwrite": lambda table, *kinds: put(table, *kinds, overwrite="table"),
    "in another process": prepared,
}


@pytest.mark.parametrize("kinds", [("-D",), ("+I", "-D"), ("+I", "+I", "-D")])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("how", REFUSES)
def test_a_row_that_cannot_be_taken_back_is_refused(
    how: str, path: str, kinds: tuple[str, ...]
) -> None:
    table = make(REFUSES[how])
    put(table, "+I")
    before, files = table.latest_snapshot(), list(table.access.storage.walk(""))
    with pytest.raises(errors.DataError):
        PATHS[path](table, *kinds)
    assert table.latest_snapshot() == before
    assert list(table.access.storage.walk("")) == files


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("how", TAKES)
def test_a_row_that_can_be_taken_back_is_taken_and_the_table_stays_readable(
    how: str, path: str
) -> None:
    table = make(TAKES[how])
    put(table, "+I")
    PATHS[path](table, "-D")
    table.read().to_arrow()
    table.compact(strategy="full")
    table.read().to_arrow()
    put(table, "+I", "+I")
    assert table.read().to_arrow().num_rows == 2
