"""Jobs whose result is known exactly, on tables of each layout."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import table_core as tc
from tests.tables import write_rows

COUNT = 40_000
SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("part", pa.string()), ("v", pa.string())]
)
DYNAMIC = {"bucket": "-1", "dynamic-bucket.target-row-num": "1000"}
KEYED: dict[str, Any] = {"primary_key": ("id",), "options": {"bucket": "64"}}
LAYOUTS: dict[str, dict[str, Any]] = {
    "append": {"options": {"bucket": "-1"}},
    "append by bucket": {"options": {"bucket": "64", "bucket-key": "id"}},
    "append by partition": {"options": {"bucket": "-1"}, "partition_by": ("part",)},
    "key": KEYED,
    "key that is due": {
        "primary_key": ("id",),
        "options": {"bucket": "64", "num-sorted-run.compaction-trigger": "2"},
    },
    "key with changelog": {
        "primary_key": ("id",),
        "options": {
            "bucket": "64",
            "changelog-producer": "full-compaction",
            "full-compaction.delta-commits": "1",
        },
    },
    "dynamic": {"primary_key": ("id",), "options": DYNAMIC},
    "across partitions": {"primary_key": ("id",), "partition_by": ("part",), "options": DYNAMIC},
}


def rows(turn: int = 0) -> pa.Table:
    ids = range(turn * 100, COUNT + turn * 100)
    return pa.table(
        {"id": ids, "part": [str(i % 40) for i in ids], "v": [f"{turn}-{i}" for i in ids]},
        schema=SCHEMA,
    )


def same(found: pa.Table, expected: pa.Table) -> bool:
    order = [(name, "ascending") for name in expected.column_names]
    found, expected = found.sort_by(order), expected.sort_by(order)
    return bool(found.select(expected.column_names).equals(expected.cast(found.schema)))


def exact(table: tc.Table, expected: pa.Table) -> None:
    """The rows are those, every file is named once, is there, and counts its own rows."""
    assert same(table.read().to_arrow(), expected)
    entries = table.access.live_entries(table.latest_snapshot())
    names = [entry.file.file_name for entry in entries]
    assert len(names) == len(set(names))
    if not table.primary_key:
        assert sum(entry.file.row_count for entry in entries) == expected.num_rows


def loaded(catalog: tc.Catalog, name: str, turns: int = 2, **layout: Any) -> tc.Table:
    options = {**layout["options"], "write-only": "true"}
    table = catalog.create_table(name, SCHEMA, **{**layout, "options": options})
    for turn in range(turns):
        write_rows(table, rows(turn))
    return table


S_ROWS: dict[str, Any] = {"s": {"table": "d.s"}}
JOBS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "compact": ("key", "compact", {"strategy": "full"}),
    "compact an append table": ("append by partition", "compact", {"strategy": "full"}),
    "sort": ("append by partition", "compact", {"order_by": ["zorder(id, v)"]}),
    "write": ("key", "write",
              {"sql": "SELECT id, part, upper(v) v FROM s", "sources": S_ROWS}),
    "delete": ("key", "delete", {"where": "id % 3 = 0"}),
    "delete from an append table": ("append by bucket", "delete", {"where": "id % 3 = 0"}),
    "update": ("key", "update", {"values": {"v": "part"}, "where": "id % 2 = 1"}),
    "update of an append table": (
        "append by bucket", "update", {"values": {"v": "part"}, "where": "id % 2 = 1"}),
    "compact what is due": ("key that is due", "compact", {"strategy": "minor"}),
    "rescale": ("key", "rescale", {"buckets": 24}),
    "merge-into": ("key", "merge-into", {
        "source": {"sql": "SELECT id, part, upper(v) v FROM s WHERE id % 3 = 0", "sources": S_ROWS},
        "on": ["id"],
        "when": [
            {"action": "matched-upsert", "values": None, "condition": None},
            {"action": "not-matched-insert", "values": None, "condition": None},
            {"action": "not-matched-by-source-delete", "values": None,
             "condition": "target.id % 2 = 0"},
        ],
    }),
}  # fmt: skip
JOBS["merge-into an append table"] = ("append by bucket", *JOBS["merge-into"][1:])
"""Layout, action and arguments of jobs as an operator sends them: by tasks, and embedded as the oracle."""


def unknown_files(table: tc.Table) -> list[str]:
    """Data files in the folder of the table that its newest snapshot does not have, after a look for orphans."""
    table.expire_snapshots(retain_max=1, retain_min=1, older_than=int(time.time() * 1000) + 1000)
    table.remove_orphan_files(older_than=int(time.time() * 1000) + 1000, allow_young=True)
    folder = Path(table.uri.removeprefix("file://"))
    live = {entry.file.file_name for entry in table.access.live_entries(table.latest_snapshot())}
    there = [path for path in folder.rglob("*") if path.is_file() and "bucket-" in path.parent.name]
    left = [path.name for path in there if path.name not in live]
    return left + [str(path) for path in folder.glob(".spark.*")]
