"""Lengths of time as texts: up to some hundreds of years, so that a date can be counted from one."""

from __future__ import annotations

from typing import Final

__all__ = ["LONG_UNITS", "SECONDS_MAX", "UNITS", "length_of_time"]

UNITS: Final = ("ms", "s", "min", "m", "h", "d")
LONG_UNITS: Final = (
    "ms|milli|millis",
    "s|sec|second|seconds",
    "m|min|minute|minutes",
    "h|hour|hours",
    "d|day|days",
)
_DIGITS_MAX: Final = {"ms": 13, "s": 10, "m": 8, "h": 7, "d": 5}
"""Of a number of each unit: 99999 days are 273 years."""
SECONDS_MAX: Final = 10 ** _DIGITS_MAX["s"] - 1
"""Of a length that is given as a number."""


def length_of_time(*units: str, bare: bool = False, fraction: bool = False) -> str:
    """The pattern of a number and one of ``units``, each written in one way or more, ``m|min``.

    ``bare`` takes a number of seconds too, ``fraction`` digits behind a point.
    """
    more = r"(\.[0-9]+)?" if fraction else ""
    parts = [rf"0*[0-9]{{1,{_digits(unit)}}}{more} *({unit})" for unit in units]
    if bare:
        parts.append(rf"0*[0-9]{{1,{_DIGITS_MAX['s']}}}{more}")
    return rf" *({'|'.join(parts)}) *"


def _digits(unit: str) -> int:
    return _DIGITS_MAX["ms" if unit.startswith(("ms", "milli")) else unit[0]]
