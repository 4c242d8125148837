"""Wait for snapshots without holding a worker."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, Final, TypeVar

from paimon_provider._compat import BaseEventTrigger, BaseTrigger, TriggerEvent
from paimon_provider.conditions import (
    NewSnapshots,
    Seen,
    counts,
    event_document,
    unseen,
)
from table_core.errors import ArgumentError, ErrorKind, TableError, error_to_document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from paimon_provider.conditions import SnapshotFacts

__all__ = ["PaimonSnapshotTrigger", "PaimonSnapshotWaitTrigger"]

T = TypeVar("T")
_WATERMARK: Final = "paimon.seen"
_FLUSH_SECONDS: Final = 1.0
"""The triggerer stores an event about once a second; the watermark follows the event."""
_BACKOFF_MAX: Final = 300.0
_CALL_SECONDS: Final = 120.0


class PaimonSnapshotTrigger(BaseEventTrigger):
    """Turn new snapshots of a table into events, for an ``AssetWatcher``.

    ``paimon_provider.assets.watched_table("shop.orders")`` makes the asset with this watcher.  One
    event for each poll that finds something; its payload is the event document: ``version, table,
    snapshot_id, snapshots, kinds, delivers_changes, rows``.

    How far it has come is kept in the asset's state, so commits made while the triggerer is down
    or the Dag is paused become an event afterwards.  The mark is moved a second after the event:
    an event is never lost, and one that a crash repeats has the same ``snapshot_id``.

    Whatever happens, it keeps running: no such table yet, no connection yet, a store that fails or
    hangs.  It asks less often after a failure, up to every five minutes.

    :param table: ``database.table``.
    :param asset_uri: the asset's URI: Airflow keeps one watermark for each set of arguments, so
        two assets must not have equal ones.
    :param paimon_conn_id: the connection with the warehouse.
    :param on: ``changes`` | ``append`` | ``overwrite`` | ``delete`` | ``compact`` | ``any``.
    :param start: what counts when there is no watermark yet: ``latest``, commits from now on, or
        ``earliest``, also those that are there.
    :param poll_seconds: how often to look.
    """

    def __init__(
        self,
        *,
        table: str,
        asset_uri: str,
        paimon_conn_id: str = "paimon_default",
        on: str = "changes",
        start: str = "latest",
        poll_seconds: float = 10.0,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        NewSnapshots(on=on)  # a wrong one is an error in the Dag, not in the triggerer
        if start not in {"latest", "earliest"}:
            raise ArgumentError(
                f"start={start!r} is neither 'latest' nor 'earliest'", argument="start", value=start
            )
        self.table = table
        self.asset_uri = asset_uri
        self.paimon_conn_id = paimon_conn_id
        self.on = on
        self.start = start
        self.poll_seconds = poll_seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Name this class and every argument of ``__init__``."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "table": self.table,
                "asset_uri": self.asset_uri,
                "paimon_conn_id": self.paimon_conn_id,
                "on": self.on,
                "start": self.start,
                "poll_seconds": self.poll_seconds,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll for ever; a trigger that ends is started again every two seconds."""
        source = _Source(self.table, self.paimon_conn_id)
        pause = _Pause(self.poll_seconds)
        seen: Seen | None = None
        newest: Seen | None = None
        while True:
            try:
                if seen is None:
                    seen = await self._first_mark(source)
                head = await source.ask(source.head)
                if head is not None and Seen.up_to(head) != seen:
                    snapshots, producer = await source.ask(source.snapshots)
                    fresh = unseen(snapshots, seen)
                    newest = Seen.up_to(snapshots[-1]) if snapshots else seen
                    found = [s for s in fresh if counts(s, producer, self.on)]
                    if found:
                        try:
                            yield TriggerEvent(event_document(self.table, found, producer))
                            await asyncio.sleep(_FLUSH_SECONDS)
                        finally:  # also when the Dag is paused in that second
                            await self._keep(newest)
                    else:
                        await self._keep(newest)
                    seen = newest
                pause.reset()
            except Exception as error:  # noqa: BLE001 - ending would start it again every 2 s
                self.log.warning(
                    "Cannot watch %s, trying again in %.0f s: %s", self.table, pause.grow(), error
                )
            await asyncio.sleep(pause.seconds())

    async def _first_mark(self, source: _Source) -> Seen:
        store = self.asset_state_store
        stored = None if store is None else await store.aget(_WATERMARK)
        if stored is not None:
            return Seen.from_json(stored)
        head = await source.ask(source.head) if self.start == "latest" else None
        seen = Seen() if head is None else Seen.up_to(head)
        await self._keep(seen)
        return seen

    async def _keep(self, seen: Seen) -> None:
        if self.asset_state_store is not None:
            await self.asset_state_store.aset(_WATERMARK, {**seen.to_json()})


class PaimonSnapshotWaitTrigger(BaseTrigger):
    """Wait until new snapshots satisfy a condition: behind ``PaimonSnapshotSensor``.

    Emits ``{"status": "found", "found": event document}`` or ``{"status": "error", "error": …}``.
    An unavailable store is no error yet: the deferral's own time-out decides when to stop hoping.
    """

    def __init__(
        self,
        *,
        table: str,
        paimon_conn_id: str,
        after: int = 0,
        on: str = "changes",
        min_rows: int = 0,
        poll_seconds: float = 60.0,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        self.table = table
        self.paimon_conn_id = paimon_conn_id
        self.condition = NewSnapshots(after=after, on=on, min_rows=min_rows)
        self.poll_seconds = poll_seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Name this class and every argument of ``__init__``."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "table": self.table,
                "paimon_conn_id": self.paimon_conn_id,
                "after": self.condition.after,
                "on": self.condition.on,
                "min_rows": self.condition.min_rows,
                "poll_seconds": self.poll_seconds,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the condition holds, or cannot hold."""
        source = _Source(self.table, self.paimon_conn_id)
        pause = _Pause(self.poll_seconds)
        while True:
            try:
                head = await source.ask(source.head)
                if head is not None and head.id > self.condition.after:
                    snapshots, producer = await source.ask(source.snapshots)
                    found = self.condition.found(snapshots, producer)
                    if found:
                        document = event_document(self.table, found, producer)
                        yield TriggerEvent({"status": "found", "found": document})
                        return
                pause.reset()
            except TableError as error:
                if error.kind is not ErrorKind.UNAVAILABLE:
                    yield TriggerEvent({"status": "error", "error": error_to_document(error)})
                    return
                self.log.warning("Storage unavailable, still waiting: %s", error)
                pause.grow()
            except TimeoutError as error:
                self.log.warning("Still waiting: %s", error)
            await asyncio.sleep(pause.seconds())


class _Source:
    """Asks the warehouse in a thread, one question at a time, and never waits for ever."""

    def __init__(self, table: str, paimon_conn_id: str) -> None:
        self.table = table
        self.paimon_conn_id = paimon_conn_id
        self._running: asyncio.Future[Any] | None = None

    async def ask(self, question: Callable[[], T]) -> T:
        """The answer to ``question``.

        A store that hangs keeps its thread; asking again then waits for that one first, so a
        trigger never holds more than one.

        Raises:
            TimeoutError: no answer in time.
        """
        if self._running is not None:
            await self._finish()
        self._running = asyncio.ensure_future(asyncio.to_thread(question))
        answer: T = await self._finish()
        return answer

    async def _finish(self) -> Any:
        assert self._running is not None
        done, _ = await asyncio.wait({self._running}, timeout=_CALL_SECONDS)
        if not done:
            raise TimeoutError(f"{self.table}: no answer from the warehouse in {_CALL_SECONDS} s")
        answered, self._running = self._running, None
        return answered.result()

    def head(self) -> SnapshotFacts | None:
        """The newest snapshot, if there is a table with one."""
        from paimon_provider.hooks.paimon import PaimonHook

        return PaimonHook(self.paimon_conn_id).head(self.table)

    def snapshots(self) -> tuple[list[SnapshotFacts], str]:
        """All snapshots and the changelog producer."""
        from paimon_provider.hooks.paimon import PaimonHook

        return PaimonHook(self.paimon_conn_id).snapshots(self.table)


class _Pause:
    """How long to wait: the interval, longer after failures, spread so that watchers part."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._current = interval
        self._random = random.Random()

    def reset(self) -> None:
        """Back to the interval."""
        self._current = self.interval

    def grow(self) -> float:
        """Double the pause, up to five minutes."""
        self._current = max(self.interval, min(self._current * 2, _BACKOFF_MAX))
        return self._current

    def seconds(self) -> float:
        """The next pause."""
        return self._current * (0.9 + 0.2 * self._random.random())
