"""Syncs that die at a commit, as often as a life wants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from table_core.cdc.apply.target import SyncTarget


class Killed(BaseException):
    """The process is gone: nothing of the sync may answer it."""


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Die before or after a commit of a table; with few commits, not at all."""
    steps = iter(range(1, step + 1))
    flush = SyncTarget.flush

    def dying(target: SyncTarget, **more: Any) -> None:
        if next(steps) == step:
            raise Killed
        flush(target, **more)
        if next(steps) == step:
            raise Killed

    with patch.object(SyncTarget, "flush", dying):
        yield
