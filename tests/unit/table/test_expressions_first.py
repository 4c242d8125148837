"""Expressions of statements are looked at before a row is: wrong ones are refused on an empty table too."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError, DataError, PredicateError, TableError
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("n", pa.int32())])
SOURCE = pa.table({"id": pa.array([], pa.int64()), "v": pa.array([], pa.string())})
WRONG = ("target.nope = 1", "(((", "source.v > 1 and", "v", "n = 'x' || ")


@pytest.fixture(params=["key", "append"])
def table(request: pytest.FixtureRequest) -> tc.Table:
    key = ["id"] if request.param == "key" else []
    return new_catalog().create_table("d.t", SCHEMA, primary_key=key)


def clauses(condition: str | None, values: dict[str, str] | None = None) -> list[Any]:
    return [
        tc.MatchedUpsert(condition=condition, values=values),
        tc.NotMatchedInsert(condition=condition, values=values),
        tc.NotMatchedBySourceUpsert(condition=condition, values=values or {"v": "'x'"}),
        tc.MatchedDelete(condition=condition),
        tc.NotMatchedBySourceDelete(condition=condition),
    ]


@pytest.mark.parametrize("wrong", ["target.nope = 1", "(((", "source.v > 1 and", "source.nope = 1"])
@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_wrong_condition_of_a_clause_is_refused_without_rows(
    table: tc.Table, wrong: str, at: int, dry_run: bool
) -> None:
    clause = clauses(wrong)[at]
    with pytest.raises(PredicateError, match=type(clause).__name__):
        table.merge_into(SOURCE, ["id"], [clause], dry_run=dry_run)
    assert table.latest_snapshot() is None


@pytest.mark.parametrize("wrong", ["target.nope", "(((", "source.nope + 1"])
@pytest.mark.parametrize("at", range(3))
def test_a_wrong_value_of_a_clause_is_refused_by_its_column(
    table: tc.Table, wrong: str, at: int
) -> None:
    with pytest.raises(PredicateError, match="new value of column 'v'") as caught:
        table.merge_into(SOURCE, ["id"], [clauses(None, {"v": wrong})[at]])
    assert caught.value.facts["column"] == "v"
    assert "where" not in caught.value.facts


@pytest.mark.parametrize("wrong", ["nope", "(((", "target.nope"])
def test_a_wrong_value_of_an_update_is_refused_by_its_column(table: tc.Table, wrong: str) -> None:
    with pytest.raises(PredicateError, match="new value of column 'v'"):
        table.update({"v": wrong}, "true")
    with pytest.raises(PredicateError, match="new value of column 'v'"):
        table.update({"v": wrong}, "true", dry_run=True)


@pytest.mark.parametrize("wrong", ["nope = 1", "(((", "id = "])
def test_a_wrong_condition_of_a_statement_is_refused_without_rows(
    table: tc.Table, wrong: str
) -> None:
    for call in (lambda: table.delete(wrong), lambda: table.update({"v": "'x'"}, wrong)):
        with pytest.raises(PredicateError):
            call()


def test_a_value_of_another_type_is_refused_without_rows(table: tc.Table) -> None:
    with pytest.raises(DataError, match="'n'"):
        table.update({"n": "'text'"}, "true")
    with pytest.raises(DataError, match="'n'"):
        table.merge_into(SOURCE, ["id"], [tc.MatchedUpsert(values={"n": "source.v"})])


@pytest.mark.parametrize(("value", "hint"), [(5, "'5'"), (None, "'NULL'"), (True, "'true'")])
def test_a_value_that_is_no_text_says_what_to_write(table: tc.Table, value: Any, hint: str) -> None:
    with pytest.raises(ArgumentError, match="SQL text") as caught:
        table.update({"v": value}, "true")
    assert hint in str(caught.value)


def test_right_expressions_are_taken_without_rows_and_with_them(table: tc.Table) -> None:
    source = pa.table({"id": pa.array([1, 2], pa.int64()), "v": ["a", "b"]})
    when = [tc.MatchedUpsert(values={"v": "source.v", "n": "target.n + 1"}), tc.NotMatchedInsert()]
    table.merge_into(source.slice(0, 0), ["id"], when)
    write_rows(table, pa.table({"id": [1], "v": ["x"], "n": pa.array([4], pa.int32())}))
    table.merge_into(source, "id", when)
    got = sorted(table.read().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert got == [{"id": 1, "v": "a", "n": 5}, {"id": 2, "v": "b", "n": None}]


@pytest.mark.parametrize("on", [5, None, ["id", 3], object()])
def test_on_that_names_no_columns_is_refused(table: tc.Table, on: Any) -> None:
    with pytest.raises(TableError, match="on"):
        table.merge_into(SOURCE, on, [tc.MatchedUpsert()])


def test_a_delete_by_sequence_group_names_the_option_that_removes_rows() -> None:
    table = new_catalog().create_table(
        "d.t",
        SCHEMA,
        primary_key=["id"],
        options={
            "merge-engine": "partial-update",
            "fields.n.sequence-group": "v",
        },
    )
    with pytest.raises(TableError, match="remove-record-on-sequence-group"):
        table.delete("id = 1")


def test_a_group_that_removes_records_is_deleted_by_statement_where_its_sequence_is_not_null() -> (
    None
):
    table = new_catalog().create_table(
        "d.t",
        SCHEMA,
        primary_key=["id"],
        options={
            "merge-engine": "partial-update",
            "fields.n.sequence-group": "v",
            "partial-update.remove-record-on-sequence-group": "n",
        },
    )
    write_rows(table, pa.table({"id": [1, 2, 3], "v": ["a", "b", "c"], "n": [5, 5, None]}, SCHEMA))
    table.delete("id = 1")
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == [2, 3]
    with pytest.raises(TableError, match="a delete leaves the row"):
        table.delete("id = 3")
    table.compact()
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == [2, 3]


@pytest.mark.parametrize(
    ("clause", "side"),
    [
        (tc.NotMatchedInsert(condition="target.n = 1"), "target"),
        (tc.NotMatchedInsert(values={"id": "target.id"}), "target"),
        (tc.NotMatchedBySourceDelete(condition="source.n = 1"), "source"),
        (tc.NotMatchedBySourceUpsert(values={"n": "source.n"}), "source"),
    ],
)
def test_a_clause_names_no_side_that_has_no_row(table: tc.Table, clause: Any, side: str) -> None:
    with pytest.raises(TableError, match=f"no column '{side}'"):
        table.merge_into(SOURCE, ["id"], [clause])
