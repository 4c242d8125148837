"""The hash of rows as an expression of Spark: no row crosses to Python to learn its bucket.

``f.hash`` of bytes is the Murmur of ``BinaryRow.hashCode``, with the same seed; so the expression puts
the bytes of the row together: null bits, a slot for each column, texts that fit no slot
(format 4.4).

Rows (7, 'ab') and (NULL, 'abcdefgh') of INT and STRING, as the pieces that are joined::

    null bits  _little_endian(0)        0000000000000000   _little_endian(1 << 8)  0001000000000000
    slot 0     _little_endian(7)        0700000000000000   of NULL as 0            0000000000000000
    slot 1     'ab', zeros, 0x80 + 2    6162000000000082   offset 24, length 8     0800000018000000
    tail       nothing                                     'abcdefgh'              6162636465666768

Slots and tails have eight bytes or a multiple of them.  That matters: Spark's Murmur takes bytes that fill no word
of four one by one, and the hash would be another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f
from pyspark.sql import types as spark

from table_core.datatypes.castable import EXACT_INTEGERS
from table_core.datatypes.kinds import Atomic, Root
from table_core.spark.session.conditions import quoted

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
_ZEROS: Final = "X'0000000000000000'"
_NO_WORD: Final = "X'00000000'"
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
    return f.expr(_text(fields))


def _text(fields: Sequence[Field]) -> str:
    """The hash as SQL: Spark is asked once, not for each of a hundred small expressions."""
    nullable = [at for at, field in enumerate(fields) if field.type.nullable]
    bits = [f"IF({_of(fields[at])} IS NULL, {1 << at + 8}L, 0L)" for at in nullable]
    pieces = [*_little_endian(" | ".join(bits), 8 + len(fields))] if bits else [_ZEROS]
    tails: list[str] = []
    offset = f"{8 + 8 * len(fields)}L"
    for field in fields:
        if _root(field) is not Root.VARCHAR:
            pieces.extend(_little_endian(*_number(field)))
            continue
        text = f"COALESCE(CAST({_of(field)} AS BINARY), X'')"
        length = f"CAST(OCTET_LENGTH({text}) AS BIGINT)"
        padded = f"(PMOD(-{length}, 8L) + {length})"
        is_long = f"{length} > {_INLINE}"
        inline = f"CONCAT(RPAD({text}, {_INLINE}, X'00'), UNHEX(HEX({length} + 128L)))"
        place = f"CONCAT({_word(length)}, {_word(offset)})"
        pieces.append(
            f"CASE WHEN {_of(field)} IS NULL THEN {_ZEROS} WHEN {is_long} THEN {place} ELSE {inline} END"
        )
        tails.append(f"IF({is_long}, RPAD({text}, CAST({padded} AS INT), X'00'), X'')")
        offset = f"({offset} + IF({is_long}, {padded}, 0L))"
    return f"HASH(CONCAT({', '.join([*pieces, *tails])}))"


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


def _of(field: Field) -> str:
    return quoted(field.name)


def _number(field: Field) -> tuple[str, int]:
    """The slot as a number, and its bits: never sign-extended (format T21), zero where null."""
    root = _root(field)
    assert root is not None
    column = f"UNIX_DATE({_of(field)})" if root is Root.DATE else _of(field)
    whole = f"COALESCE(CAST({column} AS BIGINT), 0L)"
    bits = _BITS[root]
    return (whole if bits == 64 else f"({whole} & {(1 << bits) - 1}L)"), bits


def _little_endian(number: str, bits: int) -> tuple[str, str]:
    """The eight bytes of a BIGINT that has no more than ``bits``, the lowest first, as two words."""
    return _word(number), _word(f"SHIFTRIGHTUNSIGNED({number}, 32)") if bits > 32 else _NO_WORD


def _word(number: str) -> str:
    """The lowest four bytes of a BIGINT, the lowest first.

    Spark has no such function.  So 7 is turned to 7 << 24, and its hex digits are the bytes.  ``HEX`` leaves out zeros
    in front; a 1 before the 32 bits keeps them, and the byte 01 that it becomes is cut off.  ``LPAD`` would do
    as well, and take more time than all else here.
    """
    turned = " | ".join(
        f"SHIFTLEFT(SHIFTRIGHTUNSIGNED({number}, {8 * at}) & 255L, {24 - 8 * at})"
        for at in range(4)
    )
    return f"SUBSTRING(UNHEX(HEX({turned} | {1 << 32}L)), 2)"
