"""Threads that look at the tables of a warehouse, one table after the other.

Looking is quick and there are many tables, so a thread takes what is next until nothing is left, and
the event loop hears only of what moved.  A table that hangs holds its thread; another is started a
moment later, so it keeps nobody else waiting.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from paimon_provider._compat import let_thread_ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["PARALLEL", "Look", "Lookers"]

PARALLEL: Final = 8
_CALL_SECONDS: Final = 120.0
"""After so long a look is given up: another thread may take its place."""


class Look(Protocol):
    """One look at one table."""

    name: str

    def look(self) -> bool:
        """Ask the store; whether there is something to hear of.  Raises nothing."""
        ...

    def gave_up(self, seconds: float) -> None:
        """The look takes so long that nobody waits for it any more."""
        ...


class Lookers:
    """Does looks in threads.

    :param wake: is called in the event loop when there is something to hear of, and when a thread
        has come to its end.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Look] = deque()
        self._begun: dict[int, tuple[float, Look]] = {}
        """By thread: what it is looking at, and since when."""
        self._threads = 0

    @property
    def behind(self) -> bool:
        """Whether looks wait for a thread."""
        return bool(self._waiting)

    def add(self, looks: Iterable[Look]) -> None:
        """Do ``looks`` as soon as can be."""
        self._waiting.extend(looks)
        self._give_up()
        if self._waiting and self._threads < PARALLEL:
            self._threads += 1
            context = contextvars.copy_context()  # what is logged there is the trigger's
            threading.Thread(
                target=context.run, args=[self._work], name="paimon looks", daemon=True
            ).start()

    def stop(self) -> None:
        """Begin nothing more."""
        self._waiting.clear()

    def _give_up(self) -> None:
        late = time.monotonic() - _CALL_SECONDS
        for thread, (begun, look) in list(self._begun.items()):
            if begun < late and self._begun.pop(thread, None) is not None:
                self._threads -= 1
                look.gave_up(_CALL_SECONDS)

    def _work(self) -> None:
        """Take what is next until nothing is left, or until nobody waits for us any more."""
        let_thread_ask(self._loop)
        me = threading.get_ident()
        while True:
            try:
                look = self._waiting.popleft()
            except IndexError:
                break
            self._begun[me] = (time.monotonic(), look)
            if look.look():
                self._in_loop(self._wake)
            if self._begun.pop(me, None) is None:  # given up: another has taken our place
                return
        self._in_loop(self._ended)

    def _ended(self) -> None:
        self._threads -= 1
        self._wake()

    def _in_loop(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more
