"""Table statistics: what ANALYZE finds, and that a snapshot names it."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("day", pa.date32()),
        pa.field("many", pa.list_(pa.int32())),
    ]
)


def create() -> Any:
    catalog = new_catalog()
    return catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "1"})


def put(table: Any, *rows: tuple[Any, ...]) -> None:
    columns = dict(zip(SCHEMA.names, map(list, zip(*rows, strict=True)), strict=True))
    write_rows(table, pa.table(columns, schema=SCHEMA))


def stored(table: Any) -> Any:
    name = table.latest_snapshot().statistics
    return json.loads(table.access.storage.read(f"statistics/{name}"))


def test_rows_are_counted_as_they_are_read() -> None:
    table = create()
    put(table, (1, "a", Decimal("1.50"), dt.date(2026, 1, 2), [1]), (2, "bbb", None, None, None))
    put(table, (2, "é", Decimal(-3), None, None), (3, None, None, None, None))
    before = table.latest_snapshot()
    done = table.analyze()
    head = table.latest_snapshot()
    assert (head.id, head.commit_kind) == (before.id + 1, "ANALYZE")
    assert head.total_record_count == before.total_record_count
    found = stored(table)
    assert (found["snapshotId"], found["schemaId"], found["mergedRecordCount"]) == (before.id, 0, 3)
    assert found["mergedRecordSize"] > 0
    assert found["colStats"] == done.details["columns"]
    assert found["colStats"] == {
        "k": {
            "colId": 0,
            "distinctCount": 3,
            "min": "1",
            "max": "3",
            "nullCount": 0,
            "avgLen": 8,
            "maxLen": 8,
        },
        "name": {"colId": 1, "distinctCount": 2, "nullCount": 1, "avgLen": 2, "maxLen": 2},
        "price": {
            "colId": 2,
            "distinctCount": 2,
            "min": "-3.00",
            "max": "1.50",
            "nullCount": 1,
            "avgLen": 8,
            "maxLen": 8,
        },
        "day": {
            "colId": 3,
            "distinctCount": 1,
            "min": "20455",
            "max": "20455",
            "nullCount": 2,
            "avgLen": 4,
            "maxLen": 4,
        },
        "many": {"colId": 4, "nullCount": 2},
    }
    assert table.system("statistics").to_arrow()["mergedRecordCount"].to_pylist() == [3]


def test_it_is_kept_by_later_commits_and_by_upkeep() -> None:
    table = create()
    put(table, (1, "a", None, None, None))
    table.analyze(columns=["k"])
    put(table, (2, "b", None, None, None))
    table.expire_snapshots(retain_max=1)
    soon = table.access.clock.now_ms() + 60_000
    table.remove_orphan_files(older_than=soon, allow_young=True)
    assert list(stored(table)["colStats"]) == ["k"]
    assert table.read().to_arrow().num_rows == 2


def test_many_distinct_values_are_estimated() -> None:
    table = create()
    put(table, *((i, f"n{i % 100}", None, None, None) for i in range(30_000)))
    columns = table.analyze().details["columns"]
    assert columns["name"]["distinctCount"] == 100
    assert abs(columns["k"]["distinctCount"] - 30_000) < 1_500


def test_a_repeated_commit_is_found_and_an_empty_table_has_nothing_to_say() -> None:
    table = create()
    assert table.analyze().snapshot_after is None
    put(table, (1, "a", None, None, None))
    who = tc.CommitAs(user="u", identifier=3)
    first = table.analyze(commit=who)
    again = table.analyze(commit=who)
    assert again.details["replayed"]
    assert first.snapshot_after == again.snapshot_after == table.latest_snapshot().id
    with pytest.raises(tc.errors.ArgumentError, match="nope"):
        table.analyze(columns=["nope"])


def test_jobs_do_upkeep(tmp_path: Any) -> None:
    from table_core.jobs.job_spec import JobSpec
    from table_core.jobs.run import run_embedded

    catalog = new_catalog(tmp_path.as_uri())
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    put(table, (1, "a", None, None, None))
    for action in ("remove-orphan-files", "expire-changelogs", "expire-tags", "analyze"):
        spec = JobSpec(action=action, warehouse=tmp_path.as_uri(), table="d.t", args={})
        done = run_embedded(JobSpec.from_json(spec.to_json()))
        assert (done["action"], done["files_deleted"]) == (action, 0)
    assert table.latest_snapshot().commit_kind == "ANALYZE"


@pytest.mark.parametrize("handle", ["new", "old"])
def test_a_column_whose_type_changed_since_the_newest_snapshot_is_counted_in_its_new_type(
    handle: str,
) -> None:
    catalog = new_catalog()
    old = catalog.create_table("d.t", pa.schema([("k", pa.int64()), ("v", pa.int64())]))
    write_rows(old, pa.table({"k": [1, 2], "v": [1234, 5]}))
    catalog.alter_table(
        "d.t",
        [tc.UpdateColumnType("v", "STRING"), tc.RenameColumn("k", "key"), tc.AddColumn("x", "INT")],
    )
    table = catalog.table("d.t")
    (old if handle == "old" else table).analyze()
    found = stored(table)
    assert found["schemaId"] == 1
    assert sorted(found["colStats"]) == ["key", "v", "x"]
    assert found["colStats"]["v"]["maxLen"] == 4
    assert found["colStats"]["x"]["nullCount"] == 2
