"""What was read of a source in one go, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.record import Place, SourceTable
    from table_core.cdc.model.schema_change_event import TableNews

__all__ = ["Position", "SourceBatch"]

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


class Position(Protocol):
    """How far a source was read.  ``text`` goes into a snapshot property."""

    @property
    def text(self) -> str:
        """The same for the same position."""
        ...

    @property
    def place(self) -> Any:
        """The same for a document of positions."""
        ...

    def covers(self, other: Self) -> bool:
        """Whether everything that ``other`` consumed is consumed here too."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBatch:
    """Changes of any tables.  Numbers of events ascend within the batch, in source order."""

    changes: Sequence[Changes]
    position: Position
    """Once the batch is applied."""
    events: int
    """How many there were, of whatever kind and table."""
    consumed: Callable[[Any, Ints], Flags]
    """(position, numbers): which events a position covers."""
    before: Callable[[int], Position] | None = None
    """The position once the events with smaller numbers are applied; None: nothing can be told."""
    news: Sequence[TableNews] = ()
    key_of: Callable[[SourceTable], tuple[str, ...] | None] = lambda _: None
    """The primary key of a source table as its events tell it; () for none, None for unknown."""
    old_key: Callable[[int], Mapping[str, Any] | None] = lambda _: None
    """The key that an event moved its row from, if the source tells it beside the row."""
    place: Callable[[int], Place] | None = None
    """Where the event with a number stands."""
    text_of: Callable[[int], bytes | str] = lambda _: ""
    """The event with a number as it came, for people to read."""
    may_commit: bool = True
    """Whether a run that ends here can go on here; a table without key is read in one go."""
