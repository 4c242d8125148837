"""Values as text and JSON hold them, as the Arrow types of a table: whole, or refused.

The forms are those that the command line prints: decimals, dates and moments as text, bytes as base64,
maps as lists of pairs, NaN and infinities by name.  ``column_of_texts`` works on whole columns;
``value_of`` on one value, for what Arrow cannot read and to find which value is wrong.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.shortened import shortened

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WrongValueError", "column_of_texts", "column_of_values", "is_nested"]

_SHOWN_MAX: Final = 80
_DIGITS_MAX: Final = 38


class WrongValueError(ValueError):
    """A value that is none of its type; ``row`` counts from 0 in the column, ``cure`` says what to do."""

    def __init__(self, row: int, value: object, type_: pa.DataType, cure: str = "") -> None:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        self.value = shortened(text, _SHOWN_MAX)
        self.row = row
        super().__init__(f"{self.value!r} is no {_named(type_)}{cure and ': '}{cure}")


def is_nested(type_: pa.DataType) -> bool:
    """Whether a value of ``type_`` has parts."""
    return bool(pa.types.is_nested(type_))


def column_of_texts(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    """Texts as a column of ``type_``; NULL stays NULL.

    Shape: ``texts[n]`` of strings to ``[n]`` of ``type_``.

    Raises:
        WrongValueError: the first text that is none.
    """
    if texts.type == type_:
        return texts
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return texts.cast(type_)
    if is_nested(type_) or _is_bytes(type_):
        return column_of_values([_parsed(text, type_) for text in texts.to_pylist()], type_)
    try:
        return _kernel(texts, type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column_of_values(texts.to_pylist(), type_)


def column_of_values(values: list[Any], type_: pa.DataType) -> pa.Array:
    """What JSON held, as a column of ``type_``.

    Raises:
        WrongValueError: the first value that is none.
    """
    converted = []
    for row, value in enumerate(values):
        try:
            converted.append(_value_of(value, type_))
        except (ValueError, TypeError, OverflowError) as error:
            raise WrongValueError(row, value, type_) from error
    return pa.array(converted, type_)


def _parsed(text: str | None, type_: pa.DataType) -> Any:
    if text is None or not is_nested(type_):
        return text
    try:
        return json.loads(text, parse_float=str)
    except (ValueError, RecursionError):
        return text  # no list and no object: refused where its row is known


def _value_of(value: Any, type_: pa.DataType) -> Any:
    """``value`` as Arrow takes it for ``type_``.

    Raises:
        ValueError, TypeError, OverflowError: it is none.
    """
    if value is None:
        return None
    for is_kind, read in _READERS:
        if is_kind(type_):
            return read(value, type_)
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value if pa.types.is_string(type_) else _cast(value, type_)


def _cast(text: str, type_: pa.DataType) -> Any:
    """One text by the kernel of whole columns, so that both ways read alike."""
    return _kernel(pa.array([text], pa.string()), type_)[0].as_py()


def _kernel(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    """Arrow reads no text as a time of day, so that is read as one of the first day.

    Of more digits than 128 bits hold it makes another number and says nothing.
    """
    if pa.types.is_decimal128(type_) and (pc.max(pc.utf8_length(texts)).as_py() or 0) > _DIGITS_MAX:
        digits = pc.replace_substring_regex(texts, r"^[^1-9]*|[eE].*$|\D", "")
        if pc.max(pc.utf8_length(digits)).as_py() > _DIGITS_MAX:
            raise pa.ArrowInvalid(f"more than {_DIGITS_MAX} digits")
    if not pa.types.is_time(type_):
        return texts.cast(type_)
    moments = pc.binary_join_element_wise("1970-01-01T", texts, "")
    return moments.cast(pa.timestamp(type_.unit)).cast(type_)


def _moment(value: Any, type_: pa.DataType) -> int:
    """A time as its number; one with a zone in a column without, or the other way round, is of UTC."""
    texts = pa.array([_text(value)], pa.string())
    try:
        return int(_kernel(texts, type_)[0].value)
    except pa.ArrowInvalid:
        if not pa.types.is_timestamp(type_):
            raise
        other = pa.timestamp(type_.unit, None if type_.tz else "UTC")
        return int(texts.cast(other)[0].value)


def _boolean(value: Any, type_: pa.DataType) -> Any:
    return value if isinstance(value, bool) else _cast(_text(value), type_)


def _integer(value: Any, type_: pa.DataType) -> Any:
    if isinstance(value, bool):
        raise TypeError("true and false are no numbers")
    number = value if isinstance(value, int) else _cast(_text(value), type_)
    return pa.scalar(number, type_).as_py()


def _float(value: Any, type_: pa.DataType) -> Any:
    if isinstance(value, bool):
        raise TypeError("true and false are no numbers")
    return float(value) if isinstance(value, int | float) else _cast(_text(value), type_)


def _decimal(value: Any, type_: pa.DataType) -> Any:
    if isinstance(value, bool):
        raise TypeError("true and false are no numbers")
    return _cast(str(value) if isinstance(value, int | float) else _text(value), type_)


def _bytes(value: Any, _: pa.DataType) -> bytes:
    return base64.b64decode(_text(value), validate=True)


def _list(value: Any, type_: pa.DataType) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("no list")
    return [_value_of(item, type_.value_type) for item in value]


def _map(value: Any, type_: pa.DataType) -> list[tuple[Any, Any]]:
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list):
        raise TypeError("no list of pairs")
    return [(_value_of(k, type_.key_type), _value_of(v, type_.item_type)) for k, v in pairs]


def _struct(value: Any, type_: pa.DataType) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("no object")
    fields = {field.name: field.type for field in type_}
    if unknown := value.keys() - fields.keys():
        raise ValueError(f"no member {min(unknown)!r}")
    return {name: _value_of(value.get(name), of) for name, of in fields.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _is_bytes(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
        or pa.types.is_fixed_size_binary(type_)
    )


def _is_list(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(type_)
        or pa.types.is_large_list(type_)
        or pa.types.is_fixed_size_list(type_)
    )


_READERS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, Any], Any]], ...]] = (
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _float),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_temporal, _moment),
    (_is_bytes, _bytes),
    (pa.types.is_map, _map),
    (_is_list, _list),
    (pa.types.is_struct, _struct),
)
"""By what a type is, the first that fits."""


def _named(type_: pa.DataType) -> str:
    """A type in the words of a table, where they differ from Arrow's."""
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if pa.types.is_timestamp(type_):
        zone = "+00:00" if type_.tz else ""
        return f"TIMESTAMP, e.g. 2026-01-31 10:30:00{zone}"
    return _NAMES.get(str(type_), str(type_))


_NAMES: Final = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date32[day]": "DATE, e.g. 2026-01-31",
    "time32[ms]": "TIME, e.g. 10:30:00",
    "string": "text",
    "binary": "base64 of bytes",
}
