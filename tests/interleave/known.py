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
            return self.beside is None and case.first in self.these
        return any(
            one in self.these and (self.beside is None or other in self.beside)
            for n, one in enumerate(names)
            for m, other in enumerate(names)
            if n != m
        )


KNOWN: Final[tuple[Known, ...]] = (
    Known(
        "a rename takes along a table that is half-way back; the verb says that its outcome is unknown",
        frozenset(
            {
                "roll back one",
                "roll back three",
                "roll back to tag",
                "roll back to time",
                "fast-forward",
            }
        ),
        frozenset({"rename"}),
    ),
    Known(
        "a rename takes along a table that is half dropped, or the option of a rescale that fails",
        frozenset({"drop", "drop and create", "rescale"}),
        frozenset({"rename"}),
    ),
)


def is_known(case: Case) -> bool:
    """Whether ``case`` is about a fault that is known."""
    return any(known.covers(case) for known in KNOWN)
