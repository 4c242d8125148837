"""One poll of a warehouse for all who watch its tables.

Triggers say what they watch and how far they have come (a ``Watch``); one loop for each connection
looks at the heads of those tables and tells everybody about those that moved.  What a watch has not
been told is told again, so it loses nothing when the loop, the triggerer or the watch starts anew.

A table that fails is asked less often and keeps nobody else waiting: questions run in threads, at
most ``PARALLEL`` for a warehouse and one for a table.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import stats
from paimon_provider.conditions import Seen, TableNews
from paimon_provider.triggers.asking import Asking, Pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from logging import Logger

    from paimon_provider.hooks.paimon import PaimonHook

__all__ = ["PARALLEL", "Told", "Watch", "Watches", "poll", "watches_of"]

PARALLEL: Final = 8
_GATHER_SECONDS: Final = 0.5
"""How long news wait for more of them, so that a round wakes everybody about once."""
Told = dict[str, TableNews]
"""What one round found, by table."""


@dataclass(eq=False, slots=True)
class Watch:
    """Somebody who wants to hear of a table."""

    table: str
    poll_seconds: float
    seen: Seen | None = None
    """How far it has come; None if it wants to know the head first."""
    told: Seen | None = None
    """The newest head that it was told of."""


class Watches:
    """Who watches what in one warehouse, in this process."""

    def __init__(self) -> None:
        self._found: defaultdict[str, set[Watch]] = defaultdict(set)
        self._asked: asyncio.Event | None = None

    def add(self, watch: Watch) -> None:
        """From now on ``watch`` is told."""
        self._found[watch.table].add(watch)
        if self._asked is not None:
            self._asked.set()

    def remove(self, watch: Watch) -> None:
        """``watch`` is over."""
        watches = self._found[watch.table]
        watches.discard(watch)
        if not watches:
            del self._found[watch.table]

    def tables(self) -> list[str]:
        """What is watched."""
        return list(self._found)

    def of(self, table: str) -> set[Watch]:
        """Who watches ``table``."""
        return self._found.get(table, set())

    async def wait(self, seconds: float) -> None:
        """Sleep, but not when somebody new has come."""
        self._asked = asked = asyncio.Event()
        try:
            await asyncio.wait_for(asked.wait(), max(seconds, 0.01))
        except TimeoutError:
            return
        finally:
            self._asked = None


_WATCHES: Final[defaultdict[str, Watches]] = defaultdict(Watches)


def watches_of(paimon_conn_id: str) -> Watches:
    """The watches on the warehouse of a connection."""
    return _WATCHES[paimon_conn_id]


async def poll(paimon_conn_id: str, log: Logger) -> AsyncIterator[Told]:
    """Look for ever; each item is what changed for somebody since it was last told."""
    watches = watches_of(paimon_conn_id)
    tables: dict[str, _Table] = {}
    warehouse = _Warehouse(paimon_conn_id)
    limit = asyncio.Semaphore(PARALLEL)
    running: set[asyncio.Task[None]] = set()
    news: Told = {}
    try:
        while True:
            now = time.monotonic()
            for gone in set(tables) - set(watches.tables()):
                del tables[gone]
            for name in watches.tables():
                table = tables.setdefault(name, _Table(name, warehouse, log))
                if table.is_due(now, watches.of(name)):
                    task = asyncio.create_task(table.look(watches, limit, news))
                    running.add(task)
                    task.add_done_callback(running.discard)
            if running:
                await asyncio.wait(running, timeout=_GATHER_SECONDS)
            if news:
                told, news_now = dict(news), list(news.items())
                news.clear()
                for name, found in news_now:
                    _mark(watches.of(name), found)
                yield told
            if not running:
                due = min((t.due for t in tables.values()), default=now + 60)
                await watches.wait(due - time.monotonic())
    finally:
        for task in running:
            task.cancel()


def _mark(watches: Iterable[Watch], found: TableNews) -> None:
    for watch in watches:
        watch.told = found.head


class _Warehouse:
    """The opened warehouse: connection and catalog are fetched once, and anew after a failure."""

    def __init__(self, paimon_conn_id: str) -> None:
        self._conn_id = paimon_conn_id
        self._hook: PaimonHook | None = None

    def news(self, table: str, since: Seen | None) -> TableNews:
        """What is new in ``table``; runs in a thread."""
        from paimon_provider.hooks.paimon import PaimonHook

        hook = self._hook
        if hook is None:
            hook = self._hook = PaimonHook(self._conn_id)
        try:
            return hook.news(table, since)
        except Exception:
            self._hook = None
            raise


@dataclass(slots=True)
class _Table:
    """When to look at a table next."""

    name: str
    warehouse: _Warehouse
    log: Logger
    due: float = 0.0
    looking: bool = False
    asking: Asking = field(init=False)
    pause: Pause = field(default_factory=lambda: Pause(1.0))
    failed: bool = False

    def __post_init__(self) -> None:
        self.asking = Asking(self.name)

    def is_due(self, now: float, watches: set[Watch]) -> bool:
        """Whether to look now: it is time, or somebody does not know the head yet."""
        if self.looking:
            return False
        new = not self.failed and any(watch.told is None for watch in watches)
        return new or now >= self.due

    async def look(self, watches: Watches, limit: asyncio.Semaphore, news: Told) -> None:
        """Ask for the head; put what somebody has not heard of into ``news``."""
        self.looking = True
        ours = list(watches.of(self.name))
        self.pause.interval = min((w.poll_seconds for w in ours), default=60.0)
        try:
            async with limit:
                stats.incr("paimon.looks")
                found = await self.asking.ask(lambda: self._news(ours))
            if any(watch.told != found.head for watch in ours):
                news[self.name] = found
            self.pause.reset()
            self.failed = False
        except Exception as error:  # noqa: BLE001 - ending would start it again every 2 s
            self.failed = True
            stats.incr("paimon.look_failures", tags={"table": self.name})
            seconds = self.pause.grow()
            self.log.warning(
                "Cannot watch %s, trying again in %.0f s: %s", self.name, seconds, error
            )
        finally:
            self.looking = False
            self.due = time.monotonic() + self.pause.seconds()

    def _news(self, watches: list[Watch]) -> TableNews:
        behind = [watch.seen for watch in watches if watch.told is not None or watch.seen]
        since = min(_known(behind), key=lambda seen: seen.snapshot_id, default=None)
        return self.warehouse.news(self.name, since)


def _known(marks: Iterable[Seen | None]) -> Iterator[Seen]:
    return (mark for mark in marks if mark is not None)


def stream_key(paimon_conn_id: str) -> tuple[Any, ...]:
    """What the triggers on one warehouse have in common."""
    return ("paimon", paimon_conn_id)
