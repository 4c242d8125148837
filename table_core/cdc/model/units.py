"""How a connector writes times and decimals, where only the values can tell.

Debezium's settings are nowhere in events without schema.  ``time.precision.mode``: ``adaptive`` modes
write DATETIME of more than three digits and TIME in microseconds, ``connect`` both in milliseconds;
the numbers of one are out of reach for the other.  ``decimal.handling.mode``: what ``precise`` writes
has letters somewhere, what ``string`` writes has points.  One answer holds for all tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.bad import refuse
from table_core.cdc.model.encoding import NUMBER, Encoding
from table_core.cdc.model.envelope import bad_line
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.typed_values import DAY_MS, MILLIS_MAX
from table_core.datatypes.kinds import Atomic, Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.embedded_schema import Declared
    from table_core.cdc.model.record import SourceTable
    from table_core.errors import EventError

    SourceSchemas = Mapping[SourceTable, Mapping[str, Declared]]

__all__ = ["settled", "without_sign"]

_UNSIGNED: Final = Encoding(LogicalType.UNSIGNED)
_BIGINT: Final = Atomic(Root.BIGINT)
_DECIDED: Final = {LogicalType.PLAIN, LogicalType.UNSCALED}
_TIMESTAMPS: Final = {Root.TIMESTAMP, Root.TIMESTAMP_LTZ}
_MILLIS_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class _Unit:
    """The two units that numbers may be in."""

    coarse: LogicalType
    fine: LogicalType
    least: int
    """What is smaller shows nothing of milliseconds: April 1970, or three hours after its beginning."""
    most: int
    """No milliseconds are as large."""

    def is_coarse(self, column: pa.Array) -> int:
        """How many numbers are likely to be of the coarse unit."""
        return _within(column, self.least, self.most)

    def is_fine(self, column: pa.Array) -> int:
        """How many numbers are of the fine unit: too large for the other."""
        coarse, fine = self.coarse.meaning.beyond, self.fine.meaning.beyond
        assert coarse is not None
        assert fine is not None
        return _within(column, coarse, fine)


_UNITS: Final = {
    LogicalType.MOMENT: _Unit(LogicalType.MILLIS, LogicalType.MICROS, 10**10, MILLIS_MAX),
    LogicalType.TIME: _Unit(LogicalType.TIME_MILLIS, LogicalType.TIME_MICROS, 1, DAY_MS),
}
"""What the numbers, or those of other columns, have to tell."""


def settled(
    source_schemas: SourceSchemas, changes: Sequence[Changes], *, together: bool = False
) -> SourceSchemas:
    """``source_schemas`` with what the values of ``changes`` show; the same where they show nothing.

    A connector writes all tables alike, so what is known of one column holds for the others.

    Raises:
        EventError: numbers cannot be what they were taken for.
        BadEvents: with ``together``: all events that have such.
    """
    known: dict[LogicalType, LogicalType] = {}
    if any(_is_open(columns) for columns in source_schemas.values()):
        known = {**_units(source_schemas, changes), **_decimals(source_schemas, changes)}
    if known:
        source_schemas = {
            table: {name: _with(d, known) for name, d in columns.items()}
            for table, columns in source_schemas.items()
        }
    refuse(_mistaken(source_schemas, changes), together=together)
    return source_schemas


def _units(
    source_schemas: SourceSchemas, changes: Sequence[Changes]
) -> dict[LogicalType, LogicalType]:
    fine_units = {open_: unit.fine for open_, unit in _UNITS.items()}
    wires = {
        (d.encoding.logical_type, _digits(d))
        for columns in source_schemas.values()
        for d in columns.values()
        if d.encoding is not None
    }
    if wires & {(LogicalType.MICROS, 6), (LogicalType.TIME_MICROS, 0)}:
        return fine_units
    if wires & {(LogicalType.MILLIS, 6), (LogicalType.TIME_MILLIS, 0)}:
        return {open_: unit.coarse for open_, unit in _UNITS.items()}
    fine, coarse = 0, dict.fromkeys(_UNITS, 0)
    for open_, unit in _UNITS.items():
        for column in _values(source_schemas, changes, open_):
            fine += unit.is_fine(column)
            coarse[open_] += unit.is_coarse(column)
    if fine and fine >= sum(coarse.values()):
        return fine_units
    return {open_: _UNITS[open_].coarse for open_, count in coarse.items() if count}


def _digits(declared: Declared) -> int:
    """6 for moments that Debezium's settings write in one unit or the other."""
    type_ = declared.type
    moment = isinstance(type_, Atomic) and type_.root in _TIMESTAMPS
    return 6 if moment and isinstance(type_, Atomic) and type_.precision > _MILLIS_DIGITS else 0


def _within(column: pa.Array, low: int, high: int) -> int:
    """How many numbers are so far from zero."""
    if not pa.types.is_integer(column.type) or column.null_count == len(column):
        return 0
    size = pc.abs(column)
    within = pc.and_(pc.greater_equal(size, low), pc.less(size, high))
    return int(pc.sum(within).as_py() or 0)


def _mistaken(source_schemas: SourceSchemas, changes: Sequence[Changes]) -> Iterator[EventError]:
    """Errors for numbers that are too large for what they are taken for: of another setting."""
    for group in _without_schema(changes):
        for name, declared in source_schemas.get(group.table, {}).items():
            if declared.encoding is None:
                continue
            logical_type = declared.encoding.logical_type
            if (unit := _UNITS.get(logical_type)) is not None:
                logical_type = unit.fine
            if (beyond := logical_type.meaning.beyond) is None:
                continue
            taken = logical_type.name.lower().replace("_", " in ")
            why = (
                f"column {name!r} has numbers that are no {taken}; drop the table, and say "
                "timestamps='adaptive', or with time.precision.mode=microseconds or "
                "nanoseconds: timestamps='micros', times='micros', or 'nanos'"
            )
            for images in (group.before, group.after):
                column = images.columns.get(name)
                if column is None or not pa.types.is_integer(column.type):
                    continue
                size = pc.fill_null(
                    pc.or_(pc.greater_equal(column, beyond), pc.less_equal(column, -beyond)), False
                )
                for line in group.lines[np.asarray(size)].tolist():
                    yield bad_line(group.place(line), why, column=name)


def _without_schema(changes: Sequence[Changes]) -> list[Changes]:
    return [one for one in changes if one.declared is None]


def _decimals(
    source_schemas: SourceSchemas, changes: Sequence[Changes]
) -> dict[LogicalType, LogicalType]:
    for columns in source_schemas.values():
        for d in columns.values():
            is_decimal = isinstance(d.type, Atomic) and d.type.root is Root.DECIMAL
            if is_decimal and d.encoding is not None and d.encoding.logical_type in _DECIDED:
                return {LogicalType.DECIMAL: d.encoding.logical_type}
    texts = [
        c
        for c in _values(source_schemas, changes, LogicalType.DECIMAL)
        if pa.types.is_string(c.type)
    ]
    points = sum(_matching(column, r"^[+-]?\d+\.\d*$") for column in texts)
    letters = sum(len(column) - column.null_count - _matching(column, NUMBER) for column in texts)
    if points > letters:
        return {LogicalType.DECIMAL: LogicalType.PLAIN}
    return {LogicalType.DECIMAL: LogicalType.UNSCALED} if letters else {}


def _matching(column: pa.Array, pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(column, pattern)).as_py() or 0)


def _is_open(columns: Mapping[str, Declared]) -> bool:
    return any(
        d.encoding is not None
        and (d.encoding.logical_type in _UNITS or d.encoding.logical_type is LogicalType.DECIMAL)
        for d in columns.values()
    )


def _with(declared: Declared, known: Mapping[LogicalType, LogicalType]) -> Declared:
    if (
        declared.encoding is None
        or (logical_type := known.get(declared.encoding.logical_type)) is None
    ):
        return declared
    return replace(declared, encoding=Encoding(logical_type, declared.encoding.scale))


def _values(
    source_schemas: SourceSchemas, changes: Sequence[Changes], logical_type: LogicalType
) -> Iterator[pa.Array]:
    """The values of all columns whose wire has ``logical_type``."""
    for group in _without_schema(changes):
        for name, declared in source_schemas.get(group.table, {}).items():
            if declared.encoding is None or declared.encoding.logical_type is not logical_type:
                continue
            for images in (group.before, group.after):
                column = images.columns.get(name)
                if column is not None:
                    yield column


def without_sign(
    declared: Mapping[str, Declared], columns: Mapping[str, Declared]
) -> Mapping[str, Declared]:
    """The columns of an embedded schema, those without sign that it calls int64 as the table has them."""
    known = {
        name: replace(declared[name], type=one.type, encoding=one.encoding)
        for name, one in columns.items()
        if one.encoding == _UNSIGNED and name in declared and declared[name].type == _BIGINT
    }
    return {**declared, **known} if known else declared
