"""What the values of a column stand for: one row for each meaning, with its unit, decoders and bound.

A day of 1970, the second of January, comes as 1 (``DAYS``), as 86400000 (``MILLIS``) or as the text
``1970-01-02``; the row of its meaning says how each becomes a date.

Source: Debezium's documentation of data type mappings; ``io.debezium.time``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.single_values import (
    address_text,
    base64_bytes,
    bit_bytes,
    clock_text,
    plain_text,
    unscaled,
    uuid_text,
)
from table_core.cdc.model.typed_values import (
    DAY_MS,
    MILLIS_MAX,
    in_micros,
    require_years,
    time_of_day,
    without_sign,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    OfNumbers: TypeAlias = Callable[[pa.Array], pa.Array]
    OfTexts: TypeAlias = Callable[[pa.Array, int], pa.Array]

__all__ = ["LogicalType", "Meaning", "decoded"]

_OF_UTC: Final = r"(\d\d:\d\d:\d\d(?:\.\d*)?)(?:\+00(?::00)?)?$"
_MYSQL_HOURS: Final = 839
"""No TIME of MySQL has so many."""


def decoded(array: pa.Array, decode: Callable[[Any], Any]) -> list[Any]:
    """Each value decoded, but for nulls."""
    return [None if value is None else decode(value) for value in array.to_pylist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """How values become what they mean.  None: values of that kind do not have the meaning."""

    of_numbers: OfNumbers | None = None
    """Of whole numbers."""
    of_texts: OfTexts | None = None
    """With the scale of the encoding.  None: text stands for itself, as ISO 8601 where numbers are usual."""
    of_bytes: Callable[[bytes], str] | None = None
    of_others: OfNumbers | None = None
    """Of all that is neither text nor, where they have a meaning of their own, whole numbers or bytes."""
    words: Callable[[str], list[str]] | None = None
    """The elements of a column of lists that comes as text."""
    printed: OfTexts | None = None
    """For a column of text: as the source prints it; values that this does not take go the usual way."""
    beyond: int | None = None
    """No number is as large, of moments of four-digit years and times of MySQL."""


def _moments(unit: str, per_milli: int, beyond: int | None = None) -> Meaning:
    def of_numbers(array: pa.Array) -> pa.Array:
        require_years(array, DAY_MS * per_milli)
        return array.cast(pa.timestamp(unit))

    return Meaning(of_numbers=of_numbers, beyond=beyond)


def _times(per_milli: int, beyond: int | None = None) -> Meaning:
    def printed(array: pa.Array, _: int) -> pa.Array:
        if not pa.types.is_integer(array.type):
            return None
        texts = decoded(array, lambda time: clock_text(time, 1000 * per_milli))
        return pa.array(texts, pa.string())

    return Meaning(
        of_numbers=partial(time_of_day, per_milli=per_milli),
        of_texts=_without_zone,
        printed=printed,
        beyond=beyond,
    )


def _bytes_of(decode: Callable[[str], bytes]) -> Meaning:
    return Meaning(of_texts=lambda array, _: pa.array(decoded(array, decode), pa.binary()))


def _itself(array: pa.Array) -> pa.Array:
    return array


def _days(array: pa.Array) -> pa.Array:
    require_years(array, 1)
    return array.cast(pa.int32()).cast(pa.date32())


def _moment(array: pa.Array) -> pa.Array:
    micros = in_micros(array)
    require_years(micros, DAY_MS * 1000)
    return micros.cast(pa.timestamp("us"))


def _without_zone(array: pa.Array, _: int) -> pa.Array:
    return pc.replace_substring_regex(array, r"(Z|\+00:00)$", "")


def _bits(array: pa.Array, size: int) -> pa.Array:
    return pa.array(decoded(array, partial(bit_bytes, size=size)), pa.binary())


def _unscaled(array: pa.Array, scale: int) -> pa.Array:
    whole = decoded(array, lambda text: unscaled(text, scale))
    return pa.array(whole, pa.decimal128(38, scale))


def _digits(array: pa.Array, scale: int) -> pa.Array:
    """Of a column of text, which has room for numbers of any length."""
    if not pa.types.is_string(array.type):
        return None
    texts = decoded(array, lambda text: plain_text(unscaled(text, scale)))
    return pa.array(texts, pa.string())


class LogicalType(Enum):
    """What the number or text of a column stands for."""

    PLAIN = auto()
    """What JSON says; text may be a number or bytes, as the column's type tells."""
    RAW = auto()
    """The very value, of a source that does not go through JSON."""
    DAYS = auto()
    MILLIS = auto()
    MICROS = auto()
    NANOS = auto()
    MOMENT = auto()
    """Microseconds or milliseconds since 1970; the numbers tell."""
    TIME = auto()
    """Micro- or milliseconds of a time of day; the numbers tell, or nothing is known of them."""
    TIME_MILLIS = auto()
    TIME_MICROS = auto()
    TIME_NANOS = auto()
    BASE64 = auto()
    HEX = auto()
    LATIN1 = auto()
    """A letter for each byte, as Canal writes them."""
    BITS = auto()
    """Base64 of little-endian bytes, as Debezium writes BIT(n); stored as the server prints them."""
    BIT_NUMBER = auto()
    """The number of those bits, as Canal writes it; ``Encoding.scale`` says in how many bytes they are."""
    SET = auto()
    """Words with commas between them: a list, or that text."""
    UUID = auto()
    """Sixteen bytes, or the text of them."""
    ADDRESS = auto()
    """The four or sixteen bytes of an internet address, or the text of them."""
    ZONED = auto()
    """Text of a moment of UTC, with a zone of hours only, as PostgreSQL prints it, or none, as Canal."""
    ISO = auto()
    """Text of a date or time with a ``Z`` that says nothing."""
    DECIMAL = auto()
    """A number, its text, or what UNSCALED is; the texts tell."""
    UNSCALED = auto()
    """Base64 of a big-endian two's complement integer; ``Encoding.scale`` says where the point is.

    A number without digits of its own is the default of a column.
    """
    UNSIGNED = auto()
    """The same, or 64 bits without sign that were written as a number with one."""

    @property
    def meaning(self) -> Meaning:
        """How values become what they mean."""
        return _MEANINGS[self]

    def meant(self, array: pa.Array, scale: int) -> pa.Array:
        """What the values mean: dates for days, bytes for base64.

        Raises:
            ValueError: they are of a kind that does not have the meaning, or one is not to be read.
        """
        meaning = self.meaning
        if pa.types.is_string(array.type):
            return array if meaning.of_texts is None else meaning.of_texts(array, scale)
        if pa.types.is_binary(array.type) and meaning.of_bytes is not None:
            return pa.array(decoded(array, meaning.of_bytes), pa.string())
        if meaning.of_numbers is not None and pa.types.is_integer(array.type):
            return meaning.of_numbers(array)
        if meaning.of_others is not None:
            return meaning.of_others(array)
        expected = "text" if meaning.of_numbers is None else "whole numbers or text"
        raise ValueError(f"expected {expected}, not {array.type}")


_MEANINGS: Final = {
    LogicalType.PLAIN: Meaning(of_others=_itself),
    LogicalType.RAW: Meaning(of_others=_itself),
    LogicalType.DAYS: Meaning(of_numbers=_days),
    LogicalType.MILLIS: _moments("ms", 1, MILLIS_MAX),
    LogicalType.MICROS: _moments("us", 1000, MILLIS_MAX * 1000),
    LogicalType.NANOS: _moments("ns", 1_000_000),
    LogicalType.MOMENT: Meaning(of_numbers=_moment),
    LogicalType.TIME: _times(1000),
    LogicalType.TIME_MILLIS: _times(1, DAY_MS),
    LogicalType.TIME_MICROS: _times(1000, _MYSQL_HOURS * 3_600_000_000),
    LogicalType.TIME_NANOS: _times(1_000_000),
    LogicalType.BASE64: _bytes_of(base64_bytes),
    LogicalType.HEX: _bytes_of(bytes.fromhex),
    LogicalType.LATIN1: _bytes_of(lambda text: text.encode("latin-1")),
    LogicalType.BITS: _bytes_of(lambda text: base64_bytes(text)[::-1]),
    LogicalType.BIT_NUMBER: Meaning(of_texts=_bits),
    LogicalType.SET: Meaning(words=lambda text: text.split(",") if text else []),
    LogicalType.UUID: Meaning(of_bytes=uuid_text),
    LogicalType.ADDRESS: Meaning(of_bytes=address_text),
    LogicalType.ZONED: Meaning(
        of_texts=lambda array, _: pc.replace_substring_regex(array, _OF_UTC, r"\1Z")
    ),
    LogicalType.ISO: Meaning(of_texts=_without_zone),
    LogicalType.DECIMAL: Meaning(),
    LogicalType.UNSCALED: Meaning(of_texts=_unscaled, printed=_digits, of_others=_itself),
    LogicalType.UNSIGNED: Meaning(of_others=without_sign),
}
