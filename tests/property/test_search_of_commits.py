"""Whether a named commit is in history: in leaps, as if every snapshot had been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.commit import readback
from table_core.commit.effects import FindMine
from table_core.commit.readback import search
from table_core.ondisk import properties
from table_core.ondisk.snapshot import CommitKind, Snapshot

Made = tuple[str | None, int, bool]
"""Who (None: another engine), under which identifier, and whether a COMPACT half follows."""
LISTED = 4
History = dict[int, Snapshot]


def snapshot(id: int, user: str, identifier: int, kind: CommitKind, named: str | None) -> Snapshot:
    return Snapshot(
        id=id,
        schema_id=0,
        base_manifest_list="",
        delta_manifest_list="",
        commit_user=user,
        commit_identifier=identifier,
        commit_kind=kind,
        time_millis=id,
        total_record_count=0,
        delta_record_count=0,
        properties=None if named is None else {properties.COMMITS_PROPERTY: named},
        writer_version=None if named is None else f"{properties.WRITER_PREFIX}1",
    )


def history_of(made: list[Made]) -> History:
    found: History = {}
    named = ""
    for user, identifier, compacts in made:
        for kind in (CommitKind.APPEND, CommitKind.COMPACT)[: 1 + compacts]:
            if user is not None:
                named = properties.with_commit(
                    {properties.COMMITS_PROPERTY: named}, user, identifier, growing=False
                )
            id = len(found) + 1
            who = user or "another engine"
            found[id] = snapshot(id, who, identifier, kind, named if user else None)
    return found


def read_one_by_one(history: Mapping[int, Snapshot], user: str, identifier: int) -> list[int]:
    ids = []
    for id in sorted(history, reverse=True):
        if (history[id].commit_user, history[id].commit_identifier) == (user, identifier):
            ids.append(id)
    return ids


@pytest.fixture(autouse=True)
def short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(properties, "_COMMITS_MAX", LISTED)
    monkeypatch.setattr(readback, "_CLOCKS_MS", 0)


who = st.sampled_from(["a", "b", None])
made = st.lists(
    st.tuples(who, st.integers(0, 30), st.booleans()), max_size=40, unique_by=lambda m: m[:2]
)


@given(made=made, expired=st.integers(0, 9))
def test_leaps_find_what_reading_all_finds(made: list[Made], expired: int) -> None:
    whole = history_of(made)
    history = {id: s for id, s in whole.items() if id > expired}
    for user, n in [("a", 99), *((user, n) for user, n, _ in made if user)]:
        asked = FindMine(user=user, identifier=n, newest=len(whole), oldest=1, growing=False)
        for at_hand in ((), range(0, 80, 3), range(80)):
            found = search(asked, history.get, at_hand=at_hand)
            assert [s.id for s in found.snapshots] == read_one_by_one(history, user, n)
            gone = set(read_one_by_one(whole, user, n)) - set(history)
            assert all(id < found.lowest for id in gone), "ruled out, though it was there once"


@given(made=made, expired=st.integers(0, 30), since=st.integers(0, 50))
def test_what_is_older_than_the_first_attempt_is_not_it(
    made: list[Made], expired: int, since: int
) -> None:
    """Snapshot 7 is of time 7: an attempt that began at 9 cannot have made it."""
    whole = history_of(made)
    history = {id: s for id, s in whole.items() if id > expired}
    for user, n in [("a", 99), *((user, n) for user, n, _ in made if user)]:
        asked = FindMine(
            user=user, identifier=n, newest=len(whole), oldest=1, growing=False, since_ms=since
        )
        for at_hand in ((), range(0, 80, 3), range(80)):
            found = search(asked, history.get, at_hand=at_hand)
            ids = [id for id in read_one_by_one(whole, user, n) if id >= since]
            there = [id for id in ids if id in history]
            assert [s.id for s in found.snapshots if s.id >= since] == there
            assert all(id < found.lowest for id in ids if id not in history), "taken as never made"
            if not found.snapshots and min(history, default=since) < since:
                assert found.lowest == 1, "an older snapshot is there: nothing is hidden"


def test_a_long_history_is_looked_through_in_leaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(properties, "_COMMITS_MAX", 64)
    history = history_of([("a", n, False) for n in range(2_000)])
    asked = FindMine(user="b", identifier=1, newest=2_000, oldest=1, growing=False)
    read: list[int] = []

    def reading(id: int) -> Snapshot | None:
        read.append(id)
        return history.get(id)

    assert search(asked, reading).snapshots == ()
    assert len(read) <= 2_000 // 64 + 1
    assert search(asked, history.get, at_hand=set(read)).snapshots == ()


def test_a_list_that_was_begun_anew_rules_out_nothing_below_itself() -> None:
    """Another engine dropped the list, and the snapshots that had it were expired when ours came back."""
    history = history_of([("a", 1, False), (None, 1, False), ("b", 1, False)])
    begun_anew = {
        properties.COMMITS_PROPERTY: properties.with_commit({}, "b", 1, growing=False),
        properties.HISTORY_PROPERTY: properties.HISTORY_INCOMPLETE,
    }
    history[3] = replace(history[3], properties=begun_anew)
    asked = FindMine(user="a", identifier=1, newest=3, oldest=1, growing=False)
    assert [s.id for s in search(asked, history.get).snapshots] == [1]
