"""A compaction of newer rows alone does not undo what older ones are to meet first.

A delete takes back what was there before it; a row that is late by its sequence field does not win.  Mutants: a compaction that merges a ``-D`` with newer rows of its key, and leaves older ones below; a spread of
waiting rows (``bucket=-2``) that merges two commits before they meet the bucket.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), ("a", pa.int64()), ("b", pa.int64())]
)
OLD = [(k, k * k * 7919 % 1_000_003, k * k * 104_729 % 1_000_003) for k in range(20_000)]
"""So many that a minor compaction leaves their file alone."""
ENGINES = {
    "partial-update": {"partial-update.remove-record-on-delete": "true"},
    "aggregation": {
        "fields.a.aggregate-function": "sum",
        "fields.b.aggregate-function": "max",
        "aggregation.remove-record-on-delete": "true",
    },
}
Row = tuple[int, int | None, int | None]


def table_of(engine: str, **options: str) -> tc.Table:
    given = {
        "merge-engine": engine,
        "bucket": "1",
        "num-levels": "6",
        "num-sorted-run.compaction-trigger": "2",
        **ENGINES[engine],
        **options,
    }
    return new_catalog().create_table("d.t", SCHEMA, primary_key=("k",), options=given)


def put(table: tc.Table, *rows: Row, kind: str = "+I") -> None:
    quiet = tc.open_table(table.uri, options={"write-only": "true"})
    columns = pa.table(list(zip(*rows, strict=True)), schema=SCHEMA)
    write_rows(quiet, columns.append_column("_ROW_KIND", pa.array([kind] * len(rows))))


def found(table: tc.Table, key: int = 1) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.read(where=f"k = {key}").to_arrow().to_pylist()]


def levels(table: tc.Table) -> list[tuple[int, int]]:
    files = table.system("files").to_arrow().to_pylist()
    return sorted((file["level"], file["record_count"]) for file in files)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("statement", [True, False])
def test_a_compaction_does_not_bring_back_what_was_deleted(engine: str, statement: bool) -> None:
    table = table_of(engine)
    put(table, *OLD)
    table.compact("full")
    if statement:
        tc.open_table(table.uri, options={"write-only": "true"}).delete("k = 1")
    else:
        put(table, OLD[1], kind="-D")
    put(table, (1, None, 1))
    put(table, (2, None, 1))
    before = found(table)
    for strategy in ("minor", "full"):
        table.compact(strategy)
        assert found(table) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_a_delete_that_meets_nothing_asks_for_nothing_more(engine: str) -> None:
    table = table_of(engine)
    put(table, *OLD)
    table.compact("full")
    put(table, (70_000, 1, 1))
    put(table, (70_000, None, None), kind="-D")
    put(table, (70_000, None, 5))
    table.compact("minor")
    assert found(table, 70_000) == [(70_000, None, 5)]
    assert (5, len(OLD)) in levels(table)


def test_sums_take_back_without_the_older_rows() -> None:
    """Change events of a summed table retract all the time; its large files stay as they are."""
    options = {"aggregation.remove-record-on-delete": "false", "fields.b.aggregate-function": "sum"}
    table = table_of("aggregation", **options)
    put(table, *OLD)
    table.compact("full")
    put(table, (1, 10, 20), kind="-U")
    put(table, (1, 3, 4))
    table.compact("minor")
    assert levels(table) == [(4, 1), (5, len(OLD))]
    assert found(table) == [(1, OLD[1][1] - 7, OLD[1][2] - 16)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("producer", ["none", "lookup", "full-compaction"])
@pytest.mark.parametrize("compacted", [True, False])
def test_waiting_rows_meet_a_delete_in_the_order_of_commits(
    engine: str, producer: str, compacted: bool
) -> None:
    table = table_of(engine, **{"bucket": "-2", "changelog-producer": producer})
    put(table, (1, 5, 6), (2, 7, 7))
    if compacted:
        table.compact("full")
    put(table, (1, None, None), kind="-D")
    put(table, (1, None, 1))
    put(table, (1, None, None), kind="-D")
    put(table, (1, 2, None))
    table.compact("minor")
    assert found(table) == [(1, 2, None)]
    table.compact("full")
    assert found(table) == [(1, 2, None)]
    assert found(table, 2) == [(2, 7, 7)]


SEQUENCED = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), *((n, pa.int64()) for n in ("s", "a", "b"))]
)


def sequenced(engine: str, bucket: str, **options: str) -> tc.Table:
    given = {
        "merge-engine": engine,
        "bucket": bucket,
        "num-levels": "6",
        "num-sorted-run.compaction-trigger": "2",
        "sequence.field": "s",
        **options,
    }
    table = new_catalog().create_table("d.t", SEQUENCED, primary_key=("k",), options=given)
    arrive(table, *((k, 50, a, b) for k, a, b in OLD))
    table.compact("full")
    return table


def arrive(table: tc.Table, *rows: tuple[int | None, ...]) -> None:
    quiet = tc.open_table(table.uri, options={"write-only": "true"})
    write_rows(quiet, pa.table(list(zip(*rows, strict=True)), schema=SEQUENCED))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bucket", ["1", "-2"])
@pytest.mark.parametrize("descending", [True, False])
def test_rows_that_come_late_by_their_sequence_field_do_not_win(
    engine: str, bucket: str, descending: bool
) -> None:
    order = "descending" if descending else "ascending"
    table = sequenced(engine, bucket, **{"sequence.field.sort-order": order})
    late, newest = (70, 30) if descending else (30, 70)
    arrive(table, (1, late, 1, None))
    arrive(table, (1, newest, None, 2))
    arrive(table, (2, newest, None, 2))
    for strategy in ("minor", "full"):
        table.compact(strategy)
        assert found(table) == [(1, newest, OLD[1][1], 2)]


@pytest.mark.parametrize("nulls", [True, False])
def test_rows_that_come_in_order_leave_large_files_alone(nulls: bool) -> None:
    table = sequenced("partial-update", "1")
    arrive(table, (1, None if nulls else 50, 1, None))
    arrive(table, (1, 70, None, 2))
    table.compact("minor")
    assert levels(table) == ([(5, len(OLD))] if nulls else [(4, 1), (5, len(OLD))])
    assert found(table) == [(1, 70, OLD[1][1] if nulls else 1, 2)]


def test_what_takes_rows_in_any_order_leaves_large_files_alone() -> None:
    options = {"fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "last_value"}
    table = sequenced("aggregation", "1", **options)
    arrive(table, (1, 30, 1, 3))
    arrive(table, (1, 70, 1, 2))
    table.compact("minor")
    assert levels(table) == [(4, 1), (5, len(OLD))]
    assert found(table) == [(1, 70, OLD[1][1] + 2, 2)]


@pytest.mark.parametrize("function", ["first_value", "last_non_null_value", "sum", "max"])
def test_a_sequence_group_takes_rows_that_come_late(function: str) -> None:
    """The first of all, whichever files are merged first."""
    table = sequenced(
        "partial-update",
        "1",
        **{
            "sequence.field": "b",  # the same in all that follow
            "fields.s.sequence-group": "a",
            "fields.a.aggregate-function": function,
        },
    )
    highest = 1_000_003
    arrive(table, (1, 30, 1, highest))
    arrive(table, (1, 70, None, highest))
    arrive(table, (2, 70, None, highest))
    before = found(table)
    for strategy in ("minor", "full"):
        table.compact(strategy)
        assert found(table) == before
