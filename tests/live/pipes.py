"""Rows that come late: named pipes that a query reads, and that give their rows after a while."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Pipes"]


TRIES = 5


@dataclass(frozen=True)
class Pipes:
    """One for each attempt of a task: gives it ``lines`` ``seconds`` after it has begun to read.

    An attempt that is being killed must not take the rows of the next one.
    """

    path: Path
    """Each has the number of its attempt behind it."""
    lines: bytes
    seconds: float
    met: threading.Event = field(default_factory=threading.Event)
    """Set when somebody has begun to read."""

    def serve(self) -> None:
        """Begin, until the test is over."""
        for path in self._paths():
            os.mkfifo(path)
            threading.Thread(target=self._serve, args=[path], daemon=True).start()

    def read_now(self) -> list[str]:
        """Those that somebody reads."""
        return [str(path) for path in self._paths() if _is_read(path)]

    def _paths(self) -> list[Path]:
        return [self.path.with_suffix(f".{number}") for number in range(1, TRIES + 1)]

    def _serve(self, path: Path) -> None:
        writing = os.open(path, os.O_WRONLY)
        self.met.set()
        time.sleep(self.seconds)
        try:
            os.write(writing, self.lines)
        except BrokenPipeError:
            return  # it was killed
        finally:
            os.close(writing)


def _is_read(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:  # nobody has opened it
        return False
    return True
