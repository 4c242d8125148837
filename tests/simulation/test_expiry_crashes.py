"""Expiry that is cut short anywhere is finished by the next run, and deletes nothing that is named.

Method: a table with overwrites, upgrades, compactions and a tag is expired once without a fault.  Then the
same with a crash after each effect in turn; the next run must reach the very same files.  The fake
asserts after every effect that all promised snapshots and tags are whole.

Mutants: a snapshot deleted before its files; tags, kept metadata or upgrades ignored; no promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from table_core.commit.outcome import Outcome
from table_core.commit.overwrite import Selection
from table_core.commit.protocol import commit, drive
from table_core.commit.request import CommitPart, CommitRequest
from table_core.expire import protocol
from table_core.expire.plan import Delete, DeleteSnapshots, Expired, HeldBy, Retention
from table_core.expire.protocol import expire_snapshots
from table_core.ondisk.properties import WRITER_PREFIX
from table_core.ondisk.snapshot import CommitKind, Snapshot
from tests.simulation.fake_table import FakeTable

KEEP_TWO = Retention(retained_min=2, retained_max=2, time_retained_ms=0)


def put(table: FakeTable, user: str, *, overwrite: bool = False, **more: Any) -> Outcome:
    new = table.new_file(Counter({(user, 0): 1}))
    part = CommitPart(
        kind=CommitKind.APPEND,
        entries=(new,),
        overwrite=Selection.dynamic([new]) if overwrite else None,
    )
    return drive(commit(request(user, append=part, **more), bounds=None), table.perform)


def compact(table: FakeTable, user: str) -> Outcome:
    part = CommitPart(kind=CommitKind.COMPACT, entries=table.compaction())
    return drive(commit(request(user, compact=part), bounds=None), table.perform)


def request(user: str, **more: Any) -> CommitRequest:
    return CommitRequest(
        table="t",
        user=user,
        identifier=0,
        fresh_user=True,
        writer_version=more.pop("writer_version", f"{WRITER_PREFIX}0"),
        **more,
    )


def worn_table() -> FakeTable:
    table = FakeTable()
    put(table, "a")
    compact(table, "b")  # an upgrade
    put(table, "c")
    put(table, "d")
    table.tags["kept"] = table.snapshots[4]
    compact(table, "e")
    put(table, "f")
    put(table, "g", overwrite=True)
    put(table, "h")
    put(table, "i")
    return table


def files_of(table: FakeTable) -> tuple[set[str], set[str], set[str], set[int]]:
    return set(table.data), set(table.manifests), set(table.lists), set(table.snapshots)


def named(table: FakeTable) -> tuple[set[str], set[str], set[str]]:
    """What snapshots and tags name: data, manifests, lists."""
    documents = [table.snapshot(id) for id in table.snapshots]
    documents += [Snapshot.from_json(body, path=f"tag-{n}") for n, body in table.tags.items()]
    data, manifests, lists = set(), set(), set()
    for snapshot in documents:
        assert snapshot is not None
        lists |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        manifests |= {m.file_name for m in table.metas(snapshot)}
        data |= {e.file.file_name for e in table.live(snapshot).values()}
    return data, manifests, lists


def steps_until(table: FakeTable, retention: Retention, count: int) -> int:
    """Perform at most ``count`` effects of one expiry, checking after each; how many there were.

    A delete of several files counts as one of each.
    """
    steps = expire_snapshots(retention)
    done = 0
    reply: Any = None
    try:
        while done < count:
            for effect in one_by_one(steps.send(reply)):
                if done < count:
                    reply = table.perform(effect)
                    table.check()
                    done += 1
    except StopIteration:
        pass
    return done


def one_by_one(effect: Any) -> Iterator[Any]:
    if isinstance(effect, DeleteSnapshots):
        yield from (DeleteSnapshots((id,)) for id in effect.ids)
    elif isinstance(effect, Delete):
        yield from (Delete(data=(file,)) for file in effect.data)
        yield from (Delete(paths=(path,)) for path in effect.paths)
    else:
        yield effect


def test_what_is_left_is_what_is_named() -> None:
    table = worn_table()
    result = drive(expire_snapshots(KEEP_TWO), table.perform)
    assert sorted(table.snapshots) == [8, 9]
    assert result.snapshots == tuple(range(1, 8))
    assert files_of(table)[:3] == named(table)
    table.check()


@pytest.mark.parametrize("together", [1, 2, 3, 100])
def test_a_run_cut_short_anywhere_is_finished_by_the_next(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_TOGETHER", together)
    whole = worn_table()
    total = steps_until(whole, KEEP_TWO, 10_000)
    assert total > 50
    for count in range(total):
        table = worn_table()
        steps_until(table, KEEP_TWO, count)
        drive(expire_snapshots(KEEP_TWO), table.perform)
        table.check()
        assert files_of(table) == files_of(whole), f"cut after {count} effects"


def test_a_dry_run_says_what_the_run_then_does() -> None:
    table = worn_table()
    before = files_of(table)
    dry = drive(
        expire_snapshots(
            Retention(retained_min=2, retained_max=2, time_retained_ms=0, dry_run=True)
        ),
        table.perform,
    )
    assert files_of(table) == before
    assert table.earliest_hint is None
    assert drive(expire_snapshots(KEEP_TWO), table.perform) == dry


def test_a_consumer_holds_what_it_has_not_read() -> None:
    table = worn_table()
    table.consumers["c"] = 5
    result = drive(expire_snapshots(KEEP_TWO), table.perform)
    assert min(table.snapshots) == 5
    assert result.held_by is HeldBy.CONSUMER


def test_a_consumer_that_registers_after_the_promise_keeps_its_snapshots() -> None:
    table = worn_table()

    def perform(effect: Any) -> Any:
        reply = table.perform(effect)
        if type(effect).__name__ == "Promise":
            table.consumers["late"] = 3
        return reply

    drive(expire_snapshots(KEEP_TWO), perform)
    assert min(table.snapshots) == 3


def test_age_keeps_a_snapshot_whose_successor_is_young() -> None:
    table = worn_table()
    table.now_ms = 0
    young = table.snapshot(6)
    assert young is not None
    result = drive(
        expire_snapshots(Retention(retained_min=1, older_than_ms=young.time_millis)), table.perform
    )
    assert (result.end, result.held_by) == (5, HeldBy.AGE)


def test_the_newest_snapshot_with_a_position_stays() -> None:
    table = FakeTable()
    put(table, "a")
    put(table, "b", properties={"tc.position": "7"})
    for user in ("java1", "java2", "java3"):
        foreign = put(table, user, writer_version="java")
        snapshot = foreign.append.snapshot if foreign.append else None
        assert snapshot is not None
        document = table.snapshots[snapshot.id].replace(b'"tc.position": "7"', b'"x": "y"')
        table.snapshots[snapshot.id] = document
        table.checked.clear()
    result = drive(expire_snapshots(KEEP_TWO), table.perform)
    assert (min(table.snapshots), result.held_by) == (2, HeldBy.POSITION)


@pytest.mark.parametrize("retained", [0, 1])
def test_the_newest_snapshot_always_stays(retained: int) -> None:
    table = worn_table()
    drive(
        expire_snapshots(
            Retention(retained_min=retained, retained_max=retained, time_retained_ms=0)
        ),
        table.perform,
    )
    assert sorted(table.snapshots) == [9]


def test_an_empty_table_has_nothing_to_expire() -> None:
    assert drive(expire_snapshots(KEEP_TWO), FakeTable().perform) == Expired(end=0)


def test_a_run_removes_no_more_than_its_limit() -> None:
    table = worn_table()
    limited = Retention(retained_min=1, retained_max=1, time_retained_ms=0, deletes_max=3)
    result = drive(expire_snapshots(limited), table.perform)
    assert (result.snapshots, result.held_by) == ((1, 2, 3), HeldBy.LIMIT)
