"""Points in time as users write them, as the epoch milliseconds that the core takes."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from table_core.errors import ArgumentError

__all__ = ["epoch_ms", "seconds_of", "snapshot_id"]

_UNITS: Final = {"ms": 0.001, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}
_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*")


def epoch_ms(point: str | int | datetime | None, argument: str) -> int | None:
    """Milliseconds since the epoch; None stays None.

    Raises:
        ArgumentError: no ISO 8601, or without a zone: whose clock would be meant?
    """
    if point is None or point == "" or point == "None":  # what an empty template renders to
        return None
    if isinstance(point, int) or (isinstance(point, str) and point.strip().isdigit()):
        from table_core.table.metadata.timestamps import epoch_ms as milliseconds

        return milliseconds(argument, int(point))  # it refuses days and seconds, such as ds_nodash
    try:
        moment = datetime.fromisoformat(point) if isinstance(point, str) else point
    except ValueError as error:
        raise ArgumentError(
            f"{argument}={point!r} is no point in time: write ISO 8601 with a zone, "
            "e.g. 2026-01-01T00:00:00+00:00",
            argument=argument,
            value=point,
        ) from error
    if moment.tzinfo is None:
        raise ArgumentError(
            f"{argument}={str(point)!r} has no zone: add one, e.g. +00:00",
            argument=argument,
            value=str(point),
        )
    return round(moment.timestamp() * 1000)


def snapshot_id(number: str | int | None, argument: str) -> int | None:
    """A snapshot's number, which a template gives as text; None stays None.

    Raises:
        ArgumentError: no number.
    """
    if number is None or number == "" or number == "None":
        return None
    try:
        return int(number)
    except ValueError as error:
        raise ArgumentError(
            f"{argument}={number!r} is no snapshot id", argument=argument, value=number
        ) from error


def seconds_of(length: str | float | timedelta, argument: str) -> float:
    """A length of time, ``"2 h"``, ``90`` or a timedelta, in seconds.

    Raises:
        ArgumentError: none.
    """
    if isinstance(length, timedelta):
        return length.total_seconds()
    match = _DURATION.fullmatch(str(length).lower())
    unit = None if match is None else _UNITS.get(match[2] or "s")
    if match is None or unit is None:
        raise ArgumentError(
            f"{argument}={length!r} is no length of time: write a number and one of "
            f"{', '.join(_UNITS)}, e.g. '2 h'",
            argument=argument,
            value=str(length),
        )
    return float(match[1]) * unit
