"""A process dies at any call of the store, in a verb that commits no rows.

Method: as in ``test_crashes.py``.  At each call: what can be read is a state that the table had, or
the new one; running the verb again ends where an undisturbed run ends; and one orphan removal leaves
nothing that nothing names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import product

import pytest

import table_core as tc
from table_core.storage.stores.faults import Fault
from tests.durability.crashing import (
    Case,
    Catalog,
    Row,
    changes_of,
    crash,
    dated,
    fresh,
    keyed,
    on,
    put,
    snapshots,
    state,
    sweep,
    tables,
    unnamed,
)
from tests.lanes import sampled

See = Callable[[Catalog], object]
CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
calm = keyed(**{"write-only": "true"})
"""A table whose commits expire nothing."""


def tagged(catalog: Catalog) -> tc.Table:
    """After a tag of the second snapshot, and expiry of all but the newest."""
    table = calm(catalog)
    table.tags.create("kept", snapshot=2)
    table.tags.create("late")
    table.expire_snapshots(retain_max=1)
    return table


def fading(catalog: Catalog) -> tc.Table:
    """With tags whose time is over."""
    table = calm(catalog)
    for n in (1, 2, 3):
        table.tags.create(f"old{n}", snapshot=n, time_retained="0 ms")
    table.access.clock.sleep_ms(3)
    return table


def branched(catalog: Catalog) -> tc.Table:
    table = calm(catalog)
    table.tags.create("kept", snapshot=2)
    table.branches.create("b", tag="kept")
    return table


def littered(catalog: Catalog) -> tc.Table:
    """With the files of a writer that died."""
    table = calm(catalog)
    for n in range(3):
        storage = table.access.storage
        storage.write(f"bucket-0/data-{'0' * 8}-0000-0000-0000-{n:012}-0.parquet", b"x")
        storage.write(f"manifest/manifest-{'0' * 8}-0000-0000-0000-{n:012}-0", b"x")
    return table


def logged(catalog: Catalog) -> tc.Table:
    """With changelogs that were kept when their snapshots expired."""
    options = {"changelog-producer": "input", "changelog.num-retained.max": "9"}
    table = keyed(**options)(catalog)
    put(table, {"k": [8], "v": [8]})
    return table


def replace_tag(table: tc.Table) -> None:
    """One that was cut short leaves a tag that goes when its hour is over."""
    table.tags.replace("kept", snapshot=3)
    table.expire_tags(older_than=datetime(9999, 1, 1, tzinfo=UTC))


def rename(table: tc.Table) -> None:
    """A rename that was cut short has left both names; what is left to do is to drop the old one."""
    if "new" in table.tags:
        table.tags.delete("kept", if_exists=True)
    else:
        table.tags.rename("kept", "new")


def copy(catalog: Catalog) -> None:
    try:
        catalog.clone_table("d.t", "d.copy")
    except tc.errors.AlreadyExistsError:
        assert rows(catalog.table("d.copy").read()) == state(catalog), "no whole copy is in the way"


CASES = {
    "rollback to a snapshot": Case(calm, on(lambda x: x.rollback_to(snapshot=1))),
    "rollback to a tag": Case(tagged, on(lambda x: x.rollback_to(tag="kept"))),
    "tag": Case(calm, on(lambda x: x.tags.create("a", if_not_exists=True))),
    "delete a tag": Case(tagged, on(lambda x: x.tags.delete("kept", if_exists=True))),
    "replace a tag": Case(tagged, on(replace_tag)),
    "rename a tag": Case(tagged, on(rename)),
    "branch": Case(tagged, on(lambda x: x.branches.create("b", tag="kept", if_not_exists=True))),
    "delete a branch": Case(branched, on(lambda x: x.branches.delete("b", if_exists=True))),
    "analyze": Case(calm, on(lambda x: x.analyze())),
    "remove orphans": Case(littered, sweep),
    "expire tags": Case(fading, on(lambda x: x.expire_tags())),
    "expire changelogs": Case(logged, on(lambda x: x.expire_changelogs(retain_max=1))),
    "clone": Case(calm, copy),
    "compact a database": Case(
        calm, lambda catalog: catalog.compact_database("d", strategy="full")
    ),
    "drop a partition": Case(dated, on(lambda x: x.drop_partitions([{"dt": "2020-01-01"}]))),
}


def sight(catalog: Catalog) -> object:
    """All that readers can see: rows, tags and branches with theirs."""
    table = catalog.table("d.t")
    tags = {name: rows(table.read(tag=name)) for name in table.tags}
    branches = {name: rows(catalog.table("d.t", branch=name).read()) for name in table.branches}
    copies = {table.name: rows(table.read()) for table in tables(catalog)}
    return copies, tags, branches


def rows(scan: tc.Scan) -> list[Row]:
    columns = scan.to_arrow().to_pydict().values()
    return sorted(zip(*columns, strict=True), key=repr)


def states(case: Case) -> list[object]:
    """Rows of every snapshot and tag there is before the verb."""
    table = fresh(case).table("d.t")
    scans: Iterable[tc.Scan] = [
        *(table.read(snapshot=s.id) for s in table.snapshots()),
        *(table.read(tag=name) for name in table.tags),
    ]
    return [rows(scan) for scan in scans]


@pytest.mark.parametrize(("name", "fault"), sampled(product(CASES, CRASHES), 3))
def test_a_crash_at_any_call_is_mended_by_the_next_run(name: str, fault: Fault) -> None:
    case = CASES[name]
    calls, _, after, _ = changes_of(case)
    whole = fresh(case)
    case.verb(whole)
    allowed, end = [*states(case), after], sight(whole)
    assert calls
    for nth, call in enumerate(calls):
        catalog = crash(case, nth, fault)
        assert state(catalog) in allowed, (nth, call)
        sight(catalog)  # whatever is listed can be read

        case.verb(catalog)
        assert sight(catalog) == end, (nth, call)
        assert name in {"analyze", "drop a partition", "compact a database"} or snapshots(
            catalog
        ) == snapshots(whole)
        sweep(catalog)
        assert not unnamed(catalog), (nth, call)
        assert sight(catalog) == end, (nth, call)


@pytest.mark.parametrize("fault", CRASHES)
def test_a_crash_while_altering_leaves_the_old_schema_or_the_new(fault: Fault) -> None:
    def add(catalog: Catalog) -> object:
        return catalog.alter_table("d.t", [tc.AddColumn("note", "STRING")])

    case = Case(calm, add)
    calls, *_ = changes_of(case)
    assert [call.name for call in calls] == ["create"]
    catalog = crash(case, 0, fault)
    names = ["k", "v"] if fault is Fault.CRASH_BEFORE else ["k", "v", "note"]
    assert catalog.table("d.t").arrow_schema.names == names
    assert catalog.table("d.t").read(columns=["k"]).to_arrow().num_rows == 5
