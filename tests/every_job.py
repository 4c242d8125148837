"""Jobs of every kind, and the tables on which they run."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import table_core as tc
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        ("v", pa.int64()),
    ]
)
KINDS: dict[str, dict[str, str]] = {
    "key": {"bucket": "2"},
    "append": {"bucket": "-1"},
    "append, vectors": {"bucket": "-1", "deletion-vectors.enabled": "true"},
    "append in buckets": {"bucket": "2", "bucket-key": "k"},
    "postponed": {"bucket": "-2"},
    "lookup": {"bucket": "1", "changelog-producer": "lookup", "write-only": "false"},
}


def put(table: tc.Table, *rows: tuple[str, int, int], **how: Any) -> None:
    write_rows(table, pa.table(list(map(list, zip(*rows, strict=True))), schema=SCHEMA), **how)


def lake_of(kind: str, uri: str) -> tc.Catalog:
    """Tables ``d.t`` of the kind, with a history, and ``d.s``, which it is fed from."""
    catalog = new_catalog(uri)
    key = () if kind.startswith("append") else ("p", "k")
    options = {"write-only": "true", "snapshot.num-retained.max": "100"} | KINDS[kind]
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=key, partition_by=("p",), options=options
    )
    for n in range(4):
        put(table, ("a", n, n), ("b", n % 2, n), ("2020-01-01", n, n))
    if kind == "postponed":
        table.compact()
    table.tags.create("old", snapshot=2)
    source = catalog.create_table("d.s", SCHEMA, options={"bucket": "-1"})
    put(source, ("a", 1, 100), ("a", 77, 100))
    return catalog


MERGE = {
    "source": {"table": "d.s"},
    "on": ["p", "k"],
    "when": [{"action": "matched-upsert"}, {"action": "not-matched-insert"}],
}
FLOW = {"sql": "SELECT p, k, v FROM s", "sources": {"s": {"table": "d.s", "mode": "changes"}}}
ONE_ROW = "SELECT 'a' AS p, CAST(9 AS BIGINT) AS k, CAST(1 AS BIGINT) AS v"
JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "write": ("write", {"sql": ONE_ROW}),
    "write, no rows": ("write", {"sql": f"{ONE_ROW} LIMIT 0"}),
    "flow": ("write", FLOW),
    "overwrite": ("write", {"sql": ONE_ROW, "overwrite": "table"}),
    "overwrite a partition": ("write", {"sql": ONE_ROW, "overwrite": {"p": "a"}}),
    "overwrite partitions": ("write", {"sql": ONE_ROW, "overwrite": "partitions"}),
    "files": ("write", {"rows_uri": "{inbox}/*.jsonl", "rows_position": "tc.files.in"}),
    "merge-into": ("merge-into", MERGE),
    "delete": ("delete", {"where": "k = 1"}),
    "delete whole files": ("delete", {"where": "p = 'a'"}),
    "delete nothing": ("delete", {"where": "k = 1000"}),
    "update": ("update", {"values": {"v": "v + 1"}, "where": "k < 2"}),
    "compact": ("compact", {"strategy": "full"}),
    "compact minor": ("compact", {"strategy": "minor"}),
    "compact a partition": ("compact", {"strategy": "full", "partitions": [{"p": "a"}]}),
    "drop-partitions": ("drop-partitions", {"partitions": [{"p": "a"}, {"p": "none"}]}),
    "expire-snapshots": ("expire-snapshots", {"retain_max": 1}),
    "expire-changelogs": ("expire-changelogs", {"retain_max": 1}),
    "expire-partitions": ("expire-partitions", {"expiration_time": "7 d"}),
    "expire-tags": ("expire-tags", {}),
    "mark-done": ("mark-done", {"partitions": [{"p": "a"}]}),
    "analyze": ("analyze", {}),
    "rewrite-manifests": ("rewrite-manifests", {}),
    "check": ("check", {"rules": {"not_null": ["k"]}}),
    "create-table": ("create-table", {"columns": {"p": "STRING"}}),
    "alter-table": (
        "alter-table",
        {"changes": [{"change": "AddColumn", "name": "x", "type": "INT"}]},
    ),
    "create-tag": ("create-tag", {"name": "new"}),
    "delete-tag": ("delete-tag", {"name": "old"}),
    "create-branch": ("create-branch", {"name": "side", "tag": "old"}),
    "delete-branch": ("delete-branch", {"name": "side"}),
    "rollback": ("rollback", {"tag": "old"}),
    "set-position": ("set-position", {"name": "tc.files.in", "text": '{"at": 1}'}),
}
RESCALE = {"rescale": ("rescale", {"buckets": 3})}
