"""Members of documents that anybody may have written: they are what they should be, or an error."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from table_core.errors import EventError
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["checked", "is_whole", "natural", "written_by"]

T = TypeVar("T")
_LONG: Final = range(-(1 << 63), 1 << 63)


def is_whole(value: object) -> bool:
    """Whether ``value`` is a whole number of 64 bits."""
    return type(value) is int and value in _LONG


def natural(value: object) -> int:
    """``value``, if it is a whole number of 64 bits that is not below 0.

    Raises:
        ValueError: it is not.
    """
    if type(value) is not int or not 0 <= value < _LONG.stop:
        raise ValueError(f"{value!r:.80} counts nothing")
    return value


@contextmanager
def written_by(source: str, text: str) -> Iterator[None]:
    """Read the text of a position that ``source`` should have written, and anybody may have.

    Raises:
        EventError: it is none.
    """
    try:
        yield
    except UNFORESEEN as error:
        raise EventError(
            f"the table's position {text[:80]!r} was not written by {source}; "
            "sync it with the source that wrote it, or drop the table to start again",
            position=text,
        ) from error


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
