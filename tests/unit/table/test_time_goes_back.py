"""Verbs that take history back, beside everything that began before them (docs/adr/0026).

Method: the second verb runs whole before one call to the store of the first.  Each case holds for both orders.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ondisk import layout
from table_core.ondisk.line import FOLLOWS
from table_core.ondisk.snapshot import Snapshot
from table_core.storage.stores.faults import Call, Crash, Fault, Faults, FaultyStorage
from table_core.storage.system import SystemClock
from table_core.table.metadata.documents import Metadata
from tests.clocks import DAY_MS, Later
from tests.tables import new_catalog, write_rows
from tests.unit.key_tables import OPTIONS, SCHEMA, between, create, fresh, keys, on_branch, put


def another(table: Any) -> Any:
    """A handle that remembers nothing, as another process has it."""
    return tc.Table(replace(table.access, metadata=Metadata(table.access.storage)))


def grown(last: int = 5, **options: str) -> Any:
    table = create(**options)
    for key in range(1, last + 1):
        put(table, key)
    return table


def ids(table: Any) -> list[int]:
    return Metadata(table.access.storage).snapshot_ids()


def snapshot_path(id: int) -> str:
    return layout.snapshot_path(id)


# ---------------------------------------------------------------------------- commit x rollback
@pytest.mark.parametrize("at", [5, 4, 3])
def test_a_commit_while_a_rollback_deletes_is_taken_back_with_the_rest(at: int) -> None:
    table = grown()
    slow = between(table, ("delete", snapshot_path(at)), lambda: put(another(table), 6))
    slow.rollback_to(snapshot=2)
    assert ids(table) == [1, 2]
    for key in range(11, 16):
        put(another(table), key)
    assert keys(fresh(table)) == [1, 2, 11, 12, 13, 14, 15]
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7]


def test_a_commit_on_the_target_of_a_rollback_stays() -> None:
    """The last snapshot of the old line is gone, and the rollback has not ended yet."""
    table = grown()
    slow = between(table, ("list", "tag"), lambda: put(another(table), 6), after=1)
    slow.rollback_to(snapshot=2)
    assert keys(fresh(table)) == [1, 2, 6]
    assert ids(table) == [1, 2, 3]


@pytest.mark.parametrize("at", ["create", "read"])
def test_a_commit_whose_base_is_taken_back_lands_on_the_new_line(at: str) -> None:
    table = grown()
    path = snapshot_path(6) if at == "create" else snapshot_path(5)
    before = 0 if at == "create" else 1  # its look at what it was built on
    slow = between(another(table), (at, path), lambda: table.rollback_to(snapshot=2), after=before)
    done = write_rows(slow, pa.table({"k": [6], "v": [6]}, schema=SCHEMA))
    assert keys(fresh(table)) in ([1, 2, 6], [1, 2])
    assert (done.snapshot_ids == (3,)) == (keys(fresh(table)) == [1, 2, 6])
    assert max(ids(table)) <= 3
    for key in range(11, 16):
        put(another(table), key)
    assert set(keys(fresh(table))) >= {1, 2, 11, 12, 13, 14, 15}
    assert not set(keys(fresh(table))) & {3, 4, 5}


def test_a_commit_whose_base_was_taken_back_and_made_anew_lands_on_the_new_line() -> None:
    table = grown()

    def back_and_on() -> None:
        table.rollback_to(snapshot=4)
        put(another(table), 50)

    slow = between(another(table), ("create", snapshot_path(6)), back_and_on)
    put(slow, 6)
    assert keys(fresh(table)) == [1, 2, 3, 4, 6, 50]
    assert ids(table) == [1, 2, 3, 4, 5, 6]


def test_a_handle_goes_on_after_a_rollback_by_another() -> None:
    table = grown()
    another(table).rollback_to(snapshot=2)
    for key in (13, 14, 15, 16):
        put(another(table), key)
    put(table, 17)
    assert keys(fresh(table)) == [1, 2, 13, 14, 15, 16, 17]


def test_a_named_commit_that_was_taken_back_meanwhile_is_made_once() -> None:
    table = grown()
    named = tc.CommitAs(user="flow", identifier=1)

    def back_and_twin() -> None:
        table.rollback_to(snapshot=2)
        put(another(table), 60, commit=named)

    slow = between(another(table), ("create", snapshot_path(6)), back_and_twin)
    write_rows(slow, pa.table({"k": [6], "v": [6]}, schema=SCHEMA), commit=named)
    assert keys(fresh(table)) == [1, 2, 60]


def test_each_snapshot_names_what_it_was_built_on() -> None:
    table = grown(3)
    snapshots = [Metadata(table.access.storage).snapshot(id) for id in (1, 2, 3)]
    links = [str(s.extra[FOLLOWS]).partition("/") for s in snapshots]
    assert len({birth for birth, _, _ in links}) == 1
    before = ["", *(s.delta_manifest_list for s in snapshots[:-1])]
    assert [name for _, _, name in links] == before


# ---------------------------------------------------------------------------- two turns
def test_a_rollback_beside_a_rollback_is_refused_and_changes_nothing() -> None:
    table = grown()
    met: list[tc.errors.TableError] = []

    def second() -> None:
        try:
            another(table).rollback_to(snapshot=1)
        except tc.errors.CommitConflictError as error:
            met.append(error)

    slow = between(table, ("delete", snapshot_path(4)), second)
    slow.rollback_to(snapshot=2)
    assert [str(error.kind) for error in met] == ["conflict"]
    assert keys(fresh(table)) == [1, 2]
    another(table).rollback_to(snapshot=1)
    assert keys(fresh(table)) == [1]


# ---------------------------------------------------------------------------- expiry
ONE_BY_ONE = {"changelog__num_retained__max": "100", "changelog__num_retained__min": "100"}
"""Snapshots whose changelogs stay expire one by one, others together."""


@pytest.mark.parametrize(("at", "options"), [(1, {}), *((at, ONE_BY_ONE) for at in (1, 2, 3, 4))])
def test_an_expiry_under_way_keeps_the_table_that_is_rolled_back_to_a_tag(
    at: int, options: dict[str, str]
) -> None:
    """Where it deletes what would have to be there again, the rollback is refused; else it begins anew."""
    table = grown(**options)
    table.tags.create("good", snapshot=2)
    met: list[tc.errors.TableError] = []

    def back() -> None:
        try:
            another(table).rollback_to(tag="good")
            put(another(table), 9)
        except tc.errors.CommitConflictError as error:
            met.append(error)

    slow = between(table, ("delete", snapshot_path(at)), back)
    slow.expire_snapshots(retain_max=1)
    assert len(met) == (at >= 2 or not options)
    if met:
        assert keys(fresh(table)) == [1, 2, 3, 4, 5]
        another(table).rollback_to(tag="good")
        put(another(table), 9)
    assert keys(fresh(table)) == [1, 2, 9]
    put(table, 10)
    assert keys(fresh(table)) == [1, 2, 9, 10]
    assert keys(fresh(table), tag="good") == [1, 2]


def test_an_expiry_begins_anew_after_a_rollback_to_what_it_keeps() -> None:
    table = grown(6)
    slow = between(
        table, ("delete", snapshot_path(2)), lambda: another(table).rollback_to(snapshot=5)
    )
    slow.expire_snapshots(retain_max=2, retain_min=2)
    assert keys(fresh(table)) == [1, 2, 3, 4, 5]
    put(another(table), 9)
    assert keys(fresh(table)) == [1, 2, 3, 4, 5, 9]


def test_an_expiry_counts_no_snapshot_that_is_of_another_line() -> None:
    table = grown(3)
    stray(table, 6)
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert keys(fresh(table)) == [1, 2, 3]


# ---------------------------------------------------------------------------- tags
@pytest.mark.parametrize("verb", ["create", "replace"])
def test_a_tag_of_what_is_taken_back_meanwhile_is_not_made(verb: str) -> None:
    table = grown(2)
    table.tags.create("month-end", snapshot=2)
    table.tags.create("today", snapshot=1)
    for key in (3, 4, 5):
        put(table, key, overwrite="table")
    name = "today" if verb == "replace" else "new"
    slow = between(
        table,
        ("write" if verb == "replace" else "create", f"tag/tag-{name}"),
        lambda: another(table).rollback_to(snapshot=4),
    )
    with pytest.raises(tc.errors.CommitConflictError, match="taken back"):
        getattr(slow.tags, verb)(name, snapshot=5)
    assert table.tags.list() == ["month-end", "today"]
    assert table.tags.get("today").snapshot.id == 1
    for key in (6, 7):
        put(another(table), key, overwrite="table")
    table.expire_snapshots(retain_max=1)
    assert keys(fresh(table), tag="month-end") == [1, 2]


def test_a_tag_on_what_is_built_after_a_rollback_stays() -> None:
    table = grown()

    def onwards() -> None:
        put(another(table), 6)
        with pytest.raises(tc.errors.CommitConflictError, match="under way"):
            another(table).tags.create("none")  # the newest one may be in between
        another(table).tags.create("new", snapshot=3)

    slow = between(table, ("list", "tag"), onwards, after=1)
    slow.rollback_to(snapshot=2)
    assert table.tags.list() == ["new"]
    assert keys(fresh(table), tag="new") == [1, 2, 6]


# ---------------------------------------------------------------------------- drop and create
def warehouse() -> tuple[Any, Any]:
    catalog = new_catalog()
    return catalog, catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS)


def made_anew(catalog: Any, rows: int) -> None:
    catalog.drop_table("d.t")
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS)
    for key in range(100, 100 + rows):
        put(table, key)


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_writer_of_a_dropped_table_leaves_nothing_in_the_next_one(before: int, rows: int) -> None:
    catalog, table = warehouse()
    for key in range(1, before + 1):
        put(table, key)
    slow = between(table, ("create", snapshot_path(before + 1)), lambda: made_anew(catalog, rows))
    with pytest.raises((tc.errors.NotFoundError, tc.errors.CommitConflictError)):
        put(slow, 9)
    new = catalog.table("d.t")
    for key in (200, 201, 202, 203):
        put(new, key)
    assert keys(fresh(new)) == [*range(100, 100 + rows), 200, 201, 202, 203]
    assert ids(new) == list(range(1, rows + 5))


@pytest.mark.parametrize("before", [0, 3])
def test_a_writer_of_a_dropped_table_leaves_no_folder_that_forbids_a_new_one(before: int) -> None:
    catalog, table = warehouse()
    for key in range(1, before + 1):
        put(table, key)
    slow = between(table, ("create", snapshot_path(before + 1)), lambda: catalog.drop_table("d.t"))
    with pytest.raises(tc.errors.NotFoundError):
        put(slow, 9)
    assert catalog.tables("d") == []
    new = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS)
    put(new, 1)
    assert keys(fresh(new)) == [1]


@pytest.mark.parametrize(
    ("verb", "rows"),
    [
        *(
            ("rollback", rows) for rows in (0, 2, 6)
        ),  # 2: its LATEST is what the rollback has written
        *(("expire", rows) for rows in (0, 6)),  # what goes together goes at once: 1 to 4
    ],
)
def test_upkeep_of_a_dropped_table_leaves_the_next_one_alone(verb: str, rows: int) -> None:
    catalog, table = warehouse()
    for key in range(1, 6):
        put(table, key)
    at = ("delete", snapshot_path(5)) if verb == "rollback" else ("delete", snapshot_path(1))
    slow = between(table, at, lambda: made_anew(catalog, rows))
    with suppress(tc.errors.NotFoundError, tc.errors.OutcomeUnknownError):  # or it is done
        slow.rollback_to(snapshot=2) if verb == "rollback" else slow.expire_snapshots(retain_max=1)
    new = catalog.table("d.t")
    put(new, 200)
    assert keys(fresh(new)) == [*range(100, 100 + rows), 200]


@pytest.mark.parametrize("verb", ["expire", "tag", "branch", "consumer", "rollback"])
def test_upkeep_of_a_dropped_table_leaves_no_folder_that_forbids_a_new_one(verb: str) -> None:
    catalog, table = warehouse()
    for key in range(1, 6):
        put(table, key)
    doing = {
        "expire": ("write snapshot/EARLIEST", lambda slow: slow.expire_snapshots(retain_max=1)),
        "tag": ("create tag/tag-x", lambda slow: slow.tags.create("x", snapshot=3)),
        "branch": (
            "create branch/branch-b/schema/schema-0",
            lambda slow: slow.branches.create("b"),
        ),
        "consumer": ("write consumer/consumer-c", lambda slow: slow.consumers.reset("c", 3)),
        "rollback": ("write snapshot/LATEST", lambda slow: slow.rollback_to(snapshot=3)),
    }
    at, act = doing[verb]
    name, _, path = at.partition(" ")
    slow = between(table, (name, path), lambda: catalog.drop_table("d.t"))
    with suppress(
        tc.errors.NotFoundError, tc.errors.CommitConflictError, tc.errors.OutcomeUnknownError
    ):
        act(slow)
    assert catalog.tables("d") == []
    new = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS)
    put(new, 1)
    assert keys(fresh(new)) == [1]


# ---------------------------------------------------------------------------- rename
@pytest.mark.parametrize("what", ["table", "branch"])
def test_a_commit_that_goes_along_with_a_rename_is_an_unknown_outcome_and_whole(what: str) -> None:
    """Its files stay: the snapshot names them at its new name."""
    unknown = 0
    for reads in range(5):
        catalog, table = warehouse()
        for key in (1, 2):
            put(table, key)
        table.branches.create("b", snapshot=2)
        branch = "b" if what == "branch" else layout.MAIN
        own = catalog.table("d.t$branch_b" if what == "branch" else "d.t")

        def away(catalog: Any = catalog) -> None:
            if what == "branch":
                catalog.table("d.t").branches.rename("b", "c")
            else:
                catalog.rename_table("d.t", "d.u")

        slow = between(own, ("read", layout.snapshot_path(2, branch)), away, after=reads)
        slow = on_branch(slow, branch)
        rows = [1, 2, 3]
        try:
            put(slow, 3)
        except tc.errors.NotFoundError:
            rows = [1, 2]
        except tc.errors.OutcomeUnknownError as error:
            unknown += 1
            assert "renamed" in str(error)
        now = f"d.{catalog.tables('d')[0]}"
        if what == "branch":
            now += "$branch_c" if "c" in catalog.table(now).branches else "$branch_b"
        renamed = catalog.table(now)
        assert keys(renamed) == rows, reads
        put(renamed, 4)
        assert keys(renamed) == [*rows, 4]
    assert unknown == 1


# ---------------------------------------------------------------------------- fast-forward
def test_a_fast_forward_leaves_the_schemas_of_the_next_table_alone() -> None:
    catalog, table = warehouse()
    put(table, 1)
    table.branches.create("b", snapshot=1)
    catalog.alter_table("d.t$branch_b", [tc.AddColumn("of_branch", "INT")])
    write_rows(catalog.table("d.t$branch_b"), pa.table({"k": [2], "v": [2], "of_branch": [2]}))

    def anew() -> None:
        made_anew(catalog, 2)
        catalog.alter_table("d.t", [tc.AddColumn("of_next", "INT")])

    slow = between(table, ("create", "schema/schema-1"), anew)
    with pytest.raises(tc.errors.OutcomeUnknownError):
        slow.branches.fast_forward("b")
    new = catalog.table("d.t")
    assert new.arrow_schema.names == ["k", "v", "of_next"]
    assert keys(new) == [100, 101]


def test_a_branch_with_another_birth_is_not_fast_forwarded() -> None:
    """Its schema 0 would make another table of main, which every handle and commit refuses."""
    catalog, table = warehouse()
    put(table, 1)
    table.branches.create("b", snapshot=1)
    storage, path = table.access.storage, layout.schema_path(0, "b")
    storage.write(path, storage.read(path).replace(b'"v"', b'"w"'))
    with pytest.raises(tc.errors.ArgumentError, match="another table"):
        catalog.table("d.t").branches.fast_forward("b")
    assert keys(fresh(table)) == [1]


# ---------------------------------------------------------------------------- a snapshot that a tag keeps
@pytest.mark.parametrize("verb", ["tag", "replaced tag", "branch", "rollback"])
def test_a_snapshot_that_only_a_tag_keeps_is_named_by_its_number(verb: str) -> None:
    table = grown()
    table.tags.create("month-end", snapshot=2)
    table.tags.create("today")
    table.expire_snapshots(retain_max=1)
    if verb == "rollback":
        assert table.rollback_to(snapshot=2).details["snapshots_removed"] == [5]
        assert keys(fresh(table)) == [1, 2]
        put(another(table), 9)
        assert ids(table) == [2, 3]
        return
    if verb == "tag":
        table.tags.create("copy", snapshot=2)
    elif verb == "replaced tag":
        table.tags.create("copy")
        table.tags.replace("copy", snapshot=2)
    else:
        table.branches.create("b", snapshot=2)
    table.tags.delete("month-end")
    put(another(table), 6)
    table.expire_snapshots(retain_max=1)
    left = fresh(table)
    assert (keys(on_branch(left, "b")) if verb == "branch" else keys(left, tag="copy")) == [1, 2]


def test_a_tag_whose_keeper_is_deleted_meanwhile_is_not_made() -> None:
    table = grown()
    table.tags.create("month-end", snapshot=2)
    table.expire_snapshots(retain_max=1)
    slow = between(table, ("create", "tag/tag-copy"), lambda: table.tags.delete("month-end"))
    with pytest.raises(tc.errors.NotFoundError):
        slow.tags.create("copy", snapshot=2)
    assert table.tags.list() == []


def test_no_raw_error_where_orphans_are_removed_while_the_table_is_renamed() -> None:
    names = set[str]()
    for at in range(400):
        catalog, table = warehouse()
        put(table, 1)
        table.branches.create("b", snapshot=1)
        calls: list[Any] = []

        def meanwhile(
            call: Any, catalog: Any = catalog, calls: list[Any] = calls, at: int = at
        ) -> None:
            calls.append(call)
            if call.index == at:
                catalog.rename_table("d.t", "d.u")

        storage = FaultyStorage(table.access.storage, Faults(meanwhile))
        slow = tc.Table(replace(table.access, storage=storage, metadata=Metadata(storage)))
        with suppress(tc.errors.TableError):
            slow.remove_orphan_files()
        if len(calls) <= at:
            break
        names.add(calls[at].name)
        assert keys(catalog.table("d.u")) == [1]
    assert {"list", "read"} <= names


# ---------------------------------------------------------------------------- alter
@pytest.mark.parametrize("verb", ["drop", "rename", "drop and create"])
def test_an_alter_of_a_table_that_goes_meanwhile_leaves_no_table_behind(verb: str) -> None:
    catalog, table = warehouse()
    put(table, 1)

    def away() -> None:
        if verb == "rename":
            catalog.rename_table("d.t", "d.other")
        else:
            catalog.drop_table("d.t")
        if verb == "drop and create":
            catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS)

    slow = between(table, ("create", "schema/schema-1"), away)
    from table_core.table.metadata.alter import alter

    with pytest.raises(tc.errors.NotFoundError):
        alter(slow.access, (tc.AddColumn("more", "INT"),))
    expected = {"drop": [], "rename": ["other"], "drop and create": ["t"]}[verb]
    assert catalog.tables("d") == expected
    if verb != "drop and create":
        catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS)
    assert catalog.table("d.t").arrow_schema.names == ["k", "v"]


def test_a_schema_that_was_left_alone_is_no_table() -> None:
    catalog, table = warehouse()
    body = table.access.storage.read("schema/schema-0")
    catalog.drop_table("d.t")
    document = json.loads(body) | {"id": 1}
    table.access.storage.create("schema/schema-1", json.dumps(document).encode())
    assert catalog.tables("d") == []
    new = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS)
    assert Metadata(new.access.storage).schema_ids() == [0]


# ---------------------------------------------------------------------------- fast-forward
def branched() -> Any:
    table = grown(2)
    table.branches.create("b", snapshot=2)
    for key in (3, 4, 5):
        put(on_branch(table, "b"), 10 * key)
    put(table, 3)
    return table


@pytest.mark.parametrize("at", ["snapshot/snapshot-3", "snapshot/LATEST"])
def test_a_commit_beside_a_fast_forward_leaves_no_stray(at: str) -> None:
    table = branched()
    slow = between(table, ("delete", at), lambda: put(another(table), 4))
    slow.branches.fast_forward("b")
    assert keys(fresh(table)) == [1, 2, 30, 40, 50]
    for key in (6, 7):
        put(another(table), key)
    assert keys(fresh(table)) == [1, 2, 6, 7, 30, 40, 50]


@pytest.mark.parametrize("verb", ["delete", "expire"])
def test_a_branch_that_goes_beside_its_fast_forward_leaves_main_whole(verb: str) -> None:
    table = branched()

    def away() -> None:
        if verb == "delete":
            another(table).branches.delete("b")
        else:
            on_branch(table, "b").expire_snapshots(retain_max=1, retain_min=1)

    slow = between(table, ("delete", "snapshot/snapshot-3"), away)
    slow.branches.fast_forward("b")
    assert keys(fresh(table)) == [1, 2, 30, 40, 50]
    put(another(table), 6)
    assert keys(fresh(table)) == [1, 2, 6, 30, 40, 50]


# ---------------------------------------------------------------------------- strays and hints
def stray(table: Any, id: int) -> bytes:
    """A snapshot of ours that was taken back and came again: a writer was killed before its look."""
    storage = table.access.storage
    for key in range(90, 90 + id):
        put(another(table), key)
        if ids(table)[-1] >= id:
            break
    body = storage.read(snapshot_path(id))
    newest = ids(table)[-1] - (id - 3)
    another(table).rollback_to(snapshot=min(newest, 3))
    storage.write(snapshot_path(id), body)
    return bytes(body)


def test_readers_step_over_a_stray_and_change_nothing() -> None:
    table = grown(3)
    stray(table, 5)
    put(another(table), 4)
    assert keys(another(table)) == [1, 2, 3, 4]
    table.access.storage.delete(["snapshot/LATEST"])
    assert keys(another(table)) == [1, 2, 3, 4]
    assert ids(table) == [1, 2, 3, 4, 5]


def test_a_writer_moves_a_stray_that_has_its_number() -> None:
    table = grown(3)
    body = stray(table, 5)
    for key in (4, 5, 6):
        put(another(table), key)
    assert keys(fresh(table)) == [1, 2, 3, 4, 5, 6]
    kept = [i.path for i in table.access.storage.list("line") if "stray-5-" in i.path]
    assert [table.access.storage.read(path) for path in kept] == [body]


def test_a_stray_that_somebody_has_built_on_is_told_with_both_writers() -> None:
    table = grown(3)
    storage = table.access.storage
    for key in (4, 5):
        put(another(table), key)
    bodies = {id: storage.read(snapshot_path(id)) for id in (4, 5)}
    another(table).rollback_to(snapshot=3)
    put(another(table), 40)
    mine = storage.read(snapshot_path(4))
    storage.write(snapshot_path(5), bodies[5])  # a stray on 4, and a foreign snapshot on it
    foreign = json.loads(bodies[5]) | {"id": 6, "commitUser": "java"}
    del foreign[FOLLOWS]
    storage.write(snapshot_path(6), json.dumps(foreign).encode())
    with pytest.raises(tc.errors.CorruptFileError, match="java"):
        put(another(table), 50)
    assert storage.read(snapshot_path(4)) == mine


def test_a_hint_below_the_floor_is_not_believed() -> None:
    table = grown(3)
    old = table.access.storage.read(snapshot_path(3))
    for key in range(4, 13):
        put(table, key)
    table.expire_snapshots(retain_max=3, retain_min=1)
    table.access.storage.write(snapshot_path(3), old)
    table.access.storage.write("snapshot/LATEST", b"3")
    assert another(table).latest_snapshot().id == 12
    assert keys(another(table)) == list(range(1, 13))
    put(another(table), 13)
    assert keys(another(table)) == list(range(1, 14))


# ---------------------------------------------------------------------------- old files
def later(table: Any) -> Any:
    return tc.Table(replace(another(table).access, clock=Later(2 * DAY_MS)))


@pytest.mark.parametrize("after", [None, "create", "read"])
def test_a_commit_of_old_files_is_refused_if_orphan_removal_has_taken_them(
    after: str | None,
) -> None:
    """It takes them before the commit, or while that makes its snapshot, or once it is made."""
    table = grown(2)
    with table.write() as writer:
        writer.write(pa.table({"k": [9], "v": [9]}, schema=SCHEMA))
        prepared = writer.prepare()
    storage = table.access.storage
    file = prepared.changes[0].added[0].file_name

    def taken() -> None:
        storage.delete([info.path for info in storage.walk("") if info.path.endswith(file)])

    path = snapshot_path(3) if after == "create" else snapshot_path(2)
    slow = (
        later(table)
        if after is None
        else between(later(table), (after, path), taken, after=1 if after == "read" else 0)
    )
    if after is None:
        taken()
    with pytest.raises(tc.errors.CommitConflictError, match="gone"):
        slow.commit([prepared])
    assert ids(table) == [1, 2]
    assert keys(fresh(table)) == [1, 2]
    put(another(table), 3)
    assert keys(fresh(table)) == [1, 2, 3]


def test_a_commit_of_old_files_that_are_there_lands() -> None:
    table = grown(2)
    with table.write() as writer:
        writer.write(pa.table({"k": [9], "v": [9]}, schema=SCHEMA))
        prepared = writer.prepare()
    later(table).commit([prepared])
    assert keys(fresh(table)) == [1, 2, 9]


def test_what_a_stray_names_is_no_orphan() -> None:
    table = grown(3)
    stray(table, 5)
    for key in (4, 5):
        put(another(table), key)
    later(table).remove_orphan_files()
    kept = {info.path for info in table.access.storage.walk("") if "/data-" in info.path}
    document = json.loads(
        next(
            table.access.storage.read(info.path)
            for info in table.access.storage.list("line")
            if "stray-5-" in info.path
        )
    )
    metadata = Metadata(table.access.storage)
    snapshot = Snapshot.from_json(json.dumps(document).encode(), path="stray")
    names = [e.file.file_name for e in metadata.delta(snapshot)]
    assert names
    assert all(any(path.endswith(name) for path in kept) for name in names)


# ---------------------------------------------------------------------------- clocks
def test_a_snapshot_of_the_future_is_told_in_commit_health_and_time_travel(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = grown(1)
    put(later(table), 2)
    caplog.clear()
    put(table, 3)
    assert "ahead of this machine's clock" in caplog.text
    caplog.clear()
    assert keys(table, timestamp=SystemClock().now_ms()) == [1]
    assert "ahead of this machine's clock" in caplog.text
    document = table.health().to_document()
    assert 0 < int(str(document["newest_snapshot_ahead_ms"])) <= 2 * 24 * 3_600_000


def test_a_tag_renamed_beside_a_rollback_goes_with_its_snapshot() -> None:
    table = grown()
    table.tags.create("a", snapshot=4)
    slow = between(table, ("create", "tag/tag-b"), lambda: another(table).rollback_to(snapshot=2))
    with pytest.raises(tc.errors.NotFoundError, match="meanwhile"):
        slow.tags.rename("a", "b")
    assert table.tags.list() == []


def test_a_rollback_reads_a_tag_once_unless_it_was_replaced_meanwhile() -> None:
    table = grown()
    for n in range(20):
        table.tags.create(f"t{n}", snapshot=1)

    def replaced(call: Call) -> None:
        if f"{call.name} {call.path}" == "write snapshot/LATEST" and not met:
            met.append(call)
            another(table).tags.replace("t7", snapshot=4)

    met: list[Call] = []
    faults = Faults(replaced)
    access = table.access
    storage = FaultyStorage(access.storage, faults)
    slow = replace(access, storage=storage, metadata=Metadata(storage))
    tc.Table(slow).rollback_to(snapshot=2)
    reads = [call.path for call in faults.calls if call.name == "read" and "tag/" in call.path]
    assert sorted(reads) == sorted([*(layout.tag_path(f"t{n}") for n in range(20)), "tag/tag-t7"])
    assert table.tags.list() == sorted(f"t{n}" for n in range(20) if n != 7)


def test_a_rollback_leaves_the_kept_changelogs_before_its_target() -> None:
    """Their hint stays: without it the next one that is kept would be taken for the first, and the others expire."""
    table = create(
        changelog__num_retained__max="1000",
        changelog__num_retained__min="1000",
        snapshot__num_retained__max="3",
        snapshot__num_retained__min="2",
        write_only="false",
    )
    for key in range(1, 10):
        put(another(table), key)
        if key == 6:
            table.tags.create("a")
    another(table).rollback_to(tag="a")
    put(another(table), 20)
    put(another(table), 21)
    names = {info.path for info in table.access.storage.list("changelog")}
    assert {f"changelog/changelog-{id}" for id in range(1, 6)} <= names


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ERROR_AFTER])
@pytest.mark.parametrize("goes_on", [False, True], ids=["at once", "after others"])
def test_a_rollback_asked_for_again_ends_what_a_fault_at_any_call_has_left(
    fault: Fault, goes_on: bool
) -> None:
    """Tags, kept changelogs and hints above the target go with the snapshots, whenever the first try was cut short."""
    who = tc.CommitAs(user="task", identifier=1)

    def begun() -> Any:
        table = create(changelog_producer="input", **ONE_BY_ONE)
        for key in range(1, 6):
            put(table, key)
        for name, id in (("first", 1), ("three", 3), ("five", 5)):
            table.tags.create(name, snapshot=id)
        table.expire_snapshots(retain_max=1, retain_min=1)
        return table

    def cut(table: Any, at: int | None) -> Faults:
        faults = Faults(lambda call: fault if call.index == at else None)
        access = replace(table.access, storage=FaultyStorage(table.access.storage, faults))
        slow = tc.Table(replace(access, metadata=Metadata(access.storage)))
        with suppress(Crash, tc.errors.TableError):
            slow.rollback_to(tag="first", commit=who)
        return faults

    def seen(table: Any) -> object:
        paths = {info.path for info in table.access.storage.walk("")}
        refs = {p for p in paths if p.startswith(("tag/", "changelog/", "snapshot/"))}
        hints = {p: table.access.storage.read(p) for p in refs if p.endswith("EST")}
        return refs, hints, keys(fresh(table))

    whole = begun()
    changes = [c.index for c in cut(whole, None).calls if c.name in {"create", "write", "delete"}]
    if goes_on:
        put(another(whole), 9)
        another(whole).tags.create("nine")
    expected = seen(whole)
    assert len(changes) > 12
    for at in changes:
        table = begun()
        cut(table, at)
        if goes_on and ids(table) == [1]:  # else they commit on what is left, and nobody can tell
            put(another(table), 9)
            another(table).tags.create("nine")
        elif goes_on:
            continue
        another(table).rollback_to(tag="first", commit=who)
        assert seen(table) == expected, at
