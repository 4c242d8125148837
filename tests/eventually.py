"""What another process will bring about: wait for it, with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["eventually"]

T = TypeVar("T")


def eventually(asked: Callable[[], T], what: str, seconds: float = 180) -> T:
    """Ask until the answer is true, and return it.

    Raises:
        AssertionError: after ``seconds``; it says ``what`` did not come.
    """
    deadline = time.monotonic() + seconds
    while not (answer := asked()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)
    return answer
