"""Decoded events of one source table, in columns, before they take the table's types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import pyarrow as pa

    from table_core.cdc.model.embedded_schema import Declared
    from table_core.cdc.model.record import Place, SourceTable

__all__ = ["Changes", "RowImages"]


@dataclass(frozen=True, slots=True)
class RowImages:
    """The rows before or after each event; columns are of the type that JSON held.

    Shape: ``there: bool[n]``, each of ``columns``: ``[n]``, null where the row is not there.
    """

    there: pa.BooleanArray
    columns: Mapping[str, pa.Array]
    unavailable: Mapping[str, np.ndarray[Any, np.dtype[np.bool_]]] = field(default_factory=dict)
    """Where the source left a value out because it did not change, by column."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Events of one table in order, all with one embedded schema or none.

    Shape: ``lines: int64[n]`` (numbers that ascend), ``ops: string[n]``, images ``[n]`` each.
    """

    table: SourceTable
    place: Callable[[int], Place]
    """Where the event with a number of ``lines`` stands."""
    lines: np.ndarray[Any, np.dtype[np.int64]]
    ops: pa.StringArray
    before: RowImages
    after: RowImages
    declared: Mapping[str, Declared] | None
    """What the embedded schema says of the columns; None for events without schema."""
    event_time_ms: int | None
    times_ms: pa.Int64Array | None = None
    """When each change was committed in the source."""
