"""The positions that the properties of a table hold, and those that a commit will put there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from table_core.position.decide import unreadable
from table_core.position.document import Positions
from table_core.position.reader import POSITION_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.position.document import Position
    from table_core.position.reader import Reader
    from table_core.position.source import SourceId, TableId

__all__ = ["Kept", "positions_in"]


def positions_in(properties: Mapping[str, str]) -> dict[str, Positions]:
    """Every property that holds positions."""
    positions = {}
    for name, text in properties.items():
        if name.startswith(POSITION_PREFIX) and (held := Positions.parse(text)) is not None:
            positions[name] = held
    return positions


@dataclass(slots=True)
class Kept:
    """What a run has read of a table's positions, and what it will store with its commit."""

    read: Mapping[str, str]
    """Properties as they were read."""
    held: dict[str, Positions] = field(init=False)
    _moved: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.held = positions_in(self.read)

    def find(self, reader: Reader, source: SourceId, first: str) -> Position | None:
        """The position that ``reader`` had in ``source``, or in what stood in its place.

        Looks under the property ``first`` before the others: where a position is kept says nothing
        about whose it is.
        """
        return _position_in(positions_in(self.read), reader, source, first)

    def refuse_unreadable(self, reader: Reader, names: Iterable[str]) -> None:
        """Refuse to start where one of the properties ``names`` is there and holds no positions, e.g. a number.

        Raises:
            PositionDivergedError: nobody can tell what it means.
        """
        for name in names:
            if name in self.read and Positions.parse(self.read[name]) is None:
                raise unreadable(reader, name, self.read[name]).error()

    def now(self, reader: Reader, source: SourceId, first: str) -> Position | None:
        """The position that ``reader`` will have in ``source``."""
        return _position_in(self.held, reader, source, first)

    def elsewhere(self, reader: Reader, source: TableId) -> list[Position]:
        """What ``reader`` had read of tables that may be ``source`` before it was moved."""
        return [
            one
            for held in positions_in(self.read).values()
            for one in held
            if one.reader.is_same(reader) and source.is_born_as(one.source)
        ]

    def others(self, reader: Reader, source: SourceId) -> list[Position]:
        """Positions that other readers of its kind have in ``source``."""
        return [
            one
            for held in self.held.values()
            for one in held.others(reader, source)
            if one.reader.kind is reader.kind
        ]

    def put(self, name: str, position: Position, instead_of: Position | None = None) -> None:
        """Keep ``position`` under the property ``name``, and nowhere what it stands for."""
        for other, held in list(self.held.items()):
            if instead_of is not None and instead_of in held.held:
                self.held[other] = held.without(instead_of)
                self._moved.add(other)
        held = self.held.get(name, Positions())
        self.held[name] = held.moved(position)
        self._moved.add(name)

    @property
    def properties(self) -> dict[str, str]:
        """What the commit stores."""
        return {name: self.held[name].text for name in sorted(self._moved)}

    @property
    def expect(self) -> dict[str, str | None]:
        """What must still be so when the commit is made."""
        return {name: self.read.get(name) for name in sorted(self._moved)}


def _position_in(
    held: Mapping[str, Positions], reader: Reader, source: SourceId, first: str
) -> Position | None:
    names = sorted(held, key=lambda name: name != first)
    positions = [p for name in names if (p := held[name].of(reader, source)) is not None]
    return next((p for p in positions if source.is_same(p.source)), next(iter(positions), None))
