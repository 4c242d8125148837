"""The default of an option as a user would write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.options import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.options.option import Option

__all__ = ["default_text"]

_UNITS: Final[Mapping[Callable[[str], int], tuple[tuple[str, int], ...]]] = {
    parse.duration_ms: (
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("min", 60_000),
        ("s", 1000),
        ("ms", 1),
    ),
    parse.size_bytes: (("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10), ("b", 1)),
}


def default_text(option: Option[Any]) -> str:
    """The default as text, lengths and sizes in their largest whole unit; empty for none."""
    value: Any = option.default
    if value is None or value == () or value == "":
        return ""
    if option.parse in _UNITS:
        return _amount(value, _UNITS[option.parse])
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return str(value)


def _amount(value: int, units: tuple[tuple[str, int], ...]) -> str:
    unit, size = next(pair for pair in units if value % pair[1] == 0)
    return f"{value // size} {unit}"
