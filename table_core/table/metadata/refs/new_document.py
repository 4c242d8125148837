"""A document under a name that two may want at once: one of them gets it, and the other is told."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from table_core.errors import NotFoundError, OutcomeUnknownError

if TYPE_CHECKING:
    from table_core.ports import Storage

__all__ = ["is_ours"]

_ATTEMPTS: Final = 5


def is_ours(storage: Storage, path: str, body: bytes) -> bool:
    """Write ``path`` if nothing is there; whether what is there now is ``body`` of this call.

    An answer that is lost is looked for: what has the bytes of ``body`` is ours, and what is not there is written again.

    Raises:
        OutcomeUnknownError: no answer came, time after time.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return storage.create(path, body)
        except OutcomeUnknownError:
            with suppress(NotFoundError):
                return storage.read(path) == body
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError(path)
