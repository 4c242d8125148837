"""Members of documents that anybody may have written: they are what they should be, or an error."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["checked", "is_whole"]

T = TypeVar("T")
_LONG: Final = range(-(1 << 63), 1 << 63)


def is_whole(value: object) -> bool:
    """Whether ``value`` is a whole number of 64 bits."""
    return type(value) is int and value in _LONG


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "int": is_whole,
    "str": lambda value: isinstance(value, str),
    "tuple[int, int]": lambda pair: len(pair) == 2 and all(map(is_whole, pair)),
    "Mapping[str, str]": lambda value: (
        isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
    ),
    "Mapping[str, Any]": lambda value: isinstance(value, dict),
    "Mapping[str, list[int]]": lambda value: (
        isinstance(value, dict)
        and all(isinstance(one, list) and all(map(is_whole, one)) for one in value.values())
    ),
    "Mapping[str, list[Any] | None]": lambda value: (
        isinstance(value, dict) and all(isinstance(one, list | None) for one in value.values())
    ),
}
"""By how a class declares the member."""


def checked(instance: T) -> T:
    """``instance``, a dataclass, if each member is of the type that it is declared with.

    Raises:
        ValueError: one is not.
    """
    for member in fields(instance):  # type: ignore[arg-type]  # T is any dataclass
        fits, value = _FITS.get(str(member.type)), getattr(instance, member.name)
        if fits is not None and not fits(value):
            raise ValueError(f"{member.name} of {type(instance).__name__} is {value!r:.80}")
    return instance
