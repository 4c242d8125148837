"""How Debezium puts a column into JSON, and the way back to a typed Arrow column.

A value goes two steps, both Arrow kernels (only base64 is decoded value by value): from what JSON
holds (number, text, boolean) to what it means (days since 1970: see ``logical_type``), then to the type of
the table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.logical_type import LogicalType, decoded
from table_core.cdc.model.typed_values import DAY_MS, to_type
from table_core.datatypes.arrow import arrow_type, timestamp_unit
from table_core.datatypes.kinds import Array, Atomic, DataType, Root

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.datatypes.kinds import Field

__all__ = [
    "INTEGER_ROOTS",
    "NUMBER",
    "TIME_TYPES",
    "Encoding",
    "PlainSettings",
    "convert",
    "json_type",
    "plain_encoding",
    "resolved",
    "text_columns",
]

NUMBER: Final = r"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$"
_HEX_EVIDENCE: Final = 12
"""So many letters are not hexadecimal by chance: one time in ten million."""
INTEGER_ROOTS: Final = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})
_TIMESTAMPS: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
_TEXT: Final = frozenset({Root.CHAR, Root.VARCHAR})
_BYTES: Final = frozenset({Root.BINARY, Root.VARBINARY, Root.BLOB})


@dataclass(frozen=True, slots=True)
class Encoding:
    """One column as it travels."""

    logical_type: LogicalType = LogicalType.PLAIN
    scale: int = 0


@dataclass(frozen=True, slots=True)
class PlainSettings:
    """What events without schema do not say about their values.

    ``decimals``: ``text`` ("12.50", or a number), ``base64`` (Debezium's ``precise`` mode), or
    ``auto``: base64 where a column has text that is no number.
    ``binary``: ``base64``, ``hex``, or ``auto``: hex where all of a column's text is hexadecimal.
    ``timestamps``: unit of numbers; ``adaptive``: that of the column's precision as Debezium's
    mode of this name chooses it; ``auto``: likewise, but milliseconds where the numbers are no
    microseconds, as its ``connect`` mode writes them.  ``times``: unit of numbers in TIME columns;
    without it the numbers have to tell, because Debezium's own differs between databases.
    """

    decimals: str = "auto"
    binary: str = "auto"
    timestamps: str = "auto"
    times: str | None = None


_UNIT_TYPES: Final = {
    "ms": LogicalType.MILLIS,
    "us": LogicalType.MICROS,
    "ns": LogicalType.NANOS,
    "millis": LogicalType.MILLIS,
    "micros": LogicalType.MICROS,
    "nanos": LogicalType.NANOS,
}
TIME_TYPES: Final = {
    "millis": LogicalType.TIME_MILLIS,
    "micros": LogicalType.TIME_MICROS,
    "nanos": LogicalType.TIME_NANOS,
}


def json_type(type_: DataType, settings: PlainSettings) -> pa.DataType:
    """What JSON most likely holds for a column of ``type_``, as the Arrow type to read it with."""
    match type_:
        case Atomic(Root.BOOLEAN):
            return pa.bool_()
        case Atomic(root) if root in INTEGER_ROOTS or root in {
            Root.DATE,
            Root.TIME,
            Root.TIMESTAMP,
        }:
            return pa.int64()
        case Atomic(Root.FLOAT | Root.DOUBLE):
            return pa.float64()
        case Atomic(Root.DECIMAL) if settings.decimals != "base64":
            return arrow_type(type_)  # takes numbers and text, to the digit
        case Atomic():
            return pa.string()
        case Array(element=element):
            return pa.list_(json_type(element, settings))
        case _:
            return arrow_type(type_)


def text_columns(fields: Iterable[Field]) -> frozenset[str]:
    """Names of the columns that hold text."""
    return frozenset(f.name for f in fields if isinstance(f.type, Atomic) and f.type.root in _TEXT)


def plain_encoding(array: pa.Array, type_: DataType, settings: PlainSettings) -> Encoding:
    """What a column means whose events carry no schema, by its JSON type and the table's type.

    Raises:
        ValueError: nothing says what the numbers or the text are.
    """
    if isinstance(type_, Array):
        lists = _from_json(array) if pa.types.is_string(array.type) else array
        is_list = pa.types.is_list(lists.type)
        return plain_encoding(lists.flatten(), type_.element, settings) if is_list else Encoding()
    if not isinstance(type_, Atomic):
        return Encoding()
    if pa.types.is_integer(array.type):
        if type_.root is Root.DATE:
            return Encoding(LogicalType.DAYS)
        if type_.root in _TIMESTAMPS:
            return Encoding(_moment(settings.timestamps, type_.precision))
        if type_.root is Root.TIME:
            return Encoding(_time(array, settings.times))
    if pa.types.is_string(array.type):
        if type_.root in _BYTES:
            return Encoding(_binary_type(array, settings.binary))
        if type_.root is Root.DECIMAL and _is_unscaled(array, settings.decimals):
            return Encoding(LogicalType.UNSCALED, type_.scale)
        padded = pc.any(pc.ends_with(array, "=")).as_py()
        if type_.root is Root.BIGINT and padded and _is_unscaled(array, "auto"):
            return Encoding(LogicalType.UNSCALED)  # BIGINT UNSIGNED in Debezium's precise mode
    return Encoding()


def resolved(
    array: pa.Array, encoding: Encoding | None, type_: DataType, settings: PlainSettings
) -> Encoding:
    """``encoding``, or what the values tell where it leaves that open.

    Raises:
        ValueError: nothing says what the numbers or the text are.
    """
    is_text = pa.types.is_string(array.type)
    if encoding is None or (encoding.logical_type is LogicalType.PLAIN and is_text):
        return plain_encoding(array, type_, settings)
    if encoding.logical_type is LogicalType.DECIMAL:
        digits = is_text and _is_unscaled(array, settings.decimals)
        return Encoding(LogicalType.UNSCALED, encoding.scale) if digits else Encoding()
    is_unscaled = encoding.logical_type is LogicalType.UNSIGNED and is_text
    return Encoding(LogicalType.UNSCALED) if is_unscaled else encoding


def _moment(unit: str, precision: int) -> LogicalType:
    if unit not in {"auto", "adaptive"}:
        return _UNIT_TYPES[unit]
    logical_type = _UNIT_TYPES[timestamp_unit(precision)]
    is_open = unit == "auto" and logical_type is LogicalType.MICROS
    return LogicalType.MOMENT if is_open else logical_type


def _time(array: pa.Array, unit: str | None) -> LogicalType:
    if unit is not None:
        return TIME_TYPES[unit]
    low, high = pc.min_max(array).values()
    largest = max(-low.as_py(), high.as_py()) if high.is_valid else 0
    if not largest or largest >= DAY_MS:
        return LogicalType.TIME_MICROS
    raise ValueError("numbers of a TIME column need times='millis' or times='micros'")


def _is_unscaled(array: pa.Array, mode: str) -> bool:
    """Whether texts are base64 of whole numbers.  Those that are neither that nor a number say nothing."""
    if mode != "auto":
        return mode == "base64"
    numbers = pc.match_substring_regex(array, NUMBER)
    fits = pc.match_substring_regex(
        array, r"^([A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}[A-Za-z0-9+/=]{2}$"
    )
    words = pc.match_substring_regex(array, "[A-Z0-9+/=]")
    only_base64 = _count(pc.and_(pc.and_(fits, words), pc.invert(numbers)))
    only_number = _count(pc.and_(numbers, pc.invert(fits)))
    return only_base64 > only_number


def _count(flags: pa.BooleanArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _binary_type(array: pa.Array, mode: str) -> LogicalType:
    if mode != "auto":
        return LogicalType.HEX if mode == "hex" else LogicalType.BASE64
    hexadecimal = pc.match_substring_regex(array, "^([0-9a-f]{2})+$")
    base64_alone = pc.and_(
        pc.invert(hexadecimal),
        pc.match_substring_regex(
            array, r"^([A-Za-z0-9+/_-]{4})*[A-Za-z0-9+/_-]{2}[A-Za-z0-9+/_=-]{2}$"
        ),
    )
    count = _count(hexadecimal)
    if not count or _count(base64_alone) > count:
        return LogicalType.BASE64
    array = array.filter(hexadecimal)
    letters = pc.sum(pc.binary_length(array)).as_py() or 0
    if 0 < letters < _HEX_EVIDENCE and pc.all(_fours(array)).as_py():
        raise ValueError("may be base64 or hexadecimal: say binary='base64' or binary='hex'")
    return LogicalType.HEX


def _fours(array: pa.Array) -> pa.BooleanArray:
    """Whether each text has the length of base64."""
    length = pc.binary_length(array)
    return pc.equal(pc.multiply(pc.divide(length, 4), 4), length)


def convert(array: pa.Array, encoding: Encoding, type_: DataType) -> pa.Array:
    """The column as the table stores it.

    Shape: ``array[n]`` of a JSON type to ``arrow_type(type_)[n]``.

    Raises:
        ValueError: a value does not fit (``pyarrow.ArrowInvalid`` is one); nothing says which.
    """
    target = arrow_type(type_)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    if isinstance(type_, Array):
        return _list(array, encoding, type_, target)
    printed = encoding.logical_type.meaning.printed
    if printed is not None and target == pa.string():
        texts = printed(array, encoding.scale)
        if texts is not None:
            return texts
    return to_type(encoding.logical_type.meant(array, encoding.scale), type_, target)


def _list(array: pa.Array, encoding: Encoding, type_: Array, target: pa.DataType) -> pa.Array:
    """Lists, or JSON text of lists, element by element."""
    words = encoding.logical_type.meaning.words
    if words is not None and pa.types.is_string(array.type):
        return pa.array(decoded(array, words), target)
    if pa.types.is_string(array.type):
        return _list(_from_json(array), encoding, type_, target)
    if not pa.types.is_list(array.type):
        raise ValueError(f"expected lists, not {array.type}")
    inner = convert(array.flatten(), encoding, type_.element)
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    ends = np.concatenate([[0], np.cumsum(np.asarray(lengths))]).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(ends), inner, type=target, mask=array.is_null() if array.null_count else None
    )


def _from_json(array: pa.Array) -> pa.Array:
    values = decoded(array, lambda text: json.loads(text, parse_float=Decimal))
    leaves = {type(v) for row in values if row is not None for v in row if v is not None}
    if not leaves:
        return pa.array(values, pa.list_(pa.null()))
    if leaves == {int}:
        return pa.array(values, pa.list_(pa.int64()))
    if leaves == {bool}:
        return pa.array(values, pa.list_(pa.bool_()))
    return pa.array(
        [None if row is None else [_leaf(v) for v in row] for row in values], pa.list_(pa.string())
    )


def _leaf(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str) if isinstance(value, dict | list | bool) else str(value)
