"""Two who want one name at once: one of them gets it, and the other is told; what is made is of one of them, whole.

Method: the second runs whole before each call of the first that changes something; three kinds of kills for the first.

Mutants: a tag is written, not created; a branch is made without a turn; a rename of a tag does not look for the old one;
whoever deletes a tag does not look for tags that came since; nobody looks whether the table is still there; a rename,
or a drop, takes no turn.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import table_core as tc
from table_core.errors import ErrorKind, TableError
from table_core.storage.stores.faults import Call, Crash, Fault, Faults
from table_core.table.metadata.refs.branches import branch_access
from tests.interleave.judge import Case, Judge, changeable
from tests.interleave.lake import KINDS, Lake, forget, rows_of, seen
from tests.interleave.verbs import VERBS
from tests.lanes import PROFILE, SEED, sampled

CHANGES = {"create", "write", "delete", "move", "delete_tree"}
MAKERS = {
    "tag of the head": lambda t: t.tags.create("x"),
    "tag of a snapshot": lambda t: t.tags.create("x", snapshot=1),
    "renamed tag": lambda t: t.tags.rename("old", "x"),
    "another renamed tag": lambda t: t.tags.rename("mid", "x"),
}
BRANCHES = {
    "branch of a snapshot": lambda t: t.branches.create("x", snapshot=3),
    "branch of a tag": lambda t: t.branches.create("x", tag="old"),
    "empty branch": lambda t: t.branches.create("x"),
    "renamed branch": lambda t: t.branches.rename("side", "x"),
}
Act = Callable[[tc.Table], object]
REFUSED = {ErrorKind.INVALID, ErrorKind.CONFLICT, ErrorKind.NOT_FOUND}


def lake() -> Lake:
    return Lake.of(KINDS["append"])


def tried(act: Act, catalog: tc.Catalog) -> bool:
    try:
        act(catalog.table("d.t"))
    except TableError as error:
        assert error.kind in REFUSED, error
        return False
    return True


def places(act: Act, begun: Lake) -> list[Call]:
    faults = Faults.none()
    act(begun.copied().catalog(faults).table("d.t"))
    return [call for call in faults.calls if call.name in CHANGES]


def met(first: Act, second: Act, begun: Lake, at: int) -> tuple[Lake, bool, bool]:
    """The lake after ``second`` ran whole before call ``at`` of ``first``, and which of them worked."""
    lake, done = begun.copied(), []

    def meanwhile(call: Call) -> None:
        if call.index == at:
            done.append(tried(second, lake.catalog()))

    worked = tried(first, lake.catalog(Faults(meanwhile)))
    forget()  # a document that is gone is missed
    return lake, worked, done[0]


@pytest.mark.parametrize("second", MAKERS)
@pytest.mark.parametrize("first", MAKERS)
def test_a_tag_is_made_once(first: str, second: str) -> None:
    begun = lake()
    for place in places(MAKERS[first], begun):
        after, one, other = met(MAKERS[first], MAKERS[second], begun, place.index)
        table = after.catalog().table("d.t")
        assert one != other, place
        assert "x" in table.tags
        wanted = begun.copied()
        MAKERS[first if one else second](wanted.catalog().table("d.t"))
        expected = wanted.catalog().table("d.t")
        assert table.tags.list() == expected.tags.list(), place
        assert rows_of(table, tag="x") == rows_of(expected, tag="x"), place


@pytest.mark.parametrize("second", BRANCHES)
@pytest.mark.parametrize("first", BRANCHES)
def test_a_branch_is_made_once_and_whole(first: str, second: str) -> None:
    begun = lake()
    for place in places(BRANCHES[first], begun):
        after, one, other = met(BRANCHES[first], BRANCHES[second], begun, place.index)
        assert not (one and other), place
        if not (one or other):
            continue
        wanted = begun.copied()
        BRANCHES[first if one else second](wanted.catalog().table("d.t"))
        for name in wanted.catalog().table("d.t").branches.list():
            made, expected = (i.catalog().table(f"d.t$branch_{name}") for i in (after, wanted))
            assert made.tags.list() == expected.tags.list(), (place, name)
            assert rows_of(made) == rows_of(expected), (place, name)
            assert [s.id for s in made.snapshots()] == [s.id for s in expected.snapshots()]


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ERROR_AFTER])
@pytest.mark.parametrize("name", BRANCHES)
def test_who_is_killed_while_a_branch_is_made_makes_it_when_asked_again(
    name: str, fault: Fault
) -> None:
    begun = lake()
    wanted = begun.copied()
    BRANCHES[name](wanted.catalog().table("d.t"))
    expected: Any = wanted.catalog().table("d.t$branch_x")
    for place in places(BRANCHES[name], begun):
        lake_now = begun.copied()
        with suppress(Crash, TableError):
            BRANCHES[name](lake_now.catalog(Faults.at({place.index: fault})).table("d.t"))
        if "x" not in lake_now.catalog().table("d.t").branches:
            BRANCHES[name](lake_now.catalog().table("d.t"))
        made = lake_now.catalog().table("d.t$branch_x")
        assert rows_of(made) == rows_of(expected), (place, fault)
        assert made.tags.list() == expected.tags.list()


def test_a_tag_that_is_renamed_while_it_is_deleted_keeps_its_files_or_is_not_there() -> None:
    def renames(table: tc.Table) -> object:
        return table.tags.rename("old", "x")

    def deletes(table: tc.Table) -> object:
        return table.tags.delete("old")

    begun = lake()
    table = begun.catalog().table("d.t")
    expected = rows_of(table, tag="old")
    table.branches.delete("side")  # it would keep the files too
    table.expire_snapshots(retain_max=1, retain_min=1)
    for first, second in ((renames, deletes), (deletes, renames)):
        for place in places(first, begun):
            after, _, _ = met(first, second, begun, place.index)
            now = after.catalog().table("d.t")
            assert "old" not in now.tags, place
            if "x" in now.tags:
                assert rows_of(now, tag="x") == expected, place


IN_TABLE = ("tag head", "tag a snapshot", "replace tag", "rename tag", "delete tag", "branch of head", "branch of tag", "delete branch", "rename branch", "move consumer", "delete consumer", "roll back one", "roll back three", "roll back to tag", "fast-forward", "drop", "drop and create", "rescale", "set option", "add column")  # fmt: skip
IN_BRANCH = ("write to branch", "delete in branch", "compact branch", "tag in branch", "roll back branch", "set option of branch", "expire branch", "delete branch")  # fmt: skip
MET = [(verb, "rename") for verb in (*IN_TABLE, *IN_BRANCH)]
MET += [("rename", verb) for verb in ("roll back three", "fast-forward", "drop", "rescale")]
MET += [(verb, "rename branch") for verb in IN_BRANCH]
MET += [
    ("clone", "drop and create"),
    ("fast-forward", "delete branch"),
    ("fast-forward", "rename branch"),
]
MET += [("rename branch", verb) for verb in ("roll back branch", "delete branch", "rename")]


@pytest.mark.parametrize(("verb", "mover"), sampled(MET, 6))
def test_who_is_at_work_in_a_table_or_branch_that_is_renamed_is_not_told_what_is_not_so(
    verb: str, mover: str
) -> None:
    """What was done before goes along whole; what comes after is done to nothing."""
    judge, each = Judge("key, expired"), 5 if PROFILE == "ci" else 1
    calls = [call for call in judge.calls(verb) if changeable(call)]
    for call in calls[SEED % each :: each]:
        found = judge.run(Case(judge.kind, verb, mover, call.index))
        assert found is None, str(found)


LATE = ("add column", "set option", "comment", "rescale", "tag head", "replace tag", "rename tag", "branch of head", "branch of tag", "fast-forward", "roll back to tag", "move consumer", "follow")  # fmt: skip


def test_a_change_of_a_branch_that_is_deleted_meanwhile_leaves_nothing_to_rename() -> None:
    judge = Judge("key, expired")
    for call in judge.calls("set option of branch"):
        if call.name == "create":
            verbs = ("set option of branch", "delete branch")
            case = Case(judge.kind, *verbs, call.index, "rename branch", call.index + 1)
            found = judge.run(case)
            assert found is None, str(found)


@pytest.mark.parametrize("verb", sampled(LATE, 6))
def test_what_is_late_in_a_table_that_was_made_anew_does_not_go_along_when_that_is_renamed(
    verb: str,
) -> None:
    """The table is dropped and made anew just before a change, and the new one renamed just after it."""
    judge, each = Judge("key, expired"), 5 if PROFILE == "ci" else 1
    calls = judge.calls(verb)
    changes = [c.index for c in calls[:-1] if c.name in CHANGES and changeable(c)]
    for at in changes[SEED % each :: each] if len(changes) > each else changes:
        for before in (0, 1):
            case = Case(judge.kind, verb, "drop and create", at - before, "rename", at + 1)
            found = judge.run(case)
            assert found is None, str(found)


HALF_WAY: dict[str, tuple[Act, str]] = {
    "rollback": (lambda t: t.rollback_to(snapshot=3), "delete snapshot/snapshot-5"),
    "fast-forward": (lambda t: t.branches.fast_forward("side"), "delete snapshot/snapshot-5"),
    "rollback of the branch": (
        lambda t: tc.Table(branch_access(t.access, "side")).rollback_to(snapshot=2),
        "delete branch/branch-side/snapshot/snapshot-3",
    ),
}


@pytest.mark.parametrize("verb", HALF_WAY)
def test_a_table_that_is_half_way_back_is_not_renamed_and_the_verb_comes_to_its_end(
    verb: str,
) -> None:
    act, at = HALF_WAY[verb]
    now, expected, met = lake(), lake(), list[str]()
    act(expected.catalog().table("d.t"))

    def meanwhile(call: Call) -> None:
        if f"{call.name} {call.path}" == at:
            met.append(call.path)
            with pytest.raises(tc.errors.CommitConflictError, match="is under way"):
                now.catalog().rename_table("d.t", "d.u")

    act(now.catalog(Faults(meanwhile)).table("d.t"))
    assert met
    assert seen(now) == seen(expected)
    now.catalog().rename_table("d.t", "d.u")
    assert "u" in now.catalog().tables("d")


def test_a_table_that_is_half_dropped_is_not_renamed_and_goes_whole() -> None:
    now, met = lake(), list[str]()

    def meanwhile(call: Call) -> None:
        if call.name == "delete_tree":
            met.append(call.path)
            with pytest.raises(TableError, match=r"under way|no table"):
                now.catalog().rename_table("d.t", "d.u")

    now.catalog(Faults(meanwhile)).drop_table("d.t")
    assert len(met) > 5
    assert now.catalog().tables("d") == ["s"]
    assert not [info for info in now.storage.walk("d.db") if "/s/" not in info.path]


@pytest.mark.parametrize("verb", ["drop", "roll back three", "fast-forward", "roll back branch"])
def test_a_table_that_moves_just_now_is_neither_dropped_nor_turned(verb: str) -> None:
    now, expected = lake(), lake()
    expected.catalog().rename_table("d.t", "d.u")

    def meanwhile(call: Call) -> None:
        if call.name == "move":
            with pytest.raises(tc.errors.CommitConflictError, match=r"a rename of .* is under way"):
                VERBS[verb].call(now.catalog(), tc.CommitAs())

    now.catalog(Faults(meanwhile)).rename_table("d.t", "d.u")
    assert seen(now) == seen(expected)
    assert not [info for info in now.storage.walk("d.db/u") if "/line/turn-" in info.path]


@pytest.mark.parametrize("verb", ["delete branch", "rename branch"])
def test_a_fast_forward_whose_branch_goes_while_it_is_read_takes_no_schema_from_main(
    verb: str,
) -> None:
    judge = Judge("append")
    read = [c for c in judge.calls("fast-forward") if c.path == "branch/branch-side/schema"]
    assert len(read) > 2
    for call in read:
        found = judge.run(Case(judge.kind, "fast-forward", verb, call.index))
        assert found is None, str(found)


def test_a_drop_ends_a_rollback_that_is_under_way() -> None:
    now = lake()

    def meanwhile(call: Call) -> None:
        if f"{call.name} {call.path}" == "delete snapshot/snapshot-5":
            now.catalog().drop_table("d.t")

    with pytest.raises(tc.errors.OutcomeUnknownError, match="dropped or renamed"):
        now.catalog(Faults(meanwhile)).table("d.t").rollback_to(snapshot=3)
    assert now.catalog().tables("d") == ["s"]
    assert not list(now.storage.walk("d.db/t"))


KILLED = [(verb, fault) for verb in ("rename", "rename branch", "drop", "delete branch") for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ERROR_AFTER)]  # fmt: skip


@pytest.mark.parametrize(("verb", "fault"), sampled(KILLED, 4))
def test_who_is_killed_while_a_folder_moves_or_goes_leaves_nothing_that_stops_others(
    verb: str, fault: Fault
) -> None:
    begun = lake()
    call, expected = VERBS[verb].call, begun.copied()
    call(expected.catalog(), tc.CommitAs())
    calls = Faults.none()
    call(begun.copied().catalog(calls), tc.CommitAs())
    for place in [one for one in calls.calls if one.name in CHANGES]:
        now = begun.copied()
        with suppress(Crash, TableError):
            call(now.catalog(Faults.at({place.index: fault})), tc.CommitAs())
        with suppress(tc.errors.NotFoundError):  # it is done
            call(now.catalog(), tc.CommitAs())
        assert seen(now) == seen(expected), (place, fault)
        if verb in {"rename", "rename branch"}:
            table = now.catalog().table("d.u" if verb == "rename" else "d.t$branch_aside")
            table.rollback_to(snapshot=3)


def test_a_tag_whose_table_is_renamed_is_of_unknown_outcome_and_nothing_is_left_behind() -> None:
    """On a store that does not tell whether it deleted something, too."""
    acts: dict[str, Act] = {
        "write tag/tag-old": lambda t: t.tags.replace("old"),
        "delete tag/tag-old": lambda t: t.tags.delete("old"),
        "create tag/tag-new": lambda t: t.tags.create("new"),
    }
    for at, act in acts.items():
        now = lake()

        def meanwhile(call: Call, at: str = at, now: Lake = now) -> None:
            if f"{call.name} {call.path}" == at:
                now.catalog().rename_table("d.t", "d.u")

        with pytest.raises(tc.errors.OutcomeUnknownError, match="renamed while tag"):
            act(now.catalog(Faults(meanwhile)).table("d.t"))
        assert sorted(now.catalog().tables("d")) == ["s", "u"], at
        assert not list(now.storage.walk("d.db/t")), at


def test_a_branch_of_the_head_is_not_made_while_the_table_is_rolled_back() -> None:
    begun, heads = lake(), set[int]()
    catalog = begun.catalog()
    whole = rows_of(catalog.table("d.t"))

    def back(table: tc.Table) -> object:
        return table.rollback_to(snapshot=3)

    def branch(table: tc.Table) -> object:
        head = table.latest_snapshot()
        assert head is not None
        heads.add(head.id)
        return table.branches.create("x", snapshot=head.id)

    target = begun.copied()
    back(target.catalog().table("d.t"))
    states = [whole, rows_of(target.catalog().table("d.t"))]
    for place in places(back, begun):
        after, _, made = met(back, branch, begun, place.index)
        if made:
            assert rows_of(after.catalog().table("d.t$branch_x")) in states, place
    assert len(heads) > 2  # it was asked for in between


@pytest.mark.parametrize("verb", ["clone", "tag head"])
def test_what_is_made_of_the_head_is_of_no_state_in_between(verb: str) -> None:
    begun = lake()

    def forward(table: tc.Table) -> object:
        return table.branches.fast_forward("side")

    def made(catalog: tc.Catalog) -> Any:
        if verb == "clone":
            return rows_of(catalog.table("d.u")) if "u" in catalog.tables("d") else None
        table = catalog.table("d.t")
        return rows_of(table, tag="new") if "new" in table.tags else None

    states = []
    for order in ((forward, verb), (verb, forward), (forward,)):
        one = begun.copied()
        for step in order:
            if isinstance(step, str):
                VERBS[step].call(one.catalog(), tc.CommitAs())
            else:
                step(one.catalog().table("d.t"))
        states.append(made(one.catalog()))

    for place in places(forward, begun):
        after = begun.copied()

        def meanwhile(call: Call, at: int = place.index, after: Lake = after) -> None:
            if call.index == at:
                with suppress(tc.errors.CommitConflictError):
                    VERBS[verb].call(after.catalog(), tc.CommitAs())

        forward(after.catalog(Faults(meanwhile)).table("d.t"))
        assert made(after.catalog()) in states, place
