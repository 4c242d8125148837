"""One thing in which a warehouse differs from its declaration, and what may become of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from table_core.schema.change import SchemaChange

__all__ = ["WORDS", "Difference", "Safety"]

WORDS: Final[dict[str, str]] = {
    "narrow": "a column gets a type or NOT NULL that does not hold all that the old one held",
    "drop": "a column goes that only the table has",
    "unset": "an option, comment or default goes that only the table has",
    "reorder": "columns move to the places that they have in the declaration",
    "rebucket": "new rows get another number of buckets; rescale what is there",
    "remerge": "an option changes by which rows of one key that are there already are merged",
}
"""What is done only where the file says ``allow: [word]``, or the command line ``--allow word``."""


class Safety(StrEnum):
    """What may become of a difference."""

    SAFE = "safe"
    """It is done: no stored value changes, and nothing goes."""
    KEPT = "kept"
    """It stays as it is in the warehouse, and is told."""
    GUARDED = "guarded"
    """It needs a word; without it the whole apply is refused."""
    REFUSED = "refused"
    """It cannot be done; what is told says which way works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference.  ``changes`` mend it."""

    safety: Safety
    description: str
    changes: tuple[SchemaChange, ...] = ()
    word: str | None = None
    """What allows the changes of a kept or guarded difference."""
    by_hand: bool = True
    """Whether somebody changed the table; what a sync does to the table that it fills is its work."""

    def to_document(self) -> dict[str, object]:
        """JSON-safe members."""
        word = {} if self.word is None else {"word": self.word}
        return {"class": self.safety.value, "told": self.description, **word}
