"""Durations, sizes, booleans and lists exactly as Java reads them.

Source: ``org.apache.paimon.utils.TimeUtils``, ``org.apache.paimon.options.MemorySize``.  Every
function raises ``ValueError`` on text it does not accept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.datatypes.temporal_text import parse_timestamp
from table_core.options.nearest import meant

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Choice",
    "boolean",
    "choice",
    "column_list",
    "duration_ms",
    "folder",
    "integer",
    "level_map",
    "long_integer",
    "number",
    "size_bytes",
    "text",
    "time_ms",
]

_NANOS: Final = {
    **dict.fromkeys(("d", "day", "days"), 86_400 * 10**9),
    **dict.fromkeys(("h", "hour", "hours"), 3_600 * 10**9),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60 * 10**9),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 10**9),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 10**6),
    **dict.fromkeys(("µs", "us", "micro", "micros", "microsecond", "microseconds"), 10**3),
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
}
_BYTES: Final = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}
_INTEGER: Final = re.compile(r"\s*[+-]?\d+\s*")
_TYPE_OF_NUMBER: Final = re.compile(r"(?<=[\d.])[fFdD](?=\s*$)")
_AMOUNT: Final = re.compile(r"(\d+)\s*([^\d\s]*)")


def text(value: str) -> str:
    """Any text."""
    return value


def folder(value: str) -> str:
    """A folder below the table, ``a/b``."""
    parts = value.strip("/").split("/")
    if not {"", ".", ".."}.isdisjoint(parts) or not value.isprintable() or "\\" in value:
        raise ValueError("expected a folder below the table, such as 'data' or 'a/b'")
    return value


def time_ms(value: str) -> int:
    """A point in time as epoch milliseconds: such a number, or a text, which is UTC unless it has a zone."""
    if _INTEGER.fullmatch(value):
        return int(value)
    return parse_timestamp(value) // 1_000_000


def integer(value: str) -> int:
    """A whole number."""
    if not _INTEGER.fullmatch(value):
        raise ValueError("expected a whole number")
    return int(value)


def long_integer(value: str) -> int:
    """A whole number of 64 bits."""
    return integer(value)


def number(value: str) -> float:
    """A number; Java lets it end with the ``f`` or ``d`` of its type."""
    return float(_TYPE_OF_NUMBER.sub("", value))


def boolean(value: str) -> bool:
    """``true`` or ``false`` in any case, and nothing else."""
    lowered = value.strip().lower()
    if lowered not in {"true", "false"}:
        raise ValueError("expected true or false")
    return lowered == "true"


def duration_ms(value: str) -> int:
    """``"1 h"``, ``"30min"``, ``"250"`` (milliseconds) ..., as milliseconds."""
    return _amount(value, _NANOS, "a duration such as '1 h', '30 min' or '500 ms'") // 10**6


def size_bytes(value: str) -> int:
    """``"128 mb"``, ``"1024"`` (bytes) ..., as bytes; units are powers of 1024."""
    return _amount(value, _BYTES, "a size such as '128 mb' or '1 gb'")


def _amount(value: str, units: dict[str, int], expected: str) -> int:
    match = _AMOUNT.fullmatch(value.strip())
    unit = units.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise ValueError(f"expected {expected}")
    return int(match[1]) * unit


@dataclass(frozen=True, slots=True)
class Choice:
    """A parser of one of ``allowed``, in any case; ``_`` and ``-`` are the same."""

    allowed: tuple[str, ...]
    spelled: Mapping[str, str] = field(default_factory=dict, hash=False)
    """How Apache Paimon writes those that it writes otherwise."""

    def __call__(self, value: str) -> str:
        """The word that ``value`` means."""
        word = value.strip().lower().replace("_", "-")
        if word not in self.allowed:
            raise ValueError(
                f"expected one of {', '.join(self.written)}{meant(value, self.written)}"
            )
        return word

    @property
    def written(self) -> tuple[str, ...]:
        """The words as Apache Paimon writes them; it takes them in any case."""
        return tuple(self.spelled.get(word, word) for word in self.allowed)


def choice(*allowed: str) -> Choice:
    """A parser of one of ``allowed``, in any case; ``_`` and ``-`` are the same."""
    return Choice(allowed)


def column_list(value: str) -> tuple[str, ...]:
    """Comma-separated names."""
    return tuple(name.strip() for name in value.split(",") if name.strip())


def level_map(value: str) -> dict[int, str]:
    """``"0:avro,5:parquet"`` as level to value."""
    levels: dict[int, str] = {}
    for item in column_list(value):
        level, colon, text = item.partition(":")
        if not colon:
            raise ValueError("expected level:value pairs such as '0:avro,5:parquet'")
        levels[integer(level)] = text.strip()
    return levels
