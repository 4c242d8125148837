"""Literals: what a literal is on its own, and what it means beside a column.

A literal finer than its column (``i < 4.5``, a timestamp beside a DATE) is not rounded: the
comparison is moved onto the column's grid, which keeps the column free of casts, so statistics still
prune.  This agrees with Spark, which widens the column instead.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.datatypes.castable import BINARIES, EXACT_INTEGERS, NUMERIC, STRINGS, TIMESTAMPS
from table_core.datatypes.domain import Value, unit_nanos
from table_core.datatypes.kinds import STRING, Atomic, DataType, Root
from table_core.datatypes.temporal_text import (
    NANOS_OF_DAY,
    has_offset,
    parse_date,
    parse_time_nanos,
    parse_timestamp,
)
from table_core.predicate.expression import Folded

if TYPE_CHECKING:
    from table_core.predicate.expression import Literal

__all__ = ["DOUBLE", "Grid", "as_bool", "as_float", "constant", "grid_of", "on_grid"]

DOUBLE: Final = Atomic(Root.DOUBLE)
_BITS: Final = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EXACT: Final = decimal.Context(prec=100)
Typed = tuple[Value, Atomic]


def constant(literal: Literal) -> Typed:
    """The value of ``literal`` in the domain, and its own type.

    Raises:
        ValueError: the value does not fit its type, or has no type.
    """
    if isinstance(literal, Folded):
        assert isinstance(literal.type, Atomic)
        return literal.value, literal.type
    value = literal.value.item() if hasattr(literal.value, "item") else literal.value
    if literal.type is not None:
        return _typed(value, literal.type)
    return _natural(value)


def _natural(value: Any) -> Typed:
    match value:
        case bool():
            return value, Atomic(Root.BOOLEAN)
        case int():
            fits = -(2**31) <= value < 2**31
            root = Root.INT if fits else Root.BIGINT
            return value, Atomic(root) if -(2**63) <= value < 2**63 else _decimal(value)
        case float():
            return value, DOUBLE
        case decimal.Decimal():
            if not value.is_finite():
                return float(value), DOUBLE
            return value, _decimal(value)
        case str():
            return value, STRING
        case bytes() | bytearray() | memoryview():
            return bytes(value), Atomic(Root.VARBINARY)
        case dt.datetime():
            return _from_datetime(value)
        case dt.date():
            return (value - dt.date(1970, 1, 1)).days, Atomic(Root.DATE)
        case dt.time():
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            nanos = seconds * 1_000_000_000 + value.microsecond * 1000
            return _exact_time(nanos), Atomic(Root.TIME, precision=3)
    raise ValueError(f"no column holds a {type(value).__name__}")


def _exact_time(nanos: int) -> Value:
    """A time in the unit of TIME columns, milliseconds; a part of one beside a column is not cut away."""
    millis = Fraction(nanos, 1_000_000)
    return int(millis) if millis.denominator == 1 else millis  # a part is never stored


def _decimal(value: int | decimal.Decimal) -> Atomic:
    _, digits, exponent = decimal.Decimal(value).as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale)
    return Atomic(Root.DECIMAL, precision=precision, scale=scale)


def _from_datetime(value: dt.datetime) -> Typed:
    root = Root.TIMESTAMP if value.tzinfo is None else Root.TIMESTAMP_LTZ
    aware = value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value
    past = aware - _EPOCH
    micros = (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds
    nanos = getattr(value, "nanosecond", 0)
    return micros * 1000 + nanos, Atomic(root, precision=6)


def _typed(value: Any, type_: DataType) -> Typed:
    if not isinstance(type_, Atomic):
        raise ValueError("no literal has that type")  # noqa: TRY004  # callers want one class
    root = type_.root
    if root in STRINGS:
        return value if isinstance(value, str) else str(value), type_
    if root in BINARIES:
        return value if isinstance(value, bytes) else str(value).encode(), type_
    if root is Root.BOOLEAN:
        return as_bool(value), type_
    if root is Root.FLOAT:
        return float(np.float32(as_float(value))), DOUBLE
    if root is Root.DOUBLE:
        return as_float(value), DOUBLE
    if isinstance(value, str):
        return _parsed(value, type_), type_
    if root in NUMERIC and isinstance(value, int | float | decimal.Decimal):
        rounded, exact = on_grid(type_, value, type_)
        if exact is None:
            raise ValueError(f"{value} does not fit {root}")
        return rounded, type_
    raise ValueError(f"{value!r} is no {root}")


def as_bool(value: Any) -> bool:
    """``value`` as a truth value; text as Spark reads it."""
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else ""
    if text in {"true", "t", "yes", "y", "1"}:
        return True
    if text in {"false", "f", "no", "n", "0"}:
        return False
    raise ValueError(f"{value!r} is neither true nor false")


def as_float(value: Any) -> float:
    """``value`` as a double; text may say NaN and Infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | decimal.Decimal):
        raise ValueError(f"{value!r} is no number")  # noqa: TRY004  # callers want one class
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]  # not str here


def _parsed(text: str, type_: Atomic) -> Value:
    """Text as a value of the exact number or time ``type_``."""
    if type_.root is Root.DATE:
        return parse_date(text)
    if type_.root in TIMESTAMPS:
        if type_.root is Root.TIMESTAMP and has_offset(text):
            raise ValueError(f"a TIMESTAMP without zone has no offset: leave it out of {text!r}")
        return parse_timestamp(text)
    if type_.root is Root.TIME:
        return _exact_time(parse_time_nanos(text))
    try:
        number = decimal.Decimal(text.strip())
    except decimal.InvalidOperation as error:
        raise ValueError(f"{text!r} is no number") from error
    if not number.is_finite():
        raise ValueError(f"{text!r} is no {type_.root}")
    return int(number) if type_.root in EXACT_INTEGERS and number == int(number) else number


class Grid:
    """The values that an exact column can hold: ``low`` to ``high`` ticks."""

    def __init__(self, type_: Atomic) -> None:
        self.type = type_
        if type_.root in _BITS:
            self.high = 2 ** (_BITS[type_.root] - 1) - 1
            self.low = -self.high - 1
        elif type_.root is Root.DECIMAL:
            self.high = 10**type_.precision - 1
            self.low = -self.high
        else:
            self.high = 2**63 - 1 if type_.root in TIMESTAMPS else 2**31 - 1
            self.low = -self.high - 1

    def ticks(self, value: Value, of: Atomic) -> Fraction:
        """``value``, a value of type ``of``, in ticks of this grid."""
        exact: Fraction = Fraction(value)
        if self.type.root is Root.DECIMAL:
            return Fraction(exact * 10**self.type.scale)
        if self.type.root is Root.DATE and of.root in TIMESTAMPS:
            return Fraction(exact, NANOS_OF_DAY)
        if self.type.root in TIMESTAMPS:
            nanos = exact * NANOS_OF_DAY if of.root is Root.DATE else exact
            return Fraction(nanos, unit_nanos(self.type))
        return exact

    def value(self, tick: int) -> Value:
        """The domain value of one tick."""
        if self.type.root is Root.DECIMAL:
            return decimal.Decimal(tick).scaleb(-self.type.scale, _EXACT)
        if self.type.root in TIMESTAMPS:
            return tick * unit_nanos(self.type)
        return tick


def grid_of(type_: Atomic, of: Atomic) -> Grid | None:
    """The grid of a column of ``type_`` beside a value of type ``of``, None if they do not meet."""
    exact = {*EXACT_INTEGERS, Root.DECIMAL}
    moments = {Root.DATE, *TIMESTAMPS}
    for family in (exact, moments, {Root.TIME}):
        if type_.root in family and of.root in family:
            return Grid(type_)
    return None


def on_grid(type_: Atomic, value: Value, of: Atomic) -> tuple[Value, bool | None]:
    """``value`` rounded down onto the grid of ``type_``, and whether that changed nothing.

    None for the second means outside the grid; the first is then an int below or above zero.
    """
    grid = Grid(type_)
    exact = grid.ticks(value, of)
    tick = math.floor(exact)
    if tick < grid.low or tick > grid.high:
        return (-1 if tick < grid.low else 1), None
    return grid.value(tick), tick == exact
