"""A statement that reads rows and writes them anew loses no commit that came between."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        ("v", pa.int64()),
    ]
)
OPTIONS: dict[str, dict[str, str]] = {
    "plain": {"bucket": "1"},
    "lookup": {"bucket": "1", "changelog-producer": "lookup"},
    "vectors": {"bucket": "1", "deletion-vectors.enabled": "true"},
    "dynamic": {"bucket": "-1"},
    "sum": {
        "bucket": "1",
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "last_value",
        "aggregation.remove-record-on-delete": "true",
    },
    "postponed": {"bucket": "-2"},
}
Statement = Callable[[tc.Table], Any]
SOURCE = pa.table({"p": ["a", "a"], "k": [1, 50], "v": [5, 5]}, schema=SCHEMA)
STATEMENTS: dict[str, Statement] = {
    "update": lambda t: t.update({"v": "v + 1"}, "k = 1"),
    "delete": lambda t: t.delete("v < 100 AND k = 1"),
    "merge": lambda t: t.merge_into(
        SOURCE,
        ["p", "k"],
        [tc.MatchedUpsert(values={"v": "target.v + 1"}), tc.NotMatchedInsert()],
    ),
}


def make(options: dict[str, str], where: str | None = None, **more: str) -> tc.Table:
    catalog = tc.open_catalog(where or f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d", if_not_exists=True)
    return catalog.create_table(
        "d.t", SCHEMA, primary_key=("p", "k"), partition_by=("p",), options={**options, **more}
    )


def put(table: tc.Table, *rows: tuple[str, int, int], **how: Any) -> None:
    names = SCHEMA.names
    write_rows(
        table,
        pa.table({n: [r[i] for r in rows] for i, n in enumerate(names)}, schema=SCHEMA),
        **how,
    )


def rows(table: tc.Table) -> dict[tuple[str, int], int]:
    if table.definition.bucket == -2:  # rows that wait for their bucket are in no read
        table.compact(strategy="full")
    found = table.read().to_arrow().to_pylist()
    return {(r["p"], r["k"]): r["v"] for r in found}


@contextmanager
def before_the_commit(
    monkeypatch: pytest.MonkeyPatch, table: tc.Table, do: Callable[[], object], times: int = 1
) -> Iterator[list[int]]:
    """Do ``do`` between what a statement reads and its commit, the first ``times`` times."""
    from table_core.table.dml import overwrite as overwriting

    done: list[int] = []
    plain = overwriting.commit_results

    def first(access: Any, *args: Any, **kwargs: Any) -> Any:
        if len(done) < times and kwargs.get("statement", args[-1]) is not None:
            done.append(1)
            do()
        return plain(access, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(overwriting, "commit_results", first)
        yield done


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("options", OPTIONS)
def test_a_statement_sees_the_rows_that_were_committed_before_it(
    options: str, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(OPTIONS[options])
    put(table, ("a", 1, 1), ("a", 2, 2))
    other = tc.open_table(table.uri)
    with before_the_commit(monkeypatch, table, lambda: put(other, ("a", 1, 100))) as done:
        STATEMENTS[statement](table)
    assert done
    assert rows(table)["a", 1] == (100 if statement == "delete" else 101)
    files = {e.file.file_name for e in table.access.live_entries(table.latest_snapshot())}
    stored = {i.path.rpartition("/")[2] for i in table.access.storage.walk("") if "data-" in i.path}
    old = {e.file.file_name for s in table.snapshots() for e in table.access.live_entries(s)}
    assert files <= stored <= old, "what the first attempt wrote is gone"


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("options", OPTIONS)
def test_a_statement_sees_rows_that_wait_for_a_compaction(options: str, statement: str) -> None:
    table = make(OPTIONS[options])
    put(table, ("a", 1, 1), ("a", 2, 2))
    table.compact(strategy="full")
    with table.write() as writer:
        writer.write(pa.table({"p": ["a"], "k": [1], "v": [50]}, schema=SCHEMA))
        result = writer.prepare()
    table.commit([replace(result, compactions=())])  # it has yet to come, or is not made along
    STATEMENTS[statement](table)
    table.compact(strategy="full")
    assert (
        rows(table)
        == {
            "update": {("a", 1): 51, ("a", 2): 2},
            "delete": {("a", 2): 2},
            "merge": {("a", 1): 51, ("a", 2): 2, ("a", 50): 5},
        }[statement]
    )


REMOVALS: dict[str, Statement] = {
    "truncate": lambda t: t.truncate(),
    "drop partitions": lambda t: t.drop_partitions([{"p": "a"}]),
    "delete": lambda t: t.delete("k = 1"),
    "overwrite partition": lambda t: put(t, ("a", 7, 7), overwrite={"p": "a"}),
    "overwrite partitions": lambda t: put(t, ("a", 7, 7), overwrite="partitions"),
    "overwrite table": lambda t: put(t, ("b", 7, 7), overwrite="table"),
}


@pytest.mark.parametrize("options", ["plain", "postponed"])
@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_row_that_was_taken_out_does_not_come_back(
    statement: str, removal: str, options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(OPTIONS[options])
    put(table, ("a", 1, 1), ("a", 2, 2))
    other = tc.open_table(table.uri)
    with before_the_commit(monkeypatch, table, lambda: REMOVALS[removal](other)):
        STATEMENTS[statement](table)
    expected = {"merge": 5}.get(statement)
    assert rows(table).get(("a", 1)) == expected


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_beside_a_compaction_of_waiting_rows_sees_them(
    statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(OPTIONS["postponed"])
    put(table, ("a", 1, 1), ("a", 2, 2), ("b", 1, 1))
    other = tc.open_table(table.uri)

    def between() -> None:
        put(other, ("a", 1, 100))
        other.compact(strategy="full")

    with before_the_commit(monkeypatch, table, between):
        STATEMENTS[statement](table)
    assert rows(table)["a", 1] == (100 if statement == "delete" else 101)


def test_a_statement_on_waiting_rows_minds_no_other_partition_and_no_compaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make(OPTIONS["postponed"])
    put(table, ("a", 1, 1), ("b", 1, 1))
    other = tc.open_table(table.uri)

    def between() -> None:
        other.compact(strategy="full")
        other.drop_partitions([{"p": "b"}])

    with before_the_commit(monkeypatch, table, between, times=100) as done:
        table.update({"v": "v + 1"}, "k = 1 AND p = 'a'")
    assert done == [1], "done once, and not again"
    assert rows(table) == {("a", 1): 2}


def test_rows_of_other_keys_partitions_and_buckets_are_no_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make(OPTIONS["plain"])
    put(table, ("a", 1, 1), ("a", 2, 2), ("b", 1, 1))
    other = tc.open_table(table.uri)

    def between() -> None:
        put(other, ("a", 5, 5))
        put(other, ("b", 1, 9))
        other.compact(strategy="full")

    with before_the_commit(monkeypatch, table, between, times=100) as done:
        table.update({"v": "v + 1"}, "k = 1 AND p = 'a'")
    assert done == [1], "done once, and not again"
    assert rows(table) == {("a", 1): 2, ("a", 2): 2, ("a", 5): 5, ("b", 1): 9}


def test_a_statement_that_always_comes_late_is_a_conflict_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make(OPTIONS["plain"], **{"commit.max-retries": "2"})
    put(table, ("a", 1, 1))
    other = tc.open_table(table.uri)
    late = before_the_commit(monkeypatch, table, lambda: put(other, ("a", 1, 100)), times=100)
    with late as done, pytest.raises(errors.CommitConflictError, match="rows-changed"):
        table.update({"v": "v + 1"}, "k = 1")
    assert len(done) == 3
    assert rows(table) == {("a", 1): 100}


def test_a_retry_finds_the_statement_that_was_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table, name = make(OPTIONS["plain"]), tc.CommitAs(user="task", identifier=0)
    put(table, ("a", 1, 1))
    other = tc.open_table(table.uri)
    with before_the_commit(monkeypatch, table, lambda: put(other, ("a", 1, 100))):
        table.update({"v": "v + 1"}, "k = 1", commit=name)
    assert table.update({"v": "v + 1"}, "k = 1", commit=name).details["replayed"]
    assert rows(table) == {("a", 1): 101}


def test_a_statement_of_a_table_that_was_altered_since_its_newest_snapshot() -> None:
    catalog = new_catalog()
    catalog.create_table("d.t", SCHEMA, primary_key=("p", "k"), options={"bucket": "1"})
    put(catalog.table("d.t"), ("a", 1, 1))
    catalog.alter_table("d.t", [tc.AddColumn("x", "INT"), tc.RenameColumn("v", "w")])
    catalog.table("d.t").update({"x": "7", "w": "w + 1"}, "w = 1")
    assert catalog.table("d.t").read().to_arrow().to_pylist() == [
        {"p": "a", "k": 1, "w": 2, "x": 7}
    ]
