"""Who reads: a kind and a name that somebody gave."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from table_core.errors import ArgumentError

__all__ = ["POSITION_PREFIX", "Reader", "ReaderKind", "digest_of", "require_position_name"]

POSITION_PREFIX: Final = "tc."
"""How the names of properties begin that every commit of ours carries on."""
_RESERVED: Final = ("tc.commits", "tc.history")


class ReaderKind(StrEnum):
    """What a reader is."""

    FLOW = "flow"
    QUERY = "query"
    """Of a flow: what reads the newest state of a table, not its changes."""
    SYNC = "sync"
    CONSUMER = "consumer"
    STREAM = "stream"
    """A query of Spark's, whose place is in its checkpoint, or a drain."""
    WATCHER = "watcher"
    RELAY = "relay"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads."""

    kind: ReaderKind
    name: str = ""
    """Given by somebody, or of the task that runs it; '' if nobody said."""
    definition: str = ""
    """Digest of what it does, where nothing better may be known of it: ``digest_of``."""
    explicit: bool = False
    """Whether somebody chose the name."""

    def is_same(self, other: Reader) -> bool:
        """Whether ``other`` is this reader.

        One of one name is.  Two names that were chosen tell two readers apart; otherwise, as a task may be
        renamed and a name chosen later, so is one that does the same.
        """
        if self.kind is not other.kind:
            return False
        if self.name and self.name == other.name:
            return True
        if self.explicit and other.explicit:
            return False
        return bool(self.definition) and self.definition == other.definition

    def to_document(self) -> dict[str, Any]:
        """JSON members; empty ones are left out."""
        members = {"kind": self.kind.value, "name": self.name, "as": self.definition}
        return {key: value for key, value in {**members, "given": self.explicit}.items() if value}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Reader:
        """Read what ``to_document`` made."""
        name, definition = str(document.get("name", "")), str(document.get("as", ""))
        return cls(ReaderKind(document["kind"]), name, definition, bool(document.get("given")))

    def __str__(self) -> str:
        return (
            f"{self.kind.value} {self.name!r}" if self.name else f"a {self.kind.value} without name"
        )


def digest_of(*parts: str) -> str:
    """A short digest of texts, each apart from the next."""
    hashed = hashlib.sha256()
    for part in parts:
        body = part.encode()
        hashed.update(len(body).to_bytes(8, "big") + body)
    return hashed.hexdigest()[:16]


def require_position_name(argument: str, name: str) -> str:
    """``name``, if a position can be kept under it: only ``tc.`` properties are carried on.

    Raises:
        ArgumentError: later commits would drop it, or it has a meaning of its own.
    """
    if not name.startswith(POSITION_PREFIX) or name == POSITION_PREFIX or name in _RESERVED:
        why = "is used otherwise" if name in _RESERVED else "is not carried on by later commits"
        raise ArgumentError(
            f"{argument}={name!r} cannot name a position: a property of that name {why}; begin it "
            f"with '{POSITION_PREFIX}', e.g. '{POSITION_PREFIX}{name.strip('.') or 'orders'}.at'",
            argument=argument,
            value=name,
        )
    return name
