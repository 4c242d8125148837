"""Moments as text by a pattern of Java's ``DateTimeFormatter``, column by column.

Source: ``java.time.format.DateTimeFormatter#ofPattern``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.date_pattern import date_parts
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.datatypes.date_pattern import DatePart

__all__ = ["date_format", "pattern_parts"]

_NUMBERS: Final[dict[str, Callable[[pa.Array], pa.Array]]] = {
    "y": pc.year,
    "u": pc.year,
    "M": pc.month,
    "L": pc.month,
    "d": pc.day,
    "D": pc.day_of_year,
    "Q": pc.quarter,
    "H": pc.hour,
    "h": lambda moment: _hour_of_half(pc.hour(moment)),
    "m": pc.minute,
    "s": pc.second,
}
_WORDS: Final = {"MMM": "%b", "MMMM": "%B", "LLL": "%b", "LLLL": "%B", "E": "%a", "EE": "%a",
                 "EEE": "%a", "EEEE": "%A", "a": "%p"}  # fmt: skip
_TWO_DIGITS: Final = ("yy", "uu")
_NANOS_DIGITS: Final = 9
_LONGEST: Final = {"M": 2, "L": 2, "d": 2, "D": 3, "Q": 2, "H": 2, "h": 2, "m": 2, "s": 2}


def pattern_parts(pattern: str) -> list[DatePart]:
    """The fields and texts of a pattern.

    Raises:
        ArgumentError: it has a letter that is not supported, or a character that means something else.
    """
    try:
        parts = date_parts(pattern)
    except ValueError as error:
        raise _refused(pattern, str(error)) from error
    for part in parts:
        if part.letters and not _is_known(part.letters):
            raise _refused(pattern, f"{part.letters!r} is not supported")
    # What is optional is written where there is a value, and here every field has one.
    return [part for part in parts if not part.mark]


def _is_known(letters: str) -> bool:
    if letters in _WORDS or set(letters) == {"S"}:
        return len(letters) <= _NANOS_DIGITS
    longest = _LONGEST.get(letters[0], _NANOS_DIGITS)
    return letters[0] in _NUMBERS and len(letters) <= longest


def _refused(pattern: str, why: str) -> ArgumentError:
    return ArgumentError(
        f"date_format {pattern!r}: {why}; use y M d H h m s S a D E Q and 'text'",
        argument="computed_columns",
        value=pattern,
    )


def date_format(moment: pa.Array, pattern: str) -> pa.Array:
    """Text of each moment.

    Shape: ``timestamp[n]`` without zone to ``string[n]``.

    Raises:
        ArgumentError: the pattern is not supported.
    """
    parts = [
        _part(moment, part.letters) if part.letters else pa.scalar(part.text)
        for part in pattern_parts(pattern)
    ]
    if all(isinstance(part, pa.Scalar) for part in parts):
        text = "".join(part.as_py() for part in parts)
        return pc.if_else(moment.is_valid(), text, pa.scalar(None, pa.string()))
    return pc.binary_join_element_wise(*parts, "")


def _part(moment: pa.Array, letters: str) -> pa.Array:
    if letters in _WORDS:
        # a cast cuts towards 1970, which is the next second before it
        seconds = pc.floor_temporal(moment, unit="second").cast(pa.timestamp("s"), safe=False)
        return pc.strftime(seconds, format=_WORDS[letters])
    if letters[0] == "S":
        nanos = pc.add(
            pc.multiply(pc.millisecond(moment), 1_000_000),
            pc.add(pc.multiply(pc.microsecond(moment), 1000), pc.nanosecond(moment)),
        )
        return pc.utf8_slice_codeunits(_padded(nanos, _NANOS_DIGITS), 0, len(letters))
    number = _NUMBERS[letters[0]](moment)
    if letters in _TWO_DIGITS:
        return pc.utf8_slice_codeunits(_padded(number, 4), -2)
    return _padded(number, len(letters))


def _padded(number: pa.Array, width: int) -> pa.Array:
    return pc.utf8_lpad(number.cast(pa.string()), width, "0")


def _hour_of_half(hour: pa.Array) -> pa.Array:
    half = pc.if_else(pc.greater(hour, 12), pc.subtract(hour, 12), hour)
    return pc.if_else(pc.equal(half, 0), 12, half)
