"""Java ``DateTimeFormatter`` patterns, as far as partition values need them.

Letters: ``y u`` (2 or 4 of them), ``M d H m s`` (1 or 2), ``S`` (1 to 9), text in quotes, ``[ ]`` for
optional parts, any other character as itself.  Another letter is refused by name.

Source: ``java.time.format.DateTimeFormatterBuilder.appendPattern``, resolver style SMART.
"""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from table_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["lenient_time", "parser_of"]

_FIELDS: Final = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour"}
_FIELDS_BELOW: Final = {"m": "minute", "s": "second", "S": "fraction"}
_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_DEFAULT: Final = re.compile(
    r"(?P<year>-?\d{1,10})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?: (?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2})(?:\.(?P<fraction>\d{0,9}))?)?"
)


@functools.cache
def parser_of(pattern: str) -> Callable[[str], datetime | None]:
    """A parser for ``pattern``: text to wall-clock time (encoded as UTC), None if it does not match.

    A pattern without hours means midnight.

    Raises:
        UnsupportedFeatureError: a letter outside the subset.
    """
    expression = re.compile(_expression(pattern))

    def parse(text: str) -> datetime | None:
        match = expression.fullmatch(text)
        return None if match is None else _smart(match.groupdict())

    return parse


def lenient_time(text: str) -> datetime | None:
    """Paimon's default: ``yyyy-M-d[ H:m:s[.f]]``, where month 13 is January of the next year."""
    match = _DEFAULT.fullmatch(text)
    if match is None:
        return None
    part = {
        name: int(value or 0) for name, value in match.groupdict().items() if name != "fraction"
    }
    months = part["year"] * 12 + part["month"] - 1
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
    """The regular expression of a pattern; a field that occurs twice must agree with itself."""
    out: list[str] = []
    seen: set[str] = set()
    tokens = list(_TOKEN.finditer(pattern))
    for at, token in enumerate(tokens):
        text = token[0]
        letter = token[2]
        if letter is None:
            out.append(_literal(token))
            continue
        name = _FIELDS.get(letter) or _FIELDS_BELOW.get(letter)
        follows = at + 1 < len(tokens) and tokens[at + 1][2] is not None
        digits = _digits(letter, len(text), follows) if name else None
        if name is None or digits is None:
            raise UnsupportedFeatureError(
                f"partition.timestamp-formatter {pattern!r}: {text!r} is not supported; "
                "there are yyyy yy MM M dd d HH H mm m ss s S, quoted text and [ ]",
                feature=f"date pattern letter {text}",
            )
        out.append(f"(?P={name})" if name in seen else f"(?P<{name}>{digits})")
        seen.add(name)
    return "".join(out)


def _literal(token: re.Match[str]) -> str:
    if token[1] is not None:
        return re.escape(token[1].replace("''", "'") or "'")
    if token[3] == "[":
        return "(?:"
    return ")?" if token[3] == "]" else re.escape(token[3])


def _digits(letter: str, count: int, follows: bool) -> str | None:
    """How many digits a field takes; one letter takes as many as there are, but no more than 2."""
    if letter == "S":
        return rf"\d{{{count}}}" if count <= 9 else None
    if letter in "yu":
        return rf"\d{{{count}}}" if count in {2, 4} else None
    if count == 2:
        return r"\d{2}"
    if count == 1:
        return r"\d{1,2}?" if follows else r"\d{1,2}"
    return None


def _smart(found: dict[str, str | None]) -> datetime | None:
    """A time from its parts, as resolver style SMART does: the 31st of a short month is its last day."""
    text = {name: value for name, value in found.items() if value is not None}
    if not {"year", "month", "day"} <= text.keys():
        return None
    if not _has_prefix(text):
        return None
    year = int(text["year"]) + (2000 if len(text["year"]) == 2 else 0)
    month, day = int(text["month"]), int(text["day"])
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    following = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    last = (following - timedelta(days=1)).day
    try:
        return datetime(
            year,
            month,
            min(day, last),
            int(text.get("hour", 0)),
            int(text.get("minute", 0)),
            int(text.get("second", 0)),
            _microseconds(text.get("fraction")),
            tzinfo=UTC,
        )
    except ValueError:
        return None


def _has_prefix(text: dict[str, str]) -> bool:
    """Whether hour, minute, second, fraction are there up to some point: minutes alone are no time."""
    present = [name in text for name in ("hour", "minute", "second", "fraction")]
    return present == sorted(present, reverse=True)


def _microseconds(fraction: str | None) -> int:
    return int((fraction or "").ljust(6, "0")[:6])
