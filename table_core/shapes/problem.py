"""What is wrong with a value, and where in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from table_core.shortened import shortened

__all__ = ["Path", "Problem", "UnknownMember", "Written", "abridged", "value_of"]

Path = tuple[str | int, ...]
"""Names of members and numbers of items, from the outside in; ``()`` is the whole value."""
_SHOWN_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class Written:
    """A number or a flag that a file has without quotes: ``07`` is the number 7 and the text 07."""

    value: bool | int | float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong."""

    message: str
    path: Path = ()
    of_name: bool = False
    """It is the name at the end of the path that is wrong, not its value."""
    expected: str = ""
    """What should stand there, if something of another kind does."""

    def under(self, step: str | int) -> Problem:
        """The same, seen from the mapping or list that has the value at ``step``."""
        return replace(self, path=(step, *self.path))

    @property
    def place(self) -> str:
        """The path as Python writes it, e.g. ``['orders']['mode']`` or ``[0]``."""
        return "".join(f"[{step!r}]" for step in self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownMember(Problem):
    """A member that a record does not have."""

    members: Mapping[str, object]
    """Those that it has, each with its shape."""


def value_of(value: Any) -> Any:
    """``value`` without the text that a file has for it."""
    return value.value if isinstance(value, Written) else value


def abridged(value: Any) -> str:
    """``value`` in few characters, for a message."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "nothing"
    text = value.text if isinstance(value, Written) else value
    text = text if isinstance(text, str) else repr(text)
    cut = shortened(text, _SHOWN_MAX)
    return repr(cut) if isinstance(value, str) else cut
