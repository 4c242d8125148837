"""One poll of a warehouse for all who watch its tables.

Triggers say what they watch and how far they have come (a ``Watch``); one loop for each connection
looks at the heads of those tables and tells those who watch the ones that moved, and nobody else.
What a watch has not been told is told again, so it loses nothing when the loop, the triggerer or the
watch starts anew.  A table that fails is asked less often, and one that was just written to more often.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from paimon_provider._compat import triggerer_stats
from paimon_provider.triggers.blocking_calls import Pause
from paimon_provider.triggers.looking import Lookers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
    from logging import Logger

    from paimon_provider.hooks.paimon import PaimonHook
    from paimon_provider.watching.conditions import Seen, UnseenSnapshots

__all__ = ["Watch", "Watches", "one_poll", "poll", "stream_key", "watches_of"]

_CONNECTION_SECONDS: Final = 10.0
"""How old a connection may be that is used."""
_ROUND_SECONDS: Final = 0.05
"""At least so far apart: tables that are due at about the same time are looked at together."""


@dataclass(eq=False, slots=True)
class Watch:
    """Somebody who wants to hear of a table."""

    table: str
    poll_seconds: float
    seen: Seen | None = None
    """How far it has come; None if it wants to know the head first."""
    told: Seen | None = None
    """The newest head that it was told of."""
    _unseen: UnseenSnapshots | None = None
    _told: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, unseen: UnseenSnapshots) -> None:
        """Say what is new; it takes the place of what has not been heard yet, and covers that."""
        if self._unseen is not None and self.seen is None:
            return  # the first head is where it begins: the next one comes after it
        self._unseen, self.told = unseen, unseen.head
        self._told.set()

    async def heard(self, poll: AsyncIterator[object]) -> AsyncGenerator[UnseenSnapshots]:
        """What it is told, as long as ``poll`` goes on; what comes out of that does not matter."""
        going = asyncio.ensure_future(anext(poll))
        try:
            while True:
                told = asyncio.ensure_future(self._told.wait())
                try:
                    await asyncio.wait({going, told}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    told.cancel()
                if going.done():
                    try:
                        going.result()
                    except StopAsyncIteration:
                        return
                    going = asyncio.ensure_future(anext(poll))
                self._told.clear()
                unseen, self._unseen = self._unseen, None
                if unseen is not None:
                    yield unseen
        finally:
            going.cancel()


class Watches:
    """Who watches what in one warehouse, in this process."""

    def __init__(self) -> None:
        self._watches: defaultdict[str, set[Watch]] = defaultdict(set)
        self._asked: asyncio.Event | None = None

    def add(self, watch: Watch) -> None:
        """From now on ``watch`` is told."""
        self._watches[watch.table].add(watch)
        self.wake()

    def remove(self, watch: Watch) -> None:
        """``watch`` is over."""
        watches = self._watches[watch.table]
        watches.discard(watch)
        if not watches:
            del self._watches[watch.table]

    def tables(self) -> list[str]:
        """What is watched."""
        return list(self._watches)

    def of(self, table: str) -> set[Watch]:
        """Who watches ``table``."""
        return self._watches.get(table, set())

    def wake(self) -> None:
        """End the ``wait`` that goes on."""
        if self._asked is not None:
            self._asked.set()

    async def wait(self, seconds: float) -> None:
        """Sleep, but not when somebody new has come, or news have."""
        self._asked = asked = asyncio.Event()
        waiting = asyncio.ensure_future(asked.wait())
        try:  # not ``wait_for``: of Python 3.11 it forgets that it is cancelled when it is woken just then
            await asyncio.wait({waiting}, timeout=max(seconds, 0.01))
        finally:
            waiting.cancel()
            self._asked = None


_POLLING: Final[dict[str, asyncio.Task[Any]]] = {}
"""Who polls for all, by connection."""
_WATCHES: Final[defaultdict[str, Watches]] = defaultdict(Watches)


def watches_of(paimon_conn_id: str) -> Watches:
    """The watches on the warehouse of a connection."""
    return _WATCHES[paimon_conn_id]


async def one_poll(paimon_conn_id: str, log: Logger) -> None:
    """``poll``, but once for all who ask for it in this process: when it ends with who began it, another goes on."""
    while (running := _POLLING.get(paimon_conn_id)) is not None and not running.done():
        await asyncio.wait({running})
    me = asyncio.current_task()
    assert me is not None  # a coroutine runs in one
    _POLLING[paimon_conn_id] = me
    await poll(paimon_conn_id, log)


async def poll(paimon_conn_id: str, log: Logger) -> None:
    """Look for ever, and tell every watch what changed since it was last told."""
    watches = watches_of(paimon_conn_id)
    tables: dict[str, _Table] = {}
    warehouse = _Warehouse(paimon_conn_id)
    lookers = Lookers(watches.wake)
    following = 0.0
    try:
        while True:
            for table in tables.values():
                unseen, table.unseen = table.unseen, None
                if unseen is not None:
                    for watch in watches.of(table.name):
                        watch.tell(unseen)
            now = time.monotonic()
            if now < following:  # woken early: what that is about comes with the next round
                await watches.wait(following - now)
                continue
            following = now + _ROUND_SECONDS
            _follow_tables(tables, watches, lambda name: _Table(name, warehouse, log))
            due = [t for t in tables.values() if t.is_due(now, watches.of(t.name))]
            for table in due:
                table.begin(watches.of(table.name))
            lookers.add(due)
            after = min((t.due for t in tables.values() if not t.looking), default=now + 60)
            await watches.wait((following if lookers.behind else max(after, following)) - now)
    finally:
        lookers.stop()


def _follow_tables(
    tables: dict[str, _Table], watches: Watches, made: Callable[[str], _Table]
) -> None:
    """Let ``tables`` be those that are watched."""
    names = watches.tables()
    for gone in set(tables) - set(names):
        del tables[gone]
    for name in names:
        if name not in tables:
            tables[name] = made(name)


class _Warehouse:
    """The opened warehouse: the catalog is opened once, and anew after a failure.

    The connection is read again from time to time, for somebody may have edited it.
    """

    def __init__(self, paimon_conn_id: str) -> None:
        self._conn_id = paimon_conn_id
        self._hook: PaimonHook | None = None
        self._read = 0.0

    def unseen_snapshots(self, table: str, since: Seen | None) -> UnseenSnapshots:
        """What is new in ``table``; runs in a thread."""
        try:
            return self._opened().unseen_snapshots(table, since)
        except Exception:
            self._hook = None
            raise

    def _opened(self) -> PaimonHook:
        from paimon_provider.hooks.paimon import PaimonHook

        hook, now = self._hook, time.monotonic()
        if hook is not None and now < self._read + _CONNECTION_SECONDS:
            return hook
        self._read = now
        said = PaimonHook(self._conn_id)
        if hook is None or said.warehouse != hook.warehouse:
            hook = self._hook = said
        return hook


@dataclass(slots=True)
class _Table:
    """When to look at a table next, and what the last look has found."""

    name: str
    warehouse: _Warehouse
    log: Logger
    due: float = 0.0
    looking: bool = False
    unseen: UnseenSnapshots | None = None
    """For those who watch; None when they know."""
    pause: Pause = field(default_factory=lambda: Pause(1.0))
    failed: bool = False
    _marks: tuple[tuple[Seen | None, Seen | None], ...] = ()
    """What each watch has seen and was told, when the look began."""

    def is_due(self, now: float, watches: set[Watch]) -> bool:
        """Whether to look now: it is time, or somebody does not know the head yet."""
        if self.looking:
            return False
        new = not self.failed and any(watch.told is None for watch in watches)
        return new or now >= self.due

    def begin(self, watches: set[Watch]) -> None:
        """A look for these comes next."""
        self.looking = True
        self.pause.interval = min((w.poll_seconds for w in watches), default=60.0)
        self._marks = tuple((watch.seen, watch.told) for watch in watches)

    def look(self) -> bool:
        """Ask for the head; whether somebody has not heard of it.  Runs in a thread."""
        triggerer_stats.incr("paimon.looks")
        try:
            unseen = self.warehouse.unseen_snapshots(self.name, self._since())
        except Exception as error:  # noqa: BLE001 - ending would start it again every 2 s
            self._failed(error)
            return False
        else:
            moved = any(
                told is None or not told.place.is_at(unseen.head.place) for _, told in self._marks
            )
            if moved:
                self.unseen = unseen
            if moved and any(told is not None for _, told in self._marks):
                self.pause.hurry()
            else:  # also of the first look, whatever it finds
                self.pause.relax()
            self.failed = False
            return moved
        finally:
            self.due = time.monotonic() + self.pause.seconds()
            self.looking = False

    def gave_up(self, seconds: float) -> None:
        """It is not asked again before this look comes back."""
        self._failed(TimeoutError(f"no answer from the warehouse in {seconds:.0f} s"))

    def _failed(self, error: Exception) -> None:
        self.failed = True
        triggerer_stats.incr("paimon.look_failures", tags={"table": self.name})
        seconds = self.pause.grow()
        self.log.warning("Cannot watch %s, trying again in %.0f s: %s", self.name, seconds, error)

    def _since(self) -> Seen | None:
        behind = [seen for seen, told in self._marks if told is not None or seen]
        return min(_known(behind), key=lambda seen: seen.place.id, default=None)


def _known(marks: Iterable[Seen | None]) -> Iterator[Seen]:
    return (mark for mark in marks if mark is not None)


def stream_key(paimon_conn_id: str) -> tuple[Any, ...]:
    """What the triggers on one warehouse have in common."""
    return ("paimon", paimon_conn_id)
