"""Time zones by the names that Java's ``ZoneId.of`` takes."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = ["java_zone", "zone_of"]

_UTC: Final = {"Z", "UTC", "GMT", "UT"}
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?")
_JAVA_OFFSET: Final = re.compile(
    r"(?:UTC|GMT|UT)?[+-](?:\d{1,2}|\d{2}:[0-5]\d(?::[0-5]\d)?|\d{2}[0-5]\d(?:[0-5]\d)?)"
)
"""Minutes need two digits of hours."""
_FARTHEST: Final = timedelta(hours=18)
_NOT_JAVA: Final[dict[str, str]] = {
    "America/Coyhaique": "America/Punta_Arenas",
    "EST": "-05:00",
    "Factory": "UTC",
    "HST": "-10:00",
    "MST": "-07:00",
    "ROC": "Asia/Taipei",
    "localtime": "the name of the zone",
}
"""What the zone data has and ``ZoneId.of`` of a Java 17 refuses, and what to write instead."""


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
        away = timedelta(
            hours=int(match[2]), minutes=int(match[3] or 0), seconds=int(match[4] or 0)
        )
        return timezone(-away if match[1] == "-" else away)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("no such time zone; write one as Europe/Berlin or +02:00") from error


def java_zone(text: str) -> tzinfo:
    """The zone that ``text`` names for Java as well, whose commits read it too.

    Raises:
        ValueError: Java or this library knows no such zone; says what to write instead.
    """
    zone = zone_of(text)
    if _OFFSET.fullmatch(text):
        away = zone.utcoffset(None)
        if not _JAVA_OFFSET.fullmatch(text) or away is None or abs(away) > _FARTHEST:
            raise ValueError(
                "Java cannot read it, and could not commit to the table; write an offset as +08:00, up to "
                "18 hours"
            )
    elif text in _NOT_JAVA or (text not in _UTC and text not in available_timezones()):
        instead = _NOT_JAVA.get(text, "a name such as Europe/Berlin")
        raise ValueError(f"Java cannot read it, and could not commit to the table; write {instead}")
    return zone
