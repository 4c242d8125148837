"""Values that SQL names as ``$name`` and gets beside its text: bound, never pasted into it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from table_core.errors import ArgumentError

__all__ = ["checked_parameters", "named"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def checked_parameters(parameters: object) -> dict[str, Any]:
    """The parameters of a job: names to texts, numbers, truth values or None.

    Raises:
        ArgumentError: a name is none, or a value is of another type.
    """
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise ArgumentError(
            f"parameters={parameters!r}: expected a mapping of names to values",
            argument="parameters",
        )
    for name, value in parameters.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArgumentError(
                f"parameters: {name!r} is no name: letters, digits and _", argument="parameters"
            )
        if value is not None and not isinstance(value, str | int | float | bool):
            raise ArgumentError(
                f"parameters: {name}={value!r} is no text, number, true, false or null",
                argument="parameters",
            )
    return dict(parameters)


def named(parameters: Mapping[str, Any] | None, names: set[str]) -> dict[str, Any]:
    """Those of ``parameters`` that a statement names.

    Raises:
        ArgumentError: the statement names one that is not given, or has none but a place (``?``, ``$1``).
    """
    have = checked_parameters(parameters)
    missing = sorted(names - set(have))
    if missing:
        raise ArgumentError(
            f"SQL names {', '.join(f'${name}' for name in missing)}, which is not in parameters; "
            f"there are {', '.join(sorted(have)) or 'none'}",
            argument="parameters",
            value=missing,
        )
    return {name: have[name] for name in names}
