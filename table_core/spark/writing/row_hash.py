"""The hash of rows as an expression of Spark: no row crosses to Python to learn its bucket.

``f.hash`` of bytes is the Murmur of ``BinaryRow.hashCode``, with the same seed; so the expression puts
the bytes of the row together: null bits, a slot for each column, texts that fit no slot
(format 4.4).

Rows (7, 'ab') and (NULL, 'abcdefgh') of INT and STRING, as the pieces that are joined::

    null bits  _little_endian(0)           0000000000000000   _little_endian(1 << 8)  0001000000000000
    slot 0     _little_endian(7)           0700000000000000   of NULL as 0            0000000000000000
    slot 1     'ab', zeros, 0x80 + 2       6162000000000082   offset 24, length 8     0800000018000000
    tail       nothing                                        'abcdefgh'              6162636465666768

Each piece has eight bytes or a multiple of them.  That matters: Spark's Murmur takes bytes that fill no word of
four one by one, and the hash would be another one.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f
from pyspark.sql import types as spark

from table_core.datatypes.castable import EXACT_INTEGERS
from table_core.datatypes.kinds import Atomic, Root
from table_core.spark.session.conditions import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from table_core.datatypes.kinds import Field

__all__ = ["hashed"]

_BITS: Final = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64, Root.DATE: 32}
_ROOTS: Final[dict[type[spark.DataType], Root]] = {
    spark.ByteType: Root.TINYINT,
    spark.ShortType: Root.SMALLINT,
    spark.IntegerType: Root.INT,
    spark.LongType: Root.BIGINT,
    spark.DateType: Root.DATE,
}
_INLINE: Final = 7
_HEADER_FIELDS: Final = 56
"""Null bits of so many columns fit the eight bytes whose first is the kind of the row."""


def hashed(fields: Sequence[Field], schema: spark.StructType) -> Column | None:
    """``BinaryRow.hashCode()`` of the columns of ``schema`` that ``fields`` names, as INT.

    None where Spark has no certain counterpart: types that are cast with a check, or are neither
    whole numbers nor dates nor text.
    """
    if len(fields) > _HEADER_FIELDS or not all(_fits(field, schema) for field in fields):
        return None
    nullable = [at for at, field in enumerate(fields) if field.type.nullable]
    slots = [f.lit(bytes(8))]
    if nullable:
        bits = [
            f.when(_of(fields[at]).isNull(), f.lit(1 << at + 8).cast("bigint")).otherwise(
                f.lit(0).cast("bigint")
            )
            for at in nullable
        ]
        slots = [_little_endian(reduce(lambda a, b: a.bitwiseOR(b), bits))]
    tails: list[Column] = []
    offset = f.lit(8 + 8 * len(fields)).cast("bigint")
    for field in fields:
        if _root(field) is Root.VARCHAR:
            text = f.coalesce(_of(field).cast("binary"), f.lit(b""))
            length = f.octet_length(text).cast("bigint")
            behind = f.pmod(-length, f.lit(8)) + length
            is_long = length > _INLINE
            slots.append(
                f.when(_of(field).isNull(), f.lit(bytes(8)))
                .when(is_long, _little_endian(f.shiftleft(offset, 32) + length))
                .otherwise(
                    f.concat(f.rpad(text, _INLINE, f.lit(bytes(1))), _bytes(length + 128, digits=2))
                )
            )
            tails.append(
                f.when(is_long, f.rpad(text, behind.cast("int"), f.lit(bytes(1)))).otherwise(
                    f.lit(b"")
                )
            )
            offset = offset + f.when(is_long, behind).otherwise(0)
        else:
            slots.append(_little_endian(_number(field)))
    return f.hash(f.concat(*slots, *tails))


def _root(field: Field) -> Root | None:
    return field.type.root if isinstance(field.type, Atomic) else None


def _fits(field: Field, schema: spark.StructType) -> bool:
    """Whether every value of the column is one of ``field``: its own type, or a smaller integer."""
    if field.name not in schema.fieldNames():
        return False
    type_, root = schema[field.name].dataType, _root(field)
    if root is Root.VARCHAR:
        return type_ == spark.StringType()
    frame_root = _ROOTS.get(type(type_))
    if frame_root is None or root not in _BITS or Root.DATE in (frame_root, root):
        return frame_root is root is Root.DATE
    return EXACT_INTEGERS.index(frame_root) <= EXACT_INTEGERS.index(root)


def _of(field: Field) -> Column:
    return named(field.name)


def _number(field: Field) -> Column:
    """The slot as a number: never sign-extended (format T21), zero where null."""
    root = _root(field)
    assert root is not None
    column = f.unix_date(_of(field)) if root is Root.DATE else _of(field)
    whole = f.coalesce(column.cast("bigint"), f.lit(0))
    bits = _BITS[root]
    return whole if bits == 64 else whole.bitwiseAND(f.lit((1 << bits) - 1))


def _little_endian(number: Column) -> Column:
    """The eight bytes of a BIGINT, the lowest first.

    Spark has no such function.  So 7 is turned to 7 << 56, whose hex digits, sixteen of them, are the bytes.
    """
    turned = [
        f.shiftleft(f.shiftrightunsigned(number, 8 * at).bitwiseAND(f.lit(255)), 56 - 8 * at)
        for at in range(8)
    ]
    return _bytes(reduce(lambda a, b: a.bitwiseOR(b), turned), digits=16)


def _bytes(number: Column, *, digits: int) -> Column:
    """The lowest bytes of a number, the highest of them first."""
    return f.unhex(f.lpad(f.hex(number), digits, "0"))
