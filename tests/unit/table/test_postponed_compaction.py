"""A compaction of rows that wait for their bucket (``bucket=-2``): fully, and with its changes."""

from __future__ import annotations

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, rows_of, write_rows

SCHEMA = pa.schema(
    [
        pa.field("day", pa.string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        ("v", pa.int64()),
    ]
)
Row = tuple[str, int, int]
PRODUCERS = ("none", "input", "lookup", "full-compaction")


def table_of(**options: str) -> tc.Table:
    given = {name.replace("_", "-"): value for name, value in options.items()} | {"num-levels": "6"}
    return new_catalog().create_table(
        "d.t",
        SCHEMA,
        partition_by=("day",),
        primary_key=("day", "k"),
        options={"bucket": "-2", "postpone.default-bucket-num": "2", **given},
    )


def put(table: tc.Table, *rows: Row) -> None:
    write_rows(table, pa.table(list(zip(*rows, strict=True)), schema=SCHEMA))


def replayed(table: tc.Table) -> list[tuple[object, ...]]:
    rows: dict[tuple[object, ...], object] = {}
    head = table.latest_snapshot()
    assert head is not None
    for row in table.changes(after=0, to=head.id, mode="changelog").to_arrow().to_pylist():
        key = row["day"], row["k"]
        if row["_ROW_KIND"] in {"-U", "-D"}:
            assert rows.pop(key) == row["v"]
        else:
            assert key not in rows
            rows[key] = row["v"]
    return sorted((*key, v) for key, v in rows.items())


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("trigger", ["2", "9"])
def test_a_full_compaction_leaves_one_sorted_run_a_bucket(producer: str, trigger: str) -> None:
    table = table_of(changelog_producer=producer, **{"num-sorted-run.compaction-trigger": trigger})
    want: dict[tuple[str, int], int] = {}
    for n in range(3):
        new = [(day, k, 10 * n + k) for day in ("a", "b") for k in range(n, n + 4)]
        want |= {(day, k): v for day, k, v in new}
        put(table, *new[:3])
        put(table, *new[3:])
        table.compact("full")
        files = table.system("files").to_arrow().to_pylist()
        assert {file["level"] for file in files} == {5}
        assert rows_of(table) == sorted((*key, v) for key, v in want.items())
        if producer in {"lookup", "full-compaction"}:
            assert replayed(table) == rows_of(table)


def test_full_compactions_by_commits_deliver_all_buckets_together() -> None:
    table = table_of(changelog_producer="full-compaction", **{"full-compaction.delta-commits": "3"})
    put(table, ("a", 1, 1), ("b", 1, 1))
    table.compact("minor")
    assert replayed(table) == []
    put(table, ("a", 2, 2))
    put(table, ("a", 1, 3))
    table.compact("minor")  # the third commit since: b too, which it does not touch
    assert replayed(table) == rows_of(table) == [("a", 1, 3), ("a", 2, 2), ("b", 1, 1)]


def test_a_statement_gives_waiting_rows_their_buckets() -> None:
    table = table_of(changelog_producer="full-compaction")
    put(table, ("a", 1, 1), ("b", 1, 1))
    put(table, ("a", 1, 2))
    table.update({"v": "v + 1"}, "k = 1")
    table.compact("full")
    assert replayed(table) == rows_of(table) == [("a", 1, 3), ("b", 1, 2)]
