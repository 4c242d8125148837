"""Which encoding each Parquet column gets, from a sample of its values.

A dictionary pays for few distinct values and costs twice the time for many.  Whole numbers with
many values (ids, times, unscaled decimals) are smaller and faster as deltas; what is left stays
plain, and the codec does the rest.  Paimon's vectorised reader knows all three for flat columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.storage.columns.stored_schema import leaf_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Encodings", "choose_encodings"]

_SAMPLE_ROWS_MAX: Final = 4096
_SAMPLE_ROWS_MIN: Final = 1024
_FEW_NUMBERS: Final = 0.05
_FEW_TEXTS: Final = 0.4
_LONGEST_DECIMAL_AS_INT: Final = 18


@dataclass(frozen=True, slots=True)
class Encodings:
    """Parquet columns by encoding; those not named stay plain."""

    dictionary: tuple[str, ...]
    other: Mapping[str, str]


def choose_encodings(
    table: pa.Table, forced: Mapping[str, bool], *, default: bool | None
) -> Encodings:
    """Encodings for files that begin with the rows ``table``.

    ``forced`` and ``default`` are what options say of dictionaries, by column and for the rest.
    """
    rows = _sample(table.num_rows)
    dictionary: list[str] = []
    other: dict[str, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        wanted = forced.get(name, default)
        if wanted is None:
            wanted = _has_few_values(column, rows)
        if wanted:
            dictionary.extend(leaf_paths(name, column.type))
        elif _is_stored_as_int(column.type):
            other[name] = "DELTA_BINARY_PACKED"
    for path in _nested_paths(table.schema):
        other.pop(path, None)  # Arrow would give the field d of c what the column "c.d" shall have
    return Encodings(tuple(dictionary), other)


def _nested_paths(schema: pa.Schema) -> Iterator[str]:
    for field in schema:
        if pa.types.is_nested(field.type):
            yield from leaf_paths(field.name, field.type)


def _sample(rows: int) -> Any:
    """Evenly spaced positions: key tables are sorted, so the first rows say little."""
    count = min(max(rows // 16, _SAMPLE_ROWS_MIN), _SAMPLE_ROWS_MAX)
    if rows <= count:
        return None
    return pa.array(np.linspace(0, rows - 1, count).astype(np.int64))


def _has_few_values(column: Any, rows: Any) -> bool:
    if pa.types.is_nested(column.type):
        return True  # the writer falls back to plain by itself, at some cost
    if pa.types.is_boolean(column.type):
        return False
    sample = column if rows is None else column.take(rows)
    if len(sample) == 0:
        return not _is_stored_as_int(column.type)
    limit = _FEW_NUMBERS if _is_stored_as_int(column.type) else _FEW_TEXTS
    return bool(pc.count_distinct(sample).as_py() <= max(limit * len(sample), 1))


def _is_stored_as_int(type_: Any) -> bool:
    if pa.types.is_decimal(type_):
        return bool(type_.precision <= _LONGEST_DECIMAL_AS_INT)
    return bool(pa.types.is_integer(type_) or pa.types.is_temporal(type_))
