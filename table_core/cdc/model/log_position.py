"""Positions in a server's log, and the progress of a first snapshot of its tables."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

from table_core.errors import EventError
from table_core.position.members import checked
from table_core.position.place import LogPlace
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LogPosition"]

_OTHERS: Final = ("name", "gtid", "mark", "skip", "snapshots", "since", "xa")


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Everything before ``order`` is consumed, and of the transaction there ``skip`` rows.

    ``snapshots``: tables whose first rows are being read, and the primary key up to which they are.
    """

    kind: str
    """``mysql`` or ``postgres``: positions of one are nothing to the other."""
    order: tuple[int, int]
    """MySQL: number of the file and position; PostgreSQL: LSN and 0."""
    name: str = ""
    """MySQL: the file; PostgreSQL: the slot."""
    gtid: str = ""
    skip: int = 0
    snapshots: Mapping[str, list[Any] | None] = field(default_factory=dict)
    since: Mapping[str, list[int]] = field(default_factory=dict)
    """Tables whose snapshot is newer than ``order``, and the place from which their changes count."""
    mark: str = ""
    """What tells the log there from another one of equal places.  MySQL: when, and by which server, the
    file was begun; PostgreSQL: number and time of the transaction that ends there.  '' if unknown."""
    xa: Mapping[str, list[Any] | None] = field(default_factory=dict)
    """MySQL: XA transactions that are prepared and have no end yet, and the tables that they change."""

    @property
    def text(self) -> str:
        """Compact JSON, the same for the same position."""
        document: dict[str, Any] = {"v": 1, "kind": self.kind, "at": list(self.order)}
        for key in _OTHERS:
            if value := getattr(self, key):
                document[key] = value
        return json.dumps(document, separators=(",", ":"), sort_keys=True)

    @classmethod
    def parse(cls, text: str, kind: str) -> Self:
        """Read what ``text`` wrote.

        Raises:
            EventError: it is the position of another kind of source.
        """
        try:
            document = json.loads(text)
            members = {"kind": document["kind"], **{n: document.get(n) for n in _OTHERS}}
            if members["kind"] == kind:
                return cls._checked(document["at"], {n: m for n, m in members.items() if m})
        except UNFORESEEN as error:
            raise _of_another_kind(text, kind) from error
        raise _of_another_kind(text, kind)

    @classmethod
    def _checked(cls, order: Any, members: Mapping[str, Any]) -> Self:
        """The position of a document that anybody may have written.

        Raises:
            ValueError: a member is not what it should be; so may ``TypeError`` and ``LookupError``.
        """
        first, second = order
        position = checked(cls(order=(first, second), **members))
        if any(len(since) != len(order) for since in position.since.values()):
            raise ValueError(f"since is {position.since!r:.80}")
        return position

    @property
    def place(self) -> LogPlace:
        """The same for the document of positions."""
        members = {
            "kind": self.kind,
            "mark": self.mark,
            "snapshots": self.snapshots,
            "since": self.since,
            "xa": self.xa,
        }
        rest = {name: value for name, value in members.items() if value}
        return LogPlace(order=self.order, name=self.name, gtid=self.gtid, skip=self.skip, rest=rest)

    @classmethod
    def of_place(cls, place: LogPlace, _: Mapping[str, str]) -> Self:
        """The position at ``place``."""
        members = {"name": place.name, "gtid": place.gtid, "skip": place.skip, **place.rest}
        return cls._checked(place.order, members)

    def covers(self, other: LogPosition) -> bool:
        """Whether everything that ``other`` consumed is consumed here too.

        A snapshot that is due and has not begun comes after all that was consumed, here and there.
        """
        here, there = (*self.order, self.skip), (*other.order, other.skip)
        if here > there and not any(key is not None for key in self.snapshots.values()):
            return True
        return here >= there and self.snapshots.items() <= other.snapshots.items()

    def joined(self, other: Self) -> Self:
        """The newer one: a log has one order."""
        return other

    @property
    def boundary(self) -> Self:
        """Itself: nothing is taken out of turn."""
        return self

    def within(self, order: tuple[int, int], skip: int) -> Self:
        """An earlier position of the same batch: so many rows of the transaction at ``order``."""
        if (order, skip) == (self.order, self.skip):
            return self
        # which transactions came before it is known at its end only
        mark = self.mark if self.kind == "mysql" and order[0] == self.order[0] else ""
        name = self._name_of(order)
        return replace(self, order=order, skip=skip, gtid="", mark=mark, name=name)

    def _name_of(self, order: tuple[int, int]) -> str:
        """The file with another number, of MySQL's logs."""
        front, point, digits = self.name.rpartition(".")
        if self.kind != "mysql" or not digits.isdigit():
            return self.name
        return f"{front}{point}{order[0]:0{len(digits)}}"

    def snapshotted(self, table: str, after: list[Any] | None) -> Self:
        """This position with a table read up to a key."""
        return replace(self, snapshots={**self.snapshots, table: after})

    def finished(self, table: str) -> Self:
        """This position with the snapshot of a table complete."""
        return replace(self, snapshots={t: k for t, k in self.snapshots.items() if t != table})


def _of_another_kind(text: str, kind: str) -> EventError:
    return EventError(
        f"the table's position {text[:80]!r} was not written by a source of kind {kind!r}; "
        "sync it with the source that wrote it, or drop the table to start again",
        position=text,
    )
