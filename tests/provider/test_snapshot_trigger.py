"""The trigger turns snapshots into events, once, and never stops watching.

The warehouse is scripted here, poll by poll; ``test_live_watch`` watches real tables.  The state store is
Airflow's own accessor over a dictionary in the place of the supervisor.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from airflow.sdk import Asset
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import (
    AssetStateStoreResult,
    GetAssetStateStoreByName,
    OKResponse,
    SetAssetStateStoreByName,
)
from airflow.sdk.execution_time.context import AssetStateStoreAccessors

from paimon_provider.conditions import SnapshotFacts
from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.triggers import snapshot as module
from paimon_provider.triggers.snapshot import PaimonSnapshotTrigger, PaimonSnapshotWaitTrigger
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
    monkeypatch.setattr(module._Pause, "seconds", lambda _: 0)
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


def script(monkeypatch: pytest.MonkeyPatch, *polls: Any, producer: str = "none") -> None:
    """Each poll is a list of snapshots, or an error; after the last one the test ends."""
    answers: Iterator[Any] = iter(polls)
    current: list[Any] = []

    def head(_: PaimonHook, __: str) -> SnapshotFacts | None:
        answer = next(answers, OverError)
        if answer is OverError:
            raise asyncio.CancelledError
        if isinstance(answer, Exception):
            raise answer
        current[:] = answer
        return answer[-1] if answer else None

    monkeypatch.setattr(PaimonHook, "head", head)
    monkeypatch.setattr(PaimonHook, "snapshots", lambda _, __: (list(current), producer))


def events(trigger: Any, *, store: bool = True) -> list[dict[str, Any]]:
    """All payloads until the script is over."""

    async def collect() -> list[dict[str, Any]]:
        if store:
            trigger.asset_state_store = AssetStateStoreAccessors([Asset(name=NAME, uri=NAME)])
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


def test_a_pause_right_after_an_event_keeps_the_watermark(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    """Airflow cancels the trigger while it waits for the event to be stored."""
    monkeypatch.setattr(module, "_FLUSH_SECONDS", 600)
    script(monkeypatch, [], [fact(1)])

    async def pause() -> None:
        trigger = watcher()
        trigger.asset_state_store = AssetStateStoreAccessors([Asset(name=NAME, uri=NAME)])
        stream = trigger.run()
        assert (await anext(stream)).payload["snapshot_id"] == 1
        following = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following

    asyncio.run(pause())
    assert supervisor.kept["paimon.seen"]["snapshot_id"] == 1


def test_a_store_that_hangs_blocks_neither_the_loop_nor_a_second_thread(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    released = threading.Event()
    asked: list[int] = []

    def hang(_: PaimonHook, __: str) -> SnapshotFacts:
        asked.append(1)
        released.wait(20)
        return fact(len(asked))

    monkeypatch.setattr(PaimonHook, "head", hang)
    monkeypatch.setattr(PaimonHook, "snapshots", lambda _, __: ([fact(1), fact(2)], "none"))
    monkeypatch.setattr(module, "_CALL_SECONDS", 0.05)

    async def watch() -> Any:
        trigger = watcher(start="earliest")
        first = asyncio.ensure_future(anext(trigger.run()))
        await asyncio.sleep(0.5)
        assert not first.done()
        assert len(asked) == 1, "one thread waits, however often it timed out"
        released.set()
        return (await first).payload

    assert asyncio.run(watch())["snapshot_id"] == 2


@pytest.mark.parametrize(
    "trigger",
    [
        watcher(on="compact", start="earliest"),
        PaimonSnapshotWaitTrigger(
            table="a.b", paimon_conn_id="c", after=4, on="any", min_rows=2, poll_seconds=2.5
        ),
    ],
)
def test_it_survives_serialization(trigger: Any) -> None:
    path, kwargs = trigger.serialize()
    assert path == f"paimon_provider.triggers.snapshot.{type(trigger).__name__}"
    assert type(trigger)(**kwargs).serialize() == (path, kwargs)


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


def test_the_waiter_gives_up_on_what_waiting_does_not_mend(
    monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    script(monkeypatch, CorruptFileError("snapshot-5: bad"))
    (payload,) = events(waiter(), store=False)
    assert payload["status"] == "error"
    assert payload["error"]["kind"] == "corrupt"
