"""Two verbs of upkeep at once: the second one comes between two calls of the store of the first.

Mutants: tags listed once; the new state of a tag written before anything holds it; branches listed
before a tag goes; a branch made of a tag that went; rollback without a hold, or with the floor unread.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.storage.stores.faults import Call, Faults, FaultyStorage
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.consumers import held, set_consumer
from tests.tables import new_catalog, write_rows
from tests.unit.key_tables import between, create, fresh, keys, on_branch, put


def tagged_and_replaced() -> Any:
    """The tag ``old`` alone keeps key 1."""
    table = create()
    put(table, 1)
    table.tags.create("old")
    put(table, 2, overwrite="table")
    put(table, 3)
    return table


def test_a_tag_renamed_while_expiry_reads_it_keeps_its_files() -> None:
    table = tagged_and_replaced()
    slow = between(table, ("read", "tag/tag-old"), lambda: table.tags.rename("old", "new"))
    slow.expire_snapshots(retain_max=1)
    assert keys(fresh(table), tag="new") == [1]


def test_a_tag_renamed_while_expiry_lists_keeps_its_files() -> None:
    """A listing of a folder that changes may show neither name."""
    table = tagged_and_replaced()

    class Blind(FaultyStorage):
        lists = 0

        def list(self, folder: str) -> Any:
            self.lists += folder == "tag"
            hidden = folder == "tag" and self.lists == 1
            return iter(()) if hidden else super().list(folder)

    storage = Blind(table.access.storage, Faults.none())
    slow = tc.Table(replace(table.access, storage=storage, metadata=Metadata(storage)))
    slow.expire_snapshots(retain_max=1)
    assert storage.lists > 1
    assert keys(fresh(table), tag="old") == [1]


def test_a_tag_whose_new_state_expires_meanwhile_stays_as_it_was() -> None:
    table = tagged_and_replaced()
    slow = between(
        table, ("read", "snapshot/EARLIEST"), lambda: table.expire_snapshots(retain_max=1), after=1
    )
    with pytest.raises(tc.errors.NotFoundError, match="expired while it was tagged"):
        slow.tags.replace("old", snapshot=2)
    assert table.tags.list() == ["old"]
    assert keys(fresh(table), tag="old") == [1]


def test_a_tag_may_be_replaced_while_all_it_does_not_hold_expires() -> None:
    table = tagged_and_replaced()
    slow = between(table, ("write", "tag/tag-old"), lambda: table.expire_snapshots(retain_max=1))
    slow.tags.replace("old", snapshot=2)
    assert table.tags.list() == ["old"]
    assert keys(fresh(table), tag="old") == [2]


@pytest.mark.parametrize(
    "at",
    [("create", "branch/branch-b/schema/schema-0"), ("write", "branch/branch-b/tag/tag-old")],
)
def test_a_branch_of_a_tag_that_goes_meanwhile_is_whole_or_not_there(at: tuple[str, str]) -> None:
    table = tagged_and_replaced()
    table.expire_snapshots(retain_max=1)
    slow = between(table, at, lambda: table.tags.delete("old"))
    with pytest.raises(tc.errors.NotFoundError, match="old"):
        slow.branches.create("b", tag="old")
    assert table.branches.list() == []


def test_a_tag_deleted_while_it_becomes_a_branch_leaves_the_branch_its_files() -> None:
    table = tagged_and_replaced()
    table.expire_snapshots(retain_max=1)
    slow = between(table, ("delete", "tag/tag-old"), lambda: table.branches.create("b", tag="old"))
    slow.tags.delete("old")
    assert keys(on_branch(fresh(table), "b")) == [1]


def test_a_branch_renamed_while_main_expires_keeps_its_files() -> None:
    table = tagged_and_replaced()
    table.branches.create("b", tag="old")
    on_branch(table, "b").tags.delete("old")
    table.tags.delete("old")
    slow = between(
        table, ("list", "branch/branch-b/snapshot"), lambda: table.branches.rename("b", "c")
    )
    slow.expire_snapshots(retain_max=1)
    assert keys(on_branch(fresh(table), "c")) == [1]


def grown() -> Any:
    table = create()
    for key in range(1, 8):
        put(table, key)
    return table


@pytest.mark.parametrize("at", [("write", "snapshot/LATEST"), ("delete", "snapshot/snapshot-5")])
def test_expiry_in_the_middle_of_a_rollback_leaves_the_state_to_go_back_to(
    at: tuple[str, str],
) -> None:
    table = grown()
    slow = between(table, at, lambda: table.expire_snapshots(retain_max=1))
    slow.rollback_to(snapshot=4)
    assert keys(fresh(table)) == [1, 2, 3, 4]
    put(table, 5)
    assert keys(fresh(table)) == [1, 2, 3, 4, 5]
    table.expire_snapshots(retain_max=1)
    assert keys(fresh(table)) == [1, 2, 3, 4, 5]
    assert table.consumers.list() == {}


@pytest.mark.parametrize(
    "at",
    [("write", "snapshot/EARLIEST"), ("read", "snapshot/snapshot-7"), ("list", "tag")],
)
def test_a_rollback_in_the_middle_of_expiry_finds_its_state_or_says_that_it_is_gone(
    at: tuple[str, str],
) -> None:
    table = grown()
    gone: list[str] = []

    def back() -> None:
        try:
            table.rollback_to(snapshot=4)
        except tc.errors.NotFoundError as error:
            gone.append(str(error))

    between(table, at, back).expire_snapshots(retain_max=1)
    want = list(range(1, 8)) if gone else [1, 2, 3, 4]
    assert keys(fresh(table)) == want
    put(table, 9)
    assert keys(fresh(table)) == [*want, 9]
    assert table.access.metadata.floor() <= table.latest_snapshot().id
    table.expire_snapshots(retain_max=1)
    assert keys(fresh(table)) == [*want, 9]


@pytest.mark.parametrize("at", [("write", "snapshot/EARLIEST"), ("list", "tag")])
def test_expiry_begins_anew_if_what_was_to_stay_is_rolled_back(at: tuple[str, str]) -> None:
    table = grown()
    table.tags.create("old", snapshot=4)
    slow = between(table, at, lambda: table.rollback_to(tag="old"))
    assert slow.expire_snapshots(retain_max=1).details["earliest_snapshot"] == 4
    assert keys(fresh(table)) == [1, 2, 3, 4]
    put(table, 5)
    assert keys(fresh(table)) == [1, 2, 3, 4, 5]


def test_two_rollbacks_at_once_hold_what_each_goes_back_to() -> None:
    table = create()
    for key in range(4):
        put(table, key)
    with held(table.access, 2):
        with held(table.access, 3):
            table.expire_snapshots(retain_max=1, retain_min=1)
        table.expire_snapshots(retain_max=1, retain_min=1)
        assert keys(fresh(table), snapshot=2) == [0, 1]
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert [s.id for s in fresh(table).snapshots()] == [4]
    assert table.consumers.list() == {}


def test_a_consumer_that_goes_while_expiry_reads_them_holds_nothing() -> None:
    table = grown()
    set_consumer(table.access, "slow", 2)
    at = ("read", "consumer/consumer-slow")
    slow = between(table, at, lambda: table.consumers.delete("slow"))
    slow.expire_snapshots(retain_max=1)
    assert [s.id for s in fresh(table).snapshots()] == [7]


def test_a_hold_that_a_killed_rollback_left_goes_with_a_later_one() -> None:
    table = create()
    put(table, 1)
    names = ["rollback", "rollback-12345678-1234-1234-1234-123456789abc", "rollback-nightly"]
    for name in names:
        table.access.storage.write(f"consumer/consumer-{name}", b'{"nextSnapshot": 1}')
    with held(table.access, 1):
        assert set(names) < set(table.consumers.list()), "they may be at work"
    later = replace(table.access, clock=InTwoHours())
    with held(later, 1):
        pass
    assert list(table.consumers.list()) == ["rollback-nightly"]


class InTwoHours:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + 7_200_000


def at_each_call(
    make: Callable[[], Any], verb: Callable[[Any], object], other: Callable[[Any], object]
) -> Iterator[tuple[Any, int]]:
    """A table of ``make``, after ``other`` ran before call n of ``verb``, for each n there is."""
    for nth in itertools.count():
        table, met = make(), False

        def meanwhile(call: Call, table: Any = table, nth: int = nth) -> None:
            nonlocal met
            if call.index == nth:
                met = True
                other(table)

        storage = FaultyStorage(table.access.storage, Faults(meanwhile))
        slow = tc.Table(replace(table.access, storage=storage, metadata=Metadata(storage)))
        verb(slow)
        if not met:
            return
        yield table, nth


@pytest.mark.parametrize(
    "verb",
    [
        lambda t: t.tags.replace("old", snapshot=3),
        lambda t: t.tags.delete("old"),
        lambda t: t.delete_tags(["old"]),
    ],
    ids=["replace", "delete", "delete several"],
)
@pytest.mark.parametrize("kept", [9, 2])
def test_a_tag_is_replaced_or_deleted_beside_expiry_at_any_moment(
    verb: Callable[[Any], object], kept: int
) -> None:
    def make() -> Any:
        table = tagged_and_replaced()
        table.expire_snapshots(retain_max=kept)
        return table

    def expire(table: Any) -> None:
        table.expire_snapshots(retain_max=1)

    for table, nth in at_each_call(make, verb, expire):
        assert keys(fresh(table)) == [2, 3], nth
        for name in table.tags.list():
            assert keys(fresh(table), tag=name) == [2, 3], nth
        assert table.tags.list() in ([], ["old"]), nth


def test_orphan_removal_beside_a_rename_says_that_the_table_is_gone() -> None:
    house = new_catalog()
    table = house.create_table("d.t", pa.schema([("k", pa.int64())]))
    write_rows(table, pa.table({"k": [1]}))
    table.branches.create("side", snapshot=1)
    for nth in itertools.count():
        met = False

        def meanwhile(call: Call, nth: int = nth) -> None:
            nonlocal met
            if call.index == nth:
                met = True
                house.rename_table("d.t", "d.u")

        storage = FaultyStorage(house.table("d.t").access.storage, Faults(meanwhile))
        access = replace(table.access, storage=storage, metadata=Metadata(storage))
        try:
            tc.Table(access).remove_orphan_files()
        except tc.errors.NotFoundError:
            assert met
        if not met:
            return
        house.rename_table("d.u", "d.t")
