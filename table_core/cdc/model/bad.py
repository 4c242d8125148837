"""Events that cannot be used: the first is an error, or all of a batch are told at once.

A hostile event may be anything, so what Python raises at it is told as an error with its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from table_core.cdc.model.envelope import bad_line
from table_core.errors import DataError, EventError
from table_core.validation_errors import UNFORESEEN as OF_PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.cdc.model.record import Place

    BadEvent: TypeAlias = EventError | DataError

__all__ = ["UNFORESEEN", "BadEvents", "refuse", "unusable"]

UNFORESEEN: Final = (*OF_PYTHON, pa.ArrowException)
"""What a value of another shape than it should have makes Python or Arrow raise."""


class BadEvents(Exception):  # noqa: N818 - several errors, told at once
    """Several events of a batch, by number."""

    def __init__(self, errors: Mapping[int, BadEvent]) -> None:
        super().__init__(f"{len(errors)} events")
        self.errors = errors


def refuse(errors: Iterable[BadEvent], *, together: bool) -> None:
    """Raise what is wrong with events, if anything is: all of it ``together``, or the first."""
    first_errors: dict[int, BadEvent] = {}
    for error in errors:
        number = error.facts.get("row")
        if not isinstance(number, int):
            raise error
        first_errors.setdefault(number, error)
    if not first_errors:
        return
    if together:
        raise BadEvents(first_errors)
    raise first_errors[min(first_errors)]


def unusable(place: Place, error: BaseException) -> EventError:
    """The error for an event at which Python raised ``error``."""
    if isinstance(error, EventError):
        return error
    if isinstance(error, RecursionError):
        return bad_line(place, "it is nested too deep")
    return bad_line(place, f"it is none that can be read: {type(error).__name__}: {error}"[:400])
