"""DELETE and UPDATE through the table handle, where no other engine needs to look on."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import (
    CommitConflictError,
    NotFoundError,
    TableError,
    UnsupportedFeatureError,
)
from tests.tables import new_catalog, rows_of, write_rows

SCHEMA = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), ("v", pa.string()), ("n", pa.int64())]
)


def make(*, key: bool, **options: str) -> Any:
    catalog = new_catalog()
    named = {name.replace("__", ".").replace("_", "-"): text for name, text in options.items()}
    bucket = {"bucket": "1"} if key else {}
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("k",) if key else (), options={**bucket, **named}
    )
    for start in (0, 10):
        numbers = range(start, start + 10)
        write_rows(
            table,
            pa.table(
                {"k": list(numbers), "v": [f"v{i}" for i in numbers], "n": list(numbers)},
                schema=SCHEMA,
            ),
        )
    return table


def test_a_delete_touches_only_files_that_hold_its_rows() -> None:
    table = make(key=False)
    before = {e.file.file_name for e in table.access.live_entries(table.access.metadata.head())}
    result = table.delete("k IN (3, 4)")
    after = {e.file.file_name for e in table.access.live_entries(table.access.metadata.head())}
    assert len(before & after) == 1
    assert result.details["rows"] == 2
    assert result.files_deleted == 1
    assert table.latest_snapshot().commit_kind.value == "OVERWRITE"
    assert [row[0] for row in rows_of(table)] == [0, 1, 2, *range(5, 20)]


def test_a_delete_of_nothing_makes_no_snapshot() -> None:
    for key in (True, False):
        table = make(key=key)
        head = table.latest_snapshot().id
        assert table.delete("k > 100").snapshot_after == head
        assert table.latest_snapshot().id == head


def test_null_conditions_delete_nothing() -> None:
    table = make(key=False)
    table.update({"n": "CAST(NULL AS BIGINT)"}, "k < 10")
    table.delete("n < 100")
    assert [row[0] for row in rows_of(table)] == list(range(10))


def test_an_update_sees_the_row_as_it_was() -> None:
    for key in (True, False):
        table = make(key=key)
        table.update({"n": "n + 1", "v": "CAST(n AS STRING)"}, tc.col("k") == 5)
        assert rows_of(table)[5] == (5, "5", 6)
        assert rows_of(table)[6] == (6, "v6", 6)


@pytest.mark.parametrize("key", [True, False])
def test_an_update_may_use_a_column_called_target(key: bool) -> None:
    schema = pa.schema(
        [pa.field("k", pa.int32(), nullable=False), ("target", pa.int64()), ("v", pa.string())]
    )
    table = new_catalog().create_table(
        "d.t", schema, primary_key=("k",) if key else (), options={"bucket": "1"} if key else {}
    )
    write_rows(table, pa.table({"k": [1, 2], "target": [5, 6], "v": ["", ""]}, schema=schema))
    table.update({"v": "CAST(target AS STRING)", "target": "target + 1"}, "target = 5")
    assert rows_of(table) == [(1, 6, "5"), (2, 6, "")]


def test_an_update_that_does_not_fit_changes_nothing() -> None:
    table = make(key=False)
    with pytest.raises(TableError, match="'k'"):
        table.update({"k": "n + 3000000000"}, "k = 5")
    assert len(rows_of(table)) == 20


def test_the_key_cannot_be_updated() -> None:
    with pytest.raises(TableError, match="delete the rows"):
        make(key=True).update({"k": "k + 1"}, "k = 5")


def test_engines_that_do_not_delete_say_so() -> None:
    for options in ({"merge_engine": "aggregation"}, {"merge_engine": "first-row"}):
        with pytest.raises(TableError, match="cannot be deleted"):
            make(key=True, **options).delete("k = 5")


def test_a_statement_without_condition_is_refused() -> None:
    with pytest.raises(TableError, match="condition"):
        make(key=False).delete("")


def test_a_repeated_statement_is_done_once() -> None:
    table = make(key=False)
    commit = tc.CommitAs(user="job", identifier=1)
    table.update({"n": "n + 1"}, "k = 5", commit=commit)
    assert table.update({"n": "n + 1"}, "k = 5", commit=commit).details["replayed"]
    assert rows_of(table)[5][2] == 6


def test_a_file_changed_meanwhile_is_a_conflict() -> None:
    from table_core.commit.request import CommitPart
    from table_core.table.commit_io.committer import commit_parts
    from table_core.table.dml.row_changes import RowChanges
    from table_core.table.read.scan import bound_where

    table = make(key=False)
    access = table.access
    change = RowChanges(access, access.metadata.head())
    for bucket, name, found in change.rows(bound_where(access.schema, "k = 5")):
        change.take_out(bucket, name, found["_POSITION"].to_numpy())
    part = change.part()
    table.delete("k = 6")
    assert isinstance(part, CommitPart)
    with pytest.raises(CommitConflictError):
        commit_parts(access, tc.CommitAs(), append=part)


def test_a_merge_into_a_table_without_key_does_what_it_does_to_a_key_table() -> None:
    source = pa.table({"k": pa.array([3, 4, 50], pa.int32()), "v": ["x", "y", "z"], "n": [0, 1, 2]})
    results = []
    for key in (True, False):
        table = make(key=key)
        done = table.merge_into(
            source,
            on=["k"],
            when=[
                tc.MatchedDelete(condition="source.n = 0"),
                tc.MatchedUpsert(values={"v": "source.v", "n": "target.n + 100"}),
                tc.NotMatchedInsert(),
                tc.NotMatchedBySourceDelete(condition="target.k > 15"),
                tc.NotMatchedBySourceUpsert(values={"v": "'left'"}, condition="target.k = 0"),
            ],
        )
        results.append((rows_of(table), done.details["rows_by_clause"]))
    assert results[0] == results[1]
    found = {row[0]: row[1:] for row in results[0][0]}
    assert found[4] == ("y", 104)
    assert found[50] == ("z", 2)
    assert found[0] == ("left", 0)
    assert set(found) == {0, 1, 2, *range(4, 16), 50}


def test_a_merge_that_cannot_do_what_it_says_is_refused_before_it_writes() -> None:
    source = pa.table({"k": pa.array([3], pa.int32())})
    table = make(key=True, merge_engine="partial-update")
    head = table.latest_snapshot().id
    for clause in (tc.MatchedDelete(), tc.NotMatchedBySourceDelete()):
        with pytest.raises(UnsupportedFeatureError, match="remove-record-on-delete"):
            table.merge_into(source, ["k"], [clause])
    with pytest.raises(NotFoundError, match="no column 'V'"):
        table.merge_into(source, ["k"], [tc.MatchedUpsert(values={"V": "'x'"})])
    assert table.latest_snapshot().id == head
