"""Text to values and values to text, in Java's words.

Each distinct value is converted once.  Type changes from and to text touch old files only, so this
is not where time goes.

Source: ``org.apache.paimon.casting``, ``org.apache.paimon.utils.BinaryStringUtils``; format 2.4.
"""

from __future__ import annotations

import decimal
import itertools
import math
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.castable import BINARIES, STRINGS, TIMESTAMPS
from table_core.datatypes.domain import Value, domain_array, domain_values
from table_core.datatypes.kinds import (
    Array,
    Atomic,
    DataType,
    Map,
    Multiset,
    Root,
    Row,
    Vector,
)
from table_core.datatypes.temporal_text import (
    date_text,
    parse_date,
    parse_time,
    parse_timestamp,
    time_text,
    timestamp_text,
)
from table_core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["from_text", "java_float_text", "to_text"]

_BITS: Final = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}
_EXACT: Final = decimal.Context(prec=400, rounding=decimal.ROUND_HALF_UP)
_TRUE: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE: Final = frozenset({"f", "false", "n", "no", "0"})


def from_text(array: pa.Array, target: Atomic) -> Any:
    """Text as ``target``.

    Raises:
        DataError: a text does not parse; facts hold the text and its row.
    """
    if target.root in STRINGS:
        return _to_length(array, target)
    if target.root in BINARIES:
        return domain_array(
            [None if t is None else _sized(t.encode(), target) for t in array.to_pylist()], target
        )
    parse = _PARSERS.get(target.root)
    assert parse is not None, target.root
    encoded = array.dictionary_encode()
    values = []
    for at, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            values.append(parse(text, target))
        except (ValueError, ArithmeticError) as error:
            row = encoded.indices.index(at).as_py()
            raise DataError(
                f"{text!r} cannot be read as {target.root}, though it is stored as text",
                column="",
                row=row,
                value=text[:100],
            ) from error
    return domain_array(values, target).take(encoded.indices)


def _parse_boolean(text: str, _: Atomic) -> bool:
    lowered = text.strip().lower()
    if lowered in _TRUE or lowered in _FALSE:
        return lowered in _TRUE
    raise ValueError(text)


def _parse_integer(text: str, target: Atomic) -> int:
    match = re.fullmatch(r"\s*([+-]?\d+)(?:\.\d*)?\s*", text)
    if match is None:
        raise ValueError(text)
    value = int(match[1])
    half = 2 ** (_BITS[target.root] - 1)
    if not -half <= value < half:
        raise ValueError(text)
    return value


def _parse_decimal(text: str, target: Atomic) -> decimal.Decimal | None:
    value = decimal.Decimal(text.strip())
    if not value.is_finite():
        raise ValueError(text)
    if value.adjusted() >= target.precision - target.scale and value:
        return None
    rounded = value.quantize(decimal.Decimal(1).scaleb(-target.scale), context=_EXACT)
    return rounded if len(rounded.as_tuple().digits) <= target.precision else None


def _parse_float(text: str, target: Atomic) -> float:
    value = float(text.strip().removesuffix("d").removesuffix("f"))
    return float(np.float32(value)) if target.root is Root.FLOAT else value


_PARSERS: Final[dict[Root, Callable[[str, Atomic], Value]]] = {
    Root.BOOLEAN: _parse_boolean,
    **dict.fromkeys(_BITS, _parse_integer),
    Root.DECIMAL: _parse_decimal,
    Root.FLOAT: _parse_float,
    Root.DOUBLE: _parse_float,
    Root.DATE: lambda text, _: parse_date(text),
    Root.TIME: lambda text, _: parse_time(text),
    **dict.fromkeys(TIMESTAMPS, lambda text, target: _cut(parse_timestamp(text), target)),
}


def _cut(nanos: int, target: Atomic) -> int:
    step: int = 10 ** (9 - target.precision)
    return nanos // step * step


def _sized(body: bytes, target: Atomic) -> bytes:
    cut = body[: target.length]
    return cut.ljust(target.length, b"\0") if target.root is Root.BINARY else cut


def to_text(array: pa.Array, source: DataType, target: Atomic) -> Any:
    """Values of ``source`` as text, cut to the length of ``target``, CHAR padded with spaces."""
    if isinstance(source, Atomic) and source.root in STRINGS:
        return _to_length(array, target)
    if isinstance(source, Atomic) and source.root in _BITS:
        return _to_length(array.cast(pa.string()), target)
    if isinstance(source, Atomic):
        encoded = array.dictionary_encode()
        values = domain_values(encoded.dictionary, source)
        texts = pa.array([_text(v, source) for v in values], pa.string())
        return _to_length(texts.take(encoded.indices), target)
    texts = pa.array([_text(v, source) for v in _nested_values(array, source)], pa.string())
    return _to_length(texts, target)


def _to_length(texts: pa.Array, target: Atomic) -> Any:
    """Cut to ``target``'s number of characters; CHAR is padded."""
    if target.length >= 2**31 - 1:
        return texts
    cut = pc.utf8_slice_codeunits(texts, 0, target.length)
    return pc.utf8_rpad(cut, target.length, " ") if target.root is Root.CHAR else cut


def _nested_values(array: pa.Array, type_: DataType) -> list[Value]:
    """Nested values in the domain: lists, lists of pairs, tuples."""
    if isinstance(type_, Atomic):
        return domain_values(array, type_)
    valid = array.is_valid().to_pylist()
    parts: list[Value]
    match type_:
        case Array(element) | Vector(element):
            inner = _nested_values(array.values, element)
            bounds = array.offsets.to_pylist()
            parts = [inner[a:b] for a, b in itertools.pairwise(bounds)]
        case Map() | Multiset():
            value_type = type_.value if isinstance(type_, Map) else Atomic(Root.INT)
            key_type = type_.key if isinstance(type_, Map) else type_.element
            pairs = list(
                zip(
                    _nested_values(array.keys, key_type),
                    _nested_values(array.items, value_type),
                    strict=True,
                )
            )
            bounds = array.offsets.to_pylist()
            parts = [pairs[a:b] for a, b in itertools.pairwise(bounds)]
        case Row(fields):
            columns = [
                _nested_values(array.field(at), field.type) for at, field in enumerate(fields)
            ]
            parts = list(zip(*columns, strict=True))
    return [part if ok else None for part, ok in zip(parts, valid, strict=True)]


def _text(value: Value, type_: DataType) -> str | None:
    if value is None:
        return None
    match type_:
        case Atomic():
            return _atomic_text(value, type_)
        case Array(element) | Vector(element):
            return f"[{', '.join(_inner(v, element) for v in value)}]"
        case Map(key, item):
            return f"{{{', '.join(f'{_inner(k, key)} -> {_inner(v, item)}' for k, v in value)}}}"
        case Multiset(element):
            return f"{{{', '.join(f'{_inner(k, element)} -> {v}' for k, v in value)}}}"
        case Row(fields):
            parts = (_inner(v, f.type) for v, f in zip(value, fields, strict=True))
            return f"{{{', '.join(parts)}}}"


def _inner(value: Value, type_: DataType) -> str:
    text = _text(value, type_)
    return "null" if text is None else text


def _atomic_text(value: Value, type_: Atomic) -> str:
    match type_.root:
        case Root.BOOLEAN:
            return "true" if value else "false"
        case Root.FLOAT | Root.DOUBLE:
            return java_float_text(value, single=type_.root is Root.FLOAT)
        case Root.DECIMAL:
            return format(value, "f")
        case Root.DATE:
            return date_text(value)
        case Root.TIME:
            return time_text(value, type_.precision)
        case Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            return timestamp_text(value, type_.precision)
        case Root.BINARY | Root.VARBINARY:
            return str(value, "utf-8", "replace")
        case _:
            return str(value)


def java_float_text(value: float, *, single: bool = False) -> str:
    """``1.0``, ``1.5E10``, ``NaN``, ``-Infinity``: what Java's ``toString`` gives."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = str(np.float32(value)) if single else repr(float(value))
    sign, digits, exponent = decimal.Decimal(shortest).as_tuple()
    if len(digits) == 1:  # Java gives two, and of two the nearest: 4.9E-324, where 5E-324 would do
        nearest = f"{value:.1e}"
        if (np.float32(nearest) if single else float(nearest)) == value:
            sign, digits, exponent = decimal.Decimal(nearest).as_tuple()
    assert isinstance(exponent, int)
    minus = "-" if sign else ""
    if not any(digits):
        return f"{minus}0.0"
    if 1e-3 <= abs(value) < 1e7:
        plain = format(decimal.Decimal(shortest), "f")
        return plain if "." in plain else f"{plain}.0"
    text = "".join(map(str, digits))
    mantissa = f"{text[0]}.{text[1:].rstrip('0') or '0'}"
    return f"{minus}{mantissa}E{exponent + len(digits) - 1}"
