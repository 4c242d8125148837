"""Turn commits into events: who watches a table is woken by those that count."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import BaseEventTrigger, TriggerEvent, triggerer_stats
from paimon_provider.conditions import (
    NewSnapshots,
    Seen,
    counts,
    event_document,
    matching_partitions,
    rows_of,
    unseen,
)
from paimon_provider.triggers.asking import Asking, Pause
from paimon_provider.triggers.marks import Marks
from paimon_provider.triggers.poll import Watch, poll, stream_key, watches_of
from paimon_provider.triggers.wait import PaimonSnapshotWaitTrigger
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from paimon_provider.conditions import SnapshotFacts, TableNews

__all__ = ["PaimonSnapshotTrigger", "PaimonSnapshotWaitTrigger"]

_WATERMARK: Final = "paimon.seen"
_FLUSH_SECONDS: Final = 1.0
"""The triggerer stores events about once a second: one of a watcher's at a time."""
_LOG: Final = logging.getLogger(__name__)


class PaimonSnapshotTrigger(BaseEventTrigger):
    """Turn new snapshots of a table into events, for an ``AssetWatcher``.

    ``paimon_provider.assets.watched_table("shop.orders")`` makes the asset with this watcher.  One
    event for each poll that finds something; its payload is the event document: ``version, table,
    snapshot_id, snapshots, kinds, delivers_changes, rows, partitions``.

    How far it has come is kept in the asset's state, so commits made while the triggerer is down
    or the Dag is paused become an event afterwards.  The mark is moved five seconds after the event:
    an event is never lost, and one that comes again, after a crash or because Airflow has taken the
    watcher away within these seconds, has the same ``snapshot_id``.

    All triggers on one connection share one poll of the warehouse.  Whatever happens, it keeps
    running: no such table yet, no connection yet, a store that fails or hangs.  It asks less often
    after a failure, up to every five minutes.

    :param table: ``database.table``.
    :param asset_uri: the asset's URI: Airflow keeps one watermark for each set of arguments, so
        two assets must not have equal ones.
    :param paimon_conn_id: the connection with the warehouse.
    :param on: ``changes`` | ``append`` | ``overwrite`` | ``delete`` | ``compact`` | ``any``.
    :param start: what counts when there is no watermark yet: ``latest``, commits from now on, or
        ``earliest``, also those that are there.
    :param poll_seconds: how often to look.
    :param min_rows: wait until the snapshots that count touch so many rows together.
    :param partitions: only snapshots that touch one of these, e.g. ``[{"country": "is"}]``.
    :param events: ``poll``: one event for all that a poll finds; ``snapshot``: one for each.
    """

    def __init__(  # noqa: PLR0913 - what users may set
        self,
        *,
        table: str,
        asset_uri: str,
        paimon_conn_id: str = "paimon_default",
        on: str = "changes",
        start: str = "latest",
        poll_seconds: float = 3.0,
        min_rows: int = 0,
        partitions: Sequence[Mapping[str, str] | str] = (),
        events: str = "poll",
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        NewSnapshots(on=on)  # a wrong one is an error in the Dag, not in the triggerer
        _require("start", start, ("latest", "earliest"))
        _require("events", events, ("poll", "snapshot"))
        self.table = table
        self.asset_uri = asset_uri
        self.paimon_conn_id = paimon_conn_id
        self.on = on
        self.start = start
        self.poll_seconds = poll_seconds
        self.min_rows = min_rows
        self.partitions: list[dict[str, str]] = [
            json.loads(one) if isinstance(one, str) else dict(one) for one in partitions
        ]
        self.events = events

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
                "min_rows": self.min_rows,
                # As texts: Airflow does not know a watcher again whose arguments have mappings in them.
                "partitions": [json.dumps(one, sort_keys=True) for one in self.partitions],
                "events": self.events,
            },
        )

    def shared_stream_key(self) -> tuple[Any, ...]:
        """All triggers on one connection share a poll."""
        return stream_key(self.paimon_conn_id)

    @classmethod
    async def open_shared_stream(cls, kwargs: dict[str, Any]) -> AsyncIterator[None]:
        """The poll of the warehouse that ``kwargs`` name; it tells who watches what.

        Nothing comes out of it: Airflow would hand it to everybody, and each table concerns few.
        """
        await poll(str(kwargs["paimon_conn_id"]), _LOG)
        yield None  # never: what makes this a stream

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """The same with a poll of its own, where Airflow does not share streams."""
        stream = self.open_shared_stream({"paimon_conn_id": self.paimon_conn_id})
        async for event in self.filter_shared_stream(stream):
            yield event

    async def filter_shared_stream(
        self, shared_stream: AsyncIterator[object]
    ) -> AsyncIterator[TriggerEvent]:
        """Our events of what the poll tells; for ever, whatever fails."""
        watch = Watch(self.table, self.poll_seconds)
        pause = Pause(self.poll_seconds)
        while True:  # a trigger that ends is started again every two seconds
            try:
                watch.seen = await self._stored_mark()
                break
            except Exception as error:  # noqa: BLE001 - the state store may come back
                self.log.warning(
                    "No watermark of %s, trying again in %.0f s: %s",
                    *(self.table, pause.grow(), error),
                )
                await asyncio.sleep(pause.seconds())
        asking = Asking(self.table)
        watches = watches_of(self.paimon_conn_id)
        watches.add(watch)
        marks = Marks(self._keep)
        keeping = asyncio.ensure_future(marks.run())
        try:
            async with aclosing(watch.heard(shared_stream)) as heard:
                async for news in heard:
                    if watch.seen is None:  # what is there at first is no news
                        watch.seen = news.head
                        await self._keep(watch.seen)
                    if not news.covers(watch.seen):
                        watch.told = None  # to be told again, from further back
                        continue
                    async for payload, mark in self._found(news, watch.seen, asking):
                        if payload is not None:
                            self._count(payload)
                            yield TriggerEvent(payload)
                        marks.move(mark)
                        if payload is not None:
                            await asyncio.sleep(_FLUSH_SECONDS)
                        watch.seen = mark
        finally:
            keeping.cancel()
            watches.remove(watch)

    async def _found(
        self, news: TableNews, seen: Seen, asking: Asking
    ) -> AsyncIterator[tuple[dict[str, Any] | None, Seen]]:
        """Payloads, each with how far it goes; no payload for what counts for nobody."""
        fresh = unseen(news.snapshots, seen)
        found = [s for s in fresh if counts(s, news.producer, self.on)]
        touched: dict[int, list[dict[str, str | None]] | None] = {}
        if found and news.partitioned:
            touched = await self._touched(found, asking)
        if self.partitions:
            found = [s for s in found if matching_partitions(touched.get(s.id), self.partitions)]
        if found and sum(map(rows_of, found)) < self.min_rows:
            return
        groups = [[one] for one in found] if self.events == "snapshot" else [found]
        for group in groups:
            if group:
                parts = _together(touched, group) if news.partitioned else []
                payload = event_document(self.table, group, news.producer, parts)
                yield payload, news.head if group is groups[-1] else Seen.up_to(group[-1])
        if not found and news.head != seen:
            yield None, news.head

    def _count(self, payload: Mapping[str, Any]) -> None:
        """Tell Airflow's metrics of an event, and how long after its commit it comes."""
        tags = {"table": self.table}
        triggerer_stats.incr("paimon.events", tags=tags)
        delay_ms = time.time() * 1000 - payload["committed_at_ms"]
        triggerer_stats.timing("paimon.event_delay", max(0.0, delay_ms), tags=tags)

    async def _touched(
        self, snapshots: Sequence[SnapshotFacts], asking: Asking
    ) -> dict[int, list[dict[str, str | None]] | None]:
        """The partitions of each snapshot, None where nobody can tell."""

        def ask() -> dict[int, list[dict[str, str | None]] | None]:
            from paimon_provider.hooks.paimon import PaimonHook

            hook = PaimonHook(self.paimon_conn_id)
            return {s.id: hook.touched_partitions(self.table, [s]) for s in snapshots}

        try:
            return await asking.ask(ask)
        except Exception as error:  # noqa: BLE001 - the event matters more than its partitions
            self.log.warning("Partitions of %s are not known: %s", self.table, error)
            return {}

    async def _stored_mark(self) -> Seen | None:
        store = self.asset_state_store
        stored = None if store is None else await store.aget(_WATERMARK)
        if stored is not None:
            return Seen.from_json(stored)
        return Seen() if self.start == "earliest" else None

    async def _keep(self, seen: Seen) -> None:
        if self.asset_state_store is None:
            return
        try:
            await self.asset_state_store.aset(_WATERMARK, {**seen.to_json()})
        except Exception as error:  # noqa: BLE001 - at worst an event comes again after a restart
            self.log.warning("Cannot keep the watermark of %s: %s", self.table, error)


def _together(
    touched: Mapping[int, list[dict[str, str | None]] | None], group: Sequence[SnapshotFacts]
) -> list[dict[str, str | None]] | None:
    found: dict[tuple[tuple[str, str | None], ...], dict[str, str | None]] = {}
    for snapshot in group:
        partitions = touched.get(snapshot.id)
        if partitions is None:
            return None
        found.update({tuple(one.items()): one for one in partitions})
    return list(found.values())


def _require(argument: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ArgumentError(
            f"{argument}={value!r} is none of {', '.join(known)}", argument=argument, value=value
        )
