"""Points in time and lengths of time as users give them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final, TypeAlias

from table_core.errors import ArgumentError
from table_core.options.parse import duration_ms

__all__ = ["PointInTime", "epoch_ms", "length_ms"]

PointInTime: TypeAlias = datetime | int | str
"""An aware datetime, ISO text with a zone, or milliseconds since the epoch, UTC."""
_DAY: Final = re.compile(r"(19|20|21)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])")
_SECONDS: Final = range(1_000_000_000, 5_000_000_000)
_YEARS: Final = range(1970, 2101)


def epoch_ms(argument: str, value: PointInTime) -> int:
    """``value`` as epoch milliseconds.

    Raises:
        ArgumentError: a naive datetime (whose zone is it?), or no point in time at all.
    """
    if isinstance(value, str):
        value = _from_text(argument, value)
    if isinstance(value, datetime):
        if value.tzinfo is None or value.utcoffset() is None:
            raise ArgumentError(
                f"{argument}={value!r} has no time zone: give an aware datetime, e.g. "
                "datetime.now(UTC), or epoch milliseconds",
                argument=argument,
                value=str(value),
            )
        return int(value.timestamp() * 1000)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(
            f"{argument}={value!r} is no point in time: give an aware datetime or epoch "
            "milliseconds",
            argument=argument,
            value=str(value),
        )
    if value in _SECONDS or value in _YEARS or _DAY.fullmatch(str(value)):
        what = "seconds" if value in _SECONDS else "a day or a year"
        raise ArgumentError(
            f"{argument}={value} looks like {what}, and would be in 1970: numbers are milliseconds since the "
            "epoch; write ISO text such as '2026-01-31T00:00:00Z', or milliseconds",
            argument=argument,
            value=str(value),
        )
    return value


def _from_text(argument: str, text: str) -> datetime | int:
    """ISO text as a datetime, digits as a number."""
    if re.fullmatch(r"\s*-?\d+\s*", text):
        return int(text)
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ArgumentError(
            f"{argument}={text!r} is no point in time: write it as 2026-01-31T00:00:00Z",
            argument=argument,
            value=text,
        ) from error


def length_ms(argument: str, text: str) -> int:
    """A length of time such as ``"1 h"`` as milliseconds.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(text, str | int):
        raise ArgumentError(
            f"{argument}={text!r}: write a length of time as text, such as '7 d' or '12 h'",
            argument=argument,
            value=repr(text),
        )
    if re.fullmatch(r"\s*[+-]?\d+\s*", str(text)):
        raise ArgumentError(
            f"{argument}={text!r} has no unit, and would be milliseconds: write '{str(text).strip()} d', "
            f"'{str(text).strip()} h', or ms if that is meant",
            argument=argument,
            value=text,
        )
    try:
        return duration_ms(text)
    except ValueError as error:
        raise ArgumentError(
            f"{argument}={text!r}: {error}", argument=argument, value=text
        ) from error
