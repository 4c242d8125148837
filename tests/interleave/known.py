"""Faults that are known and not yet mended: a case that is one of them is not run.

An entry goes as soon as its fault is mended; then the cases count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.interleave.judge import Case

__all__ = ["KNOWN", "Known", "is_known"]


@dataclass(frozen=True)
class Known:
    """A fault in words, and the verbs that meet in it: one of each set."""

    what: str
    these: frozenset[str]
    beside: frozenset[str] | None = None
    """None: any verb."""

    def covers(self, case: Case) -> bool:
        """Whether ``case`` is about this fault."""
        names = [verb.name for verb in case.verbs]
        if case.fault is not None:
            return case.first in self.these
        return any(
            one in self.these and (self.beside is None or other in self.beside)
            for n, one in enumerate(names)
            for m, other in enumerate(names)
            if n != m
        )


KNOWN: Final[tuple[Known, ...]] = ()


def is_known(case: Case) -> bool:
    """Whether ``case`` is about a fault that is known."""
    return any(known.covers(case) for known in KNOWN)
