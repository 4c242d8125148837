"""Places in a server's log, and the progress of a first snapshot of its tables.

A MySQL transaction begins at binlog.000003:4711 and has ten rows, of which a commit took six: ``order`` is
(3, 4711) and ``skip`` 6.  A log can be read from the begin of a transaction only, so the next run reads all
ten and leaves six out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from table_core.position.members import checked, written_by

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LogPlace"]

_IN_TEXT: Final = ("name", "gtid", "mark", "skip", "snapshots", "since", "xa")
_IN_DOCUMENT: Final = ("name", "gtid", "skip")
_IN_REST: Final = ("mark", "snapshots", "since", "xa")


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Everything before ``order`` is taken, and of the transaction there ``skip`` rows."""

    kind: ClassVar[str] = "log"
    server: str
    """``mysql`` or ``postgres``: places in the log of one are nothing to the other."""
    order: tuple[int, int]
    """MySQL: number of the file and position; PostgreSQL: LSN and 0."""
    name: str = ""
    """MySQL: the file; PostgreSQL: the slot."""
    gtid: str = ""
    """MySQL, MariaDB: the GTIDs that were taken."""
    skip: int = 0
    snapshots: Mapping[str, list[Any] | None] = field(default_factory=dict)
    """Tables whose first rows are being read, and the primary key up to which they are."""
    since: Mapping[str, list[int]] = field(default_factory=dict)
    """Tables whose snapshot is newer than ``order``, and the place from which their changes count."""
    mark: str = ""
    """What tells the log there from another one of equal places.  MySQL: when, and by which server, the
    file was begun; PostgreSQL: number and time of the transaction that ends there.  '' if unknown."""
    xa: Mapping[str, list[Any] | None] = field(default_factory=dict)
    """MySQL: XA transactions that are prepared and have no end yet, and the tables that they change."""

    @property
    def text(self) -> str:
        """Compact JSON, the same for the same place."""
        document = {"v": 1, "kind": self.server, "at": list(self.order)}
        return json.dumps(
            {**document, **self._members(_IN_TEXT)}, separators=(",", ":"), sort_keys=True
        )

    @property
    def short(self) -> str:
        """``text`` for people."""
        return self.text

    @classmethod
    def parse(cls, text: str, server: str) -> Self:
        """Read what ``text`` wrote.

        Raises:
            EventError: it is the place of another kind of source.
        """
        with written_by(f"a source of kind {server!r}", text):
            document = json.loads(text)
            if document["kind"] != server:
                raise ValueError(f"kind {document['kind']!r}")
            members = {name: value for name in _IN_TEXT if (value := document.get(name))}
            return cls._checked(server, document["at"], members)

    def to_document(self) -> dict[str, Any]:
        """JSON members."""
        document = {"kind": self.kind, "order": list(self.order), **self._members(_IN_DOCUMENT)}
        return {**document, "rest": {"kind": self.server, **self._members(_IN_REST)}}

    @classmethod
    def from_document(cls, members: Mapping[str, Any]) -> Self:
        """Read what ``to_document`` made."""
        known, rest = dict(members), dict(members["rest"])
        del known["rest"]
        return cls._checked(rest.pop("kind"), known.pop("order"), {**known, **rest})

    def _members(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: value for name in names if (value := getattr(self, name))}

    @classmethod
    def _checked(cls, server: str, order: Any, members: Mapping[str, Any]) -> Self:
        """The place that a document names, which anybody may have written.

        Raises:
            ValueError: a member is not what it should be; so may ``TypeError`` and ``LookupError``.
        """
        first, second = order
        place = checked(cls(server, (first, second), **members))
        if any(len(since) != len(order) for since in place.since.values()):
            raise ValueError(f"since is {place.since!r:.80}")
        return place

    def covers(self, other: LogPlace) -> bool:
        """Whether everything that ``other`` has taken is taken here too.

        A snapshot that is due and has not begun comes after all that was taken, here and there.
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
        """An earlier place of the same batch: so many rows of the transaction at ``order``."""
        if (order, skip) == (self.order, self.skip):
            return self
        # which transactions came before it is known at its end only
        mark = self.mark if self.server == "mysql" and order[0] == self.order[0] else ""
        name = self._name_of(order)
        return replace(self, order=order, skip=skip, gtid="", mark=mark, name=name)

    def _name_of(self, order: tuple[int, int]) -> str:
        """The file with another number, of MySQL's logs."""
        front, point, digits = self.name.rpartition(".")
        if self.server != "mysql" or not digits.isdigit():
            return self.name
        return f"{front}{point}{order[0]:0{len(digits)}}"

    def snapshotted(self, table: str, after: list[Any] | None) -> Self:
        """This place with a table read up to a key."""
        return replace(self, snapshots={**self.snapshots, table: after})

    def finished(self, table: str) -> Self:
        """This place with the snapshot of a table complete."""
        return replace(self, snapshots={t: k for t, k in self.snapshots.items() if t != table})

    def __str__(self) -> str:
        file, at = self.order
        return f"{self.name}:{at}" if self.name else f"{file >> 32:X}/{file & 0xFFFFFFFF:X}"
