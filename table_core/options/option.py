"""An option: its key, how its text is read, its default, what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Option"]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Option(Generic[T_co]):
    """One table option.  ``TableOptions.get`` gives its typed value.

    ``parse`` raises ``ValueError`` on text it does not accept; the caller names the option.
    """

    key: str
    parse: Callable[[str], T_co]
    default: T_co
    meaning: str
    aliases: tuple[str, ...] = ()
    """Old names, format 13.1."""
    immutable: bool = False
    """Cannot change once the table has a snapshot, format 2.4."""
    fits: Callable[[Any], object] | None = None
    """Raises ``ValueError`` on a value that parses and that no user can mean.

    It is asked where a user gives the option; what other writers stored is read as they do.
    """
