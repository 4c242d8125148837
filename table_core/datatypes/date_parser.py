"""Java ``DateTimeFormatter`` patterns, as far as partition values need them.

Letters: ``y u`` (1 to 4 of them), ``M L d H m s`` (1 or 2), ``D`` (1 to 3), ``S`` (1 to 9), text in quotes,
``[ ]`` for optional parts, any other character as itself.  Another letter is refused by name.

Of digits that stand together a field without a fixed width takes all but those that fields of fixed
width after it need, and never fewer: ``yyyyM`` reads no ``20241``.

>>> str(parser_of("yyyyMMdd[HH]")("2026010207"))
'2026-01-02 07:00:00+00:00'
>>> str(lenient_time("2026-13-1"))
'2027-01-01 00:00:00+00:00'

Source: ``java.time.format.DateTimeFormatterBuilder.appendPattern``, resolver style SMART.
"""

from __future__ import annotations

import functools
import re
from calendar import isleap, monthrange
from collections import Counter
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from table_core.datatypes.date_pattern import date_parts
from table_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.datatypes.date_pattern import DatePart

__all__ = ["lenient_time", "parser_of"]

_FIELDS: Final = {"y": "year", "u": "year", "M": "month", "L": "month", "d": "day", "H": "hour"}
_FIELDS_BELOW: Final = {"m": "minute", "s": "second", "S": "fraction", "D": "day_of_year"}
_WIDEST: Final = 19
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_END_OF_DAY: Final = 24
_MARKS: Final = {"[": "(?:", "]": ")?"}
_DEFAULT: Final = re.compile(
    r"(?P<year>-?\d{1,10})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?: (?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,9}))?)?",
    re.ASCII,
)


@functools.cache
def parser_of(pattern: str) -> Callable[[str], datetime | None]:
    """A parser for ``pattern``: text to wall-clock time (encoded as UTC), None if it does not match.

    A pattern without hours means midnight.

    Raises:
        UnsupportedFeatureError: a letter outside the subset.
    """
    expression = re.compile(_expression(pattern), re.ASCII)

    def parse(text: str) -> datetime | None:
        match = expression.fullmatch(text)
        fields = None if match is None else _agreed(match.groupdict())
        return None if fields is None else _smart(fields)

    return parse


def _agreed(groups: dict[str, str | None]) -> dict[str, str] | None:
    """Field to its digits, from what each place of a field took; None if two places say different numbers.

    ``[yyyy-MM-dd][yyyyMMdd]`` has two places for each field, and one of them is empty.
    """
    fields: dict[str, str] = {}
    for place, digits in groups.items():
        name = place.rpartition("_")[0]
        if digits is not None and int(fields.setdefault(name, digits)) != int(digits):
            return None
    return fields


def lenient_time(text: str) -> datetime | None:
    """Paimon's default: ``yyyy-M-d[ H:m:s[.f]]``, where month 13 is January of the next year."""
    match = _DEFAULT.fullmatch(text)
    if match is None:
        return None
    part = {
        name: int(value or 0) for name, value in match.groupdict().items() if name != "fraction"
    }
    months = part["year"] * 12 + part["month"] - 1
    if not MINYEAR <= months // 12 <= MAXYEAR:  # in order, and that is all that is asked
        return _FIRST if months // 12 < MINYEAR else _LAST
    try:
        first = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
        return first + timedelta(
            days=part["day"] - 1,
            hours=part["hour"],
            minutes=part["minute"],
            seconds=part["second"],
            microseconds=_microseconds(match["fraction"]),
        )
    except (ValueError, OverflowError):
        return None


def _expression(pattern: str) -> str:
    """The regular expression of a pattern, with one group for each place of a field."""
    out: list[str] = []
    seen: Counter[str] = Counter()
    try:
        parts = date_parts(pattern)
    except ValueError as error:
        raise _unsupported(pattern, pattern) from error
    for at, part in enumerate(parts):
        letters = part.letters
        if not letters:
            out.append(_MARKS[part.mark] if part.mark else re.escape(part.text))
            continue
        name = _FIELDS.get(letters[0]) or _FIELDS_BELOW.get(letters[0])
        name = "short_year" if letters in {"yy", "uu"} else name
        widths = _widths(letters) if name else None
        if name is None or widths is None:
            raise _unsupported(pattern, letters)
        digits = rf"\d{{{widths[0]},{widths[1]}}}"
        if widths[0] != widths[1] or letters[0] in "yu":
            after = sum(_fixed(parts[at + 1 :]))
            digits += rf"(?=\d{{{after}}}(?!\d))"
        out.append(f"(?P<{name}_{seen[name]}>{digits})")
        seen[name] += 1
    return "".join(out)


def _unsupported(pattern: str, what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"partition.timestamp-formatter {pattern!r}: {what!r} is not supported; there are "
        "y yy yyyy M MM d dd DDD H HH m mm s ss S, quoted text and [ ]",
        feature=f"date pattern letter {what}",
    )


def _widths(letters: str) -> tuple[int, int] | None:
    """The fewest and the most digits of a field; None: it is text, or there is no such field."""
    letter, count = letters[0], len(letters)
    if letter == "S":
        return (count, count) if count <= 9 else None
    if letter in "yu":
        # More than four digits need a sign, and are no year that we know.
        return {1: (1, _WIDEST), 2: (2, 2), 3: (3, _WIDEST), 4: (4, 4)}.get(count)
    if letter == "D":
        return {1: (1, _WIDEST), 2: (2, 3), 3: (3, 3)}.get(count)
    return {1: (1, _WIDEST), 2: (2, 2)}.get(count)


def _fixed(parts: list[DatePart]) -> Iterator[int]:
    """The widths of the fields of fixed width that begin ``parts``."""
    for part in parts:
        widths = _widths(part.letters) if part.letters else None
        if widths is None or widths[0] != widths[1] or part.letters in {"yyyy", "uuuu"}:
            return
        yield widths[0]


def _smart(text: dict[str, str]) -> datetime | None:
    """A time from its parts, as resolver style SMART does: the 31st of a short month is its last day."""
    if not _has_prefix(text):
        return None
    if "short_year" in text:
        text["year"] = f"20{text['short_year']}"
    try:
        if {"year", "month", "day"} <= text.keys():
            year, month, day = (int(text[name]) for name in ("year", "month", "day"))
            is_date, last = 1 <= day <= 31, monthrange(year, month)[1]
            date = datetime(year, month, min(day, last), tzinfo=UTC)
        elif {"year", "day_of_year"} <= text.keys():
            date = datetime(int(text["year"]), 1, 1, tzinfo=UTC)
            is_date = 1 <= int(text["day_of_year"]) <= 365 + isleap(date.year)
            date += timedelta(days=int(text["day_of_year"]) - 1)
        else:
            return None
        below = [int(text.get(name, 0)) for name in ("minute", "second", "fraction")]
        if int(text.get("hour", 0)) == _END_OF_DAY and not any(below):
            date, text = date + timedelta(days=1), {}
        at = date.replace(
            hour=int(text.get("hour", 0)),
            minute=int(text.get("minute", 0)),
            second=int(text.get("second", 0)),
            microsecond=_microseconds(text.get("fraction")),
        )
    except (ValueError, OverflowError):  # no such time, or no year that Python knows
        return None
    return at if is_date else None


def _has_prefix(text: dict[str, str]) -> bool:
    """Whether hour, minute, second, fraction are there up to some point: minutes alone are no time."""
    present = [name in text for name in ("hour", "minute", "second", "fraction")]
    return present == sorted(present, reverse=True)


def _microseconds(fraction: str | None) -> int:
    return int((fraction or "").ljust(6, "0")[:6])
