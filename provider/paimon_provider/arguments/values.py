"""What one value must be: text, number, point in time, list of names.  Pure; each check names its argument."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from paimon_provider.arguments.timestamps import epoch_ms, seconds_of, snapshot_id
from table_core.errors import ArgumentError
from table_core.options import parse
from table_core.options.nearest import require_one_of
from table_core.options.spark_settings import require_printable

__all__ = [
    "Check",
    "a_moment",
    "anything_of",
    "branch",
    "count",
    "duration",
    "flag",
    "keys",
    "length",
    "moment",
    "name_of_file",
    "names",
    "number",
    "one_of",
    "optional",
    "pattern",
    "position_name",
    "require_table",
    "seconds",
    "snapshot",
    "text",
    "written",
    "wrong",
]

Check: TypeAlias = Callable[[Any, str], object]
"""Takes a value and the name of its argument; raises ``ArgumentError``."""
_LONGS_END: Final = 2**63
"""Snapshots, times and counts are stored in 64 bits."""
_LAST_MS: Final = 253_402_300_800_000
"""The year 10,000."""
_NAME_MAX: Final = 255
"""Bytes that a file system gives a name."""


def wrong(name: str, value: object, expected: str) -> ArgumentError:
    """The error of an argument ``name`` that is no ``expected``."""
    shown = repr(value)
    shown = shown if len(shown) <= _NAME_MAX else f"{shown[:_NAME_MAX]}…"
    return ArgumentError(f"{name}={shown} is no {expected}", argument=name, value=value)


def require_table(value: Any, name: str) -> None:
    """Refuse what is no ``database.table``."""
    parts = value.split(".") if isinstance(value, str) else []
    if len(parts) < 2 or not all(part.strip() for part in parts) or re.search(r"[/\\]", value):
        raise wrong(name, value, "table: write database.table")
    require_printable(value, name)


def written(value: Any, name: str) -> None:
    """Refuse what is no text, or blank; it may have several lines."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise wrong(name, value, "text, or is empty")


def text(value: Any, name: str) -> None:
    """Refuse what is no text of one line, or an empty one."""
    written(value, name)
    require_printable(value, name)


def name_of_file(value: Any, name: str) -> None:
    """Refuse what cannot be the name of a file or folder: a branch, a tag, a database."""
    text(value, name)
    if re.search(r"[/\\]", value) or value in {".", ".."} or len(value.encode()) > _NAME_MAX:
        raise wrong(name, value, f"name: no slash, at most {_NAME_MAX} bytes")


def branch(value: Any, name: str) -> None:
    """Refuse what cannot be the name of a branch; ``main`` is the table itself."""
    from table_core.options.branch_name import require_branch_name

    name_of_file(value, name)
    require_branch_name(value, name)


def position_name(value: Any, name: str) -> None:
    """Refuse what no position can be kept under."""
    from table_core.position.reader import require_position_name

    text(value, name)
    require_position_name(name, value)


def flag(value: Any, name: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise wrong(name, value, "True or False")


def count(least: int) -> Check:
    """A check for whole numbers of at least ``least``; a template gives them as text."""

    def check(value: Any, name: str) -> None:
        digits = isinstance(value, str) and re.fullmatch("[0-9]{1,19}", value)
        number = int(value) if digits else value
        if isinstance(number, bool) or not isinstance(number, int):
            raise wrong(name, value, f"whole number of at least {least}")
        if not least <= number < _LONGS_END:
            raise wrong(name, value, f"whole number of at least {least}, in 64 bits")

    return check


def number(value: Any, name: str) -> None:
    """Refuse what is no number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LONGS_END:
        raise wrong(name, value, "number of at least 0")


def seconds(value: Any, name: str) -> None:
    """Refuse what is no number of seconds above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LONGS_END:
        raise wrong(name, value, "number of seconds above 0")


def duration(value: Any, name: str) -> None:
    """Refuse what is no length of time as options have it, e.g. ``"2 h"``."""
    text = value if isinstance(value, str) else repr(value)
    require_printable(text, name)
    try:
        millis = parse.duration_ms(text)
    except ValueError as error:
        raise wrong(name, value, f"length of time: {error}") from error
    if millis >= _LONGS_END:
        raise wrong(name, value, "length of time that 64 bits can hold")


def length(value: Any, name: str) -> None:
    """Refuse what is no length of time above 0: text with its unit, seconds, or a timedelta."""
    if isinstance(value, bool) or value is None:
        raise wrong(name, value, "length of time such as '2 h'")
    if isinstance(value, str):
        require_printable(value, name)
    if not 0 < seconds_of(value, name) < math.inf:
        raise wrong(name, value, "length of time above 0")


def moment(value: Any, name: str) -> None:
    """Refuse what is no point in time; None and what an empty template renders to are none."""
    if isinstance(value, bool) or not isinstance(value, str | int | datetime | None):
        raise wrong(name, value, "point in time: write ISO 8601 with a zone")
    if isinstance(value, str):
        require_printable(value, name)
    if not 0 <= (epoch_ms(value, name) or 0) < _LAST_MS:
        raise wrong(name, value, "point in time: write ISO 8601 with a zone")


def a_moment(value: Any, name: str) -> None:
    """Refuse what is no point in time, or none."""
    moment(value, name)
    if epoch_ms(value, name) is None:
        raise wrong(name, value, "point in time: write ISO 8601 with a zone")


def snapshot(value: Any, name: str) -> None:
    """Refuse what is no id of a snapshot; None and what an empty template renders to are none."""
    if isinstance(value, bool) or not isinstance(value, int | str | None):
        raise wrong(name, value, "snapshot id")
    if isinstance(value, str) and not re.fullmatch("[0-9]{1,19}|None|", value):
        raise wrong(name, value, "snapshot id")
    if not 0 <= (snapshot_id(value, name) or 0) < _LONGS_END:
        raise wrong(name, value, "snapshot id")


def names(least: int = 0) -> Check:
    """A check for lists of at least ``least`` names, each once."""

    def check(value: Any, name: str) -> None:
        if not isinstance(value, list | tuple) or len(value) < least:
            raise wrong(name, value, "list of names")
        for one in value:
            text(one, name)
        if len(set(value)) < len(value):
            raise wrong(name, value, "list of names, each once")

    return check


def pattern(value: Any, name: str) -> None:
    """Refuse what is no regular expression."""
    try:
        re.compile(value)
    except (re.error, TypeError) as error:
        raise wrong(name, value, f"regular expression: {error}") from error
    if not isinstance(value, str):
        raise wrong(name, value, "regular expression: write it as text")


def one_of(*known: str) -> Check:
    """A check that takes one of ``known``."""
    return lambda value, name: require_one_of(name, value, known)


def anything_of(kind: type | tuple[type, ...], expected: str) -> Check:
    """A check that takes what is of ``kind``."""

    def check(value: Any, name: str) -> None:
        if not isinstance(value, kind):
            raise wrong(name, value, expected)

    return check


def optional(check: Check) -> Check:
    """``check``, and None is taken too."""

    def either(value: Any, name: str) -> None:
        if value is not None:
            check(value, name)

    return either


def keys(value: Any, name: str, known: Mapping[str, Any] | None = None) -> None:
    """Refuse what is no mapping from texts; with ``known``, one with other members."""
    if not isinstance(value, Mapping):
        raise wrong(name, value, "mapping of names to values")
    for key in value:
        text(key, f"{name}: name")
        if known is not None:
            require_one_of(f"{name}: member", key, tuple(known))
