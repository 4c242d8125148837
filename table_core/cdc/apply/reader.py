"""What a source is to a run: it reads batches of changes from a position on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from table_core.cdc.model.batch import P

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.claims import Claim
    from table_core.cdc.model.record import SourceTable
    from table_core.position.source import SourceId

__all__ = ["Reader"]


class Reader(Protocol[P]):
    """Reads one source.  ``P`` is what its positions are; it knows nothing of the run."""

    def parse(self, text: str | None) -> P | None:
        """The position that a table holds; None is the start."""
        ...

    @property
    def by_table(self) -> bool:
        """Whether a source table that is new is read by itself, e.g. by a snapshot."""
        ...

    @property
    def forgets(self) -> bool:
        """Whether the source drops what it has, read or not, so that an old position may be lost with it."""
        ...

    @property
    def details(self) -> Mapping[str, object]:
        """What a result tells of what was not read, by member; empty ones are left out."""
        ...

    def identity(self) -> tuple[SourceId, str]:
        """What tells the source from others, and where it is."""
        ...

    def check(self, claims: Sequence[Claim]) -> None:
        """Refuse a source that is not what was read, or has not all that comes next.

        Raises:
            SourceDivergedError: it is so; nothing was read.
        """
        ...

    def settled(self, position: P) -> P:
        """A stored position as it is to be taken now, e.g. with the new paths of files."""
        ...

    def batches(self, start: P | None, end: P | None) -> Iterator[SourceBatch[P]]:
        """What comes after ``start``, in source order."""
        ...

    @property
    def history(self) -> Callable[[P], Iterator[SourceBatch[P]]] | None:
        """Reads all up to a position once more; None if the source does not go back."""
        ...

    def remembered(self, tables: Iterable[SourceTable], number: int | None = None) -> str | None:
        """What a later run has to know to read events of ``tables``; it goes into a property.

        ``number``: of the event of the newest batch where that run begins; None: behind them all.
        """
        ...

    def unfed(self, fed: Iterable[SourceTable]) -> list[SourceTable]:
        """Source tables of which something is known, though they feed no table yet."""
        ...

    def recall(self, text: str | None) -> None:
        """Take up what an earlier run remembered."""
        ...

    def committed(self, position: P) -> None:
        """Every table is complete up to here."""
        ...

    def tables(self) -> list[SourceTable]:
        """The source tables that there are now."""
        ...
