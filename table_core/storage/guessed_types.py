"""What type a column of texts has, by its first rows; nothing that a value says is lost.

``007``, ``+49`` and numbers longer than a type has digits stay text or become a DECIMAL; moments with an
offset become TIMESTAMP WITH LOCAL TIME ZONE, and a column where only some have one stays text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.plain_values import WrongValueError
from table_core.storage.text_columns import TextColumns

if TYPE_CHECKING:
    from table_core.options.row_options import RowOptions

__all__ = ["GuessedType", "guessed_of_texts", "type_of_texts"]

_WHOLE: Final = r"^-?(?:0|[1-9]\d*)$"
_NUMBER: Final = r"^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$"
_FIXED: Final = r"^-?\d*(?:\.\d+)?$"
_NO_NUMBER: Final = r"^[+-]?(?i:nan|inf|infinity)$"
_DAY: Final = r"^\d{4}-\d{2}-\d{2}$"
_MOMENT: Final = (
    r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?$"
)
_CLOCK: Final = r"^\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?$"
_ZONE: Final = r":\d{2}.*(?:Z|[+-]\d{2}(?::?\d{2})?)$"
_NANOS: Final = r"\.\d{7,9}"
_FLAGS: Final = pa.array(["true", "false"])
_DOUBLE_DIGITS: Final = 15
"""That every DOUBLE keeps."""
_DECIMAL_DIGITS: Final = 38


@dataclass(frozen=True, slots=True)
class GuessedType:
    """A column, the type that its first rows have, and one of its values."""

    name: str
    type: pa.DataType
    example: str | None
    """None where all of them are NULL."""


def guessed_of_texts(name: str, texts: pa.Array, options: RowOptions) -> GuessedType:
    """The type of the column ``name``; STRING where nothing else keeps what the texts say."""
    filled = texts.drop_null()
    example = filled[0].as_py() if len(filled) else None
    return GuessedType(name, type_of_texts(filled, options), example)


def type_of_texts(texts: pa.Array, options: RowOptions, *, numbers: bool = True) -> pa.DataType:
    """The type of ``texts`` without NULL; of JSON, where a number has no quotes, no ``numbers``."""
    if not len(texts):
        return pa.string()
    candidates = [_flag, _number] if numbers else []
    for candidate in (*candidates, _moment):
        type_ = candidate(texts, options)
        if type_ is not None and _fits(texts, type_, options):
            return type_
    return pa.string()


def _fits(texts: pa.Array, type_: pa.DataType, options: RowOptions) -> bool:
    try:
        TextColumns(options).column(texts, type_)
    except WrongValueError:
        return False
    return True


def _all(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _flag(texts: pa.Array, _: RowOptions) -> pa.DataType | None:
    is_flag = pc.is_in(pc.utf8_lower(texts), _FLAGS)
    return pa.bool_() if pc.all(is_flag).as_py() else None


def _number(texts: pa.Array, options: RowOptions) -> pa.DataType | None:
    plain = TextColumns(options).plain_numbers(texts)
    named = pc.match_substring_regex(plain, _NO_NUMBER)
    digits = pc.filter(plain, pc.invert(named))
    if plain.null_count or not len(digits) or not _all(digits, _NUMBER):
        return None
    if _all(plain, _WHOLE):
        for type_ in (pa.int64(), pa.decimal128(_DECIMAL_DIGITS, 0)):
            if _fits(texts, type_, options):
                return type_
        return None
    if len(digits) < len(plain) or not _all(digits, _FIXED):
        return pa.float64()
    parts = pc.extract_regex(digits, r"^-?(?P<whole>\d*)(?:\.(?P<part>\d+))?$")
    whole, part = (pc.max(pc.utf8_length(one)).as_py() for one in parts.flatten())
    if whole + part <= _DOUBLE_DIGITS:
        return pa.float64()
    return pa.decimal128(_DECIMAL_DIGITS, part) if whole + part <= _DECIMAL_DIGITS else None


def _moment(texts: pa.Array, options: RowOptions) -> pa.DataType | None:
    if options.date_format and _fits(texts, pa.date32(), options):
        return pa.date32()
    if options.timestamp_format:
        unit = (
            "ns"
            if "%f" in options.timestamp_format and not _fits(texts, pa.timestamp("us"), options)
            else "us"
        )
        zone = "UTC" if "%z" in options.timestamp_format or options.timezone != "UTC" else None
        if _fits(texts, pa.timestamp(unit, zone), options):
            return pa.timestamp(unit, zone)
    if not options.date_format and _all(texts, _DAY):
        return pa.date32()
    if not options.timestamp_format and _all(texts, _MOMENT):
        unit = "ns" if pc.any(pc.match_substring_regex(texts, _NANOS)).as_py() else "us"
        zoned = pc.match_substring_regex(texts, _ZONE)
        if pc.all(zoned).as_py():
            return pa.timestamp(unit, "UTC")
        if pc.any(zoned).as_py():
            return None
        return pa.timestamp(unit, None if options.timezone == "UTC" else "UTC")
    return pa.time32("ms") if _all(texts, _CLOCK) else None
