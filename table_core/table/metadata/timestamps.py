"""Points in time and lengths of time as users give them."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from table_core.errors import ArgumentError
from table_core.options.parse import duration_ms

__all__ = ["PointInTime", "epoch_ms", "length_ms"]

PointInTime: TypeAlias = datetime | int
"""An aware datetime, or milliseconds since the epoch, UTC."""


def epoch_ms(argument: str, value: PointInTime) -> int:
    """``value`` as epoch milliseconds.

    Raises:
        ArgumentError: a naive datetime (whose zone is it?), or no point in time at all.
    """
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
    return value


def length_ms(argument: str, text: str) -> int:
    """A length of time such as ``"1 h"`` as milliseconds.

    Raises:
        ArgumentError: it is none.
    """
    try:
        return duration_ms(text)
    except ValueError as error:
        raise ArgumentError(
            f"{argument}={text!r}: {error}", argument=argument, value=text
        ) from error
