"""``BinaryRow``: partitions, keys and bounds as bytes in metadata, and their order.

Serialized form = arity (4 bytes, big endian) + body (little endian)::

    [0, B)              byte 0: row kind, then null bits; B = (arity + 71) // 64 * 8
    [B, B + 8 * arity)  one slot a field
    [B + 8 * arity, …)  what does not fit a slot, each item padded to 8 bytes

(INT 7, STRING NULL) is ``00000002``, then ``0002000000000000`` (bit 9: field 1 is null),
``0700000000000000`` and ``0000000000000000``; more in format 4.4.

Python values stand for stored ones: bool, int (DATE is the epoch day, TIME milliseconds of the
day, timestamps epoch nanoseconds without bounds), float, str, bytes, Decimal and None.

Source: ``org.apache.paimon.data.BinaryRow``, ``AbstractBinaryWriter``; format 4.4.
"""

from __future__ import annotations

import struct
from decimal import Context, Decimal, DecimalException
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from table_core.datatypes.arrow import arrow_type, timestamp_unit
from table_core.datatypes.kinds import Atomic, DataType, Root
from table_core.errors import CorruptFileError, DataError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "COMPACT_DECIMAL",
    "COMPACT_TIMESTAMP",
    "Key",
    "Value",
    "array_of",
    "decode_row",
    "encode_row",
    "encode_rows",
    "sort_key",
    "unscaled",
    "values_of",
]

Value: TypeAlias = bool | int | float | str | bytes | Decimal | None
Key: TypeAlias = tuple[Any, ...]
"""What ``sort_key`` gives: comparable with ``<``, equal exactly where the row is equal."""

COMPACT_DECIMAL: Final = 18
"""Decimals up to this precision lie in their slot."""
COMPACT_TIMESTAMP: Final = 3
"""Timestamps up to this precision lie in their slot, as epoch milliseconds."""
_INLINE: Final = 7
_NANOS: Final = {"ms": 1_000_000, "us": 1000, "ns": 1}
_EXACT: Final = Context(prec=80)
_SLOTS: Final = {
    Root.BOOLEAN: struct.Struct("<?7x"),
    Root.TINYINT: struct.Struct("<b7x"),
    Root.SMALLINT: struct.Struct("<h6x"),
    Root.INT: struct.Struct("<i4x"),
    Root.DATE: struct.Struct("<i4x"),
    Root.TIME: struct.Struct("<i4x"),
    Root.BIGINT: struct.Struct("<q"),
    Root.FLOAT: struct.Struct("<f4x"),
    Root.DOUBLE: struct.Struct("<d"),
}
_LONG: Final = struct.Struct("<q")
_PART: Final = struct.Struct("<II")
_TEXT: Final = frozenset({Root.CHAR, Root.VARCHAR})
_BYTES: Final = frozenset({Root.BINARY, Root.VARBINARY, Root.BLOB})
_TIMESTAMPS: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})


def unscaled(value: Decimal, scale: int) -> int:
    """The integer that stands for ``value`` at ``scale`` digits after the point.

    Raises:
        DataError: digits would be lost.
    """
    try:
        shifted = value.scaleb(scale, _EXACT)
        whole = int(shifted)
    except (DecimalException, ValueError, OverflowError) as error:
        raise DataError(f"{value} is no number", value=str(value)) from error
    if whole != shifted:
        raise DataError(f"{value} has more than {scale} digits after the point", value=str(value))
    return whole


def encode_row(types: Sequence[DataType], values: Sequence[Value]) -> bytes:
    """The row ``values`` of ``types``, arity first.

    Raises:
        DataError: a value does not fit its type.
    """
    arity = len(types)
    header_bytes = (arity + 71) // 64 * 8
    header = bytearray(header_bytes)
    slots = bytearray()
    tail = bytearray()
    start = header_bytes + 8 * arity
    for at, (type_, value) in enumerate(zip(types, values, strict=True)):
        if value is None:
            header[(at + 8) // 8] |= 1 << (at % 8)
        try:
            slots += _encode_slot(type_, value, start, tail)
        except (struct.error, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise DataError(f"{value!r} is no {type_}: {error}", value=str(value)) from error
    return struct.pack(">i", arity) + header + slots + tail


def _encode_slot(type_: DataType, value: Any, start: int, tail: bytearray) -> bytes:
    """The 8 bytes of one field; what does not fit them goes to ``tail``, which is at ``start``.

    Long decimals and fine timestamps have their place in the tail also where they are null: Java reserves
    it, and without it the bytes, so the hash and the bucket, would be others (format T22).
    """
    root = type_.root if isinstance(type_, Atomic) else None
    if isinstance(type_, Atomic) and root in _TIMESTAMPS and type_.precision > COMPACT_TIMESTAMP:
        millis, nanos = divmod(value or 0, 1_000_000)
        slot = _PART.pack(nanos, start + len(tail))
        tail += _LONG.pack(millis)
        return slot
    if isinstance(type_, Atomic) and root is Root.DECIMAL and type_.precision > COMPACT_DECIMAL:
        digits = b"" if value is None else _big_endian(unscaled(value, type_.scale))
        slot = _PART.pack(len(digits), start + len(tail))
        tail += digits.ljust(16, b"\0")
        return slot
    if value is None:
        return bytes(8)
    if root in _TEXT or root in _BYTES:
        body = value.encode() if root in _TEXT else bytes(value)
        if len(body) <= _INLINE:
            return bytes(body.ljust(_INLINE, b"\0")) + bytes([0x80 | len(body)])
        slot = _PART.pack(len(body), start + len(tail))
        tail += body + bytes(-len(body) % 8)
        return slot
    if isinstance(type_, Atomic) and root is Root.DECIMAL:
        return _LONG.pack(unscaled(value, type_.scale))
    if root in _TIMESTAMPS:
        return _LONG.pack(value // 1_000_000)
    if root in _SLOTS:
        return _SLOTS[root].pack(value)
    raise UnsupportedFeatureError(
        f"a value of type {type_} in a metadata row", feature=f"metadata row of {type_}"
    )


def _big_endian(number: int) -> bytes:
    """Two's complement in the fewest bytes, like Java's ``BigInteger.toByteArray``.

    >>> _big_endian(127).hex(), _big_endian(128).hex(), _big_endian(-1).hex()
    ('7f', '0080', 'ff')
    """
    bits = number.bit_length() if number >= 0 else (number + 1).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def decode_row(types: Sequence[DataType], body: bytes, *, path: str = "") -> tuple[Value, ...]:
    """The values of a serialized row (``path`` only says where a problem is).

    Raises:
        CorruptFileError: not a row of ``types``.
    """
    arity = len(types)
    header_bytes = (arity + 71) // 64 * 8
    if len(body) < 4 + header_bytes + 8 * arity:
        raise _corrupt(path, f"a row of {arity} fields cannot be {len(body)} bytes")
    (stored_arity,) = struct.unpack_from(">i", body)
    if stored_arity != arity:
        raise _corrupt(path, f"a row of {arity} fields says that it has {stored_arity}")
    row = memoryview(body)[4:]
    values: list[Value] = []
    for at, type_ in enumerate(types):
        if row[(at + 8) // 8] >> (at % 8) & 1:
            values.append(None)
            continue
        try:
            values.append(_decode_slot(type_, row, header_bytes + 8 * at))
        except (struct.error, ValueError, IndexError) as error:
            raise _corrupt(path, f"field {at} of a row is no {type_}: {error}") from error
    return tuple(values)


def _corrupt(path: str, what: str) -> CorruptFileError:
    return CorruptFileError(f"{path or 'a stored row'}: {what}", path=path, problems=[what])


def _decode_slot(type_: DataType, row: memoryview, at: int) -> Value:
    root = type_.root if isinstance(type_, Atomic) else None
    if root in _SLOTS:
        value: Value = _SLOTS[root].unpack_from(row, at)[0]
        return value
    if root in _TEXT or root in _BYTES:
        marker = row[at + 7]
        length = marker & 0x7F
        if marker & 0x80 and length > _INLINE:
            raise ValueError(f"{length} bytes do not fit a slot")
        part = row[at : at + length] if marker & 0x80 else _part(row, at)
        return str(part, "utf-8") if root in _TEXT else bytes(part)
    if isinstance(type_, Atomic) and root is Root.DECIMAL:
        if type_.precision > COMPACT_DECIMAL:
            digits = _part(row, at)
            if not 1 <= len(digits) <= 16:
                raise ValueError(f"a decimal of {len(digits)} bytes")
            number = int.from_bytes(digits, "big", signed=True)
        else:
            (number,) = _LONG.unpack_from(row, at)
        return Decimal(number).scaleb(-type_.scale, _EXACT)
    if isinstance(type_, Atomic) and root in _TIMESTAMPS:
        if type_.precision <= COMPACT_TIMESTAMP:
            return int(_LONG.unpack_from(row, at)[0]) * 1_000_000
        nanos, offset = _PART.unpack_from(row, at)
        if nanos >= 1_000_000 or offset + 8 > len(row):
            raise ValueError(f"{nanos} nanoseconds at offset {offset}")
        return int(_LONG.unpack_from(row, offset)[0]) * 1_000_000 + int(nanos)
    raise UnsupportedFeatureError(
        f"a value of type {type_} in a metadata row", feature=f"metadata row of {type_}"
    )


def _part(row: memoryview, at: int) -> memoryview:
    """The bytes that a slot points to."""
    length, offset = _PART.unpack_from(row, at)
    if offset + length > len(row):
        raise ValueError(f"{length} bytes at offset {offset} of {len(row)}")
    return row[offset : offset + length]


def sort_key(types: Sequence[DataType], values: Sequence[Value]) -> Key:
    """``values`` in a form that ``<`` orders as Paimon orders rows.

    NULL first, -0.0 before 0.0, NaN last and equal to itself, text by its UTF-8 bytes (which is
    the order of Python strings), binaries by unsigned bytes.
    """
    return tuple(
        (0,) if value is None else (1, _float_rank(value) if isinstance(value, float) else value)
        for _, value in zip(types, values, strict=True)
    )


def _float_rank(value: float) -> int:
    """An integer in the order of Java's ``Double.compare``."""
    if value != value:  # only NaN differs from itself
        return 1 << 64
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits) if bits >= 0 else int(bits) ^ 0x7FFF_FFFF_FFFF_FFFF


def values_of(array: pa.Array, type_: DataType) -> list[Value]:
    """The elements of a small ``array`` as Python values.

    Raises:
        DataError: an element does not fit ``type_``.
    """
    want = arrow_type(type_)
    try:
        plain = array if array.type.equals(want) else array.cast(want)
    except pa.ArrowException as error:
        raise DataError(f"{array.type} does not fit {type_}: {error}", value=None) from error
    if isinstance(plain, pa.ChunkedArray):
        plain = plain.combine_chunks()
    if isinstance(want, pa.TimestampType):
        factor = _NANOS[want.unit]
        return [None if v is None else v * factor for v in plain.view(pa.int64()).to_pylist()]
    if pa.types.is_date(want) or pa.types.is_time(want):
        plain = plain.view(pa.int32())
    values: list[Value] = plain.to_pylist()
    return values


def array_of(values: Sequence[Value], type_: DataType) -> pa.Array:
    """``values`` as an Arrow array of ``arrow_type(type_)``.

    Raises:
        DataError: a value does not fit.
    """
    want = arrow_type(type_)
    try:
        if isinstance(want, pa.TimestampType) and isinstance(type_, Atomic):
            factor = _NANOS[timestamp_unit(type_.precision)]
            whole: list[Any] = [None if v is None else int(v) // factor for v in values]
            return pa.array(whole, pa.int64()).view(want)
        if pa.types.is_date(want) or pa.types.is_time(want):
            return pa.array(values, pa.int32()).view(want)
        return pa.array(values, want)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise DataError(f"values do not fit {type_}: {error}", value=None) from error


def encode_rows(arrays: Sequence[pa.Array], types: Sequence[DataType]) -> list[bytes]:
    """Serialized rows of a handful of rows, given by column; one Python step a value."""
    columns = [values_of(array, type_) for array, type_ in zip(arrays, types, strict=True)]
    return [encode_row(types, row) for row in zip(*columns, strict=True)]
