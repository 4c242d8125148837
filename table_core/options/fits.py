"""What a value must be beside its type: a range, one of a few words, a pattern, a name.

Each is a function of the parsed value that raises ``ValueError``.  Words are those of Apache Paimon.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.date_parser import parser_of
from table_core.datatypes.date_pattern import date_parts
from table_core.datatypes.temporal_text import parse_timestamp
from table_core.datatypes.time_zone import java_zone
from table_core.errors import UnsupportedFeatureError
from table_core.options import codecs, parse
from table_core.options.nearest import meant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Check = Callable[[Any], object]

__all__ = [
    "FORMATS",
    "STATS_MODE",
    "ZSTD_LEVEL",
    "at_least",
    "between",
    "codec",
    "codec_of",
    "date_pattern",
    "file_format",
    "level_values",
    "members",
    "name",
    "name_part",
    "newest_partitions",
    "one_of",
    "partitions",
    "positive_or",
    "ratio",
    "stats_mode",
    "timestamp",
    "two_ends",
    "two_times",
    "zone",
]

FORMATS: Final = ("parquet", "orc", "avro", "csv", "text", "json", "lance", "blob", "row")
"""What Apache Paimon calls formats of files; which of them are written here is asked elsewhere."""
STATS_MODE: Final = re.compile(r"(none|counts|full)|truncate\(([1-9]\d{0,8})\)")
"""What ``metadata.stats-mode`` and its kin may say."""
_JAVA_LETTERS: Final = frozenset("GuyDMLdQqYwWEecFaBhKkHmsSAnNVvzOXxZp")
_DATE: Final = (frozenset("yMd"), frozenset("yD"))


def at_least(least: int) -> Check:
    """A number that is not below ``least``."""

    def check(value: float) -> None:
        if not value >= least:
            raise ValueError(f"it must be at least {least}")

    return check


def between(least: float, most: float) -> Check:
    """A number from ``least`` to ``most``, both included."""

    def check(value: float) -> None:
        if not least <= value <= most:
            raise ValueError(f"it must be from {least} to {most}")

    return check


def positive_or(*others: int) -> Check:
    """A number above 0, or one of ``others``, which mean something of their own."""

    def check(value: int) -> None:
        if value < 1 and value not in others:
            raise ValueError(f"it must be at least 1, or {' or '.join(map(str, others))}")

    return check


def ratio(value: float) -> None:
    """A part of a whole that is neither nothing nor all."""
    if not (math.isfinite(value) and 0 < value < 1):
        raise ValueError("it must be between 0 and 1")


ZSTD_LEVEL: Final = between(1, 22)


def one_of(*known: str, folded: bool = True) -> Check:
    """One of ``known``, in any case where it is ``folded``."""

    def check(value: str) -> None:
        if (value.lower() if folded else value) not in known:
            raise ValueError(f"expected one of {', '.join(known)}{meant(value, known)}")

    return check


def members(check: Check) -> Check:
    """``check`` holds for each member of a comma list, and there is one."""

    def every(value: str) -> None:
        for item in value.split(","):
            check(item.strip())

    return every


def level_values(check: Check) -> Check:
    """``check`` holds for what each level of a map has; levels are not negative."""

    def every(value: Mapping[int, str]) -> None:
        for level, setting in value.items():
            if level < 0:
                raise ValueError(f"there is no level {level}")
            check(setting)

    return every


file_format: Final = one_of(*FORMATS)
codec: Final = one_of(*sorted({name for known in codecs.CODECS.values() for name in known}))


def codec_of(format: str) -> Check:
    """A codec of files of ``format``."""
    return one_of(*codecs.CODECS[format])


def stats_mode(value: str) -> None:
    """How much statistics tell."""
    if STATS_MODE.fullmatch(value.strip().lower()) is None:
        known = ("none", "counts", "full", "truncate(16)")
        raise ValueError(f"expected none, counts, truncate(n) or full{meant(value, known)}")


def date_pattern(value: str) -> None:
    """A ``DateTimeFormatter`` pattern that says a date."""
    letters = [part.letters for part in date_parts(value) if part.letters]
    if unknown := sorted({run[0] for run in letters} - _JAVA_LETTERS):
        raise ValueError(
            f"a pattern of dates has no letter {', '.join(unknown)}; write text in quotes, as in "
            "yyyy-MM-dd'T'HH"
        )
    fields = {{"u": "y", "L": "M"}.get(run[0], run[0]) for run in letters}
    if not any(needed <= fields for needed in _DATE):
        raise ValueError("it says no date: give year, month and day, as in yyyy-MM-dd")
    try:
        parser_of(value)
    except UnsupportedFeatureError as error:
        raise ValueError(f"no partition could be dated by it: {error}") from error


def timestamp(value: str) -> None:
    """A point in time, as text."""
    parse_timestamp(value)


def zone(value: str) -> None:
    """A time zone by its name or its distance from UTC."""
    java_zone(value)


def newest_partitions(value: str) -> int | None:
    """How many of the newest partitions a text means; None: it names some by their values."""
    return {"max_pt()": 1, "max_two_pt()": 2}.get(value.strip().lower())


def partitions(value: str) -> list[dict[str, str]]:
    """Partitions by their values, ``dt=2026-01-01,hh=5;dt=2026-01-02``; none where the newest are meant."""
    if newest_partitions(value) is not None:
        return []
    named: list[dict[str, str]] = []
    for part in value.split(";"):
        pairs = [[side.strip() for side in pair.split("=", 1)] for pair in part.split(",")]
        if not all(len(pair) == 2 and all(pair) for pair in pairs):
            raise ValueError(
                "expected partitions such as dt=2026-01-01,hh=5;dt=2026-01-02, or max_pt() or max_two_pt(), "
                f"found {part.strip()!r}"
            )
        named.append(dict(pairs))
    return named


def name(value: str) -> None:
    """The name of something: a tag, a branch, a consumer, an owner."""
    if not value.strip() or not value.isprintable():
        raise ValueError("expected a name: it is empty, or has characters that cannot be printed")


def name_part(value: str) -> None:
    """What names of files begin with."""
    name(value)
    if "/" in value or "\\" in value or value.strip() != value:
        raise ValueError("expected the beginning of a file's name, without a folder")


def two_ends(value: str) -> tuple[str, str]:
    """``after,to``."""
    ends = [end.strip() for end in value.split(",")]
    if len(ends) != 2 or not all(ends):
        raise ValueError("expected two ends such as '3,7'")
    return ends[0], ends[1]


def two_times(value: str) -> None:
    """``after,to``: numbers or texts, as ``parse.time_ms`` takes them."""
    first, last = two_ends(value)
    if parse.time_ms(first) > parse.time_ms(last):
        raise ValueError(f"{first} comes after {last}")
