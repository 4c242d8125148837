"""How long a request to an object store may take, with all that is tried again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Self

from table_core.errors import OptionError
from table_core.options import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Retries"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Bounds of one request."""

    attempts: int = 5
    connect_seconds: float = 5.0
    """To be connected."""
    read_seconds: float = 15.0
    """Between two pieces of an answer."""
    total_seconds: float = 120.0
    """Of all attempts and the pauses between them."""
    max_pause_seconds: float = 10.0

    @classmethod
    def of(cls, storage_options: Mapping[str, Any]) -> tuple[Self, dict[str, Any]]:
        """The bounds that ``storage_options`` set, and the options that are not about them.

        Raises:
            OptionError: one does not parse, or is less than one.
        """
        rest = dict(storage_options)
        number = {
            name: _read(key, rest.pop(key), parse_text)
            for name, (key, parse_text) in _OPTIONS.items()
            if key in rest
        }
        return cls(**number), rest

    def pause_seconds(self, attempt: int, chance: float) -> float:
        """Before the attempt after ``attempt``: twice that of the one before, shortened by ``chance``."""
        longest: float = min(_FIRST_PAUSE * 2 ** (attempt - 1), self.max_pause_seconds)
        return longest * (0.5 + chance / 2)


_FIRST_PAUSE: Final = 0.2


def _seconds(text: str) -> float:
    return parse.duration_ms(text) / 1000


_OPTIONS: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "attempts": ("request.attempts", parse.integer),
    "connect_seconds": ("request.connect-timeout", _seconds),
    "read_seconds": ("request.read-timeout", _seconds),
    "total_seconds": ("request.total-timeout", _seconds),
    "max_pause_seconds": ("request.max-pause", _seconds),
}
assert _OPTIONS.keys() == {field.name for field in fields(Retries)}


def _read(key: str, value: object, parse_text: Callable[[str], Any]) -> Any:
    try:
        number = parse_text(str(value))
        if not number > 0:
            raise ValueError("must be more than 0")
    except ValueError as error:
        raise OptionError(
            f"storage option {key!r} cannot be {value!r}: {error}", option=key, value=str(value)
        ) from error
    return number
