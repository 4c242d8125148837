"""Kinds of values that a parameter of an action may have.

Each door has one small table by kind: the command line its options, a declaration its shapes, an
operator what makes a value JSON-safe.  So a new parameter is new to no door.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Kind", "fits"]


class Kind(StrEnum):
    """What a value is; as text: how an error and the reference page call it."""

    FLAG = "true or false"
    COUNT = "a whole number of at least 1"
    SNAPSHOT = "the id of a snapshot"
    MOMENT = "a point in time: milliseconds since 1970, or ISO 8601 with a zone"
    LENGTH = "a length of time, e.g. 7 d"
    TEXT = "text"
    CONDITION = "a SQL condition"
    SQL = "a SQL query"
    PATTERN = "a regular expression"
    NAMES = "a list of names"
    PARTITIONS = "a list of partitions, e.g. [{'dt': '2026-01-01'}]"
    VALUES = "names to values"
    NUMBERS = "names to numbers"
    RECORDS = "a list of mappings"
    NAMES_OR_VALUES = "a list of names, or names to values"
    TEXT_OR_VALUES = "text, or names to values"


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _is_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _is_values(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _is_records(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_values, value))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_FITS: Final[Mapping[Kind, Callable[[object], bool]]] = {
    Kind.FLAG: lambda value: isinstance(value, bool),
    Kind.COUNT: lambda value: _is_number(value, int),
    Kind.SNAPSHOT: lambda value: _is_number(value, int),
    Kind.MOMENT: lambda value: _is_number(value, int, str, datetime),
    Kind.LENGTH: _is_text,
    Kind.TEXT: _is_text,
    Kind.CONDITION: _is_text,
    Kind.SQL: _is_text,
    Kind.PATTERN: _is_text,
    Kind.NAMES: _is_names,
    Kind.PARTITIONS: _is_records,
    Kind.VALUES: _is_values,
    Kind.NUMBERS: lambda value: (
        _is_values(value)
        and isinstance(value, Mapping)
        and all(_is_number(one, int, float) for one in value.values())
    ),
    Kind.RECORDS: _is_records,
    Kind.NAMES_OR_VALUES: lambda value: _is_names(value) or _is_values(value),
    Kind.TEXT_OR_VALUES: lambda value: isinstance(value, str) or _is_values(value),
}
"""Only the form: whether 0 is too few, or a text is a condition, the verb itself says better."""


def fits(kind: Kind, value: object) -> bool:
    """Whether ``value`` has the form of ``kind``."""
    return _FITS[kind](value)
