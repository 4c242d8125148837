"""Many metadata rows at once, column by column: the partitions of a manifest.

Where all rows have one shape, numpy cuts the columns out of them; else each row is decoded.  For
partitions (dt STRING, hour INT), one below the other::

    bytes 0-3   4-11 header  12-19 slot of dt          20-27 slot of hour  28-
    00000002    00000000 …   0a000000 18000000         07000000 …          2026-01-01
    00000002    00000000 …   0a000000 18000000         08000000 …          2026-01-02

The slots of ``dt`` are equal in all rows, so its bytes are one rectangle: columns 28 to 37.
Source: ``org.apache.paimon.data.BinaryRow``; format 4.4.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Atomic, Root
from table_core.ondisk.binary_row import array_of, decode_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from table_core.datatypes.kinds import DataType

__all__ = ["decode_columns"]

_ARITY_BYTES: Final = 4
_INLINE: Final = 7
_WHOLE: Final = {Root.TINYINT: "i1", Root.SMALLINT: "<i2", Root.INT: "<i4", Root.BIGINT: "<i8"}
_TEXT: Final = frozenset({Root.CHAR, Root.VARCHAR})


def decode_columns(
    types: Sequence[DataType], bodies: Sequence[bytes], *, path: str = ""
) -> list[pa.Array]:
    """The values of serialized rows of ``types``, as Arrow has them.

    Shape: ``bodies[n]`` to ``len(types)`` arrays ``[n]``.

    Raises:
        CorruptFileError: one is not a row of ``types``.
    """
    rows = _uniform_rows(types, bodies)
    if rows is not None:
        start = _ARITY_BYTES + _header_bytes(len(types))
        columns = [_cut(rows, start + 8 * at, type_) for at, type_ in enumerate(types)]
        if all(column is not None for column in columns):
            return columns
    values = [decode_row(types, body, path=path) for body in bodies]
    return [array_of(list(of), t) for of, t in zip(zip(*values, strict=True), types, strict=True)]


def _uniform_rows(
    types: Sequence[DataType], bodies: Sequence[bytes]
) -> npt.NDArray[np.uint8] | None:
    """Rows of one length without nulls, one below the other; None where they are not such."""
    size = len(bodies[0]) if bodies else 0
    start = _ARITY_BYTES + _header_bytes(len(types))
    if size < start + 8 * len(types) or any(len(body) != size for body in bodies):
        return None
    rows = np.frombuffer(b"".join(bodies), np.uint8).reshape(-1, size)
    arity = np.frombuffer(struct.pack(">i", len(types)), np.uint8)
    nulls = rows[:, _ARITY_BYTES + 1 : start]
    plain = bool((rows[:, :_ARITY_BYTES] == arity).all()) and not nulls.any()
    return rows if plain else None


def _header_bytes(arity: int) -> int:
    return (arity + 71) // 64 * 8


def _cut(rows: npt.NDArray[np.uint8], at: int, type_: DataType) -> Any:
    """The column of the slots ``at``; None where it takes a closer look."""
    slots = rows[:, at : at + 8]
    root = type_.root if isinstance(type_, Atomic) else None
    if root in _WHOLE:
        layout = np.dtype(_WHOLE[root])
        body = np.ascontiguousarray(slots[:, : layout.itemsize])
        return pa.Array.from_buffers(arrow_type(type_), len(rows), [None, pa.py_buffer(body)])
    if root not in _TEXT:
        return None
    size = int(slots[0, 7]) & 0x7F if slots[0, 7] & 0x80 else -1
    if 0 <= size <= _INLINE and (slots[:, 7] == slots[0, 7]).all():
        texts = slots[:, :size]
    elif size < 0 and (slots == slots[0]).all():  # all of one length, at one place
        size, offset = (int(number) for number in struct.unpack("<II", slots[0].tobytes()))
        texts = rows[:, _ARITY_BYTES + offset : _ARITY_BYTES + offset + size]
    else:
        return None
    if texts.shape[1] != size:
        return None
    ends = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(size)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(texts))]
    column = pa.Array.from_buffers(pa.string(), len(rows), buffers)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return column.cast(arrow_type(type_))
