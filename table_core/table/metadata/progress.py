"""How far a long verb is, told to whoever watches the call.

A verb tells without knowing whether anybody listens, as commits tell what they deliver
(``commit_io.deliveries``): so no signature carries a callback that only a terminal wants.  Threads that
a verb starts tell nothing; the thread that waits for them does.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Step", "tell", "watched"]


@dataclass(frozen=True, slots=True)
class Step:
    """How much of one stage of a verb is done."""

    stage: str
    """What is being done, in a word or two: ``rewriting``."""
    done: int
    """Since the stage began."""
    total: int | None
    """None: nobody knows yet."""
    unit: str
    """``bytes``, or what is counted: ``files``, ``snapshots``."""


_watcher: Final[ContextVar[Callable[[Step], None] | None]] = ContextVar("watcher", default=None)


@contextmanager
def watched(watch: Callable[[Step], None]) -> Iterator[None]:
    """``watch`` is told each step of what is called inside, by this thread."""
    token = _watcher.set(watch)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell(stage: str, done: int, total: int | None = None, unit: str = "bytes") -> None:
    """Say that ``done`` of ``total`` is done; nothing where nobody watches."""
    watch = _watcher.get()
    if watch is not None:
        watch(Step(stage, done, total, unit))
