"""``_SUCCESS``: says that a partition is complete.

On disk:  ``<table>/<partition>/_SUCCESS``, JSON with the times of the first and the newest mark.
Source:   ``org.apache.paimon.partition.file.SuccessFile``; format 11.5.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from table_core.options.stored_json import json_object
from table_core.validation_errors import ValidationErrors

__all__ = ["SUCCESS_NAME", "SuccessFile"]

SUCCESS_NAME: Final = "_SUCCESS"


@dataclass(frozen=True, slots=True)
class SuccessFile:
    """When a partition was marked done."""

    created_ms: int
    modified_ms: int

    def to_json(self) -> bytes:
        """Encode."""
        return json.dumps(
            {"creationTime": self.created_ms, "modificationTime": self.modified_ms}
        ).encode()

    @classmethod
    def from_json(cls, body: bytes, *, path: str) -> SuccessFile:
        """Decode ``body`` read from ``path``.

        Raises:
            CorruptFileError: not JSON, or a time is missing.
        """
        document = json_object(body, path=path)
        problems = ValidationErrors(path)
        created = problems.need(document, "creationTime", int, 0)
        modified = problems.need(document, "modificationTime", int, 0)
        problems.raise_if_any()
        return cls(created, modified)
