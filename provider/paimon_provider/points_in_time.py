"""Points in time as users write them, as the epoch milliseconds that the core takes."""

from __future__ import annotations

from datetime import datetime

from table_core.errors import ArgumentError

__all__ = ["epoch_ms"]


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
