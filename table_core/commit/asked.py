"""What was asked for under an identifier: so that a replay is told from another call.

A commit that its caller names stores it, as a property of its snapshot that is not carried forward: the
verb, and a short digest of each argument that was given.  Only what is alike in every attempt belongs
to it: never names of files, counts of rows, or rows themselves.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ASKED_PROPERTY", "asked", "differences"]

ASKED_PROPERTY: Final = "table-core.asked"
_DIGITS: Final = 12
_SPELLED: Final = frozenset(
    {"date", "datetime", "time", "timedelta", "Decimal", "UUID", "DateTime"}
)
"""Values that their text stands for."""


def asked(verb: str, arguments: Mapping[str, Any]) -> str:
    """What is stored for ``verb``; arguments that are None were not given.

    So a later release may give a verb new arguments, and still finds what an earlier one has done.
    """
    present = {name: value for name, value in arguments.items() if value is not None}
    return " ".join([verb, *(f"{name}={_digest(present[name])}" for name in sorted(present))])


def differences(stored: str, wanted: str) -> tuple[str, ...]:
    """In what two calls differ: ``verb`` and names of arguments; nothing if they are the same."""
    (landed, were), (verb, are) = _parts(stored), _parts(wanted)
    if landed != verb:
        return (f"the verb, which was {landed!r} and is {verb!r}",)
    return tuple(
        f"argument {name!r}" for name in sorted({*were, *are}) if were.get(name) != are.get(name)
    )


def _parts(text: str) -> tuple[str, dict[str, str]]:
    verb, *rest = text.split(" ")
    return verb, dict(part.split("=", 1) for part in rest if "=" in part)


def _digest(value: Any) -> str:
    text = json.dumps(_plain(value), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _plain(value: Any) -> Any:
    """``value`` as JSON has it, alike in every process.  Of rows and handles, nothing but the kind."""
    kind = type(value).__name__
    if isinstance(value, Enum):
        return [kind, value.name]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "items"):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(_plain(member), sort_keys=True) for member in value)
    if isinstance(value, bytes):
        return value.hex()
    if is_dataclass(value) and not isinstance(value, type):
        return [
            kind,
            {member.name: _plain(getattr(value, member.name)) for member in fields(value)},
        ]
    return [kind, str(value)] if kind in _SPELLED else [kind]
