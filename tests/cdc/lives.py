"""Syncs that die at a commit, as often as a life wants: by an exception, or as processes that are killed."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import table_core as tc
from table_core.cdc.apply.target import SyncTarget
from table_core.errors import TableError


class Killed(BaseException):
    """The process is gone: nothing of the sync may answer it."""


def _raise() -> None:
    raise Killed


@contextmanager
def killed_at(step: int, die: Callable[[], None] = _raise) -> Iterator[None]:
    """Die before or after a commit of a table; with few commits, not at all."""
    steps = iter(range(1, step + 1))
    flush = SyncTarget.flush

    def dying(target: SyncTarget, **more: Any) -> None:
        if next(steps) == step:
            die()
        flush(target, **more)
        if next(steps) == step:
            die()

    with patch.object(SyncTarget, "flush", dying):
        yield


def killed_process(uri: str, source: object, step: int, **more: Any) -> bool:
    """A sync of ``source`` in a process of its own that kills itself at a commit; whether it did."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cdc.lives"],
        check=False,
        input=pickle.dumps((uri, source, step, more)),
    )
    assert done.returncode in {0, -signal.SIGKILL}
    return done.returncode != 0


def _main() -> None:
    uri, source, step, more = pickle.load(sys.stdin.buffer)
    with killed_at(step, lambda: os.kill(os.getpid(), signal.SIGKILL)):
        try:
            tc.sync_database(tc.open_catalog(uri), "lake", source, **more)
        except TableError as error:
            print(error)  # the life meets it once more, and goes out as it says


if __name__ == "__main__":
    _main()
