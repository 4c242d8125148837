"""Tables of one key and one value, each commit one row; what is read is read from files, and nothing is remembered."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

import table_core as tc
from table_core.storage.stores.faults import Call, Faults, FaultyStorage
from table_core.table.metadata.documents import Metadata
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
OPTIONS = {
    "bucket": "1",
    "write-only": "true",
    "snapshot.time-retained": "1 ms",
    "snapshot.num-retained.min": "1",
    "manifest.merge-min-count": "1",
    "manifest.full-compaction-threshold-size": "1 b",
}


def create(**options: str) -> Any:
    catalog = new_catalog()
    named = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS | named)


def on_branch(table: Any, branch: str) -> Any:
    return tc.Table(replace(table.access, metadata=Metadata(table.access.storage, branch)))


def put(table: Any, key: int, **more: Any) -> None:
    write_rows(table, pa.table({"k": [key], "v": [key]}, schema=SCHEMA), **more)


def fresh(table: Any) -> Any:
    """The same files under a root of which nothing is remembered."""
    uri = f"memory://{uuid.uuid4().hex}/t"
    target = tc.open_catalog(uri).storage
    for info in table.access.storage.walk(""):
        target.write(info.path, table.access.storage.read(info.path))
    return tc.open_table(uri)


def keys(table: Any, **which: Any) -> list[int]:
    return sorted(table.read(**which).to_arrow()["k"].to_pylist())


def between(table: Any, at: tuple[str, str], other: Callable[[], object], after: int = 0) -> Any:
    """The same table; before its call ``at`` (name, path), but the first ``after``, ``other`` runs."""
    met, running = 0, False

    def meanwhile(call: Call) -> None:
        nonlocal met, running
        if running or (call.name, call.path) != at:
            return
        met += 1
        if met == after + 1:
            running = True
            other()
            running = False

    storage = FaultyStorage(table.access.storage, Faults(meanwhile))
    return tc.Table(replace(table.access, storage=storage, metadata=Metadata(storage)))
