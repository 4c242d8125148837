"""Durations, sizes, booleans and lists exactly as Java reads them.

Source: ``org.apache.paimon.utils.TimeUtils``, ``org.apache.paimon.options.MemorySize``.  Every
function raises ``ValueError`` on text it does not accept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "boolean",
    "choice",
    "column_list",
    "duration_ms",
    "folder",
    "integer",
    "level_map",
    "number",
    "size_bytes",
    "text",
]

_MS: Final = {
    **dict.fromkeys(("d", "day", "days"), 86_400_000.0),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000.0),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1000.0),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1.0),
    **dict.fromkeys(("µs", "us", "micro", "micros", "microsecond", "microseconds"), 1e-3),
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1e-6),
}
_BYTES: Final = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}
_INTEGER: Final = re.compile(r"\s*[+-]?\d+\s*")
_AMOUNT: Final = re.compile(r"^\s*(\d+)\s*([^\d\s]*)\s*$")


def text(value: str) -> str:
    """Any text."""
    return value


def folder(value: str) -> str:
    """A folder below the table, ``a/b``."""
    parts = value.strip("/").split("/")
    if not {"", ".", ".."}.isdisjoint(parts) or not value.isprintable() or "\\" in value:
        raise ValueError("expected a folder below the table, such as 'data' or 'a/b'")
    return value


def integer(value: str) -> int:
    """A whole number."""
    if not _INTEGER.fullmatch(value):
        raise ValueError("expected a whole number")
    return int(value)


def number(value: str) -> float:
    """A number."""
    return float(value)


def boolean(value: str) -> bool:
    """``true`` or ``false`` in any case, and nothing else."""
    lowered = value.strip().lower()
    if lowered not in {"true", "false"}:
        raise ValueError("expected true or false")
    return lowered == "true"


def duration_ms(value: str) -> int:
    """``"1 h"``, ``"30min"``, ``"250"`` (milliseconds) ..., as milliseconds."""
    return int(_amount(value, _MS, "a duration such as '1 h', '30 min' or '500 ms'"))


def size_bytes(value: str) -> int:
    """``"128 mb"``, ``"1024"`` (bytes) ..., as bytes; units are powers of 1024."""
    return int(_amount(value, _BYTES, "a size such as '128 mb' or '1 gb'"))


def _amount(value: str, units: dict[str, float] | dict[str, int], expected: str) -> float:
    match = _AMOUNT.match(value)
    unit = units.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise ValueError(f"expected {expected}")
    return int(match[1]) * unit


def choice(*allowed: str) -> Callable[[str], str]:
    """A parser of one of ``allowed``, in any case; ``_`` and ``-`` are the same."""

    def parse(value: str) -> str:
        found = value.strip().lower().replace("_", "-")
        if found not in allowed:
            raise ValueError(f"expected one of {', '.join(allowed)}")
        return found

    return parse


def column_list(value: str) -> tuple[str, ...]:
    """Comma-separated names."""
    return tuple(name.strip() for name in value.split(",") if name.strip())


def level_map(value: str) -> dict[int, str]:
    """``"0:avro,5:parquet"`` as level to value."""
    found: dict[int, str] = {}
    for item in column_list(value):
        level, colon, what = item.partition(":")
        if not colon:
            raise ValueError("expected level:value pairs such as '0:avro,5:parquet'")
        found[integer(level)] = what.strip()
    return found
