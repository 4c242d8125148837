"""What a commit writes again, because another one came first: everything but the numbers stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.datatypes.kinds import Atomic, Root
from table_core.schema.change import AddColumn
from table_core.table.metadata.alter import alter
from tests.tables import new_catalog

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])


def table_of(**options: str) -> tc.Table:
    catalog = new_catalog()
    given = {"bucket": "1", "write-only": "true"} | {
        name.replace("_", "-"): value for name, value in options.items()
    }
    return catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=given)


def prepared(table: tc.Table, rows: Mapping[str, list[Any]]) -> Any:
    with table.write() as writer:
        writer.write(pa.table(dict(rows), schema=table.arrow_schema))
        return writer.prepare()


def files(table: tc.Table) -> set[str]:
    storage = table.access.storage
    return {info.path for info in storage.list("bucket-0")}


def live(table: tc.Table) -> list[Any]:
    entries = table.access.live_entries(table.latest_snapshot())
    return sorted((e.file for e in entries), key=lambda f: f.min_sequence_number)


def test_only_what_is_committed_stays_on_the_store() -> None:
    table = table_of(changelog_producer="input")
    first = prepared(table, {"k": [1, 2], "v": ["a", "b"]})
    second = prepared(table, {"k": [1, 3], "v": ["c", "d"]})
    table.commit([second])
    table.commit([first])
    assert len(files(table)) == 4, "data and changelog of each"
    older, newer = live(table)
    assert older.max_sequence_number < newer.min_sequence_number
    assert newer.max_sequence_number - newer.min_sequence_number == 1
    assert (newer.row_count, newer.level, newer.delete_row_count) == (2, 0, 0)
    assert table.read().to_arrow().to_pydict() == {"k": [1, 2, 3], "v": ["a", "b", "d"]}
    changes = table.changes(after=1, to=2).to_arrow()
    assert changes["v"].to_pylist() == ["a", "b"]


def test_a_commit_that_is_refused_leaves_nothing() -> None:
    table = table_of()
    first = prepared(table, {"k": [1], "v": ["a"]})
    table.commit([prepared(table, {"k": [1], "v": ["c"]})])
    there = files(table)
    with pytest.raises(tc.errors.CommitConflictError):
        table.commit([first], tc.CommitAs(expect={"tc.x": "1"}))
    assert files(table) <= there


def test_a_file_keeps_the_schema_it_was_written_with() -> None:
    old = table_of()
    alter(old.access, (AddColumn("more", Atomic(Root.INT)),))
    new = tc.Table(old.access.with_schema(old.access.metadata.latest_schema()))
    waiting = prepared(new, {"k": [1], "v": ["a"], "more": [7]})
    old.commit([prepared(old, {"k": [1], "v": ["c"]})])
    old.commit([waiting])
    assert new.read().to_arrow().to_pydict() == {"k": [1], "v": ["a"], "more": [7]}


def test_several_tasks_keep_their_order() -> None:
    table = table_of()
    tasks = [prepared(table, {"k": [1, n + 2], "v": [f"t{n}", "x"]}) for n in range(2)]
    table.commit([prepared(table, {"k": [1, 9], "v": ["between", "y"]})])
    table.commit(tasks)
    sizes = [(f.min_sequence_number, f.max_sequence_number) for f in live(table)]
    assert sizes[0][1] < sizes[1][0]
    assert table.read(where="k > 1").to_arrow()["v"].to_pylist() == ["x", "x", "y"]


def test_rows_without_a_key_in_fixed_buckets_are_in_the_order_of_commits() -> None:
    catalog = new_catalog()
    table = catalog.create_table("d.t", SCHEMA, options={"bucket": "1", "bucket-key": "k"})
    first, second = (prepared(table, {"k": [n], "v": [str(n)]}) for n in (1, 2))
    names = files(table)
    table.commit([second])
    table.commit([first])
    older, newer = live(table)
    assert older.max_sequence_number < newer.min_sequence_number
    assert files(table) == names, "their files say nothing of numbers"
    assert sorted(table.read().to_arrow()["k"].to_pylist()) == [1, 2]


def test_files_that_are_known_by_name_are_not_written_again() -> None:
    table = table_of(**{"commit.discard-duplicate-files": "true"})
    first, second = (prepared(table, {"k": [1], "v": [v]}) for v in "ab")
    table.commit([second])
    table.commit([second])
    assert len(live(table)) == 1
    with pytest.raises(tc.errors.CommitConflictError, match="numbered"):
        table.commit([first])
