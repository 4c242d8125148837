"""A point in time, and a length of time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import ArgumentError
from table_core.shapes.lengths import LONG_UNITS, length_of_time
from table_core.shapes.problem import Problem, value_of
from table_core.shapes.shape import Shape, unexpected
from table_core.table.metadata.timestamps import epoch_ms, length_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.shapes.shape import Defs

__all__ = ["Length", "Moment"]

_LENGTH_MAX_MS: Final = 100_000 * 86_400_000
_LAST_MS: Final = 253_402_300_800_000
"""The year 10,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment(Shape):
    """ISO 8601 with a zone, an aware datetime, or milliseconds since 1970.  Plain: those milliseconds."""

    @property
    def in_words(self) -> str:
        """With an example, as most get the zone wrong."""
        return "a point in time with its zone, e.g. 2026-01-01T00:00:00Z"

    def problems(self, value: Any) -> Iterator[Problem]:
        """A point in time since 1970."""
        point = value_of(value)
        is_one = isinstance(point, int | datetime) or (
            isinstance(point, str) and point.isprintable()
        )
        if isinstance(point, bool) or not is_one:
            yield Problem(message=unexpected(value, self.in_words).message)
            return
        try:
            millis = epoch_ms("", point)
        except ArgumentError as error:
            wrong = unexpected(value, self.in_words).message
            reason = re.search("has no time zone|looks like .*", str(error))
            yield Problem(message=f"{wrong}: it {reason[0]}" if reason else wrong)
            return
        if not 0 <= millis < _LAST_MS:
            yield Problem(message=f"expected {self.in_words}, found one before 1970 or after 9999")

    def plain(self, value: Any) -> int:
        """Milliseconds since 1970, UTC."""
        return epoch_ms("", value_of(value))

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        text = (
            r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?"
            r"(Z|[+-][0-9]{2}:?[0-9]{2})|[0-9]+"
        )
        return {
            "anyOf": [
                {"type": "string", "pattern": f"^(?:{text})$"},
                {"type": "integer", "minimum": 0},
            ]
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Length(Shape):
    """Text with a number and its unit, as options have it."""

    @property
    def in_words(self) -> str:
        """With an example, as many leave the unit out."""
        return "a length of time with its unit, e.g. 7 d"

    def problems(self, value: Any) -> Iterator[Problem]:
        """A length of at most some hundreds of years."""
        if not isinstance(value, str) or not value.isprintable():
            yield Problem(message=unexpected(value, self.in_words).message)
            return
        try:
            millis = length_ms("", value)
        except ArgumentError:
            yield Problem(message=unexpected(value, self.in_words).message)
            return
        if millis > _LENGTH_MAX_MS:
            yield Problem(message=f"expected {self.in_words}, found one of centuries")

    def _schema(self, defs: Defs) -> dict[str, Any]:  # noqa: ARG002 - it has no parts
        return {"type": "string", "pattern": f"^(?:{length_of_time(*LONG_UNITS)})$"}
