"""One thing in which a warehouse differs from its declaration, and what may become of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from table_core.schema.change import SchemaChange

__all__ = ["WORDS", "Difference", "Safety"]

WORDS: Final[dict[str, str]] = {
    "narrow": "a column may get a type, or NOT NULL, that does not hold every old value",
    "drop": "a column may be dropped that only the table has",
    "unset": "an option, comment or default may be removed that only the table has",
    "reorder": "columns may move to their places in the declaration",
    "rebucket": "new rows may get another number of buckets; rescale the existing rows",
    "remerge": "an option may change how the existing rows of a key are merged",
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
    done_as: str = ""
    """The description of what its word allows, where its own speaks of what stays."""
    word: str | None = None
    """What allows the changes of a kept or guarded difference."""
    by_hand: bool = True
    """Whether somebody changed the table; what a sync does to the table that it fills is its work."""

    def to_document(self) -> dict[str, object]:
        """JSON-safe members."""
        word = {} if self.word is None else {"word": self.word}
        return {"class": self.safety.value, "told": self.description, **word}
