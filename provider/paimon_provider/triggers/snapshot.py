"""Turn commits into events: who watches a table is woken by those that count."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import BaseEventTrigger, TriggerEvent, trigger_state, triggerer_stats
from paimon_provider.arguments.checks import require_values
from paimon_provider.arguments.table_identity import require_named_so
from paimon_provider.triggers.blocking_calls import BlockingCalls, Pause
from paimon_provider.triggers.poll import Watch, one_poll, poll, stream_key, watches_of
from paimon_provider.triggers.saved_positions import SavedPositions, TakenOverError, mark_key
from paimon_provider.triggers.wait import PaimonSnapshotWaitTrigger
from paimon_provider.watching.conditions import RESET, NewSnapshots, counts, matching_partitions
from paimon_provider.watching.events import Gathered, gathered
from paimon_provider.watching.seen import Seen, since
from table_core.errors import ArgumentError, ErrorKind, NotFoundError, TableError
from table_core.options.nearest import require_one_of
from table_core.shapes import kinds
from table_core.shapes.containers import ListOf
from table_core.shapes.shape import AnyValue
from table_core.shapes.texts import LINE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from paimon_provider.hooks.paimon import PaimonHook
    from paimon_provider.watching.seen import Since, UnseenSnapshots
    from paimon_provider.watching.snapshot_facts import SnapshotFacts

__all__ = ["PaimonSnapshotTrigger", "PaimonSnapshotWaitTrigger"]

_FLUSH_SECONDS: Final = 1.0
"""The triggerer stores events about once a second: one of a watcher's at a time."""
_PENDING_MAX: Final = 100
_LOG: Final = logging.getLogger(__name__)


class PaimonSnapshotTrigger(BaseEventTrigger):
    """Turn new snapshots of a table into events, for an ``AssetWatcher``.

    ``paimon_provider.assets.watched_table("shop.orders")`` creates the asset with this watcher.
    Each poll that finds something emits one event. Its payload is the event document: ``version,
    table, snapshot_id, snapshots, kinds, delivers_changes, rows, partitions``.

    The position is kept in the asset's state. So commits made while the triggerer is down or the
    Dag is paused become an event afterwards. The position moves five seconds after the event, so no
    event is lost. After a crash, or if Airflow removes the watcher within these seconds, the same
    event comes again: equal in all members. What was committed meanwhile is an event of its own, so
    no snapshot is told in two different events. Snapshots that expired unseen give an event with
    ``gap``. A table that was rolled back or recreated gives one with ``reset``. Counts below
    ``min_rows`` are kept with the position, so they outlive their snapshots.

    All triggers on one connection share one poll of the warehouse.  Whatever happens, it keeps
    running: no such table yet, no connection yet, a store that fails or hangs.  It asks less often
    after a failure, up to every five minutes.

    :param table: ``database.table``.
    :param asset_uri: the asset's URI: Airflow keeps one watermark for each set of arguments, so
        two assets must not have equal ones.
    :param paimon_conn_id: the connection with the warehouse.
    :param on: ``changes`` | ``append`` | ``overwrite`` | ``delete`` | ``compact`` | ``any``.
    :param start: what counts if there is no watermark yet: ``latest``, commits from now on, or
        ``earliest``, also the existing ones.
    :param poll_seconds: how often to poll a quiet table. Behind a commit the next look comes after a
        quarter of a second, and each further one a little later.
    :param min_rows: wait until the snapshots that count together touch this many rows.
    :param partitions: only snapshots that touch one of these, e.g. ``[{"country": "is"}]``.  Compared
        by the columns' types; one that the table cannot have is logged as an error at each poll.
    :param events: ``poll``: one event for everything that a poll finds; ``snapshot``: one per snapshot.
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
        partitions: Sequence[Mapping[str, Any] | str] = (),
        events: str = "poll",
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        NewSnapshots(on=on)  # a wrong one is an error in the Dag, not in the triggerer
        require_one_of("start", start, ("latest", "earliest"))
        require_one_of("events", events, ("poll", "snapshot"))
        LINE.require(asset_uri, "asset_uri")
        basic = {"table": table, "paimon_conn_id": paimon_conn_id, "poll_seconds": poll_seconds}
        require_values({**basic, "min_rows": min_rows})
        self.table = table
        self.asset_uri = asset_uri
        self.paimon_conn_id = paimon_conn_id
        self.on = on
        self.start = start
        self.poll_seconds = poll_seconds
        self.min_rows = min_rows
        self.partitions = _read(partitions)
        self.events = events
        self._checked, self._mark_key = False, mark_key(self.serialize()[1])

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
                "partitions": [
                    json.dumps(one, sort_keys=True, default=str) for one in self.partitions
                ],
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
        """The same where Airflow does not share streams: those on one connection share the poll all the same."""
        async for event in self.filter_shared_stream(_polled(self.paimon_conn_id)):
            yield event

    async def filter_shared_stream(
        self, shared_stream: AsyncIterator[object]
    ) -> AsyncIterator[TriggerEvent]:
        """Our events of what the poll tells; for ever, whatever fails."""
        watch = Watch(self.table, self.poll_seconds)
        pause = Pause(self.poll_seconds)
        saved = SavedPositions(trigger_state(self, self.asset_uri), self._mark_key, self.log)
        calls = BlockingCalls(self.table)
        async for event in self._begin(watch, saved, pause):
            yield event
        watches = watches_of(self.paimon_conn_id)
        watches.add(watch)
        keeping = asyncio.ensure_future(saved.run())
        try:
            async with aclosing(watch.heard(shared_stream)) as heard:
                async for unseen in heard:
                    if not await self._is_named_so(unseen, pause):
                        watch.told = None
                        continue
                    try:
                        if watch.seen is None:  # what is there at first is no news
                            await saved.begin(unseen.head)
                            watch.seen = unseen.head
                        ready = await self._ready(unseen, watch.seen, calls)
                        async for payload, mark in self._payloads(ready, watch.seen, calls):
                            if payload is not None:
                                await saved.announce(payload, mark)
                                self._count(payload)
                                yield TriggerEvent(payload)
                            saved.move(mark)
                            if payload is not None:
                                await asyncio.sleep(_FLUSH_SECONDS)
                            watch.seen = mark
                    except TakenOverError:
                        self.log.info("Another triggerer went on with %s: as far as it", self.table)
                        async for event in self._begin(watch, saved, pause):
                            yield event
                        watch.told = None
                    except Exception as error:  # noqa: BLE001 - ending would lose the place
                        await self._failed(error, pause)
                        watch.told = None  # nothing is lost: it is told again
                    else:
                        pause.reset()
        finally:
            keeping.cancel()
            watches.remove(watch)

    async def _begin(
        self, watch: Watch, saved: SavedPositions, pause: Pause
    ) -> AsyncIterator[TriggerEvent]:
        """Let ``watch`` be where the watcher has come to; what may not have been heard is told again as it was."""
        settled, is_loaded = None, False
        while not is_loaded:  # a trigger that ends is started again every two seconds
            try:
                settled, is_loaded = await saved.load(), True
            except Exception as error:  # noqa: BLE001 - the state store may come back
                self.log.warning(
                    "No watermark of %s, trying again in %.0f s: %s",
                    *(self.table, pause.grow(), error),
                )
                await asyncio.sleep(pause.seconds())
        watch.seen = settled or (Seen() if self.start == "earliest" else None)
        for told in saved.telling:
            self._count(told.payload)
            yield TriggerEvent(told.payload)
            saved.move(told.mark)
            await asyncio.sleep(_FLUSH_SECONDS)
            watch.seen = told.mark

    async def _payloads(
        self, unseen: UnseenSnapshots, seen: Seen, calls: BlockingCalls
    ) -> AsyncIterator[tuple[dict[str, Any] | None, Seen]]:
        """Payloads, each with how far it goes; no payload for what counts for nobody, or is too little."""
        if not unseen.snapshots:  # away: what it was is known when it is back
            return
        step = since(unseen.snapshots, seen, unseen.birth)
        if seen.place.id == 0 and self.start == "earliest":
            step = replace(step, gap=None)  # earliest is what is there
        if not (step.new or step.reset or seen.due):
            return
        counted = await self._counting(step.new, unseen, calls)
        told = self._told(counted, unseen, step)
        pending = [Gathered.from_document(one) for one in seen.pending]
        reached = sum(one.touched for one in (*pending, *told)) >= self.min_rows
        signalled = any(one.gap or one.reset for one in told)
        end = unseen.snapshots[-1]
        moved = seen.moved(end, unseen.snapshots, unseen.birth)
        if not (pending or told) or not (reached or signalled or seen.due):
            kept = [*pending, *told]
            if kept and self.events == "poll":
                kept = [gathered(kept)]
            yield None, replace(moved, pending=_documents(kept))
            return
        if self.events == "poll":
            yield gathered([*pending, *told]).event(self.table), moved
            return
        for n, one in enumerate(pending, 1):
            mark = replace(seen, pending=_documents(pending[n:]), due=True)
            yield one.event(self.table), mark if told or pending[n:] else moved
        by_id = {s.id: s for s in unseen.snapshots}
        for one in told:
            at = by_id.get(one.last, end)
            mark = replace(seen.moved(at, unseen.snapshots, unseen.birth), due=self.min_rows > 0)
            yield one.event(self.table), moved if one is told[-1] else mark

    def _told(
        self, snapshots: Sequence[SnapshotFacts], unseen: UnseenSnapshots, step: Since
    ) -> list[Gathered]:
        """What counts, oldest first; the first says of a gap or of a table that is another."""
        nothing = None if unseen.partitioned else ()
        told = [Gathered.of(s, unseen.producer, nothing) for s in snapshots]
        reset = step.reset if self.on in RESET else None
        if step.gap is None and reset is None:
            return told
        end = unseen.snapshots[-1]
        first = Gathered(
            first=step.gap[0] if step.gap else (step.new[0].id if step.new else end.id),
            last=end.id if not told else told[0].last,
            committed_at_ms=end.time_millis,
            delivers=True,
            partitions=None if unseen.partitioned else (),
            partitions_total=None,
            gap=step.gap,
            reset=reset,
        )
        return [first.and_then(told[0]), *told[1:]] if told else [first]

    async def _ready(
        self, unseen: UnseenSnapshots, seen: Seen, calls: BlockingCalls
    ) -> UnseenSnapshots:
        """News that go back to ``seen``, of a table that has what is asked for."""
        if self.partitions and not self._checked:
            try:
                await calls.ask(self._wanted)
                self._checked = True
            except NotFoundError:
                return unseen
        if unseen.covers(seen):
            return unseen
        return await calls.ask(lambda: self._hook().unseen_snapshots(self.table, seen))

    async def _counting(
        self, new: Sequence[SnapshotFacts], unseen: UnseenSnapshots, calls: BlockingCalls
    ) -> Sequence[SnapshotFacts]:
        """Those of ``new`` that count: of the kind, and in a partition that was asked for."""
        if self.on == "delete":
            new = await self._completed(new, calls)
        snapshots: Sequence[SnapshotFacts]
        snapshots = [s for s in new if counts(s, unseen.producer, self.on)]
        if not (snapshots and unseen.partitioned):
            return snapshots
        snapshots = await self._completed(snapshots, calls)
        if not self.partitions:
            return snapshots
        wanted = await calls.ask(self._wanted)
        kept = [s for s in snapshots if matching_partitions(s.partitions, wanted)]
        many = [s for s in kept if s.partitions is None]
        if not many:
            return kept
        touched = await calls.ask(lambda: self._touching(many, wanted))
        return [s for s in kept if s.partitions is not None or s.id in touched]

    def _wanted(self) -> list[dict[str, str | None]]:
        """The partitions that were asked for, as the table spells them; runs in a thread.

        Raises:
            ArgumentError: the table has no such partition column, or the value is none of its type.
        """
        return self._hook().spelled(self.table, self.partitions)

    def _touching(
        self, snapshots: Sequence[SnapshotFacts], wanted: Sequence[Mapping[str, str | None]]
    ) -> set[int]:
        """Which of ``snapshots`` of many partitions touch one of ``wanted``; runs in a thread."""
        hook = self._hook()
        return {
            s.id
            for s in snapshots
            if matching_partitions(hook.touched_partitions(self.table, [s], limit=None), wanted)
        }

    def _hook(self) -> PaimonHook:
        from paimon_provider.hooks.paimon import PaimonHook

        hook = PaimonHook(self.paimon_conn_id)
        self._require_named_so(hook.warehouse.catalog_name)
        return hook

    async def _completed(
        self, snapshots: Sequence[SnapshotFacts], calls: BlockingCalls
    ) -> Sequence[SnapshotFacts]:
        """``snapshots``, with what foreign writers do not say; as they are where nobody can tell."""
        if all(s.is_known for s in snapshots):
            return snapshots
        try:
            return await calls.ask(lambda: self._hook().completed(self.table, snapshots))
        except Exception as error:  # noqa: BLE001 - the event matters more than its partitions
            self.log.warning("Partitions of %s are not known: %s", self.table, error)
            return snapshots

    async def _is_named_so(self, unseen: UnseenSnapshots, pause: Pause) -> bool:
        """Whether the news are of the catalog that the asset names; else it says so, and waits."""
        try:
            self._require_named_so(unseen.catalog)
        except ArgumentError as error:
            await self._failed(error, pause)
            return False
        return True

    def _require_named_so(self, catalog: str) -> None:
        """Refuse to announce a table of ``catalog``, to which the connection leads now, as another one's."""
        if catalog:
            require_named_so([self.asset_uri], self.table, catalog=catalog, who="the watcher")

    async def _failed(self, error: Exception, pause: Pause) -> None:
        """Say that this cannot go on, and wait; what waiting does not mend is said as an error."""
        seconds = pause.grow()
        triggerer_stats.incr("paimon.look_failures", tags={"table": self.table})
        invalid = isinstance(error, TableError) and error.kind is ErrorKind.INVALID
        tell = self.log.error if invalid else self.log.warning
        tell("Watcher of %s tells nothing, trying again in %.0f s: %s", self.table, seconds, error)
        await asyncio.sleep(pause.seconds())

    def _count(self, payload: Mapping[str, Any]) -> None:
        """Tell Airflow's metrics of an event, and how long after its commit it comes."""
        tags = {"table": self.table}
        triggerer_stats.incr("paimon.events", tags=tags)
        delay_ms = time.time() * 1000 - payload["committed_at_ms"]
        triggerer_stats.timing("paimon.event_delay", max(0.0, delay_ms), tags=tags)


async def _polled(paimon_conn_id: str) -> AsyncIterator[None]:
    """A stream out of which nothing comes, as long as there is a poll."""
    await one_poll(paimon_conn_id, _LOG)
    yield None  # never


def _read(partitions: Any) -> list[dict[str, Any]]:
    """``partitions`` as mappings; Airflow keeps each as the text of one.

    Raises:
        ArgumentError: it is no list of them.
    """
    ListOf(item=AnyValue()).require(partitions, "partitions")
    try:
        read = [json.loads(one) if isinstance(one, str) else one for one in partitions]
    except ValueError as error:
        raise ArgumentError(
            f"partitions: expected a list of partitions: {error}",
            argument="partitions",
            value=partitions,
        ) from error
    kinds.PARTITIONS.require(read, "partitions")
    return [dict(one) for one in read]


def _documents(ones: Sequence[Gathered]) -> tuple[dict[str, Any], ...]:
    """As a mark keeps them: bounded, the oldest told as one where they are many."""
    kept = list(ones)
    if len(kept) > _PENDING_MAX:
        kept = [gathered(kept[: len(kept) - _PENDING_MAX + 1]), *kept[1 - _PENDING_MAX :]]
    return tuple(one.to_document() for one in kept)
