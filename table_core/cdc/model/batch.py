"""What was read of a source in one go, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.delivered import Deliveries
    from table_core.cdc.model.record import Place, SourceTable
    from table_core.cdc.model.schema_change_event import SchemaChangeEvent

__all__ = ["CommitAfter", "Flags", "P", "P_co", "Position", "SourceBatch"]

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


class Position(Protocol):
    """How far a source was read."""

    @property
    def text(self) -> str:
        """The same for the same position."""
        ...

    @property
    def short(self) -> str:
        """``text`` for people."""
        ...

    def covers(self, other: Self) -> bool:
        """Whether everything that ``other`` consumed is consumed here too."""
        ...

    def joined(self, other: Self) -> Self:
        """What is consumed here or in ``other``, which is newer."""
        ...

    @property
    def boundary(self) -> Self:
        """The same without what was taken out of turn, in the middle of a window of lines."""
        ...


P = TypeVar("P", bound=Position)
P_co = TypeVar("P_co", bound=Position, covariant=True)


class CommitAfter(Enum):
    """Whether a run commits once a batch is applied."""

    WHEN_DUE = "when-due"
    """As its own limits say."""
    NOW = "now"
    """The source waits for it, e.g. to forget what was read."""
    NOW_COMPLETE = "now-complete"
    """So, and the source has no more: every table is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBatch(Generic[P_co]):
    """Changes of any tables.  Numbers of events ascend within the batch, in source order."""

    changes: Sequence[Changes]
    position: P_co
    """Once the batch is applied."""
    events: int
    """How many there were, of whatever kind and table."""
    consumed: Callable[[Any, Ints], Flags]
    """(position, numbers): which events a position covers."""
    before: Callable[[int], P_co] | None = None
    """The position once the events with smaller numbers are applied; None: nothing can be told."""
    schema_changes: Sequence[SchemaChangeEvent] = ()
    key_of: Callable[[SourceTable], tuple[str, ...] | None] = lambda _: None
    """The primary key of a source table as its events tell it; () for none, None for unknown."""
    old_key: Callable[[int], Mapping[str, Any] | None] = lambda _: None
    """The key that an event moved its row from, if the source tells it beside the row."""
    place: Callable[[int], Place] | None = None
    """Where the event with a number stands."""
    text_of: Callable[[int], bytes | str] = lambda _: ""
    """The event with a number as it came, for people to read."""
    may_repeat: bool = False
    """Whether the source delivers at least once: events may come that came before."""
    deliveries: Callable[[Ints], Deliveries | None] = lambda _: None
    """Where events stand in the source's log; None where nobody knows, or none comes twice."""
    may_commit: bool = True
    """Whether a run that ends here can go on here; a table without key is read in one go."""
    commit_after: CommitAfter = CommitAfter.WHEN_DUE
    decoded_elsewhere: bool = False
    """Whether others did the work."""
