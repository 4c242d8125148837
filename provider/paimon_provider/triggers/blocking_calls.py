"""Questions to a warehouse from the triggerer's event loop, which must never wait for a store.

Each question runs in a thread of its own, a daemon: one that hangs holds neither the loop, nor the
pool that other triggers use, nor the triggerer's end.  What is imported for the first time, Arrow
above all, is imported there too.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import random
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from paimon_provider._compat import let_thread_ask
from table_core.errors import ErrorKind, TableError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BlockingCalls", "Pause", "poll_until"]

T = TypeVar("T")
_BACKOFF_MAX: Final = 300.0
_CALL_SECONDS: Final = 120.0


class BlockingCalls:
    """Asks one question at a time, and never waits for ever.

    A store that hangs keeps its thread; asking again then waits for that one first, so that
    nobody who asks holds more than one.

    :param about: what is asked about, for messages.
    :param seconds: how long to wait for an answer.
    """

    def __init__(self, about: str, *, seconds: float = _CALL_SECONDS) -> None:
        self.about = about
        self.seconds = seconds
        self._running: asyncio.Future[Any] | None = None

    async def ask(self, question: Callable[[], T]) -> T:
        """The answer to ``question``.

        Raises:
            TimeoutError: no answer in time.
        """
        if self._running is not None:
            await self._finish()
        self._running = _in_thread(question, self.about)
        await self._finish()
        answered, self._running = self._running, None
        answer: T = answered.result()
        return answer

    async def _finish(self) -> None:
        assert self._running is not None
        done, _ = await asyncio.wait({self._running}, timeout=self.seconds)
        if not done:
            raise TimeoutError(f"{self.about}: no answer from the warehouse in {self.seconds} s")


_SOON_SECONDS: Final = 0.25
_SLOWER: Final = 1.3
"""Of commits every two seconds the next one is seen half a second after it; ten looks later it is quiet again."""


class Pause:
    """How long to wait: the interval, longer after failures, shorter after news, spread so that watchers part."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._current = interval
        self._random = random.Random()

    def reset(self) -> None:
        """Back to the interval."""
        self._current = self.interval

    def hurry(self) -> None:
        """News come in company: ask again soon."""
        self._current = min(_SOON_SECONDS, self.interval)

    def relax(self) -> None:
        """Nothing new: ask a little later each time, until the interval is reached again."""
        self._current = min(self._current * _SLOWER, self.interval)

    def grow(self) -> float:
        """Double the pause, up to five minutes."""
        self._current = max(self.interval, min(self._current * 2, _BACKOFF_MAX))
        return self._current

    def seconds(self) -> float:
        """The next pause."""
        return self._current * (0.9 + 0.2 * self._random.random())


async def poll_until(
    question: Callable[[], T | None],
    calls: BlockingCalls,
    pause: Pause,
    log: Any,
    *,
    patience_seconds: float = math.inf,
) -> T:
    """Ask again and again until there is an answer; one who does not answer may do so later.

    Raises:
        TableError: asking again will not help, or nobody has answered for ``patience_seconds``.
        TimeoutError: the same, of one who hangs.
    """
    heard = time.monotonic()
    while True:
        try:
            answer = await calls.ask(question)
            if answer is not None:
                return answer
            heard = time.monotonic()
            pause.reset()
        except (TableError, TimeoutError) as error:
            if isinstance(error, TableError) and error.kind is not ErrorKind.UNAVAILABLE:
                raise
            if time.monotonic() - heard > patience_seconds:
                raise
            log.warning("Still waiting: %s", error)
            pause.grow()
        await asyncio.sleep(pause.seconds())


def _in_thread(question: Callable[[], T], about: str) -> asyncio.Future[T]:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(result)  # type: ignore[arg-type]  # None only where T is
        else:
            answer.set_exception(error)
            answer.exception()  # looked at: whoever asked may have been cancelled meanwhile

    def run() -> None:
        result, fault = None, None
        let_thread_ask(loop)
        try:
            result = question()
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
            fault = error
        try:
            loop.call_soon_threadsafe(settle, result, fault)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    context = contextvars.copy_context()  # what is logged there goes to the trigger's own log
    threading.Thread(target=context.run, args=[run], name=f"paimon {about}", daemon=True).start()
    return answer
