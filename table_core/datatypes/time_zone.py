"""Time zones by the names that Java's ``ZoneId.of`` takes."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = ["zone_of"]

_UTC: Final = {"Z", "UTC", "GMT", "UT"}
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")


def zone_of(text: str) -> tzinfo:
    """The zone that ``text`` names.

    Raises:
        ValueError: there is no such zone.
    """
    if text in _UTC:
        return UTC
    match = _OFFSET.fullmatch(text)
    try:
        if match is None:
            return ZoneInfo(text)
        away = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return timezone(-away if match[1] == "-" else away)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("no such time zone; write one as Europe/Berlin or +02:00") from error
