"""product: values multiplied in the order of the versions, and divided out again.

Source: ``org.apache.paimon.mergetree.compact.aggregate.FieldProductAgg``; format 8.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from table_core.errors import DataError
from table_core.merge.aggregators.numeric import decimal_words, decimals, overflow
from table_core.merge.ordinal import ordinals, present

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from table_core.merge.aggregators.column import FunctionColumn
    from table_core.merge.runs import Groups

    Step = Callable[[Any, Any, Any], tuple[Any, Any]]

__all__ = ["Product"]


@dataclass(frozen=True, slots=True)
class Product:
    """``product``: null counts nothing; taking back divides, and changes nothing before an add."""

    column: str

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """The aggregator of ``column``."""
        return cls(column.name)

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        here = present(column)
        type_ = column.type
        retract = (~groups.adds())[here]
        lengths = np.bincount(groups.ids[here], minlength=len(groups.starts)).astype(np.int64)
        if pa.types.is_floating(type_):
            values = column.drop_null().to_numpy()
            result, some = _in_batches(values, retract, lengths, _float_step)
            return pa.array(result, type_, mask=~some)
        if pa.types.is_decimal(type_):
            return self._decimals(column.drop_null(), retract, lengths)
        result, some = _in_batches(ordinals(column)[here], retract, lengths, self._integer_step)
        bounds = np.iinfo(type_.to_pandas_dtype())
        if not ((result >= bounds.min) & (result <= bounds.max)).all():
            raise overflow("product", self.column, type_)
        return pa.array(result.astype(bounds.dtype), type_, mask=~some)

    def _decimals(
        self,
        column: pa.Array,
        retract: npt.NDArray[np.bool_],
        lengths: npt.NDArray[np.int64],
    ) -> pa.Array:
        low, high = decimal_words(column)
        values = (high.astype(object) << 64) | low.astype(object)
        unit, limit = 10**column.type.scale, 10**column.type.precision

        def step(
            so_far: npt.NDArray[Any], value: npt.NDArray[Any], back: npt.NDArray[np.bool_]
        ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
            pairs = zip(so_far, value, back.tolist(), strict=True)
            result = [
                self._divided(a, b, unit) if undo else _rounded(a * b, unit) for a, b, undo in pairs
            ]
            fits = np.array([abs(r) < limit for r in result], np.bool_)
            return np.array([*result, None], object)[:-1], fits

        result, some = _in_batches(values, retract, lengths, step)
        whole = np.where(some, result, 0)
        words = [np.array([f(int(v)) for v in whole], d) for f, d in _WORDS]
        return decimals(words[0], words[1], some, column.type)

    def _divided(self, a: int, b: int, unit: int) -> int:
        if b == 0:
            raise self._by_zero()
        rest = abs(b) // np.gcd.reduce(np.array([abs(a), abs(b)], object))
        for prime in (2, 5):
            while rest % prime == 0:
                rest //= prime
        if rest != 1:
            raise DataError(
                f"column {self.column!r}: taking {b} back from {a} has no exact decimal result; "
                f"set 'fields.{self.column}.ignore-retract' to 'true' if it may be ignored",
                column=self.column,
                row=None,
                value=str(b),
            )
        return _rounded(a * unit, b)

    def _by_zero(self) -> DataError:
        return DataError(
            f"column {self.column!r}: a product cannot take 0 back",
            column=self.column,
            row=None,
            value="0",
        )

    def _integer_step(
        self,
        so_far: npt.NDArray[np.int64],
        value: npt.NDArray[np.int64],
        back: npt.NDArray[np.bool_],
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        if bool((back & (value == 0)).any()):
            raise self._by_zero()
        least = np.iinfo(np.int64).min
        by = np.where(value == 0, 1, value)
        with np.errstate(over="ignore"):
            times = so_far * value
            wraps = (times // by != so_far) & (value != 0)
            wraps |= (value == -1) & (so_far == least)
            quotient = so_far // by
            quotient += (so_far % by != 0) & ((so_far < 0) != (by < 0))
        wraps = np.where(back, (so_far == least) & (by == -1), wraps)
        if bool(wraps.any()):
            raise overflow("product", self.column, pa.int64())
        return np.where(back, quotient, times), np.ones(len(value), np.bool_)


_WORDS: Any = (
    (lambda v: v & (2**64 - 1), np.uint64),
    (lambda v: v >> 64, np.int64),
)


def _float_step(
    so_far: npt.NDArray[Any], value: npt.NDArray[Any], back: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    with np.errstate(all="ignore"):
        result = np.where(back, so_far / value, so_far * value)
    return result, np.ones(len(value), np.bool_)


def _rounded(a: int, b: int) -> int:
    """``a / b`` rounded half away from zero, as Java's HALF_UP does."""
    sign = -1 if (a < 0) != (b < 0) else 1
    return sign * ((2 * abs(a) + abs(b)) // (2 * abs(b)))


def _in_batches(
    values: npt.NDArray[Any],
    retract: npt.NDArray[np.bool_],
    lengths: npt.NDArray[np.int64],
    step: Step,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Fold every group at once, one version further a time; also which groups have a result."""
    starts = np.cumsum(lengths) - lengths
    longest_first = np.argsort(-lengths, kind="stable")
    ascending = np.sort(lengths)
    result = np.zeros(len(lengths), values.dtype)
    some = np.zeros(len(lengths), np.bool_)
    for wave in range(int(lengths.max()) if len(lengths) else 0):
        count = len(lengths) - int(np.searchsorted(ascending, wave, side="right"))
        group = longest_first[:count]
        at = starts[group] + wave
        value, back = values[at], retract[at]
        begins = ~some[group] & ~back
        result[group[begins]] = value[begins]
        goes_on = some[group]
        some[group[begins]] = True
        further = group[goes_on]
        if len(further):
            result[further], some[further] = step(result[further], value[goes_on], back[goes_on])
    return result, some
