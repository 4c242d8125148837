"""What both servers' deliberate bugs have in common, and the search for a life that shows one."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from table_core.cdc.source.read_again import ReadAgain
from table_core.errors import TableError
from table_core.position.log import LogPlace

__all__ = ["on_top", "require_shown", "too_many_skipped"]


def on_top(patch: pytest.MonkeyPatch) -> None:
    """Rows that are read again come on top of the old ones."""
    patch.setattr(ReadAgain, "renewed", lambda *_: [])


def too_many_skipped(patch: pytest.MonkeyPatch) -> None:
    """A row of a transaction that is cut is skipped."""
    within = LogPlace.within

    def wrong(self: LogPlace, order: tuple[int, int], skip: int) -> LogPlace:
        return within(self, order, skip + 1 if skip else 0)

    patch.setattr(LogPlace, "within", wrong)


def require_shown(live: Callable[[int], object], most: int) -> None:
    """Assert that one of the first ``most`` lives, by their seeds, does not come out equal."""
    for seed in itertools.islice(itertools.count(), most):
        try:
            live(seed)
        except (AssertionError, TableError) as error:
            print(f"seen in life {seed}: {str(error.__cause__ or error)[-200:]}")
            return
    raise AssertionError(f"{most} lives and nobody has noticed")
