"""Bitmap and bit-slice indexes of file indexes: which values a column of a file holds.

Both say for every row which value it has.  A reader that decides whether to open the file needs less:
the distinct values, and whether NULL is among them.

    bitmap   version, rows, count of values, NULL's bitmap, then each value with its bitmap's place;
             version 2 puts values into blocks
    bsi      version, rows, then the rows of values >= 0 and of values < 0, each as least, greatest,
             rows that have one, and a bitmap for each bit of value - least

Source: ``org.apache.paimon.fileindex.bitmap``, ``org.apache.paimon.fileindex.bsi``,
``org.apache.paimon.utils.BitSliceIndexRoaringBitmap``.
"""

from __future__ import annotations

import decimal
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.kinds import Atomic, DataType, Root
from table_core.ondisk.roaring import decode32
from table_core.ondisk.value_hashes import instants

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.datatypes.domain import Value

__all__ = ["STORED_NUMBERS", "HeldValues", "decode_bit_slices", "decode_bitmap_index", "sliced"]

STORED_NUMBERS: Final = {
    Root.BOOLEAN: ">?",
    Root.TINYINT: ">b",
    Root.SMALLINT: ">h",
    Root.INT: ">i",
    Root.DATE: ">i",
    Root.TIME: ">i",
    Root.BIGINT: ">q",
    Root.FLOAT: ">f",
    Root.DOUBLE: ">d",
    Root.TIMESTAMP: ">q",
    Root.TIMESTAMP_LTZ: ">q",
}
"""How ``struct`` knows the values of a bitmap index."""
_SLICED: Final = frozenset(
    {Root.TINYINT, Root.SMALLINT, Root.INT, Root.DATE, Root.TIME, Root.BIGINT, Root.DECIMAL}
)
_TIMES: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
_MOST_SLICES: Final = 64
_MOST_ROWS: Final = 1 << 23
_MOST_VALUES: Final = 1 << 20
_MOST_NUMBERS: Final = 1 << 26
"""Of all bitmaps of an index.  Beyond, taking it apart costs more than it may save."""


@dataclass(frozen=True, slots=True)
class HeldValues:
    """What a column of one file holds."""

    rows: int
    values: tuple[Value, ...]
    """Distinct values, of the domain of ``datatypes.domain``."""
    has_null: bool


@dataclass(slots=True)
class _Cursor:
    body: bytes
    at: int = 0
    left: int = _MOST_NUMBERS

    def take(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self.body, self.at)
        self.at += struct.calcsize(form)
        return value

    def text(self) -> str:
        length = self.take(">i")
        if not 0 <= length <= len(self.body) - self.at:
            raise ValueError(f"a text of {length} bytes at {self.at}")
        self.at += length
        return self.body[self.at - length : self.at].decode("utf-8")

    def bitmap(self) -> np.ndarray[Any, Any]:
        rows, self.at = decode32(self.body, self.at, min(self.left, _MOST_ROWS))
        self.left -= len(rows)
        return rows


def decode_bitmap_index(body: bytes, type_: DataType) -> HeldValues | None:
    """The values of a bitmap index, None for types and versions that this release does not read, or too many.

    Raises:
        ValueError: the body is damaged.
        struct.error: it is cut short.
    """
    cursor = _Cursor(body)
    read = _reader(type_)
    version = cursor.take(">b")
    if read is None or version not in (1, 2):
        return None
    rows, count, has_null = cursor.take(">i"), cursor.take(">i"), cursor.take(">?")
    if not 0 <= count <= min(rows, len(body)):
        raise ValueError(f"{count} values in {rows} rows and {len(body)} bytes")
    if count > _MOST_VALUES:
        return None
    if has_null:
        cursor.at += 4 if version == 1 else 8
    values = []
    if version == 1:
        for _ in range(count):
            values.append(read(cursor))
            cursor.at += 4
    else:
        blocks = [(read(cursor), cursor.take(">i"))[1] for _ in range(cursor.take(">i"))]
        cursor.at += 4
        start = cursor.at
        for offset in blocks:
            if start + offset < cursor.at:  # several would be one text, which each of them holds
                raise ValueError(f"a block at {offset}, within the one before")
            cursor.at = start + offset
            if (more := cursor.take(">i")) > count - len(values):
                raise ValueError(f"a block of more than {count} values")
            for _ in range(more):
                values.append(read(cursor))
                cursor.at += 8
    if len(values) != count or rows < count or cursor.at > len(body):
        raise ValueError(f"{len(values)} values of {count} in {rows} rows and {len(body)} bytes")
    return HeldValues(rows, tuple(values), has_null)


def _reader(type_: DataType) -> Callable[[_Cursor], Value] | None:
    if not isinstance(type_, Atomic):
        return None
    if type_.root is Root.VARCHAR:
        return _Cursor.text
    form = STORED_NUMBERS.get(type_.root)
    if form is None:
        return None
    if type_.root not in _TIMES:
        return lambda cursor: cursor.take(form)
    nanos = _nanos(type_)
    return None if nanos is None else lambda cursor: cursor.take(">q") * nanos


def sliced(column: pa.Array, type_: Atomic) -> pa.Array:
    """The whole numbers that indexes hold of ``column``, which is of days, times or numbers.

    Shape: ``column[n]`` to ``int64[n]``.
    """
    if type_.root in _TIMES:
        return instants(column, type_)
    if type_.root is Root.DECIMAL:  # the unscaled value fits the low half
        low = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[:, 0]
        low = low[column.offset : column.offset + len(column)]
        return pa.array(low, mask=column.is_null().to_numpy(zero_copy_only=False))
    if type_.root in {Root.DATE, Root.TIME}:
        column = column.view(pa.int32())
    return column.cast(pa.int64())


def _nanos(type_: Atomic) -> int | None:
    """Nanoseconds of the unit that indexes store; None where they store less than the value."""
    if type_.precision > 6:
        return None
    return 1_000_000 if type_.precision <= 3 else 1_000


def decode_bit_slices(body: bytes, type_: DataType) -> HeldValues | None:
    """The values of a bit-slice index, None for types and versions that this release does not read, or too many.

    Raises:
        ValueError: the body is damaged.
        struct.error: it is cut short.
    """
    cursor = _Cursor(body)
    if cursor.take(">b") != 1 or not isinstance(type_, Atomic):
        return None
    known = type_.root in _SLICED and (type_.root is not Root.DECIMAL or type_.precision <= 18)
    nanos = _nanos(type_) if type_.root in _TIMES else None
    if not known and nanos is None:
        return None
    rows = cursor.take(">i")
    if rows > _MOST_ROWS:
        return None
    numbers: list[int] = []
    held = 0
    for sign in (1, -1):
        if cursor.take(">?"):
            part = _slices(cursor, rows)
            held += len(part)
            different = np.unique(part)
            if len(different) > _MOST_VALUES:
                return None
            numbers += (sign * different).tolist()
    if held > rows:
        raise ValueError(f"{held} values in {rows} rows")
    values: tuple[Value, ...] = tuple(numbers)
    if nanos is not None:
        values = tuple(value * nanos for value in numbers)
    elif type_.root is Root.DECIMAL:
        values = tuple(decimal.Decimal(value).scaleb(-type_.scale) for value in numbers)
    return HeldValues(rows, values, held < rows)


def _slices(cursor: _Cursor, rows: int) -> np.ndarray[Any, Any]:
    """The value of each row that has one."""
    if cursor.take(">b") != 1:
        raise ValueError("an unknown version of bit slices")
    least, greatest = cursor.take(">q"), cursor.take(">q")
    here = cursor.bitmap()
    if len(here) and int(here[-1]) >= rows:
        raise ValueError(f"row {int(here[-1])} of {rows}")
    count = cursor.take(">i")
    if not 0 <= count <= _MOST_SLICES or not 0 <= least <= greatest:
        raise ValueError(f"{count} slices of values from {least} to {greatest}")
    above = np.zeros(len(here), np.uint64)
    for bit in range(count):
        some = cursor.bitmap()
        at = np.searchsorted(here, some)
        if bool((at >= len(here)).any()) or not np.array_equal(here[at], some):
            raise ValueError("a slice has rows without a value")
        above[at] |= np.uint64(1 << bit)
    values = above.astype(np.int64) + np.int64(least)
    if len(values) and (int(values.min()) < least or int(values.max()) > greatest):
        raise ValueError(f"values beyond {least} to {greatest}")
    return values
