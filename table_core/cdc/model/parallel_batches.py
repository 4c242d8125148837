"""What passes between a run and those who read and decode records of topics for it, many at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    import pyarrow as pa

    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.embedded_schema import Declared
    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.model.schema_change_event import SchemaChangeEvent
    from table_core.cdc.model.window import Window
    from table_core.datatypes.kinds import Field

    DecodeWindow: TypeAlias = Callable[[Iterable[pa.RecordBatch]], bytes | None]
    """Decodes the records of one window, where they are: a ``DecodedWindow``, pickled."""
    ReadParallel: TypeAlias = Callable[["ParallelBatches", DecodeWindow], Iterator[bytes]]
    """Does the work for each window that has records, elsewhere; results in order."""
    RecordsBy: TypeAlias = Callable[["Topics"], ReadParallel | None]

__all__ = [
    "DecodeWindow",
    "DecodedWindow",
    "Known",
    "ParallelBatches",
    "ReadParallel",
    "RecordsBy",
    "Topics",
]


class Topics(Protocol):
    """Where records are, for those who read them elsewhere; a ``KafkaSource`` tells it."""

    @property
    def servers(self) -> str:
        """``host:port``, several with commas."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """Of this process's client."""
        ...

    @property
    def java_options(self) -> Mapping[str, Any]:
        """The same in the words of Java's client."""
        ...


@dataclass(frozen=True, slots=True)
class ParallelBatches:
    """Offsets of partitions (first, behind the last), ``step`` of each in every window."""

    ranges: Mapping[tuple[str, int], tuple[int, int]]
    step: int

    @property
    def windows(self) -> int:
        """How many there are."""
        return max(-(-(end - first) // self.step) for first, end in self.ranges.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the decoding of a window depends on beside its lines."""

    fields: Mapping[str, Sequence[Field]]
    """Columns of the tables that are there, by name."""
    skipped: frozenset[str]
    source_schemas: Mapping[SourceTable, Mapping[str, Declared]]
    keys: Mapping[SourceTable, tuple[str, ...]]
    primary_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of the tables that are there, by name."""
    sources: frozenset[SourceTable] = frozenset()
    """The source tables that feed a table already."""
    topics: Mapping[str, SourceTable] = field(default_factory=dict)
    """The tables of topics, as their events told them."""


@dataclass(frozen=True, slots=True)
class DecodedWindow:
    """A window, and what came out of it; ``after`` is None where an event cannot be read."""

    window: Window
    places: list[tuple[str, int, int]]
    changes: list[Changes]
    schema_changes: list[SchemaChangeEvent]
    after: Known | None
    marks: list[tuple[int, Mapping[SourceTable, Mapping[str, Declared]]]] = field(
        default_factory=list
    )
    """What was known behind which line; see ``LineDecoder``."""
