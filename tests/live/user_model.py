"""What must be in the tables and among the events, whatever the random user has done.  Plain numbers.

Each task (and mapped index) of each run has a number of task runs that must have landed.  What was
cleared or deleted while it worked may have landed or not: there the model knows two bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Key", "Ledger"]


class Key(NamedTuple):
    """A task of a run: the name of its run comes again when it is made again."""

    task: str
    run: str
    index: int = -1


@dataclass
class Ledger:
    """How often the work of each task must be seen: at least, at most."""

    counts: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def begun(self, key: Key) -> None:
        """A run was made: the task will land once."""
        self._add(key, 1, 1)

    def cleared(self, key: Key, *, done: bool) -> None:
        """The task shall be done once more; if it was at work it may have landed already."""
        self._add(key, 1 if done else 0, 1)

    def deleted(self, key: Key, *, done: bool) -> None:
        """The run is gone: what was at work may have landed."""
        self._add(key, 0 if done else -1, 0)

    def _add(self, key: Key, least: int, most: int) -> None:
        low, high = self.counts.get(key, (0, 0))
        self.counts[key] = (low + least, high + most)

    def settle(self, seen: Mapping[Key, int]) -> list[str]:
        """What is wrong about ``seen``, where nothing is at work; from now on it is what counts."""
        wrong = []
        for key in {*self.counts, *seen}:
            low, high = self.counts.get(key, (0, 0))
            if not low <= seen.get(key, 0) <= high:
                wanted = f"{low}" if low == high else f"{low} to {high}"
                wrong.append(
                    f"{key.task}[{key.index}] of {key.run}: {seen.get(key, 0)}, not {wanted}"
                )
        self.counts = {key: (n, n) for key, n in seen.items()}
        return sorted(wrong)

    def total(self) -> tuple[int, int]:
        """Of all keys."""
        lows, highs = zip(*self.counts.values(), strict=True) if self.counts else ((0,), (0,))
        return sum(lows), sum(highs)
