"""Values that SQL names as ``$name`` and gets beside its text: bound, never pasted into it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from table_core.errors import ArgumentError

__all__ = ["checked_parameters", "checked_values", "named"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_DIGITS_MAX: Final = 38


def checked_parameters(parameters: object) -> dict[str, Any]:
    """The parameters of a job, which are JSON: names to texts, numbers, truth values or None.

    Raises:
        ArgumentError: a name is none, or a value is of another type.
    """
    checked = _by_name(parameters)
    for name, value in checked.items():
        if value is not None and not isinstance(value, str | int | float | bool):
            raise ArgumentError(
                f"parameters: {name}={value!r} is no text, number, true, false or null",
                argument="parameters",
            )
    return checked


def checked_values(parameters: object) -> dict[str, Any]:
    """The parameters of a statement: those of a job, and dates, times, exact numbers and bytes.

    A value of a class made of one of these, such as that of another library, becomes one of these.

    Raises:
        ArgumentError: a name is none, or a value is of another type or does not fit into it.
    """
    return {name: _plain(name, value) for name, value in _by_name(parameters).items()}


def _by_name(parameters: object) -> dict[str, Any]:
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise ArgumentError(
            f"parameters={parameters!r}: expected a mapping of names to values",
            argument="parameters",
        )
    for name in parameters:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArgumentError(
                f"parameters: {name!r} is no name: letters, digits and _", argument="parameters"
            )
    return dict(parameters)


def _plain(name: str, value: object) -> object:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, dt.datetime):
        if getattr(value, "nanosecond", 0) or value != value:  # pandas has both
            raise _unfit(name, value, "no time in microseconds")
        if value.utcoffset() is not None:
            value = value.astimezone(dt.UTC)
        return dt.datetime.fromisoformat(value.isoformat())
    if isinstance(value, dt.date):
        return dt.date(value.year, value.month, value.day)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, Decimal):
        raise _unfit(name, value, "no text, number, truth value, date, time, bytes or None")
    _, digits, exponent = value.as_tuple()
    if isinstance(exponent, str):
        raise _unfit(name, value, "no finite number")
    if max(len(digits) + exponent, 0) + max(-exponent, 0) > _DIGITS_MAX:
        raise _unfit(name, value, f"a number of more than {_DIGITS_MAX} digits")
    return Decimal(format(value, "f"))  # 1E+3 is 1000


def _unfit(name: str, value: object, what: str) -> ArgumentError:
    return ArgumentError(f"parameters: {name}={value!r} is {what}", argument="parameters")


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
