"""Dates and times in row images of a binlog.

DATETIME, TIME and TIMESTAMP made since MySQL 5.6.4 are packed, most significant byte first, so that bytes
compare as times.  Columns made before keep their old form: the digits of the time as one decimal number.

Source: ``my_datetime_packed_from_binary`` of the server and its neighbours; the MySQL internals manual,
"Date and Time Data Type Representation".
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.cdc.model.log_cursor import Cursor

__all__ = [
    "datetime_reader",
    "read_date",
    "read_old_datetime",
    "read_old_time",
    "read_year",
    "time_reader",
    "timestamp_reader",
]

_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAY: Final = 86_400_000_000


def _fraction(cursor: Cursor, digits: int) -> int:
    """Microseconds: one byte holds two digits, so ``0x32`` of DATETIME(2) is 50 hundredths."""
    size = (digits + 1) // 2
    return cursor.big(size) * int(10 ** (6 - 2 * size)) if size else 0


def datetime_reader(digits: int) -> Callable[[Cursor], int | None]:
    """Microseconds since 1970; None for dates that there are not.

    ``99 B8 C4 31 05`` is 2026-01-02 03:04:05: sign 1, 17 bits year * 13 + month, 5 day, 5 hour, 6 minute,
    6 second.  Times 13, not 12, because a month can be 0.
    """

    def read(cursor: Cursor) -> int | None:
        packed = cursor.big(5)
        micros = _fraction(cursor, digits)
        month_of = (packed >> 22) & 0x1FFFF
        return _moment(
            (month_of // 13, month_of % 13, (packed >> 17) & 31),
            ((packed >> 12) & 31, (packed >> 6) & 63, packed & 63),
            micros,
        )

    return read


def _moment(day: tuple[int, int, int], time: tuple[int, int, int], micros: int) -> int | None:
    """Microseconds since 1970; None for dates that there are not, such as 0000-00-00."""
    days = _days(*day)
    if days is None:
        return None
    hour, minute, second = time
    return days * _DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros


def _days(year: int, month: int, day: int) -> int | None:
    if not year or not month or not day:
        return None
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None


def timestamp_reader(digits: int) -> Callable[[Cursor], int | None]:
    """Seconds since 1970, then the fraction; zero is no moment, but ``0000-00-00 00:00:00``."""

    def read(cursor: Cursor) -> int | None:
        seconds = cursor.big(4)
        micros = _fraction(cursor, digits)
        return seconds * 1_000_000 + micros if seconds or micros else None

    return read


def time_reader(digits: int) -> Callable[[Cursor], int]:
    """Microseconds, also below zero.

    ``80 C7 85`` is 12:30:05: half of the range, 0x800000, added to 10 bits hour, 6 minute, 6 second.
    Below zero the whole number is negative, its fraction too: -00:00:00.50 of TIME(2) is ``7F FF FF CE``, which
    read in parts would be -1 s and 206 hundredths.
    """
    size = (digits + 1) // 2
    width = 24 + 8 * size

    def read(cursor: Cursor) -> int:
        packed = cursor.big(3 + size) - (1 << (width - 1))
        sign, packed = (-1, -packed) if packed < 0 else (1, packed)
        clock, fraction = packed >> (8 * size), packed & ((1 << (8 * size)) - 1)
        seconds = ((clock >> 12 & 1023) * 60 + (clock >> 6 & 63)) * 60 + (clock & 63)
        return sign * (seconds * 1_000_000 + fraction * int(10 ** (6 - 2 * size)))

    return read


def read_date(cursor: Cursor) -> int | None:
    """Days since 1970; ``22 D4 0F`` is 2026-01-02: little endian, 15 bits year, 4 month, 5 day."""
    packed = cursor.unsigned(3)
    return _days(packed >> 9, packed >> 5 & 15, packed & 31)


def read_old_datetime(cursor: Cursor) -> int | None:
    """Of the number 20260102030405, which is 2026-01-02 03:04:05."""
    packed = cursor.unsigned(8)
    day, time = divmod(packed, 1_000_000)
    return _moment(
        (day // 10000, day // 100 % 100, day % 100),
        (time // 10000, time // 100 % 100, time % 100),
        0,
    )


def read_old_time(cursor: Cursor) -> int:
    """Of the number 123005, which is 12:30:05; with a sign."""
    packed = int.from_bytes(cursor.take(3), "little", signed=True)
    sign, packed = (-1, -packed) if packed < 0 else (1, packed)
    seconds = (packed // 10000 * 60 + packed // 100 % 100) * 60 + packed % 100
    return sign * seconds * 1_000_000


def read_year(cursor: Cursor) -> int:
    """Years since 1900 in a byte; 0 is the year 0000."""
    since_1900 = cursor.unsigned(1)
    return since_1900 + 1900 if since_1900 else 0
