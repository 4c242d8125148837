"""Small warehouses in memory that are copied whole, and what can be seen of one.

A copy is a dictionary of paths to bytes, so that each interleaving begins with the same table.  A look reads all
that a user could: rows, tags, branches, options.  Snapshot ids are no part of it: they differ by order.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

import table_core as tc
from table_core.storage.stores.faults import Faults, FaultyStorage
from table_core.storage.stores.memory import MemoryStorage
from table_core.table.metadata import documents
from table_core.table.metadata.refs.branches import branch_access
from tests.tables import write_rows

__all__ = [
    "BEGUN_MS",
    "KINDS",
    "SCHEMA",
    "Kind",
    "Lake",
    "forget",
    "row",
    "rows_of",
    "seen",
    "seen_of",
    "waits",
]

SCHEMA: Final = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int64(), nullable=False),
        ("v", pa.int64()),
    ]
)
BEGUN_MS: Final = 1_800_000_100_000
"""What is older was there before the verbs began."""
_READ: Final = 3
"""Up to this snapshot of ``d.t`` the flow by changes into ``d.s`` has read."""
_NUMBERS = itertools.count()
_HOLD: Final = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^flow-")
"""A tag or consumer that a verb makes for as long as it takes, and a kill leaves for an hour; or a flow, for its next run."""


@dataclass
class Clock:
    """Each look takes a millisecond, so that nothing happens twice at one time; nobody waits."""

    at: int = 1_800_000_000_000

    def now_ms(self) -> int:
        self.at += 1
        return self.at

    def local_offset_ms(self, at_ms: int) -> int:
        return 0

    def sleep_ms(self, duration_ms: int) -> None:
        self.at += duration_ms


@dataclass(frozen=True)
class Kind:
    """A kind of table."""

    name: str
    options: dict[str, str]
    key: tuple[str, ...] = ("p", "k")
    partition_by: tuple[str, ...] = ()
    is_expired: bool = False
    """Tags and the branch are all that keeps older states."""

    @property
    def is_key_table(self) -> bool:
        return bool(self.key)


_BASE: Final = {"snapshot.num-retained.max": "100", "file-operation.thread-num": "1"}
_SUM: Final = {
    "merge-engine": "aggregation",
    "fields.v.aggregate-function": "sum",
    "aggregation.remove-record-on-delete": "true",
}
KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("append", {"bucket": "-1"}, key=()),
        Kind("append in buckets", {"bucket": "2", "bucket-key": "k"}, key=(), partition_by=("p",)),
        Kind("append, vectors", {"bucket": "-1", "deletion-vectors.enabled": "true"}, key=()),
        Kind("append, partitioned", {"bucket": "-1"}, key=(), partition_by=("p",)),
        Kind("key", {"bucket": "1"}),
        Kind("key in buckets", {"bucket": "2"}, partition_by=("p",)),
        Kind("key, vectors", {"bucket": "1", "deletion-vectors.enabled": "true"}),
        Kind("dynamic", {"bucket": "-1"}, partition_by=("p",)),
        Kind("postponed", {"bucket": "-2"}, partition_by=("p",)),
        Kind("lookup", {"bucket": "1", "changelog-producer": "lookup"}),
        Kind("full-compaction", {"bucket": "1", "changelog-producer": "full-compaction"}),
        Kind("input", {"bucket": "1", "changelog-producer": "input"}, partition_by=("p",)),
        Kind("partial-update", {"bucket": "1", "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}),
        Kind("aggregation", {"bucket": "1", **_SUM}),
        Kind("key, expired", {"bucket": "1"}, is_expired=True),
        Kind("first-row", {"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"}),
    )
}  # fmt: skip


def row(p: str, k: int, v: int | None) -> pa.Table:
    """One row."""
    return pa.table({"p": [p], "k": [k], "v": [v]}, schema=SCHEMA)


@dataclass
class Lake:
    """One warehouse."""

    storage: MemoryStorage
    clock: Clock = field(default_factory=Clock)

    @classmethod
    def of(cls, kind: Kind) -> Lake:
        """The table ``d.t`` with a history, two tags, a branch with a commit of its own, and a reader."""
        clock = Clock()
        lake = cls(MemoryStorage(f"i{next(_NUMBERS)}", now_ms=clock.now_ms), clock)
        catalog = lake.catalog()
        catalog.create_database("d")
        table = catalog.create_table(
            "d.t",
            SCHEMA,
            primary_key=kind.key,
            partition_by=kind.partition_by,
            options=_BASE | kind.options,
        )
        for n in range(1, 4):
            write_rows(table, pa.concat_tables([row("a", n, n), row("b", n, 10 * n)]))
        table.tags.create("old", snapshot=2)
        table.branches.create("side", tag="old")
        write_rows(catalog.table("d.t$branch_side"), row("a", 50, 50))
        if kind.options["bucket"] == "-2":
            table.compact()
        write_rows(table, row("a", 1, 100))
        table.tags.create("mid")
        table.consumers.reset("reader", next_snapshot=(table.latest_snapshot().id - 1))
        table.compact()
        write_rows(table, row("b", 2, 200))
        if kind.is_expired:
            table.expire_snapshots(retain_max=2, retain_min=1)
        other = catalog.create_table("d.s", SCHEMA, options={"bucket": "-1"})
        write_rows(other, row("a", 1, 1000))
        clock.at = BEGUN_MS
        return lake

    def copied(self) -> Lake:
        """The same warehouse as another one."""
        clock = Clock(self.clock.at)
        storage = MemoryStorage(f"i{next(_NUMBERS)}", now_ms=clock.now_ms)
        disk, mine = storage._disk, self.storage._disk
        disk.files, disk.folders, disk.puts = dict(mine.files), set(mine.folders), mine.puts
        disk.within = {folder: dict(paths) for folder, paths in mine.within.items()}
        return Lake(storage, clock)

    def begun(self) -> Lake:
        """A copy for verbs: a flow has read a part of its table, which a position knows by its place."""
        lake = self.copied()
        catalog = lake.catalog()
        into, source = catalog.table("d.s"), catalog.table("d.t")
        into.positions.set("tc.flow.changes", snapshot=_READ, source=source)
        return lake

    def catalog(self, faults: Faults | None = None) -> tc.Catalog:
        """The warehouse as one process sees it."""
        storage: Any = self.storage if faults is None else FaultyStorage(self.storage, faults)
        plain = tc.open_catalog("memory://unused")
        return replace(plain, storage=storage, clock=self.clock)


def rows_of(table: tc.Table, **state: Any) -> list[tuple[Any, ...]]:
    """The rows of a state, in an order."""
    found = table.read(**state).to_arrow().to_pylist()
    return sorted((tuple(one.values()) for one in found), key=repr)


def forget() -> None:
    """Another process: nothing that this one has read is remembered, so that what is gone is missed."""
    for memory in (documents._MANIFESTS, documents._COLUMNS):
        memory._entries.clear()
        memory._weight = 0


def seen(lake: Lake) -> dict[str, Any]:
    """All that a user sees, table by table."""
    forget()
    return {name: seen_of(lake, f"d.{name}") for name in lake.catalog().tables("d")}


def seen_of(lake: Lake, name: str) -> dict[str, Any]:
    """All that a user sees of one table; of a copy where rows that wait for their bucket get one first."""
    table = lake.catalog().table(name)
    if waits(table):
        table = lake.copied().catalog().table(name)
    found = _branch(table)
    found["consumers"] = sorted(n for n in table.consumers.list() if not _HOLD.search(n))
    found["branches"] = {
        b: _branch(tc.Table(branch_access(table.access, b))) for b in table.branches.list()
    }
    return found


def waits(table: tc.Table) -> bool:
    """Whether rows that are committed may be in no read until a compaction."""
    marks = table.options.get("deletion-vectors.enabled") == "true" and bool(table.primary_key)
    return marks or table.definition.bucket == -2


def _branch(table: tc.Table) -> dict[str, Any]:
    if waits(table) and table.latest_snapshot() is not None:
        table.compact()
    options = {k: v for k, v in table.options.items() if k not in {"path", "branch"}}
    return {
        "columns": [(f.name, str(f.type)) for f in table.definition.fields],
        "options": options,
        "comment": table.definition.comment,
        "rows": rows_of(table),
        "tags": {
            name: rows_of(table, tag=name) for name in table.tags.list() if not _HOLD.search(name)
        },
    }
