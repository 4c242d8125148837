"""What is broken in a table, and which of its snapshots are whole enough to go on from.

    1 whole   2 broken   3 whole   4 whole   5 cut short
                         first     top       moved away: its rows are lost, unless a tag has the same state

Readers need every snapshot from the floor to the newest.  So the newest whole one is the head (``top``), and the floor
rises above the last gap below it (``first``).  What is left out is kept in a folder, and its files stay until
orphans are removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["Damage", "Remedy", "Run", "run_of"]


class Remedy(StrEnum):
    """What ``recover`` does about something broken."""

    RESTORED = "restored"
    """The document is written again from another that says the same."""
    MOVED = "moved"
    """The document goes to the folder of what was recovered from."""
    REWRITTEN = "rewritten"
    """A hint is counted anew."""
    FORGOTTEN = "forgotten"
    """Files that are gone are taken out of the newest state, by a commit."""
    NONE = "none"
    """Nothing: the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One thing that is broken."""

    path: str
    problem: str
    remedy: Remedy
    about: str
    """What is saved and what is lost, or why nothing can be done."""

    def to_document(self) -> dict[str, str]:
        """JSON members."""
        return {
            "path": self.path,
            "problem": self.problem,
            "remedy": self.remedy.value,
            "about": self.about,
        }


@dataclass(frozen=True, slots=True)
class Run:
    """The snapshots from ``first`` to ``top``; both 0: none is whole."""

    first: int
    top: int

    def __contains__(self, id: int) -> bool:
        return self.first <= id <= self.top


def run_of(problems: Mapping[int, str | None], known: Collection[int] = ()) -> Run:
    """The newest run of whole snapshots, of which ``problems`` says what is wrong with each (None: nothing).

    ``known``: ids whose state another document has, so that they can be restored.

    >>> run_of({1: None, 2: "cut short", 3: None, 4: None, 5: "empty"})
    Run(first=3, top=4)
    >>> run_of({1: "gone"})
    Run(first=0, top=0)
    """
    whole = {id for id, problem in problems.items() if problem is None or id in known}
    if not whole:
        return Run(0, 0)
    first = top = max(whole)
    while first - 1 in whole:
        first -= 1
    return Run(first, top)
