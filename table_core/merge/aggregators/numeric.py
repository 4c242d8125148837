"""Folds that calculate: sum, min and max, bool_and and bool_or.

Integers are exact and refuse to overflow.  So do decimals of up to 18 digits: Java adds them as 64 bits, and
keeps what their type cannot hold.  Wider decimals are exact and become null where they exceed their
precision, as in Java.  Floats are added in the order of the versions, as Java adds them.

Source: ``org.apache.paimon.mergetree.compact.aggregate.FieldSumAgg`` and its neighbours;
format 8.6.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.errors import DataError
from table_core.merge.aggregators.value import OfColumn, refuse_retracts
from table_core.merge.arrays import empty
from table_core.merge.ordinal import ordinals, present, validity
from table_core.merge.take_indices import set_bits, taken

if TYPE_CHECKING:
    import numpy.typing as npt

    from table_core.merge.aggregators.column import FunctionColumn
    from table_core.merge.runs import Groups

__all__ = ["Both", "Either", "Extreme", "Sum", "decimal_words", "decimals", "overflow"]

_LOW_32: Final = np.int64(0xFFFF_FFFF)
_WHOLE: Final = {
    pa.int8().id: "i1",
    pa.int16().id: "i2",
    pa.int32().id: "i4",
    pa.int64().id: "i8",
    pa.date32().id: "i4",
    pa.timestamp("us").id: "i8",
}
"""Types whose ordinals are the stored values."""
_COMPACT: Final = 18
"""Digits up to which Java has decimals in 64 bits."""
_NARROW: Final = 1 << 62
"""Sums that cannot reach it are added as they are."""


def overflow(function: str, column: str, type_: pa.DataType) -> DataError:
    """The error of a result that its column cannot hold."""
    return DataError(
        f"column {column!r}: the {function} of a key's versions does not fit {type_}; "
        "widen the column",
        column=column,
        row=None,
        value=None,
    )


def decimal_words(column: pa.Array) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Low and high words of a ``decimal128`` column.  Shape: ``[n]`` to two ``[n]``."""
    body = column.buffers()[1]
    if body is None or len(column) == 0:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    words = np.frombuffer(body, np.int64, 2 * len(column), 16 * column.offset)
    return words[::2].view(np.uint64), words[1::2]


def decimals(
    low: npt.NDArray[np.uint64],
    high: npt.NDArray[np.int64],
    valid: npt.NDArray[np.bool_],
    type_: pa.DataType,
) -> pa.Array:
    """Decimals from their words; null where not ``valid`` or beyond the type's precision."""
    limit = 10**type_.precision
    top, bottom = np.int64(limit >> 64), np.uint64(limit & (2**64 - 1))
    below, beyond = np.int64(-limit >> 64), np.uint64(-limit & (2**64 - 1))
    fits = (high < top) | ((high == top) & (low < bottom))
    fits &= (high > below) | ((high == below) & (low > beyond))
    body = np.empty((len(low), 2), np.uint64)
    body[:, 0], body[:, 1] = low, high.view(np.uint64)
    return pa.Array.from_buffers(type_, len(low), [set_bits(valid & fits), pa.py_buffer(body)])


def _narrow_decimals(
    values: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_], type_: pa.DataType
) -> pa.Array:
    """Decimals of ``values``, which are known to fit."""
    body = empty(2 * len(values)).reshape(-1, 2)
    body[:, 0] = values
    np.right_shift(values, 63, out=body[:, 1])
    return pa.Array.from_buffers(type_, len(values), [set_bits(valid), pa.py_buffer(body)])


class Sum(OfColumn):
    """``sum``: null counts nothing; what is taken away counts negative."""

    __slots__ = ()

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        type_ = column.type
        narrow = None if pa.types.is_floating(type_) else _narrow_sum(column, groups)
        if narrow is not None and pa.types.is_decimal(type_):
            total, some = narrow
            return _narrow_decimals(total, some, type_)
        if narrow is not None:
            return self._integers(*narrow, type_)
        here = present(column)
        weight = here.astype(np.int64)
        some = groups.reduce(np.add, weight, 0) > 0
        if groups.retract is not None:
            weight[groups.retract] *= -1
        if pa.types.is_floating(type_):
            return self._floats(column, groups, weight, some)
        if pa.types.is_decimal(type_):
            return self._decimals(column, groups, weight, some)
        low, high = _exact_sum(ordinals(column), weight, groups)
        total = (high << 32) | low
        if not (high == total >> 32).all():
            raise overflow("sum", self.column, type_)
        return self._integers(total, some, type_)

    def _integers(
        self, total: npt.NDArray[np.int64], some: npt.NDArray[np.bool_], type_: pa.DataType
    ) -> pa.Array:
        bounds = np.iinfo(type_.to_pandas_dtype())
        if not ((total >= bounds.min) & (total <= bounds.max)).all():
            raise overflow("sum", self.column, type_)
        values = pa.py_buffer(total.astype(bounds.dtype))
        return pa.Array.from_buffers(type_, len(total), [set_bits(some), values])

    def _floats(
        self,
        column: pa.Array,
        groups: Groups,
        weight: npt.NDArray[np.int64],
        some: npt.NDArray[np.bool_],
    ) -> pa.Array:
        dtype = np.dtype(column.type.to_pandas_dtype())
        values = column.fill_null(0).to_numpy()
        counted = weight != 0
        signed = np.where(weight < 0, -values, values)[counted]
        total = np.full(len(groups.starts), -0.0, dtype)
        np.add.at(total, groups.ids[counted], signed)
        return pa.array(total, column.type, mask=~some)

    def _decimals(
        self,
        column: pa.Array,
        groups: Groups,
        weight: npt.NDArray[np.int64],
        some: npt.NDArray[np.bool_],
    ) -> pa.Array:
        low, high = decimal_words(column)
        limbs = [low & np.uint64(_LOW_32), low >> np.uint64(32), high & _LOW_32, high >> 32]
        sums = [groups.reduce(np.add, limb.astype(np.int64) * weight, 0) for limb in limbs]
        for i in range(3):
            sums[i + 1] += sums[i] >> 32
            sums[i] &= _LOW_32
        wraps = sums[3] != (sums[3] << 32) >> 32
        low_word = (sums[0] | (sums[1] << 32)).view(np.uint64)
        total = decimals(low_word, sums[2] | (sums[3] << 32), some & ~wraps, column.type)
        if column.type.precision <= _COMPACT:
            if total.null_count > len(some) - int(some.sum()):
                raise overflow("sum", self.column, column.type)
            return total
        sizes = groups.reduce(np.add, np.abs(weight), 0)
        largest = np.abs(high.astype(np.float64)).max(initial=0.0) * 2.0**64 + 2.0**64
        if largest * sizes.max(initial=0) < 10.0**column.type.precision:
            return total
        return _step_by_step(column, groups, weight, np.flatnonzero(sizes > 1), total)


def _step_by_step(
    column: pa.Array,
    groups: Groups,
    weight: npt.NDArray[np.int64],
    some: npt.NDArray[np.int64],
    total: pa.Array,
) -> pa.Array:
    """``total`` with groups ``some`` added up value by value, if one may overflow on the way.

    A sum that overflows is null, and the next value begins anew; the whole may fit all the same.
    """
    type_ = column.type
    wide = pa.decimal256(76, type_.scale)
    size = pc.abs(column.cast(wide)).fill_null(0)
    reach = pc.cumulative_sum(size.cast(pa.float64())).to_numpy()
    reach = np.concatenate([np.zeros(1), reach])
    spread = reach[groups.stops[some]] - reach[groups.starts[some]]
    risky = some[spread * 10.0**type_.scale >= 10.0**type_.precision * 0.999]
    if not len(risky):
        return total
    sums = total.to_pylist()
    limit = decimal.Decimal(10) ** (type_.precision - type_.scale)
    with decimal.localcontext(prec=80):
        for group in risky.tolist():
            running: decimal.Decimal | None = None
            for at in range(groups.starts[group], groups.stops[group]):
                value = column[at].as_py()
                if value is None:
                    continue
                value = -value if weight[at] < 0 else value
                running = value if running is None else running + value
                running = running if abs(running) < limit else None
            sums[group] = running
    return pa.array(sums, type_)


def _narrow_sum(
    column: pa.Array, groups: Groups
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]] | None:
    """Each group's sum and whether it had a value; None where 64 bits may not hold it."""
    if pa.types.is_decimal(column.type):
        low, high = decimal_words(column)
        values = low.view(np.int64)
        most = min(_NARROW, 10**column.type.precision)  # beyond it a sum begins anew
        if not (values >> 63 == high).all():
            return None
    else:
        values, most = ordinals(column), _NARROW
    lengths = groups.stops - groups.starts
    longest = int(lengths.max()) if len(lengths) else 0
    if len(values) and max(-int(values.min()), int(values.max())) * longest >= most:
        return None
    valid = validity(column)
    if valid is None:
        some = lengths > 0
    else:
        values = np.where(valid, values, 0)
        some = groups.reduce(np.add, valid.astype(np.int64), 0) > 0
    if groups.retract is not None:
        values = np.where(groups.retract, -values, values)
    return groups.reduce(np.add, values, 0), some


def _exact_sum(
    values: npt.NDArray[np.int64], weight: npt.NDArray[np.int64], groups: Groups
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Low 32 bits and the rest of each group's sum, beyond 64 bits where it must be."""
    low = groups.reduce(np.add, (values & _LOW_32) * weight, 0)
    high = groups.reduce(np.add, (values >> 32) * weight, 0)
    return low & _LOW_32, high + (low >> 32)


@dataclass(frozen=True, slots=True)
class Extreme(OfColumn):
    """``min`` and ``max`` in Paimon's order; null counts nothing."""

    greatest: bool

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """The aggregator of ``column``, by ``max`` or ``min``."""
        return cls(column.name, greatest=column.function == "max")

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        refuse_retracts(groups, "max" if self.greatest else "min", self.column)
        values, here = ordinals(column), present(column)
        worst = np.iinfo(np.int64).min if self.greatest else np.iinfo(np.int64).max
        operation = np.maximum if self.greatest else np.minimum
        layout = _WHOLE.get(column.type.id)
        if layout and column.null_count == 0 and (groups.stops > groups.starts).all():
            best = groups.reduce(operation, values, worst).astype(layout)
            return pa.Array.from_buffers(column.type, len(best), [None, pa.py_buffer(best)])
        best = groups.reduce(operation, np.where(here, values, worst), worst)
        hits = here & (values == np.repeat(best, groups.stops - groups.starts))
        return taken(column, groups.first(hits) if self.greatest else groups.last(hits))


def _bools(column: pa.Array, groups: Groups, operation: Any, neutral: int) -> pa.Array:
    here = present(column)
    values = np.where(here, ordinals(column), neutral)
    result = groups.reduce(operation, values, neutral)
    some = groups.reduce(np.add, here.astype(np.int64), 0) > 0
    return pa.array(result.astype(np.bool_), mask=~some)


class Both(OfColumn):
    """``bool_and``: null counts nothing."""

    __slots__ = ()

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        refuse_retracts(groups, "bool_and", self.column)
        return _bools(column, groups, np.minimum, 1)


class Either(OfColumn):
    """``bool_or``: null counts nothing."""

    __slots__ = ()

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        refuse_retracts(groups, "bool_or", self.column)
        return _bools(column, groups, np.maximum, 0)
