"""Consumer files: how far a named reader has come.

On disk:  ``<table>/consumer/consumer-<id>``, JSON, overwritten as the reader moves on.  Expiry
          keeps every snapshot from the smallest ``nextSnapshot`` on.
Source:   ``org.apache.paimon.consumer.Consumer``; format 9.3.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.options.stored_json import json_object
from table_core.validation_errors import ValidationErrors

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Consumer"]

_NEXT: Final = "nextSnapshot"


@dataclass(frozen=True, slots=True)
class Consumer:
    """The progress of one reader."""

    next_snapshot: int
    """The first snapshot that it has not taken."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Members that this release does not know."""

    def to_json(self) -> bytes:
        """Encode; members that were kept come last."""
        return json.dumps({_NEXT: self.next_snapshot, **self.extra}, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes, *, path: str) -> Consumer:
        """Decode ``body`` read from ``path``.

        Raises:
            CorruptFileError: not JSON, or without a next snapshot.
        """
        document = json_object(body, path=path)
        problems = ValidationErrors(path)
        following = problems.need(document, _NEXT, int, 0)
        problems.raise_if_any()
        return cls(following, {k: v for k, v in document.items() if k != _NEXT})
