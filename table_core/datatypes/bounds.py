"""Values outside of bounds, told by what the bounds mean and not by what a column could store.

A bound is a number, a text or a point in time; it is compared exactly, so ``0.001`` is not 0 for a
DECIMAL(12, 2), and ``0`` is a bound of it.  A floating column is compared with the number that the
bound is written as: 0.1 is the 0.1 that the column holds.  NaN lies outside of any bounds.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.errors import ArgumentError

__all__ = ["Bounds"]

_EXACT: Final = Context(prec=120)
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True)
class Bounds:
    """``[smallest, largest]`` of a column; None is open."""

    column: str
    low: Any
    high: Any

    def outside(self, values: pa.Array) -> pa.Array:
        """Which values lie outside; NULL does not.

        Raises:
            ArgumentError: a bound cannot be compared with such values.
        """
        wrong = pa.array(np.zeros(len(values), dtype=bool))
        if self.low is not None:
            wrong = pc.or_(wrong, self._beyond(values, self.low, above=False))
        if self.high is not None:
            wrong = pc.or_(wrong, self._beyond(values, self.high, above=True))
        if pa.types.is_floating(values.type):
            wrong = pc.or_(wrong, pc.fill_null(pc.is_nan(values), False))
        return wrong

    def _beyond(self, values: pa.Array, bound: Any, *, above: bool) -> pa.Array:
        kind = values.type
        if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
            beyond = self._exact(values, self._number(bound, kind), above=above)
        elif pa.types.is_floating(kind):
            beyond = self._floating(values, self._number(bound, kind), above=above)
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            other = pa.scalar(str(bound), kind)
            beyond = pc.greater(values, other) if above else pc.less(values, other)
        else:
            beyond = self._in_time(values, bound, above=above)
        return pc.fill_null(beyond, False)

    def _refused(self, bound: Any, kind: pa.DataType, why: str) -> ArgumentError:
        return ArgumentError(
            f"range of {self.column}: {bound!r} is no bound of {kind}: {why}",
            argument="range",
            value=str(bound),
        )

    def _number(self, bound: Any, kind: pa.DataType) -> Decimal:
        if isinstance(bound, bool):
            raise self._refused(bound, kind, "expected a number")
        try:
            number = Decimal(str(bound).strip())
        except InvalidOperation as error:
            raise self._refused(bound, kind, "expected a number") from error
        if not number.is_finite():
            raise self._refused(bound, kind, "leave an open bound out with null")
        return number

    def _exact(self, values: pa.Array, bound: Decimal, *, above: bool) -> pa.Array:
        """The bound as the nearest value on its inner side: no value lies between the two."""
        kind = values.type
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        rounding = ROUND_FLOOR if above else ROUND_CEILING
        step = bound.scaleb(scale, _EXACT).to_integral_value(rounding, _EXACT)
        smallest, largest = _limits(kind)
        if step > largest:
            return _all(values, not above)
        if step < smallest:
            return _all(values, above)
        nearest = step.scaleb(-scale, _EXACT) if scale else int(step)
        other = pa.scalar(nearest, kind)
        return pc.greater(values, other) if above else pc.less(values, other)

    def _floating(self, values: pa.Array, bound: Decimal, *, above: bool) -> pa.Array:
        narrow = pa.types.is_float32(values.type)
        try:
            near = float(np.float32(bound)) if narrow else float(bound)
        except OverflowError:
            near = math.inf if bound > 0 else -math.inf
        shown = str(np.float32(near)) if narrow else repr(near)
        other = pa.scalar(near, pa.float64())
        wide = values.cast(pa.float64())
        if math.isinf(near) or Decimal(shown) == bound or Decimal(near) == bound:
            return pc.greater(wide, other) if above else pc.less(wide, other)
        beyond = Decimal(near) > bound if above else Decimal(near) < bound
        if above:
            return pc.greater_equal(wide, other) if beyond else pc.greater(wide, other)
        return pc.less_equal(wide, other) if beyond else pc.less(wide, other)

    def _in_time(self, values: pa.Array, bound: Any, *, above: bool) -> pa.Array:
        kind = values.type
        try:
            ticks, per_second = _moment(bound, kind)
        except (ValueError, TypeError) as error:
            raise self._refused(bound, kind, "expected ISO 8601, e.g. 2026-01-31") from error
        if per_second is None:
            raise self._refused(bound, kind, "only numbers, texts and points in time have a range")
        whole = pc.cast(values, pa.int32() if kind.bit_width == 32 else pa.int64())
        step = math.floor(ticks * per_second) if above else math.ceil(ticks * per_second)
        if not -(2**63) <= step < 2**63:
            return _all(values, (step < 0) == above)
        wide = whole.cast(pa.int64())
        other = pa.scalar(step, pa.int64())
        return pc.greater(wide, other) if above else pc.less(wide, other)


def _limits(kind: pa.DataType) -> tuple[int, int]:
    if pa.types.is_decimal(kind):
        largest = 10**kind.precision - 1
        return -largest, largest
    return -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1


def _all(values: pa.Array, wrong: bool) -> pa.Array:
    """Every value is beyond, or none is; NULL never."""
    return pc.and_(pa.array(np.full(len(values), wrong)), pc.is_valid(values))


def _moment(bound: Any, kind: pa.DataType) -> tuple[Any, Any]:
    """The bound in seconds (days for a DATE) as an exact number, and the column's ticks of them."""
    from fractions import Fraction

    text = str(bound).strip()
    if pa.types.is_date(kind):
        moment = dt.datetime.fromisoformat(text)
        day = dt.datetime.combine(moment.date(), dt.time())
        part = Fraction((moment.replace(tzinfo=None) - day) // dt.timedelta(microseconds=1))
        days = (moment.date() - _EPOCH.date()).days
        return days + part / (86_400 * 10**6), 1 if pa.types.is_date32(kind) else 86_400_000
    if pa.types.is_time(kind):
        clock = dt.time.fromisoformat(text)
        seconds = clock.hour * 3600 + clock.minute * 60 + clock.second
        return seconds + Fraction(clock.microsecond, 10**6), _PER_SECOND[kind.unit]
    if pa.types.is_timestamp(kind):
        moment = dt.datetime.fromisoformat(text)
        if moment.tzinfo is None or kind.tz is None:
            moment = moment.replace(tzinfo=dt.UTC)
        micros = (moment - _EPOCH) // dt.timedelta(microseconds=1)
        return Fraction(micros, 10**6), _PER_SECOND[kind.unit]
    return 0, None
