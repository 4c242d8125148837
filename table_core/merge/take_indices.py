"""Rows of a table by their numbers, gathered column by column.

Source of the layouts: the Arrow columnar format, "Fixed-size primitive" and "Variable-size binary".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from table_core.merge.arrays import at, empty
from table_core.merge.ordinal import single_chunk, slots, validity

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["TakeIndices", "set_bits", "slot_type", "taken"]

_BY_WIDTH: Final = {8: "u1", 16: "u2", 32: "u4", 64: "u8", 128: "c16"}
"""What numpy takes for values of so many bits, whatever they mean."""


@dataclass(frozen=True, eq=False)
class TakeIndices:
    """Rows to take from columns of a table; a negative one takes null.

    The masks are made once for all columns.  Where values have a fixed width, ``Array.take`` takes three
    times as long, and five times where nulls are taken (65,536 rows of ``int64``, pyarrow 26).

    >>> TakeIndices(np.array([2, -1, 0])).of(pa.array(["a", "b", "c"])).to_pylist()
    ['c', None, 'a']
    """

    rows: npt.NDArray[np.int64]

    @cached_property
    def _there(self) -> npt.NDArray[np.bool_] | None:
        """Which places take a row; None: all do."""
        there = np.greater_equal(self.rows, 0, out=empty(len(self.rows), np.bool_))
        return None if there.all() else there

    @cached_property
    def _some_rows(self) -> npt.NDArray[np.int64]:
        """``rows``, row 0 where null is taken: what has to look out for negative ones takes longer."""
        if self._there is None:
            return self.rows
        some: npt.NDArray[np.int64] = np.maximum(self.rows, 0, out=empty(len(self.rows)))
        return some

    @cached_property
    def _last(self) -> int:
        return int(self.rows.max(initial=-1))

    def of(self, column: pa.Array) -> pa.Array:
        """The values of ``column`` there.

        Raises:
            IndexError: the column has fewer rows.
        """
        if self._last >= len(column):
            raise IndexError(f"row {self._last} of {len(column)}")
        dtype = slot_type(column.type) if len(column) else None
        valid = validity(column)
        if dtype is not None:
            values = at(slots(column, dtype), self._some_rows)
            buffers = [self._bits(valid), pa.py_buffer(values)]
            return pa.Array.from_buffers(column.type, len(values), buffers)
        bits = None if self._there is None else set_bits(self._there)
        rows = pa.py_buffer(np.ascontiguousarray(self.rows))
        return column.take(pa.Array.from_buffers(pa.int64(), len(self.rows), [bits, rows]))

    def _bits(self, valid: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
        """Where there is a value of a column that is ``valid`` there; None: everywhere."""
        there = self._there
        if valid is not None:
            has_value = at(valid, self._some_rows)
            there = has_value if there is None else has_value & there
        return None if there is None else set_bits(there)

    def of_all(self, rows: pa.Table) -> pa.Table:
        """The rows of a table there."""
        columns = [self.of(single_chunk(rows[name])) for name in rows.column_names]
        return pa.table(columns, schema=rows.schema)


def slot_type(type_: pa.DataType) -> str | None:
    """The numpy type of as many bits; None where values are not of one width in whole bytes."""
    if pa.types.is_primitive(type_) or pa.types.is_decimal(type_):
        return _BY_WIDTH.get(type_.bit_width)
    return None


def set_bits(mask: npt.NDArray[np.bool_]) -> pa.Buffer | None:
    """``mask`` as the validity bits of an array; None where all are set."""
    return None if mask.all() else pa.py_buffer(np.packbits(mask, bitorder="little"))


def taken(column: pa.Array, positions: npt.NDArray[np.int64]) -> pa.Array:
    """``column`` at ``positions``; null where a position is negative."""
    return TakeIndices(positions).of(column)
