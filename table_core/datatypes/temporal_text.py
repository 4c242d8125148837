"""Dates, times and timestamps to and from text, as SQL writes them; any year, nanoseconds.

Values are what metadata uses: days since 1970, milliseconds of the day, nanoseconds since 1970.
Every ``parse_`` function raises ``ValueError`` on text it does not accept.

Source: ``org.apache.paimon.utils.DateTimeUtils``.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "NANOS_OF_DAY",
    "date_text",
    "has_offset",
    "parse_date",
    "parse_time",
    "parse_time_nanos",
    "parse_timestamp",
    "time_text",
    "timestamp_text",
]

NANOS_OF_DAY: Final = 86_400_000_000_000
_DATE: Final = r"(?P<y>[+-]?\d{4,6})(?:-(?P<mo>\d{1,2})(?:-(?P<d>\d{1,2}))?)?"
_TIME: Final = r"(?P<h>\d{1,2}):(?P<mi>\d{1,2})(?::(?P<s>\d{1,2})(?:\.(?P<f>\d{0,9}))?)?"
_ZONE: Final = r"\s*(?P<z>Z|UTC|GMT|(?:UTC|GMT)?(?P<zs>[+-])(?P<zh>\d{1,2})(?::?(?P<zm>\d{2}))?)?"
_DATE_ONLY: Final = re.compile(rf"{_DATE}(?:[ T].*)?", re.DOTALL)
_TIME_ONLY: Final = re.compile(_TIME)
_TIMESTAMP: Final = re.compile(rf"{_DATE}(?:[ T]{_TIME}{_ZONE})?")
"""Blanks around are taken off first: a pattern would try all ways to share many of them out."""
_MONTH_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def parse_date(text: str) -> int:
    """``2024-02-29``, ``2024-2``, ``2024``, or a timestamp whose time is dropped, as days."""
    match = _DATE_ONLY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a date such as '2024-01-31', not {text!r}")
    return _days(match, text)


def parse_time(text: str) -> int:
    """``12:30``, ``12:30:15``, ``12:30:15.123``, as milliseconds of the day."""
    return parse_time_nanos(text) // 1_000_000


def parse_time_nanos(text: str) -> int:
    """The same, as nanoseconds of the day."""
    match = _TIME_ONLY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a time such as '12:30:15', not {text!r}")
    return _nanos_of_day(match, text)


def parse_timestamp(text: str) -> int:
    """``2024-01-31 12:30:15.123456789``, with ``T``, without a time, with a zone, as nanoseconds.

    Text without a zone is taken as it stands, which is UTC.
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a timestamp such as '2024-01-31 12:30:15', not {text!r}")
    nanos = _days(match, text) * NANOS_OF_DAY
    if match["h"] is not None:
        nanos += _nanos_of_day(match, text)
    if match["zs"] is not None:
        minutes = int(match["zh"]) * 60 + int(match["zm"] or 0)
        if minutes > 18 * 60:
            raise ValueError(f"no zone is that far from UTC: {text!r}")
        nanos -= (1 if match["zs"] == "+" else -1) * minutes * 60_000_000_000
    return nanos


def has_offset(text: str) -> bool:
    """Whether ``text`` is a timestamp with an offset from UTC that is not zero, such as ``+02:00``."""
    match = _TIMESTAMP.fullmatch(text.strip())
    return match is not None and any(int(match[part] or 0) for part in ("zh", "zm"))


def _days(match: re.Match[str], text: str) -> int:
    year, month, day = int(match["y"]), int(match["mo"] or 1), int(match["d"] or 1)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (1 <= month <= 12 and 1 <= day <= _MONTH_DAYS[month - 1]) or (
        month == 2 and day == 29 and not leap
    ):
        raise ValueError(f"there is no such day: {text!r}")
    # Days from civil: years start in March, so the leap day is the last of its year.
    year -= month <= 2
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719468


def _nanos_of_day(match: re.Match[str], text: str) -> int:
    hour, minute, second = int(match["h"]), int(match["mi"]), int(match["s"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"there is no such time: {text!r}")
    fraction = int((match["f"] or "").ljust(9, "0"))
    return ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + fraction


def date_text(days: int) -> str:
    """``2024-02-29``."""
    shifted = days + 719468
    era, of_era = divmod(shifted, 146097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = year_of_era + era * 400 + (month <= 2)
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def time_text(millis: int, precision: int = 0) -> str:
    """``12:30:15``; with ``precision`` up to so many digits of the second, no zeros after the first."""
    text = _clock_text(millis * 1_000_000, 0)
    fraction = f"{millis % 1000:03d}".rstrip("0") or "0"
    return f"{text}.{fraction[:precision]}" if precision else text


def timestamp_text(nanos: int, precision: int) -> str:
    """``2024-01-31 12:30:15.123``, with ``precision`` digits of the second."""
    days, of_day = divmod(nanos, NANOS_OF_DAY)
    return f"{date_text(days)} {_clock_text(of_day, precision)}"


def _clock_text(nanos: int, precision: int) -> str:
    seconds, fraction = divmod(nanos, 1_000_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:09d}"[: len(text) + 1 + precision] if precision else text
