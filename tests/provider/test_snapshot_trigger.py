"""The trigger turns snapshots into events, once, and never stops watching.

The warehouse is scripted here, poll by poll; ``test_live_watch`` watches real tables.  The state store is
Airflow's own accessor over a dictionary in the place of the supervisor.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from airflow._shared.observability.metrics.base_stats_logger import NoStatsLogger
from airflow.jobs import triggerer_job_runner
from airflow.models.trigger import Trigger
from airflow.sdk import Asset
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import (
    AssetStateStoreResult,
    GetAssetStateStoreByName,
    OKResponse,
    SetAssetStateStoreByName,
)
from airflow.sdk.execution_time.context import AssetStateStoreAccessors
from airflow.serialization.encoders import encode_trigger
from airflow.triggers.base import BaseEventTrigger

from paimon_provider._compat import AirflowNotFoundException
from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.triggers import blocking_calls, looking, poll, saved_positions
from paimon_provider.triggers import snapshot as module
from paimon_provider.triggers.poll import watches_of
from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger, PaimonSnapshotWaitTrigger
from paimon_provider.triggers.wait import PaimonPartitionTrigger
from paimon_provider.waiting import wait_conditions
from paimon_provider.watching.conditions import Seen, SnapshotFacts, UnseenSnapshots
from table_core.errors import CorruptFileError, StorageUnavailableError

NAME = "paimon://wh/a/b"


class Supervisor:
    """Answers the two messages that the state store sends."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    async def asend(self, message: Any) -> Any:
        if isinstance(message, SetAssetStateStoreByName):
            self.kept[message.key] = message.value
            return OKResponse(ok=True)
        assert isinstance(message, GetAssetStateStoreByName)
        value = self.kept.get(message.key)
        return None if value is None else AssetStateStoreResult(value=value)


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    supervisor = Supervisor()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)
    monkeypatch.setattr(module, "_FLUSH_SECONDS", 0)
    monkeypatch.setattr(saved_positions, "_SETTLED_SECONDS", 0)
    monkeypatch.setattr(blocking_calls.Pause, "seconds", lambda _: 0)
    return supervisor


def fact(id: int, kind: str = "APPEND", changelog: int = 0) -> SnapshotFacts:
    return SnapshotFacts(
        id=id,
        kind=kind,
        operation=None,
        user="u",
        time_millis=id * 1000,
        total_rows=9,
        delta_rows=1,
        changelog_rows=changelog,
    )


class OverError(Exception):
    """The script is over."""


END: list[Any] = []
"""What ends the collecting of events."""


def heard_of(head: SnapshotFacts) -> None:
    """Until every watch is at ``head``, or one cannot be."""
    until = time.monotonic() + 2
    watches = watches_of("c").of("a.b")
    while time.monotonic() < until and not all(
        w.seen and w.seen.place.id == head.id for w in watches
    ):
        time.sleep(0.005)


def script(monkeypatch: pytest.MonkeyPatch, *polls: Any, producer: str = "none") -> None:
    """Each poll is a list of snapshots, or an error; after the last one the test ends."""
    answers: Iterator[Any] = iter(polls)
    END.append(lambda: None)
    given: list[SnapshotFacts] = []

    def unseen_snapshots(_: PaimonHook, __: str, since: Seen | None) -> UnseenSnapshots:
        if given:  # on a busy machine the next look may come before this one is heard
            heard_of(given[-1])
        answer = next(answers, OverError)
        if answer is OverError:
            END[-1]()
            raise OverError
        if isinstance(answer, Exception):
            raise answer
        given[:] = answer[-1:]
        shown = answer[-1:] if since is None else answer
        return UnseenSnapshots(snapshots=tuple(shown), since=since, producer=producer)

    def new_snapshots(hook: PaimonHook, table: str, condition: Any) -> Any:
        found = condition.matching(unseen_snapshots(hook, table, Seen()).snapshots, producer)
        return (found, producer) if found else None

    def not_yet(_: wait_conditions.Wait, __: PaimonHook) -> wait_conditions.NotYet:
        return wait_conditions.NotYet(why="nothing new")

    monkeypatch.setattr(wait_conditions, "not_yet", not_yet)
    monkeypatch.setattr(wait_conditions.SnapshotWait, "placed", lambda wait, _: wait)
    monkeypatch.setattr(PaimonHook, "unseen_snapshots", unseen_snapshots)
    monkeypatch.setattr(PaimonHook, "new_snapshots", new_snapshots)


def events(trigger: Any, *, store: bool = True) -> list[dict[str, Any]]:
    """All payloads until the script is over."""

    async def collect() -> list[dict[str, Any]]:
        if store:
            trigger.asset_state_store = AssetStateStoreAccessors([Asset(name=NAME, uri=NAME)])
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        async def end() -> None:
            for _ in range(30):  # what has been told is heard first
                await asyncio.sleep(0.01)
            task.cancel()

        END.append(lambda: asyncio.run_coroutine_threadsafe(end(), loop))
        found = []
        try:
            async for event in trigger.run():
                found.append(event.payload)
        except asyncio.CancelledError:
            pass
        return found

    return asyncio.run(collect())


def watcher(**more: Any) -> PaimonSnapshotTrigger:
    return PaimonSnapshotTrigger(
        **{"table": "a.b", "asset_uri": NAME, "paimon_conn_id": "c", "poll_seconds": 1.0} | more
    )


def ids(found: list[dict[str, Any]]) -> list[int]:
    return [payload["snapshot_id"] for payload in found]


def test_what_is_there_at_first_is_no_news(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    old = [fact(1), fact(2)]
    script(monkeypatch, old, old, [*old, fact(3)], [*old, fact(3)])
    assert ids(events(watcher())) == [3]
    assert supervisor.kept == {"paimon.seen": {"snapshot_id": 3, "time_millis": 3000}}


def test_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor) -> None:
    script(monkeypatch, [fact(1), fact(2)])
    (payload,) = events(watcher(start="earliest"))
    assert payload["snapshots"] == {"first": 1, "last": 2, "count": 2}


def test_a_table_that_comes_later_is_news_from_its_first_snapshot(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    script(monkeypatch, [], [], [fact(1)])
    assert ids(events(watcher())) == [1]


def test_what_happened_meanwhile_is_one_event_afterwards(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    script(monkeypatch, [fact(1)], [fact(1)])
    assert events(watcher()) == []
    script(monkeypatch, [fact(1), fact(2), fact(3)])
    (payload,) = events(watcher())
    assert payload["snapshots"] == {"first": 2, "last": 3, "count": 2}
    script(monkeypatch, [fact(1), fact(2), fact(3)])
    assert events(watcher()) == []


def test_commits_without_changes_wake_nobody_and_are_not_looked_at_twice(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    first, append, compact = fact(1), fact(2), fact(3, "COMPACT", changelog=4)
    polls = ([first], [first], [first, append], [first, append, compact])
    script(monkeypatch, *polls, producer="full-compaction")
    (payload,) = events(watcher())
    assert payload["kinds"] == {"COMPACT": 1}
    assert supervisor.kept["paimon.seen"]["snapshot_id"] == 3


def test_no_fault_ends_it(monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor) -> None:
    faults = [
        StorageUnavailableError("503"),
        CorruptFileError("bad"),
        RuntimeError("no connection"),
    ]
    script(monkeypatch, faults[0], [fact(1)], [fact(1)], *faults, [fact(1), fact(2)])
    assert ids(events(watcher())) == [2]


def test_without_a_state_store_it_still_watches(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    script(monkeypatch, [fact(1)], [fact(1), fact(2)])
    assert ids(events(watcher(), store=False)) == [2]


@pytest.mark.parametrize("more", [{}, {"events": "snapshot"}])
def test_what_a_watcher_says_when_it_is_being_taken_away_is_said_again(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor, more: dict[str, Any]
) -> None:
    """Airflow drops such an event without a word and cancels the watcher a moment later."""
    monkeypatch.setattr(saved_positions, "_SETTLED_SECONDS", 600)
    script(monkeypatch, [fact(1)], [fact(1), fact(2)], [fact(1), fact(2), fact(3, "COMPACT")])
    assert ids(events(watcher(**more))) == [2]
    assert supervisor.kept["paimon.seen"]["snapshot_id"] == 1
    script(monkeypatch, [fact(1), fact(2)])
    assert ids(events(watcher(**more))) == [2]


@pytest.mark.parametrize("more", [{}, {"events": "snapshot"}, {"min_rows": 2}])
def test_an_event_that_is_told_again_after_a_kill_is_the_same_and_what_came_meanwhile_is_another(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor, more: dict[str, Any]
) -> None:
    """Three kills, one after the other, each before anything has settled."""
    monkeypatch.setattr(saved_positions, "_SETTLED_SECONDS", 600)
    facts = [fact(id) for id in range(1, 10)]
    script(monkeypatch, facts[:1], facts[:3])
    first = events(watcher(**more))
    script(monkeypatch, facts[:5])
    second = events(watcher(**more))
    script(monkeypatch, facts[:7])
    third = events(watcher(**more))
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    told = [id for one in third for id in _range_of(one)]
    assert told == [2, 3, 4, 5, 6, 7], "each snapshot is in one event"


def _range_of(payload: dict[str, Any]) -> range:
    snapshots = payload["snapshots"]
    return range(snapshots["first"], snapshots["last"] + 1)


def test_what_has_settled_is_not_told_again(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    facts = [fact(id) for id in range(1, 10)]
    script(monkeypatch, facts[:1], facts[:3], facts[:5])
    assert ids(events(watcher())) == [3, 5]
    assert supervisor.kept["paimon.seen"] == {"snapshot_id": 5, "time_millis": 5000}


def test_a_triggerer_that_wakes_up_beside_its_successor_tells_what_that_told(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    """It was stopped for a while; another one has told 2 to 4 meanwhile."""
    monkeypatch.setattr(saved_positions, "_SETTLED_SECONDS", 600)
    facts = [fact(id) for id in range(1, 10)]
    script(monkeypatch, facts[:1], facts[:4])
    (by_successor,) = events(watcher())
    successors = supervisor.kept["paimon.seen"]
    supervisor.kept.clear()
    script(monkeypatch, facts[:1], *[facts[:6]] * 3)

    began = saved_positions.SavedPositions.begin

    async def and_stall(saved: Any, mark: Seen) -> None:
        await began(saved, mark)
        supervisor.kept["paimon.seen"] = successors

    monkeypatch.setattr(saved_positions.SavedPositions, "begin", and_stall)
    told = events(watcher())
    assert told[0] == by_successor
    assert [id for one in told for id in _range_of(one)] == [2, 3, 4, 5, 6]


def test_a_store_that_hangs_blocks_neither_the_loop_nor_a_second_thread(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    released = threading.Event()
    asked: list[int] = []

    def hang(_: PaimonHook, __: str, since: Seen | None) -> UnseenSnapshots:
        asked.append(1)
        released.wait(20)
        return UnseenSnapshots(snapshots=(fact(1), fact(2)), since=since)

    monkeypatch.setattr(PaimonHook, "unseen_snapshots", hang)
    monkeypatch.setattr(looking, "_CALL_SECONDS", 0.05)

    async def watch() -> Any:
        trigger = watcher(start="earliest")
        first = asyncio.ensure_future(anext(trigger.run()))
        async with asyncio.timeout(60):
            while not asked:
                await asyncio.sleep(0.01)
        await asyncio.sleep(10 * looking._CALL_SECONDS)
        assert not first.done()
        assert len(asked) == 1, "one thread waits, however often it timed out"
        released.set()
        return (await first).payload

    assert asyncio.run(watch())["snapshot_id"] == 2


@pytest.mark.parametrize(
    "trigger",
    [
        watcher(on="compact", start="earliest"),
        watcher(min_rows=3, partitions=[{"dt": "1"}], events="snapshot"),
        PaimonSnapshotWaitTrigger(
            table="a.b", paimon_conn_id="c", after=4, on="any", min_rows=2, poll_seconds=2.5
        ),
        PaimonPartitionTrigger(table="a.b", paimon_conn_id="c", partition={"dt": "{{ ds }}"}),
    ],
)
def test_it_survives_serialization(trigger: Any) -> None:
    path, kwargs = trigger.serialize()
    assert path == f"{type(trigger).__module__}.{type(trigger).__name__}"
    assert type(trigger)(**kwargs).serialize() == (path, kwargs)


@pytest.mark.parametrize(
    "more", [{}, {"partitions": [{"dt": "1", "c": "is"}], "events": "snapshot", "min_rows": 2}]
)
def test_airflow_knows_a_watcher_again_that_it_has_stored(more: dict[str, Any]) -> None:
    """Else each reading of the Dag file takes the watcher away that the one before has made."""
    said = encode_trigger(watcher(**more))
    stored = Trigger(classpath=said["classpath"], kwargs=said["kwargs"])
    kept = BaseEventTrigger.hash(stored.classpath, stored.kwargs)
    assert BaseEventTrigger.hash(said["classpath"], said["kwargs"]) == kept


def test_rows_are_waited_for_and_none_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    first = [fact(1), fact(2)]
    script(monkeypatch, first, first, [*first, fact(3)], [*first, fact(3), fact(4)])
    (payload,) = events(watcher(start="earliest", min_rows=3))
    assert payload["snapshots"] == {"first": 1, "last": 3, "count": 3}


def test_watchers_of_one_asset_keep_places_of_their_own(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    waiting, plain = {"start": "earliest", "min_rows": 3}, {"start": "earliest"}
    script(monkeypatch, [fact(1)], [fact(1), fact(2)])
    assert events(watcher(**waiting)) == []
    script(monkeypatch, [fact(1), fact(2)])
    assert ids(events(watcher(**plain))) == [2]
    script(monkeypatch, [fact(1), fact(2), fact(3)])
    [event] = events(watcher(**waiting))
    assert event["snapshots"] == {"first": 1, "last": 3, "count": 3}, "what waited still counts"


def test_a_watcher_of_filters_keeps_a_place_of_its_own(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    supervisor.kept["paimon.seen"] = {"snapshot_id": 1, "time_millis": 1000}
    script(monkeypatch, [fact(1), fact(2)], [fact(1), fact(2), fact(3)])
    assert ids(events(watcher(on="append"))) == [3], "it is new, and begins with what comes"
    assert supervisor.kept["paimon.seen"]["snapshot_id"] == 1


def test_each_snapshot_may_have_an_event_of_its_own(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    three = [fact(1), fact(2, "COMPACT"), fact(3)]
    script(monkeypatch, three, three)
    found = events(watcher(start="earliest", events="snapshot"))
    assert [payload["snapshots"] for payload in found] == [
        {"first": id, "last": id, "count": 1} for id in (1, 3)
    ]


def test_triggers_on_one_connection_share_a_poll(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    """Three watch two tables: each table is asked once a round, and each hears of its own."""
    asked: list[str] = []
    heads = {"a.b": [fact(1)], "a.c": [fact(1), fact(2)]}

    def unseen_snapshots(_: PaimonHook, table: str, since: Seen | None) -> UnseenSnapshots:
        asked.append(table)
        return UnseenSnapshots(snapshots=tuple(heads[table]), since=since or Seen())

    monkeypatch.setattr(PaimonHook, "unseen_snapshots", unseen_snapshots)

    async def share() -> list[int]:
        triggers = [
            watcher(table=table, asset_uri=f"{NAME}{n}", start="earliest", paimon_conn_id="shared")
            for n, table in enumerate(("a.b", "a.c", "a.c"))
        ]
        assert len({trigger.shared_stream_key() for trigger in triggers}) == 1

        async def keep_looking() -> None:
            async for _ in PaimonSnapshotTrigger.open_shared_stream({"paimon_conn_id": "shared"}):
                raise AssertionError("nothing comes to everybody")

        async def nothing() -> Any:
            await asyncio.Event().wait()
            yield None

        async def one(trigger: Any) -> int:
            async for event in trigger.filter_shared_stream(nothing()):
                return int(event.payload["snapshot_id"])
            return 0

        polling = asyncio.create_task(keep_looking())
        found = await asyncio.wait_for(asyncio.gather(*map(one, triggers)), 20)
        polling.cancel()
        return list(found)

    assert asyncio.run(share()) == [1, 2, 2]
    assert set(asked) == {"a.b", "a.c"}
    assert poll.watches_of("shared").tables() == []


def test_many_tables_need_few_threads_and_each_hears_of_its_own(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    threads: set[int] = set()

    def unseen_snapshots(_: PaimonHook, table: str, since: Seen | None) -> UnseenSnapshots:
        threads.add(threading.get_ident())
        return UnseenSnapshots(snapshots=(fact(int(table[3:])),), since=since or Seen())

    monkeypatch.setattr(PaimonHook, "unseen_snapshots", unseen_snapshots)

    async def watch() -> list[int]:
        watches = poll.watches_of("many")
        all_of_them = [poll.Watch(f"a.t{n}", 60.0, Seen()) for n in range(1, 501)]
        for one in all_of_them:
            watches.add(one)
        polling = asyncio.create_task(poll.poll("many", module._LOG))

        async def going() -> Any:
            await polling
            yield None

        heard = [anext(one.heard(going())) for one in all_of_them]
        found = await asyncio.wait_for(asyncio.gather(*heard), 60)
        polling.cancel()
        for one in all_of_them:
            watches.remove(one)
        return [unseen.head.place.id for unseen in found]

    assert asyncio.run(watch()) == list(range(1, 501))
    assert len(threads) <= looking.PARALLEL


@pytest.mark.parametrize("turns", range(5))
def test_a_poll_that_is_woken_and_ended_at_once_ends(turns: int) -> None:
    """Else it goes on for ever, beside the one that takes its place."""

    async def ended() -> bool:
        watches = poll.Watches()
        waiting = asyncio.create_task(watches.wait(60))
        for _ in range(5):
            await asyncio.sleep(0)
        watches.wake()
        for _ in range(turns):
            await asyncio.sleep(0)
        if waiting.done():
            return True
        waiting.cancel()
        await asyncio.wait({waiting})
        return waiting.cancelled()

    assert asyncio.run(ended())


def test_a_table_that_hangs_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    released = threading.Event()

    def unseen_snapshots(_: PaimonHook, table: str, since: Seen | None) -> UnseenSnapshots:
        if table == "a.slow":
            released.wait(20)
        return UnseenSnapshots(snapshots=(fact(1),), since=since or Seen())

    monkeypatch.setattr(PaimonHook, "unseen_snapshots", unseen_snapshots)

    async def watch() -> tuple[int, float]:
        watches = poll.watches_of("half")
        slow, quick = (poll.Watch(table, 0.01) for table in ("a.slow", "a.quick"))
        for one in (slow, quick):
            watches.add(one)
        polling = asyncio.create_task(poll.poll("half", module._LOG))
        start = asyncio.get_running_loop().time()

        async def going() -> Any:
            await polling
            yield None

        unseen = await anext(quick.heard(going()))
        spent = asyncio.get_running_loop().time() - start
        assert slow.told is None
        released.set()
        polling.cancel()
        for one in (slow, quick):
            watches.remove(one)
        return unseen.head.place.id, spent

    id, spent = asyncio.run(watch())
    assert id == 1
    assert spent < 5


class Counted(NoStatsLogger):
    """Keeps what it is told, as a backend of Airflow's metrics."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}

    def incr(self, stat: str, count: int = 1, rate: float = 1, *, tags: Any = None) -> None:
        self.told[stat] = tags

    def timing(self, stat: str, dt: Any, *, tags: Any = None) -> None:
        self.told[stat] = tags


def test_what_the_triggerer_counts_goes_where_the_triggerer_has_set_metrics_up(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    """Airflow has two copies of its metrics, and a triggerer prepares another one than a task."""
    counted = Counted()
    monkeypatch.setattr(triggerer_job_runner.stats, "_factory", lambda: counted)
    monkeypatch.setattr(triggerer_job_runner.stats, "_backend", None)
    script(monkeypatch, [fact(1)], StorageUnavailableError("503"), [fact(1), fact(2)])
    assert ids(events(watcher(start="latest"))) == [2]
    tags = {"table": "a.b"}
    assert counted.told.pop("paimon.looks") is None
    names = ("paimon.look_failures", "paimon.events", "paimon.event_delay")
    assert counted.told == dict.fromkeys(names, tags)


def waiter(**more: Any) -> PaimonSnapshotWaitTrigger:
    return PaimonSnapshotWaitTrigger(**{"table": "a.b", "paimon_conn_id": "c", "after": 4} | more)


def test_the_waiter_reports_what_satisfies_it(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    before = [fact(4)]
    script(monkeypatch, [], before, StorageUnavailableError("503"), [*before, fact(5)])
    (payload,) = events(waiter(), store=False)
    assert payload["status"] == "found"
    assert payload["found"]["snapshot_id"] == 5


def test_the_waiter_outlives_a_connection_that_is_away(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    gone = AirflowNotFoundException("The conn_id `c` isn't defined")
    script(monkeypatch, [fact(4)], gone, gone, [fact(4), fact(5)])
    (payload,) = events(waiter(), store=False)
    assert payload["status"] == "found"


def test_a_wait_knows_its_fields_and_no_other() -> None:
    assert wait_conditions.field_names(wait_conditions.TagWait) == ("table", "tag")
    with pytest.raises(TypeError, match="nonsense"):
        waiter(nonsense=1)


def test_the_waiter_gives_up_on_what_waiting_does_not_mend(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    script(monkeypatch, CorruptFileError("snapshot-5: bad"))
    (payload,) = events(waiter(), store=False)
    assert payload["status"] == "error"
    assert payload["error"]["kind"] == "corrupt"
