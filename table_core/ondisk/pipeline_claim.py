"""Who runs a pipeline now: a document in each table that its flows write, made anew at each heartbeat."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final

from table_core.options.stored_json import json_document
from table_core.validation_errors import stored

__all__ = ["FOLDER", "PipelineClaim", "claim_path"]

FOLDER: Final = "pipeline"
"""Of ours, in the folder of a table; others leave it alone."""


def claim_path(number: int) -> str:
    """The claim of that number; the newest one holds.

    >>> claim_path(3)
    'pipeline/claim-3'
    """
    return f"{FOLDER}/claim-{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineClaim:
    """That somebody runs a pipeline."""

    pipeline: str
    token: str
    """Tells this run from all others."""
    machine: str
    process: int
    beats: int = 0
    """How often it was heard of.  Whoever waits counts by its own clock how long that stays."""
    ended: bool = False

    def to_json(self) -> bytes:
        """The document."""
        document = {
            "pipeline": self.pipeline,
            "token": self.token,
            "machine": self.machine,
            "process": self.process,
            "beats": self.beats,
            "ended": self.ended,
        }
        return json.dumps(document).encode()

    @classmethod
    def from_json(cls, body: bytes, *, path: str) -> PipelineClaim:
        """Read what ``to_json`` made.

        Raises:
            CorruptFileError: it is none.
        """
        with stored("claim of a pipeline", path):
            document = json_document(body, path=path)
            return cls(
                pipeline=str(document["pipeline"]),
                token=str(document["token"]),
                machine=str(document["machine"]),
                process=int(document["process"]),
                beats=int(document["beats"]),
                ended=bool(document["ended"]),
            )

    def beat(self, *, ended: bool = False) -> PipelineClaim:
        """The same, heard of once more."""
        return replace(self, beats=self.beats + 1, ended=ended)
