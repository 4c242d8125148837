"""Statements of key tables where keys move, names differ in case, or numbers are odd."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from tests.row_by_row import row_by_row
from tests.tables import new_catalog, rows_of, write_rows

SCHEMA = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), ("v", pa.int64()), ("t", pa.string())]
)


def catalog() -> tc.Catalog:
    return new_catalog()


def make(schema: pa.Schema = SCHEMA, key: tuple[str, ...] = ("k",), **options: str) -> tc.Table:
    given = {name.replace("__", "."): text for name, text in options.items()}
    return catalog().create_table(
        "d.t", schema, primary_key=key, options={"bucket": "1" if key else "-1", **given}
    )


def put(table: tc.Table, **columns: list[Any]) -> None:
    write_rows(
        table, pa.table(columns, schema=pa.schema([table.arrow_schema.field(n) for n in columns]))
    )


@pytest.fixture
def table() -> tc.Table:
    made = make()
    put(made, k=[1, 2, 3], v=[10, 20, 30], t=["a", "b", "c"])
    return made


# --------------------------------------------------------------------------------------- keys that move
def test_a_key_that_moves_takes_the_old_row_away(table: tc.Table) -> None:
    source = pa.table({"k": pa.array([1], pa.int32()), "n": pa.array([9], pa.int32())})
    table.merge_into(source, ["k"], [tc.MatchedUpsert(values={"k": "source.n"})])
    assert rows_of(table) == [(2, 20, "b"), (3, 30, "c"), (9, 10, "a")]


def test_a_source_that_brings_a_key_moves_the_rows_it_is_matched_with(table: tc.Table) -> None:
    source = pa.table({"t": ["b"], "k": pa.array([7], pa.int32())})
    table.merge_into(source, ["t"], [tc.MatchedUpsert()])
    assert rows_of(table) == [(1, 10, "a"), (3, 30, "c"), (7, 20, "b")]


def test_rows_that_one_row_brings_to_one_key_are_refused_however_far_apart_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """0.0 and -0.0 match one another, and are two keys."""
    row_by_row(monkeypatch)
    made = make(pa.schema([pa.field("k", pa.float64(), nullable=False), ("v", pa.int64())]))
    put(made, k=[0.0, 1.0, -0.0], v=[1, 2, 3])
    with pytest.raises(errors.DataError, match="several rows would have the key"):
        made.merge_into(pa.table({"k": [-0.0], "v": [9]}), ["k"], [tc.MatchedUpsert()])


def test_new_rows_of_one_key_are_refused_and_equal_ones_are_one(
    monkeypatch: pytest.MonkeyPatch, table: tc.Table
) -> None:
    row_by_row(monkeypatch)
    source = pa.table({"k": pa.array([4, 4], pa.int32()), "v": [1, 1], "t": ["n", "n"]})
    table.merge_into(source, ["k"], [tc.NotMatchedInsert()])
    assert rows_of(table)[-1] == (4, 1, "n")
    source = pa.table({"k": pa.array([5, 5], pa.int32()), "v": [1, 2], "t": ["n", "n"]})
    with pytest.raises(errors.DataError, match="several rows would have the key"):
        table.merge_into(source, ["k"], [tc.NotMatchedInsert()])
    source = pa.table({"k": pa.array([3, 3], pa.int32()), "v": [1, 2], "t": ["n", "n"]})
    with pytest.raises(errors.DataError, match="several source rows match") as refused:
        table.merge_into(source, ["k"], [tc.MatchedUpsert()])
    assert refused.value.facts["row"] == 2


def test_two_rows_may_change_places(table: tc.Table) -> None:
    source = pa.table({"k": pa.array([1, 2], pa.int32()), "n": pa.array([2, 1], pa.int32())})
    table.merge_into(source, ["k"], [tc.MatchedUpsert(values={"k": "source.n"})])
    assert rows_of(table) == [(1, 20, "b"), (2, 10, "a"), (3, 30, "c")]


def test_a_key_may_move_to_where_another_row_is_deleted(table: tc.Table) -> None:
    source = pa.table({"k": pa.array([1, 2], pa.int32()), "n": pa.array([2, 0], pa.int32())})
    when = [
        tc.MatchedDelete(condition="source.n = 0"),
        tc.MatchedUpsert(values={"k": "source.n"}),
    ]
    table.merge_into(source, ["k"], when)
    assert rows_of(table) == [(2, 10, "a"), (3, 30, "c")]


@pytest.mark.parametrize(
    ("source", "on", "clause"),
    [
        ({"k": [1], "n": [3]}, ["k"], tc.MatchedUpsert(values={"k": "source.n"})),
        ({"k": [1, 2], "n": [8, 8]}, ["k"], tc.MatchedUpsert(values={"k": "source.n"})),
        ({"k": [3], "v": [99]}, ["v"], tc.NotMatchedInsert()),
        ({"k": [5, 5], "v": [98, 99]}, ["k"], tc.NotMatchedInsert()),
        ({"k": [5], "n": [1]}, ["k"], tc.NotMatchedBySourceUpsert(values={"k": "7"})),
    ],
)
def test_two_rows_of_one_key_are_refused(
    table: tc.Table, source: dict[str, list[int]], on: list[str], clause: tc.MergeClause
) -> None:
    before = table.latest_snapshot()
    rows_of_source = pa.table({n: pa.array(c, pa.int32()) for n, c in source.items()})
    with pytest.raises(errors.DataError, match="key"):
        table.merge_into(rows_of_source, on, [clause])
    assert table.latest_snapshot() == before


@pytest.mark.parametrize("engine", ["first-row", "partial-update", "aggregation"])
def test_a_key_does_not_move_where_no_row_can_be_deleted(engine: str) -> None:
    table = make(**{"merge-engine": engine})
    put(table, k=[1], v=[10], t=["a"])
    before = table.latest_snapshot()
    source = pa.table({"k": pa.array([1], pa.int32())})
    with pytest.raises(errors.UnsupportedFeatureError, match="deleted"):
        table.merge_into(source, ["k"], [tc.MatchedUpsert(values={"k": "9"})])
    assert table.latest_snapshot() == before


def test_a_row_that_moves_to_another_partition_is_in_that_one_alone() -> None:
    schema = pa.schema([pa.field("p", pa.string(), nullable=False), *SCHEMA])
    table = catalog().create_table(
        "d.t", schema, primary_key=("p", "k"), partition_by=("p",), options={"bucket": "1"}
    )
    put(table, p=["a", "b"], k=[1, 2], v=[1, 2], t=["x", "y"])
    source = pa.table({"k": pa.array([1], pa.int32())})
    table.merge_into(source, ["k"], [tc.MatchedUpsert(values={"p": "'b'"})])
    assert rows_of(table) == [("b", 1, 1, "x"), ("b", 2, 2, "y")]
    assert table.read(where="p = 'a'").to_arrow().num_rows == 0


# ------------------------------------------------------------------------------------ what is not written
def test_a_statement_stores_null_where_the_column_has_a_default_and_leaves_null_alone() -> None:
    made = catalog()
    table = made.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    put(table, k=[1, 2], v=[1, 2], t=[None, "x"])
    made.alter_table("d.t", [tc.UpdateColumnDefault("t", "new"), tc.UpdateColumnDefault("v", "7")])
    table = made.table("d.t")
    table.update({"v": "v + 1"}, "k = 1")
    table.update({"t": "NULL"}, "k = 2")
    source = pa.table({"k": pa.array([1, 5], pa.int32())})
    table.merge_into(source, ["k"], [tc.MatchedUpsert(), tc.NotMatchedInsert()])
    assert rows_of(table) == [(1, 2, None), (2, 2, None), (5, 7, "new")]


def test_a_delete_deletes_where_a_column_says_of_what_kind_a_row_is() -> None:
    table = make(**{"rowkind.field": "t"})
    put(table, k=[1, 2, 3], v=[1, 2, 3], t=["+I", "+I", "+U"])
    table.delete("k = 1")
    source = pa.table({"k": pa.array([2], pa.int32())})
    table.merge_into(source, ["k"], [tc.MatchedDelete()])
    assert [row[0] for row in rows_of(table)] == [3]


def test_a_lower_sequence_is_refused_by_name() -> None:
    table = make(**{"sequence.field": "v"})
    put(table, k=[1], v=[10], t=["a"])
    before = table.latest_snapshot()
    with pytest.raises(errors.UnsupportedFeatureError, match="sequence field v"):
        table.update({"v": "5"}, "k = 1")
    assert table.latest_snapshot() == before
    table.update({"v": "11", "t": "'b'"}, "k = 1")
    assert rows_of(table) == [(1, 11, "b")]


def test_a_row_behind_a_later_delete_is_refused_until_a_compaction_drops_that() -> None:
    table = make(**{"sequence.field": "v"})
    put(table, k=[1, 2], v=[10, 1], t=["a", "b"])
    table.delete("k = 1")
    source = pa.table({"k": pa.array([1], pa.int32()), "v": [3], "t": ["c"]})
    with pytest.raises(errors.UnsupportedFeatureError, match="compaction"):
        table.merge_into(source, ["k"], [tc.NotMatchedInsert()])
    table.compact(strategy="full")
    table.merge_into(source, ["k"], [tc.NotMatchedInsert()])
    assert rows_of(table) == [(1, 3, "c"), (2, 1, "b")]


# ----------------------------------------------------------------------------------- names and numbers
@pytest.mark.parametrize("key", [("k",), ()])
def test_columns_of_a_source_are_found_in_any_case(key: tuple[str, ...]) -> None:
    table = make(key=key)
    put(table, k=[1, 2], v=[1, 2], t=["x", "y"])
    source = pa.table({"K": pa.array([1, 5], pa.int32()), "V": [100, 500], "T": ["a", "e"]})
    for on in (["k"], {"k": "K"}):
        table.merge_into(source, on, [tc.MatchedUpsert(), tc.NotMatchedInsert()])
        assert rows_of(table) == [(1, 100, "a"), (2, 2, "y"), (5, 500, "e")]


def test_a_column_of_the_same_spelling_goes_before_one_of_another_case(table: tc.Table) -> None:
    names = ["k", "T", "t"]
    source = pa.table([pa.array([1], pa.int32()), ["no"], ["yes"]], names=names)
    table.merge_into(source, ["k"], [tc.MatchedUpsert()])
    assert rows_of(table)[0] == (1, 10, "yes")
    wide = pa.schema([pa.field("k", pa.int32(), nullable=False), ("abc", pa.int64())])
    unclear = pa.table([pa.array([1], pa.int32()), [1], [2]], names=["k", "ABC", "Abc"])
    with pytest.raises(errors.ArgumentError, match="nobody can tell"):
        make(wide).merge_into(unclear, ["k"], [tc.NotMatchedInsert()])


@pytest.mark.parametrize("key", [("k",), ()])
def test_nan_matches_nan_and_zero_matches_minus_zero(key: tuple[str, ...]) -> None:
    schema = pa.schema(
        [pa.field("k", pa.int32(), nullable=False), ("x", pa.float64()), ("f", pa.float32())]
    )
    table = make(schema, key)
    put(table, k=[1, 2, 3, 4], x=[math.nan, 0.0, -0.0, None], f=[1.0, 1.0, 1.0, 1.0])
    for value, hit in ((math.nan, {1}), (-0.0, {2, 3}), (0.0, {2, 3}), (None, set())):
        source = pa.table({"x": pa.array([value], pa.float64())})
        done = table.merge_into(source, ["x"], [tc.MatchedUpsert(values={"f": "target.f + 1"})])
        assert done.details["rows_by_clause"].get("MatchedUpsert", 0) == len(hit)  # type: ignore[attr-defined]
    assert [row[2] for row in rows_of(table)] == [2.0, 3.0, 3.0, 1.0]


def test_an_overwrite_that_names_no_partition_replaces_nothing(table: tc.Table) -> None:
    before = rows_of(table)
    with pytest.raises(errors.ArgumentError, match="names no partition"):
        table.write(overwrite={})
    with pytest.raises(errors.ArgumentError, match="names no partition"):
        table.commit([], overwrite={})
    assert rows_of(table) == before
