"""A handle that was opened before a column came neither compacts its values away nor sets them to NULL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.schema.change import AddColumn, RenameColumn, SchemaChange, UpdateColumnType
from table_core.table.metadata.alter import alter
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int32())])
LOOKUP = {"changelog-producer": "lookup"}
MARKS = {"deletion-vectors.enabled": "true"}
SEQUENCE = {"sequence.field": "v", "write-only": "true"}


def handles(
    *changes: SchemaChange, key: tuple[str, ...] = ("k",), **options: str
) -> tuple[tc.Table, tc.Table]:
    """One that was opened before ``changes``, and one after."""
    catalog = new_catalog()
    old = catalog.create_table("d.t", SCHEMA, primary_key=key, options=options)
    alter(old.access, changes)
    return old, catalog.table("d.t")


def put(table: tc.Table, **columns: list[Any]) -> None:
    write_rows(table, pa.table(columns, schema=table.arrow_schema))


def rows(table: tc.Table) -> list[dict[str, Any]]:
    return sorted(table.read().to_arrow().to_pylist(), key=lambda row: row["k"])


@pytest.mark.parametrize("options", [{}, LOOKUP, MARKS], ids=["none", "lookup", "vectors"])
@pytest.mark.parametrize("strategy", ["full", "minor", "inline"])
def test_new_columns_stay_in_key_tables(options: dict[str, str], strategy: str) -> None:
    given = {"bucket": "1", "num-sorted-run.compaction-trigger": "2", **options}
    old, new = handles(AddColumn("more", "INT"), **given)
    for n in range(3):
        put(new, k=[1, n + 2], v=[n, n], more=[7, n])
    put(old, k=[9], v=[9])
    if strategy != "inline":
        old.compact(strategy)
    wanted = [(1, 2, 7), *((n + 2, n, n) for n in range(3)), (9, 9, None)]
    assert [tuple(row.values()) for row in rows(new)] == wanted


@pytest.mark.parametrize("how", [{}, {"order_by": ["v"]}], ids=["pack", "sort"])
def test_new_columns_stay_in_append_tables(how: dict[str, Any]) -> None:
    old, new = handles(AddColumn("more", "INT"), key=(), bucket="-1")
    for n in range(3):
        put(new, k=[n], v=[n], more=[n])
    old.compact("full", **how)
    assert len(new.access.live_entries(new.latest_snapshot())) == 1
    assert [row["more"] for row in rows(new)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "name"),
    [(RenameColumn("v", "w"), "w"), (UpdateColumnType("v", "BIGINT"), "v")],
    ids=["renamed", "widened"],
)
def test_columns_that_were_altered_stay_as_they_are(change: SchemaChange, name: str) -> None:
    old, new = handles(change, bucket="1", **SEQUENCE)
    for n in (1 << 20, 1 << 10):
        put(new, k=[1], **{name: [n]})
    old.compact("full")
    assert rows(new) == [{"k": 1, name: 1 << 20}]


@pytest.mark.parametrize(
    ("key", "options"),
    [(("k",), {"bucket": "1"}), ((), {"bucket": "-1"}), ((), {"bucket": "-1", **MARKS})],
    ids=["key", "append", "append vectors"],
)
def test_new_columns_stay_through_statements(key: tuple[str, ...], options: dict[str, str]) -> None:
    old, new = handles(AddColumn("more", "INT"), key=key, **options)
    put(new, k=[1, 2, 3], v=[1, 2, 3], more=[7, 8, 9])
    old.update({"v": "v + 1"}, "k = 1")
    old.delete("k = 2")
    source = pa.table({"k": [3]}, schema=SCHEMA.remove(1))
    old.merge_into(source, ["k"], [tc.MatchedUpsert(values={"v": "0"})])
    assert [tuple(row.values()) for row in rows(new)] == [(1, 2, 7), (3, 0, 9)]


def test_what_a_handle_was_told_on_top_stays() -> None:
    old, new = handles(AddColumn("more", "INT"), bucket="1")
    told = old.access.with_options({"write-only": "true", "file.format": "orc"})
    put(new, k=[1], v=[1], more=[1])
    files = [e.file for e in new.access.live_entries(new.latest_snapshot())]
    made = told.as_new_as(files)
    assert made.schema.id == 1
    assert made.schema.raw_options == told.schema.raw_options
    assert old.access.as_new_as([]) is old.access
