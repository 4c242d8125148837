"""Each verb with a dry run, and a shop of tables on which it has something to do."""

from __future__ import annotations

import datetime as dt
import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

import table_core as tc
from tests.clocks import Later
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("dt", pa.string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        pa.field("v", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Shop:
    """A table with a history: snapshots, tags, changelogs, a branch, consumers, orphans."""

    catalog: Any

    @property
    def table(self) -> Any:
        return self.catalog.table("d.t")

    def later(self) -> Any:
        return tc.Table(replace(self.table.access, clock=Later()))

    def files(self) -> dict[str, str]:
        storage = self.catalog.storage
        found = (info.path for info in storage.walk(""))
        return {path: hashlib.sha256(storage.read(path)).hexdigest() for path in found}


def filled_shop() -> Shop:
    """A table with a history, tags, a branch, a consumer and a file that nobody knows."""
    catalog = new_catalog()
    options = {
        "bucket": "1",
        "write-only": "true",
        "changelog-producer": "input",
        "changelog.num-retained.min": "20",
        "partition.expiration-time": "7 d",
        "manifest.merge-min-count": "100",
    }
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("dt", "k"), partition_by=("dt",), options=options
    )
    for key in range(6):
        rows = {"dt": [["2020-01-01", "2999-01-01"][key % 2]], "k": [key], "v": [key]}
        write_rows(
            table, pa.table(rows, schema=SCHEMA), overwrite="partitions" if key == 3 else None
        )
        if key in (1, 2):
            table.tags.create(f"t{key}", time_retained="1 d")
    table.branches.create("b", snapshot=4)
    table.consumers.reset("c", 5)
    table.expire_snapshots(retain_max=3)
    table.access.storage.write(f"manifest/manifest-{uuid.uuid4()}-0", b"rest")
    return Shop(catalog)


Verb = Callable[..., Any]
OLD = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
VERBS: dict[str, Callable[[Shop], tuple[Verb, dict[str, Any]]]] = {
    "compact": lambda s: (s.table.compact, {}),
    "rescale": lambda s: (s.table.rescale, {"buckets": 3}),
    "rewrite-manifests": lambda s: (s.table.rewrite_manifests, {}),
    "truncate": lambda s: (s.table.truncate, {}),
    "drop-partitions": lambda s: (
        s.table.drop_partitions,
        {"partitions": [{"dt": "2020-01-01"}]},
    ),
    "analyze": lambda s: (s.table.analyze, {}),
    "mark-done": lambda s: (s.table.mark_done, {"partitions": [{"dt": "2020-01-01"}]}),
    "expire-snapshots": lambda s: (s.table.expire_snapshots, {"retain_max": 1}),
    "expire-changelogs": lambda s: (
        s.table.expire_changelogs,
        {"retain_max": 2, "retain_min": 1},
    ),
    "expire-partitions": lambda s: (s.table.expire_partitions, {}),
    "expire-tags": lambda s: (s.later().expire_tags, {}),
    "remove-orphan-files": lambda s: (
        s.later().remove_orphan_files,
        {"older_than": dt.datetime.now(dt.UTC) + dt.timedelta(days=1)},
    ),
    "rollback": lambda s: (s.table.rollback_to, {"tag": "t1"}),
    "delete-tags": lambda s: (s.table.delete_tags, {"names": ["t1", "t2"]}),
    "delete-tag": lambda s: (s.table.tags.delete, {"name": "t2"}),
    "replace-tag": lambda s: (s.table.tags.replace, {"name": "t2"}),
    "rename-tag": lambda s: (s.table.tags.rename, {"name": "t2", "to": "x"}),
    "create-branch": lambda s: (s.table.branches.create, {"name": "n", "snapshot": 6}),
    "delete-branch": lambda s: (s.table.branches.delete, {"name": "b"}),
    "rename-branch": lambda s: (s.table.branches.rename, {"name": "b", "to": "x"}),
    "fast-forward": lambda s: (s.table.branches.fast_forward, {"name": "b"}),
    "reset-consumer": lambda s: (s.table.consumers.reset, {"id": "c", "next_snapshot": 6}),
    "delete-consumer": lambda s: (s.table.consumers.delete, {"id": "c"}),
    "clear-consumers": lambda s: (s.table.consumers.clear, {}),
    "expire-consumers": lambda s: (s.table.consumers.expire, {"older_than": OLD}),
    "clone": lambda s: (s.catalog.clone_table, {"name": "d.t", "to_name": "d.u"}),
    "clone-database": lambda s: (
        s.catalog.clone_database,
        {"database": "d", "to_database": "e"},
    ),
    "compact-database": lambda s: (
        s.catalog.compact_database,
        {"database": "d", "strategy": "full"},
    ),
}
