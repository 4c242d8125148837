"""What a table has of its sources: of each source and each choice of tables, up to where.

A claim says: all events of a source that a route brings to this table are in it, up to a position.  A
filter is no source: what another filter left out has no claim, so it is read from the start; what
several claims cover is not taken twice.

A table got ``orders_.*`` of server S up to event 100.  Then the route became ``orders_.*|refunds``: it has no
claim, so it reads S from the start.  Rows of ``orders_eu`` up to 100 are covered by the first claim, and
left out; those of ``refunds`` are taken.  Once the new claim has passed 100, the old one adds nothing and goes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from table_core.cdc.model.log_position import LogPosition
from table_core.cdc.model.position import FilesPosition, OffsetsPosition
from table_core.position.document import Position as Held
from table_core.position.document import Positions
from table_core.position.reader import Reader, ReaderKind, digest_of
from table_core.position.source import TopicsId
from table_core.validation_errors import stored as stored_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from table_core.cdc.model.batch import Position, SourceBatch
    from table_core.cdc.model.record import SourceTable
    from table_core.position.source import SourceId

    Flags = np.ndarray[Any, np.dtype[np.bool_]]
    Ints = np.ndarray[Any, np.dtype[np.int64]]

__all__ = ["ANY_ROUTE", "At", "Claim", "Claims", "Who", "together"]

ANY_ROUTE: Final = "*"
"""Of a position that an earlier release stored: it does not say what the filter was."""
_AHEAD: Final = "ahead"
_TOLD: Final = "text"
_POSITIONS: Final[dict[str, Any]] = {
    "read": FilesPosition,
    "offsets": OffsetsPosition,
    "log": LogPosition,
}


class At(Protocol):
    """A position in any source."""

    @property
    def place(self) -> Any:
        """For a document of positions."""
        ...

    @property
    def text(self) -> str:
        """For people, and for telling it from another."""
        ...

    def covers(self, other: Any) -> bool:
        """Whether everything that ``other`` consumed is consumed here too."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Who reads now: a source, and the choice of its tables."""

    source: SourceId
    route: str
    address: str = ""
    """Where the source is; '' where its identity says it."""

    def is_of(self, claim: Claim) -> bool:
        """Whether a claim is about this source."""
        return self.source.is_same(claim.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """All events of ``source`` that ``route`` takes are there, up to ``at``."""

    source: SourceId
    route: str
    at: Any
    address: str = ""


@dataclass(frozen=True, slots=True)
class Claims:
    """Of one table."""

    held: tuple[Claim, ...] = ()

    @classmethod
    def parse(cls, text: str | None, stored: str | None, old: Callable[[str], Claim]) -> Claims:
        """What a table says.

        Args:
            text: what ``text`` wrote; None if there is none.
            stored: the position beside it, which earlier releases know only.
            old: a claim of that.
        """
        document = None if text is None else Positions.parse(text)
        if document is None or document.extra.get(_TOLD) != _digest(stored):
            was_reset = stored is None or Positions.parse(stored) == Positions()
            return cls() if stored is None or was_reset else cls((old(stored),))
        ahead: Mapping[str, Any] = document.extra.get(_AHEAD, {})
        with stored_text("positions", text):
            return cls(
                tuple(
                    Claim(
                        source=held.source,
                        route=held.reader.name,
                        at=_POSITIONS[held.place.kind].of_place(held.place, ahead.get(str(n), {})),
                        address=held.reader.definition,
                    )
                    for n, held in enumerate(document.held)
                )
            )

    def text(self, stored: str | None) -> str:
        """Compact JSON; ``stored`` is the position beside it."""
        held = tuple(
            Held(Reader(ReaderKind.SYNC, c.route, c.address), c.source, c.at.place)
            for c in self.held
        )
        ahead = {str(n): dict(a) for n, c in enumerate(self.held) if (a := _ahead(c.at))}
        extra: dict[str, Any] = {_TOLD: _digest(stored)}
        return Positions(held, {**extra, _AHEAD: ahead} if ahead else extra).text

    def of(self, who: Who) -> list[Claim]:
        """Those about the source."""
        return [claim for claim in self.held if who.is_of(claim)]

    def own(self, who: Who) -> Claim | None:
        """That of the source and route; of an earlier release it is of any route."""
        mine = [c for c in self.of(who) if c.route in {who.route, ANY_ROUTE}]
        return next((c for c in mine if c.route == who.route), mine[0] if mine else None)

    def digest(self, who: Who) -> str:
        """What tells how far the table is in the source."""
        texts = sorted(
            f"{c.route}\n{c.at.text}\n{sorted(_ahead(c.at).items())}" for c in self.of(who)
        )
        return digest_of(*texts)

    def moved(
        self,
        who: Who,
        at: At,
        fed: Iterable[SourceTable],
        takes: Callable[[str, SourceTable], bool],
    ) -> Claims:
        """These once all that ``who`` takes is there up to ``at``.

        Claims of other routes go where theirs add nothing: of the tables ``fed`` so far they take none
        that this route does not.
        """
        new = Claim(source=who.source, route=who.route, at=at, address=who.address)
        tables = list(fed)
        left = []
        for claim in self.held:
            if who.is_of(claim):
                new = replace(new, source=together(claim.source, new.source))
        for claim in self.held:
            if not who.is_of(claim):
                left.append(claim)
            elif claim.route not in {who.route, ANY_ROUTE}:
                more = any(takes(claim.route, t) and not takes(who.route, t) for t in tables)
                if more or not at.covers(claim.at):
                    left.append(claim)
        return Claims((*left, new))

    def covered(
        self,
        who: Who,
        batch: SourceBatch[Position],
        numbers: Ints,
        table: SourceTable,
        takes: Callable[[str, SourceTable], bool],
    ) -> Flags:
        """Which of the events with ``numbers`` of a source table are there already."""
        is_covered = np.zeros(len(numbers), bool)
        for claim in self.of(who):
            if claim.route in {who.route, ANY_ROUTE} or takes(claim.route, table):
                is_covered |= batch.consumed(claim.at, numbers)
        return is_covered


def _ahead(at: Any) -> Mapping[str, str]:
    return getattr(at, "beyond", {})


def _digest(stored: str | None) -> str:
    return digest_of(stored or "")


def together(old: SourceId, new: SourceId) -> SourceId:
    """The newer identity of one source, with what only the older one knew."""
    if isinstance(old, TopicsId) and isinstance(new, TopicsId):
        known = {name: id for name, id in new.topics.items() if id or name not in old.topics}
        return replace(new, topics={**old.topics, **known})
    return new
