"""DELETE, UPDATE and MERGE on tables without key that mark rows instead of writing files anew."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ondisk.index_manifest import IndexEntry
from table_core.table.read.state_plan import index_entries
from tests.tables import new_catalog, rows_of, write_rows

SCHEMA = pa.schema([("id", pa.int32()), ("p", pa.string()), ("n", pa.int64())])
LAYOUTS = {
    "plain": ((), {"bucket": "-1"}),
    "partitioned": (("p",), {"bucket": "-1"}),
    "bucketed": ((), {"bucket": "2", "bucket-key": "id"}),
    "bitmap64": (("p",), {"bucket": "-1", "deletion-vectors.bitmap64": "true"}),
    "small index files": ((), {"bucket": "-1", "deletion-vector.index-file.target-size": "1 b"}),
}


@pytest.fixture(params=LAYOUTS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tc.Table:
    partitions, options = LAYOUTS[request.param]
    catalog = new_catalog(f"memory://{tmp_path}")
    table = catalog.create_table(
        "d.t",
        SCHEMA,
        partition_by=partitions,
        options={"deletion-vectors.enabled": "true", **options},
    )
    for start in (0, 10, 20):
        ids = range(start, start + 10)
        put(table, [{"id": i, "p": f"p{i % 2}", "n": i} for i in ids])
    return table


def put(table: tc.Table, rows: list[dict[str, object]]) -> None:
    write_rows(table, pa.Table.from_pylist(rows, schema=SCHEMA))


def vectors(table: tc.Table) -> list[IndexEntry]:
    head = table.latest_snapshot()
    assert head is not None
    return index_entries(table.access, head)


def data_files(table: tc.Table) -> set[str]:
    return {file.file_name for split in table.read().splits() for file in split.files}


def test_a_delete_marks_rows_and_leaves_the_files(table: tc.Table) -> None:
    before = data_files(table)
    done = table.delete("id in (0, 5, 15, 29)")
    assert done.details["rows"] == 4
    assert [row[0] for row in rows_of(table)] == [i for i in range(30) if i not in (0, 5, 15, 29)]
    assert data_files(table) == before
    head = table.latest_snapshot()
    assert head is not None
    assert head.commit_kind == "OVERWRITE"
    assert sum(r.cardinality or 0 for e in vectors(table) for r in e.ranges or ()) == 4


def test_marks_add_up_and_a_file_without_rows_goes(table: tc.Table) -> None:
    before = data_files(table)
    table.delete("id < 7 and id > 0")
    table.delete("id = 8")
    table.delete("id <= 9")
    assert [row[0] for row in rows_of(table)] == list(range(10, 30))
    assert data_files(table) < before
    assert not any(e.ranges for e in vectors(table))


def test_an_update_marks_the_old_rows_and_appends_the_new(table: tc.Table) -> None:
    table.update({"n": "n + 100"}, "id < 3")
    table.update({"n": "n + 100"}, "id < 2")
    expected = [(i, f"p{i % 2}", i + (200 if i < 2 else 100 if i == 2 else 0)) for i in range(30)]
    assert rows_of(table) == expected


def test_a_merge_changes_deletes_and_inserts(table: tc.Table) -> None:
    source = pa.table(
        {"id": pa.array([1, 2, 40], pa.int32()), "p": ["p1", "p0", "p0"], "n": [-1, -2, 5]}
    )
    table.merge_into(
        source,
        ["id"],
        [tc.MatchedDelete(condition="source.n = -1"), tc.MatchedUpsert(), tc.NotMatchedInsert()],
    )
    state = {row[0]: row for row in rows_of(table)}
    assert 1 not in state
    assert state[2] == (2, "p0", -2)
    assert state[40] == (40, "p0", 5)
    assert len(state) == 30


def test_random_statements_agree_with_a_list(table: tc.Table) -> None:
    draw = random.Random(3)
    model = {i: (i, f"p{i % 2}", i) for i in range(30)}
    for _ in range(12):
        chosen = draw.sample(range(30), 5)
        where = f"id in ({', '.join(map(str, chosen))})"
        if draw.random() < 0.5:
            table.delete(where)
            model = {i: row for i, row in model.items() if i not in chosen}
        else:
            table.update({"n": "n * 2 + 1"}, where)
            model = {i: (i, p, n * 2 + 1 if i in chosen else n) for i, (_, p, n) in model.items()}
        assert rows_of(table) == sorted(model.values())


def test_two_deletes_in_the_same_file_conflict(table: tc.Table) -> None:
    from table_core.table.commit_io.committer import commit_parts
    from table_core.table.dml.row_changes import RowChanges
    from table_core.table.metadata.results import CommitAs

    change = RowChanges(table.access, table.latest_snapshot())
    for bucket, name, rows in change.rows():
        change.take_out(bucket, name, rows["_POSITION"].to_numpy()[:1])
    part = change.part()
    table.delete("id in (0, 10, 20, 1, 11, 21)")
    before = rows_of(table)
    with pytest.raises(tc.errors.CommitConflictError):
        commit_parts(table.access, CommitAs(), append=part)
    assert rows_of(table) == before


def test_a_table_that_marks_no_more_writes_files_anew_and_forgets_their_marks(
    table: tc.Table,
) -> None:
    table.delete("id in (3, 13)")

    plain = type(table)(table.access.with_options({"deletion-vectors.enabled": "false"}))
    plain.update({"n": "0"}, "id in (2, 4, 12)")
    assert [row[0] for row in rows_of(table)] == [i for i in range(30) if i not in (3, 13)]
    assert sum(row[2] == 0 for row in rows_of(table)) == 4


def test_rows_that_are_deleted_while_their_file_is_compacted_stay_deleted(
    table: tc.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from table_core.table.compact import compact

    commit_parts = compact.commit_parts

    def meanwhile(*args: Any, **options: Any) -> tc.Commit:
        table.delete("id in (4, 5, 14, 15)")
        return commit_parts(*args, **options)

    monkeypatch.setattr(compact, "commit_parts", meanwhile)
    with pytest.raises(tc.errors.CommitConflictError):
        table.compact()
    assert [row[0] for row in rows_of(table)] == [i for i in range(30) if i not in (4, 5, 14, 15)]


def test_compaction_takes_the_marked_rows_away(table: tc.Table) -> None:
    table.delete("id in (3, 11, 12, 25)")
    before = rows_of(table)
    table.compact()
    assert rows_of(table) == before
    table.delete("id = 4")
    assert rows_of(table) == [row for row in before if row[0] != 4]
