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


KNOWN: Final[tuple[Known, ...]] = (
    Known(
        "a write to a branch that is renamed meanwhile fails and leaves a snapshot under the old name",
        frozenset({"write to branch"}),
        frozenset({"rename branch"}),
    ),
    Known(
        "a rescale whose rows meet another change leaves the option that it has set",
        frozenset({"rescale"}),
    ),
    Known(
        "a branch of the head that is made while a turn goes down has a state in between",
        frozenset({"branch of head"}),
        frozenset(
            {
                "roll back one",
                "roll back three",
                "roll back to tag",
                "roll back to time",
                "fast-forward",
            }
        ),
    ),
    Known(
        "two that make one tag or branch at once are both told that it is theirs",
        frozenset({"tag head", "rename tag", "branch of head", "branch of tag", "rename branch"}),
        frozenset({"tag head", "rename tag", "branch of head", "branch of tag", "rename branch"}),
    ),
)


def is_known(case: Case) -> bool:
    """Whether ``case`` is about a fault that is known."""
    return any(known.covers(case) for known in KNOWN)
