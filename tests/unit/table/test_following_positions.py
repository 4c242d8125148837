"""Followers and consumers: a table that is no longer what was read is said, between any two polls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import PositionDivergedError
from table_core.ondisk import layout
from table_core.storage.stores.faults import Call, Fault, Faults, FaultyStorage
from table_core.table.api.table import Table
from tests.clocks import Impatient, WouldWaitError
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([("id", pa.int64())])


def made(commits: int) -> tuple[tc.Catalog, tc.Table]:
    catalog = new_catalog()
    options = {"snapshot.num-retained.min": "1"}
    table = catalog.create_table("d.t", SCHEMA, options=options)
    put(table, *range(1, commits + 1))
    return catalog, table


def put(table: tc.Table, *ids: int) -> None:
    for id in ids:
        write_rows(table, pa.table({"id": [id]}))


def follower(table: tc.Table, **how: Any) -> Callable[[], list[int]]:
    """What each poll gives; one generator for all of them, as a reader that lives on."""
    access = replace(table.access, clock=Impatient(table.access.clock))
    where: dict[str, Any] = {}

    def poll() -> list[int]:
        stream: Iterator[pa.Table] = where.get("stream") or Table(access).follow(**how)
        found: list[int] = []
        try:
            for rows in stream:
                found += rows["id"].to_pylist()
        except WouldWaitError:
            pass
        return found

    return poll


class Patient:
    """A clock that does something when it is asked to wait, then gives up."""

    def __init__(self, clock: Any, what: Callable[[], None]) -> None:
        self.clock, self.what, self.waits = clock, what, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.clock, name)

    def sleep_ms(self, duration_ms: int) -> None:
        self.waits += 1
        if self.waits > 1:
            raise WouldWaitError
        self.what()


def live(table: tc.Table, what: Callable[[], None], **how: Any) -> Iterator[pa.Table]:
    return Table(replace(table.access, clock=Patient(table.access.clock, what))).follow(**how)


def back_and_on(catalog: tc.Catalog) -> None:
    table = catalog.table("d.t")
    table.rollback_to(snapshot=2)
    put(table, 11, 12, 13, 14)


def back(catalog: tc.Catalog) -> None:
    catalog.table("d.t").rollback_to(snapshot=2)


def back_to_one_less(catalog: tc.Catalog) -> None:
    table = catalog.table("d.t")
    table.rollback_to(snapshot=4)
    put(table, 11)


def fast_forwarded(catalog: tc.Catalog) -> None:
    table = catalog.table("d.t")
    table.branches.create("b", snapshot=2)
    put(catalog.table("d.t", branch="b"), 11, 12, 13, 14)
    table.branches.fast_forward("b")


def made_anew(catalog: tc.Catalog) -> None:
    catalog.drop_table("d.t")
    put(catalog.create_table("d.t", SCHEMA), 11, 12, 13, 14, 15, 16)


CHANGES = [back, back_to_one_less, back_and_on, fast_forwarded, made_anew]


@pytest.mark.parametrize("done", CHANGES)
@pytest.mark.parametrize("how", [{"after": 5}, {"consumer": "c"}, {}])
def test_a_follower_says_what_happened_between_two_polls(
    done: Callable[[tc.Catalog], None], how: dict[str, Any]
) -> None:
    catalog, table = made(5)
    stream = live(table, lambda: done(catalog), **how)
    seen: list[int] = []
    with pytest.raises(PositionDivergedError) as caught:
        seen.extend(id for rows in stream for id in rows["id"].to_pylist())
    assert max(seen, default=0) <= 5
    assert caught.value.facts["reason"] in {"rolled-back", "made-anew"}


@pytest.mark.parametrize("done", CHANGES)
def test_a_consumer_that_comes_back_says_what_happened_meanwhile(
    done: Callable[[tc.Catalog], None],
) -> None:
    catalog, table = made(5)
    assert sorted(follower(table, consumer="c")()) == [1, 2, 3, 4, 5]
    done(catalog)
    if done is made_anew:  # its consumers went with it
        assert catalog.table("d.t").consumers.list() == {}
        return
    with pytest.raises(PositionDivergedError):
        follower(catalog.table("d.t"), consumer="c")()
    with pytest.raises(PositionDivergedError):
        catalog.table("d.t").changes(consumer="c")


def test_a_consumer_goes_on_past_commits_and_expiry_and_in_the_form_that_paimon_writes() -> None:
    catalog, table = made(5)
    poll = follower(table, consumer="c")
    poll()
    put(table, 6, 7)
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert poll() == [6, 7]
    path = layout.consumer_path("c", "main")
    table.access.storage.write(path, b'{"nextSnapshot": 8}')
    put(table, 8)
    assert poll() == [8]
    # moved on by another program, which keeps no mark, or somebody else's mark
    body = table.access.storage.read(path)
    table.access.storage.write(path, body.replace(b'"nextSnapshot": 9', b'"nextSnapshot": 8'))
    assert poll() == [8]
    table.consumers.reset("c", 8)
    back = catalog.table("d.t")
    back.rollback_to(snapshot=6)
    put(back, 21, 22)
    with pytest.raises(PositionDivergedError):
        follower(back, consumer="c")()


def test_a_poll_asks_the_store_no_more_than_it_must() -> None:
    _, table = made(5)
    calls: Counter[str] = Counter()

    def count(call: Call) -> Fault | None:
        calls[call.name] += 1
        return None

    storage = FaultyStorage(table.access.storage, Faults(count))
    metadata = replace(table.access.metadata, storage=storage)
    handle = Table(replace(table.access, storage=storage, metadata=metadata))
    begun: list[int] = []

    def first_wait() -> None:
        begun.append(calls.total())
        calls.clear()

    with pytest.raises(WouldWaitError):
        list(live(handle, first_wait, after=5))
    assert begun
    assert calls.total() <= 3, calls  # the next snapshot, its changelog, and the one that was read
