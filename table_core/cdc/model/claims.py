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
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.position.document import Position as Held
from table_core.position.document import Positions
from table_core.position.lines import FilesRead, LinesPlace
from table_core.position.place import SourcePlace
from table_core.position.reader import Reader, ReaderKind, digest_of
from table_core.position.source import FilesId, TopicsId
from table_core.validation_errors import stored as stored_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from table_core.cdc.model.batch import Position, SourceBatch
    from table_core.cdc.model.record import SourceTable
    from table_core.position.source import SourceId

    Flags = np.ndarray[Any, np.dtype[np.bool_]]
    Ints = np.ndarray[Any, np.dtype[np.int64]]

__all__ = ["ANY_ROUTE", "POSITION_PROPERTY", "Claim", "Claims", "Who", "together"]

POSITION_PROPERTY: Final = "tc.source.position"
"""Property by which somebody lets a table go on at a place; read, and emptied when it is taken over."""
ANY_ROUTE: Final = "*"
"""Of a place that somebody has set: it does not say what the filter was."""
_AHEAD: Final = "ahead"
_BESIDE: Final = "text"
"""Member: digest of what ``POSITION_PROPERTY`` was when the claims were written."""


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

    @property
    def shown(self) -> str:
        """The place as people read it, with short names for the files of the source's folder."""
        at, source = self.at, self.source
        if isinstance(at, FilesRead) and isinstance(source, FilesId):
            at = at.renamed(lambda name: name.removeprefix(f"{source.folder}/"))
        return str(at.short)


@dataclass(frozen=True, slots=True)
class Claims:
    """Of one table."""

    held: tuple[Claim, ...] = ()

    @classmethod
    def parse(cls, text: str | None) -> Claims:
        """Read what ``text`` wrote; there are none without.

        Raises:
            CorruptFileError: it holds no positions of change capture.
        """
        with stored_text("positions", text):
            return cls._of(_document(text))

    @classmethod
    def of_table(
        cls, text: str | None, by_hand: str | None, claim: Callable[[str], Claim]
    ) -> Claims:
        """What a table says.

        Args:
            text: what ``text`` wrote; None if there is none.
            by_hand: ``POSITION_PROPERTY``: where it is another one than the claims were written beside, somebody
                has set it since, and it goes before them.
            claim: the claim of a place that somebody has set.
        """
        with stored_text("positions", text):
            document = _document(text)
            claims = cls._of(document)
        if not by_hand or document.extra.get(_BESIDE) == digest_of(by_hand):
            return claims
        if Positions.parse(by_hand) == Positions():  # reset
            return cls()
        set_to = claim(by_hand)
        for known in claims.held:
            if isinstance(set_to.at, FilesRead) and isinstance(known.at, FilesRead):
                set_to = replace(set_to, at=set_to.at.marked_by(known.at))
        return cls((set_to,))

    @classmethod
    def _of(cls, document: Positions) -> Claims:
        ahead: Mapping[str, Any] = document.extra.get(_AHEAD, {})
        return cls(
            tuple(
                Claim(
                    source=held.source,
                    route=held.reader.name,
                    at=_with_ahead(held.place, ahead.get(str(n), {})),
                    address=held.reader.definition,
                )
                for n, held in enumerate(document)
            )
        )

    @property
    def text(self) -> str:
        """Compact JSON."""
        held = tuple(
            Held(Reader(ReaderKind.SYNC, c.route, c.address), c.source, c.at) for c in self.held
        )
        ahead = {str(n): dict(a) for n, c in enumerate(self.held) if (a := _ahead(c.at))}
        extra: dict[str, Any] = {_BESIDE: digest_of("")}
        return Positions(held, {**extra, _AHEAD: ahead} if ahead else extra).text

    def of(self, who: Who) -> list[Claim]:
        """Those about the source."""
        return [claim for claim in self.held if who.is_of(claim)]

    def own(self, who: Who) -> Claim | None:
        """That of the source and route; one that somebody has set is of any route."""
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
        at: Any,
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


def _document(text: str | None) -> Positions:
    document = Positions.parse(text) if text else Positions()
    if document is None:
        raise ValueError("no document of positions")
    return document


def _ahead(at: Any) -> Mapping[str, str]:
    return at.beyond if isinstance(at, LinesPlace) else {}


def _with_ahead(place: Any, ahead: Mapping[str, str]) -> Any:
    if not isinstance(place, SourcePlace):
        raise ValueError(f"{place} is no place of change capture")  # noqa: TRY004 - a stored value
    return replace(place, beyond=ahead) if isinstance(place, LinesPlace) else place


def together(old: SourceId, new: SourceId) -> SourceId:
    """The newer identity of one source, with what only the older one knew."""
    if isinstance(old, TopicsId) and isinstance(new, TopicsId):
        known = {name: id for name, id in new.topics.items() if id or name not in old.topics}
        return replace(new, topics={**old.topics, **known})
    return new
