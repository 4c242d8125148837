"""How to let a verb die at one of its store calls, and what to look at afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

import table_core as tc
from table_core.errors import FilesExpiredError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.snapshot import Snapshot
from table_core.ports import Storage
from table_core.storage.stores.faults import Call, Crash, Fault, Faults, FaultyStorage
from table_core.table.api.catalog import Catalog
from table_core.table.maintenance.tags import Tags
from table_core.table.metadata.documents import Metadata
from tests.tables import new_catalog, write_rows

KEYED = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
DATED = pa.schema([("dt", pa.string()), ("v", pa.int64())])
CHANGING = {
    "create",
    "write",
    "delete",
    "delete_tree",
    "delete_empty_folder",
    "make_folder",
    "move",
    "open_output",
    "sync",
}
SHORT = {"snapshot.num-retained.max": "1", "snapshot.num-retained.min": "1"}
"""Every commit expires what was before it; by number, because time passes as it likes."""
LONG = {"snapshot.num-retained.max": "10"}
Row = tuple[object, ...]
AS = tc.CommitAs(user="task", identifier=7)


def keyed(**options: str) -> Callable[[Catalog], tc.Table]:
    """A key table after three commits."""

    def make(catalog: Catalog) -> tc.Table:
        table = catalog.create_table(
            "d.t", KEYED, primary_key=("k",), options={"bucket": "2", **SHORT, **options}
        )
        for n in range(3):
            put(table, {"k": [n, n + 1, n + 2], "v": [n, n, n]})
        return table

    return make


def dated(catalog: Catalog) -> tc.Table:
    """A partitioned append table, two days of it long past."""
    table = catalog.create_table("d.t", DATED, partition_by=("dt",), options=SHORT)
    put(table, {"dt": ["2020-01-01", "2020-01-02"], "v": [1, 2]})
    put(table, {"dt": ["2020-01-01", "2999-01-01"], "v": [3, 4]})
    return table


def masked(catalog: Catalog) -> tc.Table:
    """A table without a key, whose rows are taken out by deletion vectors; one has been."""
    options = {"deletion-vectors.enabled": "true", **SHORT}
    table = catalog.create_table("d.t", DATED, options=options)
    put(table, {"dt": ["a", "a", "b"], "v": [1, 2, 3]})
    table.delete("v = 1")
    return table


def put(table: tc.Table, rows: Mapping[str, Sequence[object]], **how: Any) -> tc.Commit:
    return write_rows(table, pa.table(dict(rows), schema=table.arrow_schema), **how)


@dataclass(frozen=True)
class Case:
    make: Callable[[Catalog], tc.Table]
    verb: Callable[[Catalog], object]


def writes(rows: Mapping[str, Sequence[object]], **how: Any) -> Callable[[Catalog], object]:
    return lambda catalog: put(catalog.table("d.t"), rows, commit=AS, **how)


def on(verb: Callable[[tc.Table], object]) -> Callable[[Catalog], object]:
    return lambda catalog: verb(catalog.table("d.t"))


NEW = {"k": [1, 5], "v": [50, 51]}
COMPACTING = {"num-sorted-run.compaction-trigger": "2"}


def opened(storage: Storage, like: Catalog) -> Catalog:
    return replace(like, storage=storage)


def fresh(case: Case) -> Catalog:
    catalog = new_catalog()
    case.make(catalog)
    return catalog


def state(catalog: Catalog) -> list[Row]:
    rows = catalog.table("d.t").read().to_arrow().to_pydict()
    return sorted(zip(*rows.values(), strict=True), key=repr)


def snapshots(catalog: Catalog) -> list[int]:
    return [s.id for s in catalog.table("d.t").snapshots()]


def tables(catalog: Catalog) -> Iterator[tc.Table]:
    """``d.t``, and what a verb made of it."""
    yield from (catalog.table(f"d.{name}") for name in catalog.tables("d"))


def sweep(catalog: Catalog) -> None:
    """Remove orphans as young as they are; nobody else writes."""
    for table in tables(catalog):
        now_ms = table.access.clock.now_ms()
        table.remove_orphan_files(older_than=now_ms + 1_000, allow_young=True)


def roots(table: tc.Table) -> Iterator[tuple[Metadata, Snapshot]]:
    """Every snapshot that somebody may read, of every branch."""
    access = table.access
    for branch in ("main", *table.branches):
        metadata = Metadata(access.storage, branch)
        tags = Tags(replace(access, metadata=metadata))
        yield from ((metadata, metadata.snapshot(id)) for id in metadata.snapshot_ids())
        yield from ((metadata, tags.get(name).snapshot) for name in tags)


def changelogs(table: tc.Table) -> Iterator[Snapshot]:
    """Snapshots of which only the changelog is left."""
    storage = table.access.storage
    for info in storage.list(layout.changelog_folder(layout.MAIN)):
        if layout.numbered(info.path.rpartition("/")[2], "changelog-") is not None:
            yield Snapshot.from_json(storage.read(info.path), path=info.path)


def files_of(metadata: Metadata, snapshot: Snapshot, lists: Sequence[str | None]) -> Iterator[str]:
    """Names of all files below a snapshot."""
    if snapshot.index_manifest:
        body = metadata.storage.read(layout.manifest_path(snapshot.index_manifest))
        yield from (entry.file_name for entry in decode_index_manifest(body, path=""))
    for name in filter(None, lists):
        yield name
        for meta in metadata.manifest_list(name):
            yield meta.file_name
            yield from (entry.file.file_name for entry in metadata.entries([meta]))


def unnamed(catalog: Catalog) -> set[str]:
    """Files that hold rows or metadata and that no snapshot or tag of any branch names."""
    return {name for table in tables(catalog) for name in unnamed_of(table)}


def unnamed_of(table: tc.Table) -> set[str]:
    named: set[str] = set()
    for metadata, snapshot in roots(table):
        lists = (
            snapshot.base_manifest_list,
            snapshot.delta_manifest_list,
            snapshot.changelog_manifest_list,
        )
        named |= set(filter(None, (snapshot.index_manifest, snapshot.statistics)))
        try:
            named |= set(files_of(metadata, snapshot, lists))
        except (NotFoundError, FilesExpiredError):
            # An expiry that was cut short: the next one takes the rest.
            assert snapshot.id < metadata.floor(), "a promised snapshot lost a file"
            named |= set(filter(None, lists))
    for kept in changelogs(table):
        log = replace(kept, index_manifest=None)
        named |= set(files_of(table.access.metadata, log, [kept.changelog_manifest_list]))
    kinds = ("data-", "changelog-", "manifest-", "index-", "stat-", ".")
    there = (info.path.rpartition("/")[2] for info in table.access.storage.walk(""))
    documents = re.compile(r"changelog-\d+")
    return {n for n in there if n.startswith(kinds) and not documents.fullmatch(n)} - named


def changes_of(case: Case) -> tuple[list[Call], list[Row], list[Row], int]:
    """The changing calls of an undisturbed run; rows before and after; the last snapshot id."""
    catalog = fresh(case)
    before = state(catalog)
    faults = Faults.none()
    case.verb(opened(FaultyStorage(catalog.storage, faults), catalog))
    calls = [call for call in faults.calls if call.name in CHANGING]
    return calls, before, state(catalog), snapshots(catalog)[-1]


def at(nth: int, fault: Fault, hit: list[Call] | None = None) -> Faults:
    """``fault`` at the changing call ``nth``, counted from 0; ``hit`` is told which that was.

    Buckets are worked on by threads, so one run's calls need not come in another's order.
    """
    seen = 0

    def decide(call: Call) -> Fault | None:
        nonlocal seen
        if call.name not in CHANGING:
            return None
        seen += 1
        if seen != nth + 1:
            return None
        if hit is not None:
            hit.append(call)
        return fault

    return Faults(decide)


def crash(case: Case, nth: int, fault: Fault) -> Catalog:
    """A table in which the verb died at its changing call ``nth``; that call may not come."""
    catalog = fresh(case)
    faults = at(nth, fault)
    try:
        case.verb(opened(FaultyStorage(catalog.storage, faults), catalog))
    except Crash:
        assert faults.dead
    return catalog


def failure(case: Case, catalog: Catalog, nth: int, fault: Fault) -> tuple[str | None, Call | None]:
    """The kind of the error that the verb ends with, and the call that failed."""
    hit: list[Call] = []
    try:
        case.verb(opened(FaultyStorage(catalog.storage, at(nth, fault, hit)), catalog))
    except tc.errors.TableError as error:
        return error.kind, hit[0]
    return None, hit[0] if hit else None
