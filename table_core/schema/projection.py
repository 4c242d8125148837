"""Reading an old file under a new schema: ids decide, names only find columns in the file.

    file schema (id -> name, type)  +  read fields (id -> name, type)
        missing id    NULL
        other name    read under the old name
        other type    cast, inside ROW, ARRAY and MAP as well

A column dropped and added again has another id, so old values never come back.

Source: ``org.apache.paimon.schema.SchemaEvolutionUtil``; format 2.5, T40, T41.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_field, arrow_schema, arrow_type
from table_core.datatypes.cast import cast_array
from table_core.datatypes.castable import EXACT_INTEGERS, STRINGS, TIMESTAMPS
from table_core.datatypes.kinds import (
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Multiset,
    Root,
    Row,
    Vector,
)
from table_core.datatypes.range import Range
from table_core.datatypes.temporal_text import NANOS_OF_DAY
from table_core.errors import DataError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from table_core.datatypes.domain import Value
    from table_core.schema.table_schema import TableSchema

__all__ = ["Projection", "evolve_ranges", "project"]

_FLOATS: Final = frozenset({Root.FLOAT, Root.DOUBLE})
_INT_DIGITS: Final = {Root.TINYINT: 3, Root.SMALLINT: 5, Root.INT: 10, Root.BIGINT: 19}


@dataclass(frozen=True, slots=True)
class Projection:
    """How the columns of one file become ``read_fields``."""

    read_fields: tuple[Field, ...]
    file_fields: tuple[Field, ...]
    """What to ask of the file: its own names and types."""
    _sources: tuple[Field | None, ...]
    """The file field of each read field, None where the file has none."""
    _whole: tuple[Field | None, ...]
    """The same with all their members."""

    @property
    def keeps_values(self) -> bool:
        """Whether ``apply`` only picks and renames columns, and adds those of NULLs."""
        pairs = zip(self.read_fields, self._whole, strict=True)
        return all(source is None or _same(source.type, field.type) for field, source in pairs)

    @property
    def stored_names(self) -> dict[str, str | None]:
        """What the file calls each of ``read_fields``, None where it has no such column."""
        pairs = zip(self.read_fields, self._sources, strict=True)
        return {field.name: None if source is None else source.name for field, source in pairs}

    def apply(self, batch: pa.RecordBatch | pa.Table) -> Any:
        """``batch`` as read from the file, as rows of ``read_fields``; other columns are left out.

        Raises:
            DataError: an old value cannot be read as the new type; names the column.
        """
        if self._sources == self.read_fields and batch.num_columns == len(self.read_fields):
            return batch
        schema = arrow_schema(self.read_fields)
        if isinstance(batch, pa.Table):
            parts = [self.apply(part) for part in batch.to_batches()]
            return pa.Table.from_batches(parts, schema)
        columns = [
            pa.nulls(batch.num_rows, arrow_type(field.type))
            if source is None
            else _column(batch.column(source.name), source, field)
            for field, source in zip(self.read_fields, self._sources, strict=True)
        ]
        if not columns:
            return batch.select([])
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def project(
    file_schema: TableSchema, read_fields: Sequence[Field], file_columns: Sequence[str] | None
) -> Projection:
    """How a file of ``file_schema`` gives ``read_fields``.

    ``file_columns`` are the columns that the file holds, None for all of its schema.
    """
    present = {
        f.id: f for f in file_schema.fields if file_columns is None or f.name in file_columns
    }
    whole = tuple(present.get(field.id) for field in read_fields)
    sources = tuple(
        None if source is None else _pruned(source, field)
        for source, field in zip(whole, read_fields, strict=True)
    )
    wanted = {source.id: source for source in sources if source is not None}
    return Projection(tuple(read_fields), tuple(wanted.values()), sources, whole)


def _pruned(stored: Field, read: Field) -> Field:
    """``stored`` with the members that ``read`` has, to read no others."""
    if not isinstance(stored.type, Row) or not isinstance(read.type, Row):
        return stored
    wanted = {member.id: member for member in read.type.fields}
    kept = tuple(
        _pruned(member, wanted[member.id]) for member in stored.type.fields if member.id in wanted
    )
    if not kept:  # some member tells which ROWs are NULL
        kept = stored.type.fields[:1]
    return replace(stored, type=replace(stored.type, fields=kept))


def _column(array: Any, source: Field, field: Field) -> Any:
    try:
        return _converted(array, source.type, field.type)
    except DataError as error:
        facts = {**error.facts, "column": field.name}
        raise DataError(f"column {field.name!r}: {error}", **facts) from error


def _same(source: DataType, target: DataType) -> bool:
    """Whether values need no change: types equal but for nullability of the whole."""
    return source == target or replace(source, nullable=target.nullable) == target


def _converted(array: Any, source: DataType, target: DataType) -> Any:
    if _same(source, target):
        return array
    match source, target:
        case Row(old), Row(new):
            members = dict(zip((m.name for m in array.type), array.flatten(), strict=True))
            children = {f.id: members[f.name] for f in old}
            types = {f.id: f.type for f in old}
            parts = [
                _converted(children[f.id], types[f.id], f.type)
                if f.id in children
                else pa.nulls(len(array), arrow_type(f.type))
                for f in new
            ]
            fields = [arrow_field(f) for f in new]
            return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
        case ((Array(old_element) | Vector(old_element)), (Array(element) | Vector(element))):
            whole = pa.concat_arrays([array]) if array.offset else array
            values = _converted(whole.values, old_element, element)
            mask = whole.is_null() if whole.null_count else None
            return pa.ListArray.from_arrays(whole.offsets, values, arrow_type(target), mask=mask)
        case ((Map() | Multiset()), (Map() | Multiset())):
            return _map(array, source, target)
        case _, Atomic():
            return cast_array(array, source, target)
    raise UnsupportedFeatureError(
        f"{type(source).__name__} cannot be read as {type(target).__name__}",
        feature="type change of a nested column",
    )


def _map(array: Any, source: Map | Multiset, target: Map | Multiset) -> Any:
    whole = pa.concat_arrays([array]) if array.offset else array
    old_key, old_value = _map_types(source)
    key, value = _map_types(target)
    return pa.MapArray.from_arrays(
        whole.offsets,
        _converted(whole.keys, old_key, key),
        _converted(whole.items, old_value, value),
        arrow_type(target),
        mask=whole.is_null() if whole.null_count else None,
    )


def _map_types(type_: Map | Multiset) -> tuple[DataType, DataType]:
    if isinstance(type_, Map):
        return type_.key, type_.value
    return type_.element, Atomic(Root.INT, nullable=False)


def evolve_ranges(
    written: TableSchema,
    read: TableSchema | Iterable[Field],
    ranges: Mapping[str, Any],
    row_count: int | None = None,
) -> dict[str, Range]:
    """Ranges of a file of schema ``written``, by its names, as ranges of the read columns.

    A column that the file lacks is NULL in every row.  One whose cast does not keep the order is
    left out, which means unknown.  ``ranges`` hold ``min, max, null_count, row_count``.
    """
    if row_count is None:
        row_count = next((r.row_count for r in ranges.values()), None)
    by_id = {f.id: f for f in written.fields}
    fields = read if not hasattr(read, "fields") else read.fields
    evolved = {}
    for field in fields:
        source = by_id.get(field.id)
        if source is None:
            if row_count is not None:
                evolved[field.name] = Range(None, None, row_count, row_count)
            continue
        known = ranges.get(source.name)
        if known is None or not _keeps_order(source.type, field.type):
            continue
        evolved[field.name] = Range(
            _bound(known.min, source.type, field.type),
            _bound(known.max, source.type, field.type),
            known.null_count,
            known.row_count if known.row_count is not None else row_count,
        )
    return evolved


def _keeps_order(source: DataType, target: DataType) -> bool:
    """Whether casting keeps order and makes no NULLs."""
    if not isinstance(source, Atomic) or not isinstance(target, Atomic):
        return False
    old, new = source.root, target.root
    if old is new and old is not Root.DECIMAL:
        return source.length <= target.length and source.precision <= target.precision
    if old in EXACT_INTEGERS and new in EXACT_INTEGERS:
        return EXACT_INTEGERS.index(old) <= EXACT_INTEGERS.index(new)
    if old in {*EXACT_INTEGERS, Root.FLOAT} and new in _FLOATS:
        return True
    if old in {*EXACT_INTEGERS, Root.DECIMAL} and new is Root.DECIMAL:
        whole = _INT_DIGITS.get(old, source.precision - source.scale)
        return source.scale <= target.scale and whole <= target.precision - target.scale
    if old in STRINGS and new in STRINGS:
        return new is Root.VARCHAR and source.length <= target.length
    return new in TIMESTAMPS and (
        old is Root.DATE or (old in TIMESTAMPS and source.precision <= target.precision)
    )


def _bound(value: Value, source: DataType, target: DataType) -> Value:
    if value is None or not isinstance(target, Atomic) or not isinstance(source, Atomic):
        return None
    if target.root in _FLOATS:
        return float(np.float32(value)) if target.root is Root.FLOAT else float(value)
    if target.root is Root.DECIMAL:
        return Decimal(value)
    if source.root is Root.DATE and target.root in TIMESTAMPS:
        return value * NANOS_OF_DAY
    return value
