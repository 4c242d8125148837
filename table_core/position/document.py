"""Positions as text: compact JSON for a property of a snapshot, or for the state of a task.

One text holds the positions of one reader, or of several that share a property, in the sources that
they read.  A property may hold something else, e.g. a number that somebody has set: ``Positions.parse``
says so with None, and who looks for a position there refuses it (``decide.unreadable``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import CorruptFileError, UnsupportedFeatureError
from table_core.position.place import place_from_document
from table_core.position.reader import Reader
from table_core.position.source import source_from_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.position.place import Place
    from table_core.position.source import SourceId

__all__ = ["Position", "Positions"]

_VERSION: Final = 2
_KEY: Final = "positions"


@dataclass(frozen=True, slots=True)
class Position:
    """How far ``reader`` has come in ``source``."""

    reader: Reader
    source: SourceId
    place: Place

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        return {
            "reader": self.reader.to_document(),
            "source": self.source.to_document(),
            "place": self.place.to_document(),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Position:
        """Read what ``to_document`` made."""
        return cls(
            Reader.from_document(document["reader"]),
            source_from_document(document["source"]),
            place_from_document(document["place"]),
        )

    @property
    def text(self) -> str:
        """This one alone, as ``Positions`` has it."""
        return Positions((self,)).text


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions that are kept together.  ``text`` and ``parse`` are inverse."""

    held: tuple[Position, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    """Members of the document that this release does not know."""

    def __iter__(self) -> Iterator[Position]:
        return iter(self.held)

    @classmethod
    def parse(cls, text: str | None) -> Positions | None:
        """Read what ``text`` wrote; None if it is None or no document of positions.

        Raises:
            UnsupportedFeatureError: a newer release wrote it.
            CorruptFileError: it says that it holds positions, and does not.
        """
        document = _object(text)
        if document is None or _KEY not in document:
            return None
        version = document.get("v")
        if version != _VERSION:
            raise UnsupportedFeatureError(
                f"positions of version {version}: a newer release wrote them; run that one",
                feature=f"positions version {version}",
            )
        try:
            held = tuple(map(Position.from_document, document[_KEY]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CorruptFileError(
                f"no positions: {text!r:.200}: {error!r}", path="", problems=[repr(error)]
            ) from error
        extra = {key: value for key, value in document.items() if key not in {"v", _KEY}}
        return cls(held, extra)

    @property
    def text(self) -> str:
        """Compact JSON, the same for the same positions."""
        document = {"v": _VERSION, _KEY: [one.to_document() for one in self.held], **self.extra}
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)

    def of(self, reader: Reader, source: SourceId) -> Position | None:
        """The position of ``reader`` in ``source``, or in what stood where that stands.

        The source itself goes before what stood in its place.
        """
        ours = [position for position in self.held if position.reader.is_same(reader)]
        for fits in (source.is_same, source.in_place_of):
            for position in ours:
                if fits(position.source):
                    return position
        return None

    def others(self, reader: Reader, source: SourceId) -> list[Position]:
        """Positions that other readers have in ``source``."""
        return [
            one
            for one in self.held
            if not one.reader.is_same(reader) and source.is_same(one.source)
        ]

    def moved(self, position: Position, instead_of: Position | None = None) -> Positions:
        """These with ``position`` in the place of ``instead_of``, or of the one of its reader there."""
        old = instead_of or self.of(position.reader, position.source)
        left = tuple(one for one in self.held if one != old)
        return replace(self, held=(*left, position))

    def without(self, position: Position) -> Positions:
        """These but for ``position``."""
        return replace(self, held=tuple(one for one in self.held if one != position))


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None or not text.startswith("{"):
        return None
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):  # anybody may have written it
        return None
    return document if isinstance(document, dict) else None
