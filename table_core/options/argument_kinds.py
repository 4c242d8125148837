"""Arguments of the wrong kind, which Python would take until something deep inside cannot."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from table_core.errors import ArgumentError

__all__ = ["require_mapping", "require_name", "require_whole"]


def require_mapping(argument: str, value: Any, example: str) -> None:
    """Refuse what is no mapping; None is left to who takes it.

    Raises:
        ArgumentError: shows ``example``.
    """
    if value is not None and not isinstance(value, Mapping):
        raise ArgumentError(
            f"{argument} is a mapping such as {example}, not {value!r:.100}",
            argument=argument,
            value=repr(value)[:100],
        )


def require_name(argument: str, value: object, example: str) -> None:
    """Refuse what is no text.

    Raises:
        ArgumentError: shows ``example``.
    """
    if not isinstance(value, str):
        raise ArgumentError(
            f"{argument} is a name such as {example!r}, not {value!r:.100}",
            argument=argument,
            value=repr(value)[:100],
        )


def require_whole(argument: str, value: object) -> None:
    """Refuse what is no whole number; None is left to who takes it.

    Raises:
        ArgumentError: it is a text, a fraction or a truth value.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise ArgumentError(
            f"{argument} is a whole number such as 5, not {value!r:.100}",
            argument=argument,
            value=repr(value)[:100],
        )
