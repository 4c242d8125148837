"""Points in time as users write them, as the epoch milliseconds that the core takes."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from table_core.errors import ArgumentError

__all__ = ["epoch_ms", "seconds_of", "snapshot_id"]

_UNITS: Final = {"ms": 0.001, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}
_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*")


def epoch_ms(given: str | int | datetime | None, argument: str) -> int | None:
    """Milliseconds since the epoch; None stays None.

    Raises:
        ArgumentError: no ISO 8601, or without a zone: whose clock would be meant?
    """
    if given is None or given == "" or given == "None":  # what an empty template renders to
        return None
    if isinstance(given, int) or (isinstance(given, str) and given.strip().isdigit()):
        return int(given)
    try:
        moment = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError as error:
        raise ArgumentError(
            f"{argument}={given!r} is no point in time: write ISO 8601 with a zone, "
            "e.g. 2026-01-01T00:00:00+00:00",
            argument=argument,
            value=given,
        ) from error
    if moment.tzinfo is None:
        raise ArgumentError(
            f"{argument}={str(given)!r} has no zone: add one, e.g. +00:00",
            argument=argument,
            value=str(given),
        )
    return round(moment.timestamp() * 1000)


def snapshot_id(given: str | int | None, argument: str) -> int | None:
    """A snapshot's number, which a template gives as text; None stays None.

    Raises:
        ArgumentError: no number.
    """
    if given is None or given == "" or given == "None":
        return None
    try:
        return int(given)
    except ValueError as error:
        raise ArgumentError(
            f"{argument}={given!r} is no snapshot id", argument=argument, value=given
        ) from error


def seconds_of(given: str | float | timedelta, argument: str) -> float:
    """A length of time, ``"2 h"``, ``90`` or a timedelta, in seconds.

    Raises:
        ArgumentError: none.
    """
    if isinstance(given, timedelta):
        return given.total_seconds()
    found = _DURATION.fullmatch(str(given).lower())
    unit = None if found is None else _UNITS.get(found[2] or "s")
    if found is None or unit is None:
        raise ArgumentError(
            f"{argument}={given!r} is no length of time: write a number and one of "
            f"{', '.join(_UNITS)}, e.g. '2 h'",
            argument=argument,
            value=str(given),
        )
    return float(found[1]) * unit
