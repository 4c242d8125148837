"""A process dies at any call of the store, in any verb: the table is as before or as after.

Method: a verb runs once without faults, to count its calls.  Then, for every call that changes
something, it runs on a table of its own and dies there, once before the effect and once after it.
Checked each time: the rows are those before or those after; a retry under the same name ends in
the rows after, by the same number of snapshots as a run without a crash; and expiry that follows
deletes nothing that a reader needs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ports import Storage
from table_core.storage.faults import Call, Crash, Fault, Faults, FaultyStorage
from table_core.table.catalog import Catalog

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
SHORT = {"snapshot.time-retained": "1 ms", "snapshot.num-retained.min": "1"}
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


def put(table: tc.Table, rows: Mapping[str, Sequence[object]], **how: Any) -> tc.Commit:
    with table.write(**how) as writer:
        writer.write(pa.table(dict(rows), schema=table.arrow_schema))
        return writer.commit()


@dataclass(frozen=True)
class Case:
    make: Callable[[Catalog], tc.Table]
    verb: Callable[[Catalog], object]


def writes(rows: Mapping[str, Sequence[object]], **how: Any) -> Callable[[Catalog], object]:
    return lambda catalog: put(catalog.table("d.t"), rows, commit=AS, **how)


NEW = {"k": [1, 5], "v": [50, 51]}
COMPACTING = {"num-sorted-run.compaction-trigger": "2"}
CASES = {
    "write": Case(keyed(**{"write-only": "true"}), writes(NEW)),
    "write with a compaction": Case(keyed(**COMPACTING), writes(NEW)),
    "write with changelogs": Case(
        keyed(**{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"}),
        writes(NEW),
    ),
    "write with input changelog": Case(keyed(**{"changelog-producer": "input"}), writes(NEW)),
    "append": Case(dated, writes({"dt": ["2020-01-02"], "v": [9]})),
    "overwrite": Case(keyed(), writes(NEW, overwrite="table")),
    "overwrite partitions": Case(
        dated, writes({"dt": ["2020-01-02"], "v": [9]}, overwrite="partitions")
    ),
    "truncate": Case(dated, lambda catalog: catalog.table("d.t").truncate(commit=AS)),
    "compact": Case(keyed(), lambda catalog: catalog.table("d.t").compact(commit=AS)),
    "compact an append table": Case(dated, lambda catalog: catalog.table("d.t").compact(commit=AS)),
    "expire snapshots": Case(
        keyed(), lambda catalog: catalog.table("d.t").expire_snapshots(retain_max=1)
    ),
    "expire partitions": Case(
        dated, lambda catalog: catalog.table("d.t").expire_partitions("7 d", commit=AS)
    ),
}


def opened(storage: Storage, like: Catalog) -> Catalog:
    return replace(like, storage=storage)


def fresh(case: Case) -> Catalog:
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    case.make(catalog)
    return catalog


def state(catalog: Catalog) -> list[Row]:
    rows = catalog.table("d.t").read().to_arrow().to_pydict()
    return sorted(zip(*rows.values(), strict=True), key=repr)


def snapshots(catalog: Catalog) -> list[int]:
    return [s.id for s in catalog.table("d.t").snapshots()]


def unnamed(catalog: Catalog) -> set[str]:
    """Data and manifest files that no snapshot names."""
    table = catalog.table("d.t")
    metadata = table.access.metadata
    named: set[str] = set()
    for snapshot in table.snapshots():
        lists = (
            snapshot.base_manifest_list,
            snapshot.delta_manifest_list,
            snapshot.changelog_manifest_list,
        )
        for name in filter(None, lists):
            named.add(name)
            for meta in metadata.manifest_list(name):
                named.add(meta.file_name)
                named |= {entry.file.file_name for entry in metadata.manifest(meta.file_name)}
    kinds = ("data-", "changelog-", "manifest-")
    there = (info.path.rpartition("/")[2] for info in table.access.storage.walk(""))
    return {name for name in there if name.startswith(kinds)} - named


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


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
@pytest.mark.parametrize("name", CASES)
def test_a_crash_at_any_call_leaves_the_old_rows_or_the_new(name: str, fault: Fault) -> None:
    case = CASES[name]
    calls, before, after, last = changes_of(case)
    assert len(calls) >= 4, calls
    for nth, call in enumerate(calls):
        catalog = crash(case, nth, fault)
        assert state(catalog) in (before, after), (nth, call)

        case.verb(catalog)
        assert state(catalog) == after, (nth, call)
        if name == "expire snapshots":
            assert not unnamed(catalog), (nth, call)
        ids = snapshots(catalog)
        assert ids[-1] - last in (0, -1 if "write with" in name else 0), (nth, call)
        assert ids == list(range(ids[0], ids[-1] + 1)), (nth, call)

        case.verb(catalog)
        assert (state(catalog), snapshots(catalog)) == (after, ids), (nth, call)

        catalog.table("d.t").expire_snapshots(retain_max=1)
        assert state(catalog) == after, (nth, call)


@pytest.mark.parametrize("name", CASES)
def test_a_failing_call_leaves_the_old_rows_or_the_new(name: str) -> None:
    """The store answers with an error, before or after the effect, and the process lives on."""
    case = CASES[name]
    calls, before, after, _ = changes_of(case)
    for nth, call in enumerate(calls):
        for fault in (Fault.ERROR_BEFORE, Fault.ERROR_AFTER):
            catalog = fresh(case)
            error, failed = failure(case, catalog, nth, fault)
            assert error in {None, "unavailable", "unknown-outcome"}, (nth, call, error)
            assert state(catalog) in (before, after), (nth, call)
            tidies_up = failed is not None and failed.name not in {"delete", "open_output"}
            if error == "unavailable" and tidies_up and "expire s" not in name:
                assert not unnamed(catalog), (nth, failed, fault)
            case.verb(catalog)
            assert state(catalog) == after, (nth, call)


def test_a_crash_while_altering_leaves_the_old_schema_or_the_new() -> None:
    def add(catalog: Catalog) -> object:
        return catalog.alter_table("d.t", [tc.AddColumn("note", "STRING")])

    case = Case(keyed(), add)
    calls, *_ = changes_of(case)
    assert [call.name for call in calls] == ["create"]
    for fault, names in ((Fault.CRASH_BEFORE, ["k", "v"]), (Fault.CRASH_AFTER, ["k", "v", "note"])):
        catalog = crash(case, 0, fault)
        assert catalog.table("d.t").arrow_schema.names == names
        assert catalog.table("d.t").read(columns=["k"]).to_arrow().num_rows == 5
