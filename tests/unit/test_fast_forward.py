"""Main goes on as a branch has: nothing that main is from then on is taken from it later.

Method: as in ``test_shared_files.py``.  Mutants: the floor left where main had it; main's own snapshots
from before the branch's first one kept; its tags kept; shared snapshots deleted and written anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import table_core as tc
from table_core.storage.stores.faults import Crash, Fault, Faults, FaultyStorage
from table_core.table.api.state_jobs import create_branch as make_branch
from table_core.table.api.state_jobs import fast_forward
from table_core.table.commit_io.deliveries import told
from table_core.table.maintenance.fast_forward import FastForward
from table_core.table.metadata.documents import Metadata
from tests.unit.key_tables import create, fresh, keys, on_branch, put


def branched(*after: int) -> tuple[Any, Any]:
    """Main with the keys 1 and 2 and a branch from there on; then main has compacted."""
    table = create()
    put(table, 1)
    put(table, 2)
    table.tags.create("t")
    table.branches.create("b", tag="t")
    branch = on_branch(table, "b")
    for key in after:
        put(branch, key)
    table.compact()  # takes out files that the branch still has
    put(table, 10)
    return table, branch


def test_main_may_have_expired_what_the_branch_brings_back() -> None:
    table, _ = branched(3)
    for key in (11, 12, 13):
        put(table, key)
    table.expire_snapshots(retain_max=1)
    table.branches.fast_forward("b")
    assert keys(fresh(table)) == [1, 2, 3]
    assert table.access.metadata.floor() == 2
    for key in (4, 5, 6, 7, 8):
        put(table, key)
    assert [s.id for s in table.snapshots()] == [2, 3, 4, 5, 6, 7, 8]
    table.branches.delete("b")
    table.expire_snapshots(retain_max=3, retain_min=3)
    assert [s.id for s in table.snapshots()] == [6, 7, 8]
    assert keys(fresh(table), snapshot=6) == [1, 2, 3, 4, 5, 6]


def test_what_main_did_meanwhile_takes_nothing_from_the_branch_later() -> None:
    table, branch = branched(3, 4, 5)
    branch.expire_snapshots(retain_max=1)  # its first snapshot is later than what main did
    table.branches.fast_forward("b")
    table.branches.delete("b")
    table.tags.delete("t")
    put(table, 6)
    table.expire_snapshots(retain_max=1)
    assert keys(fresh(table)) == [1, 2, 3, 4, 5, 6]


def test_tags_of_what_main_did_meanwhile_go() -> None:
    table, branch = branched(3, 4, 5)
    table.tags.create("own")
    branch.expire_snapshots(retain_max=1)
    table.branches.fast_forward("b")
    assert table.tags.list() == ["t"]
    table.branches.delete("b")
    put(table, 6, overwrite="table")
    table.expire_snapshots(retain_max=1)
    assert keys(fresh(table), tag="t") == [1, 2]


def test_tags_that_nobody_can_place_are_not_thrown_away() -> None:
    table, branch = branched(3, 4, 5)
    branch.expire_snapshots(retain_max=1)
    branch.tags.delete("t")
    before = [s.id for s in table.snapshots()]
    with pytest.raises(tc.errors.ArgumentError, match="'t'"):
        table.branches.fast_forward("b")
    assert [s.id for s in table.snapshots()] == before
    table.tags.delete("t")
    table.branches.fast_forward("b")
    assert [s.id for s in table.snapshots()] == [5]
    assert keys(fresh(table)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
@pytest.mark.parametrize("late", [False, True])
def test_a_crash_at_any_call_is_mended_by_asking_again(fault: Fault, late: bool) -> None:
    """``late``: the branch's first snapshot is later than where it began."""
    changing = {"write", "delete", "create"}
    made, branch = branched(3, 4, 5)
    made.tags.create("own")
    if late:
        branch.expire_snapshots(retain_max=1)
    nth, died = 0, True
    while died:
        table, calls = fresh(made), 0

        def decide(call: Any, at: int = nth) -> Fault | None:
            nonlocal calls
            calls += call.name in changing
            return fault if call.name in changing and calls == at + 1 else None

        storage = FaultyStorage(table.access.storage, Faults(decide))
        try:
            tc.Table(_through(table.access, storage)).branches.fast_forward("b")
        except Crash:
            died = True
        else:
            died = False
        assert keys(on_branch(table, "b")) == [1, 2, 3, 4, 5], nth
        tc.Table(table.access).branches.fast_forward("b")
        assert keys(table) == [1, 2, 3, 4, 5], nth
        assert table.tags.list() == ["t"], nth
        assert [s.id for s in table.snapshots()] == ([5] if late else [1, 2, 3, 4, 5]), nth
        assert table.access.metadata.floor() == (5 if late else 1)
        nth += 1
    assert nth > 5


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
@pytest.mark.parametrize("empty", [False, True])
def test_a_retry_tells_all_that_the_branch_has_brought_wherever_the_run_was_cut(
    fault: Fault, empty: bool
) -> None:
    made = create()
    if not empty:
        put(made, 1)
    make_branch(made, {"name": "b", "from_head": True})
    for key in (3, 4):
        put(on_branch(made, "b"), key)
    brought = [1, 2] if empty else [2, 3]
    on_branch(made, "b").tags.create("own")
    args, nth, died = {"branch": "b"}, 0, True
    while died:
        table, calls = fresh(made), 0

        def decide(call: Any, at: int = nth) -> Fault | None:
            nonlocal calls
            calls += call.name in {"write", "delete", "create"}
            return fault if calls == at + 1 else None

        storage = FaultyStorage(table.access.storage, Faults(decide))
        try:
            fast_forward(tc.Table(_through(table.access, storage)), args)
        except Crash:
            died = True
        else:
            died = False
        with told() as notes:
            fast_forward(table, args)
        assert [note["last"] for note in notes.to_documents()] == brought, nth
        assert keys(table) == [*([] if empty else [1]), 3, 4]
        assert "own" in table.tags.list(), nth
        nth += 1
    assert nth > 3


def test_a_commit_to_main_at_the_last_moment_stays() -> None:
    """Between the look at main and the first snapshot that it takes over."""
    table = create()
    put(table, 1)
    make_branch(table, {"name": "b", "from_head": True})
    for key in (3, 4):
        put(on_branch(table, "b"), key)

    def other() -> Any:
        return tc.Table(_through(table.access, table.access.storage))

    FastForward.of(table.access, "b")
    put(other(), 2)
    with pytest.raises(tc.errors.CommitConflictError, match="snapshot 2"):
        FastForward.perform(table.access, "b", force=False)
    assert keys(other()) == [1, 2]
    with pytest.raises(tc.errors.ArgumentError, match=r"\[2\] would be lost"):
        fast_forward(other(), {"branch": "b"})
    put(other(), 5)
    assert keys(other()) == [1, 2, 5]


def _through(access: Any, storage: Any) -> Any:
    return replace(access, storage=storage, metadata=Metadata(storage))
