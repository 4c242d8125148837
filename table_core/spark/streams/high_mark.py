"""How far a stream has come in its target, noted beside the snapshots: a rollback does not take it back.

The checkpoint of a query knows nothing about the target.  If snapshots of the target go, the query goes on
behind them, and nobody brings their rows again.  The number of the batch does not show it, because a batch
without rows makes no snapshot: after batch 4, batch 7 may be the next.  The note shows it.

    note {batch 7, before 6}, batch 8 comes, and the table has come to     7    go on
                                                                           4    batches are gone: an error

Worked example: batches 4, 6 and 7 had rows, and the table is rolled back to batch 4.  Batch 8 is refused,
and so is batch 7 if Spark repeats it, because 6 would be missing.  Batch 5 is written: the checkpoint went
back too, and the query brings 6 and 7 itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.errors import NotFoundError, PositionDivergedError
from table_core.ondisk import layout
from table_core.validation_errors import stored

if TYPE_CHECKING:
    from table_core.table.metadata.access import TableAccess

__all__ = ["HighMark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HighMark:
    """The last batch with rows that landed."""

    query_id: str
    """'' where Spark did not tell."""
    batch: int
    before: int | None
    """The batch with rows before it; -1: there was none; None: not known."""

    @classmethod
    def read(cls, access: TableAccess, name: str) -> HighMark | None:
        """The note of the stream ``name``; None: it has written nothing yet, or with an earlier release."""
        path = layout.note_path(layout.STREAM_NOTES, name, access.branch)
        try:
            body = access.storage.read(path)
        except NotFoundError:
            return None
        with stored("note of a stream", path):
            document = json.loads(body)
            before = document["before"]
            return cls(
                query_id=str(document["query"]),
                batch=int(document["batch"]),
                before=None if before is None else int(before),
            )

    def write(self, access: TableAccess, name: str) -> None:
        """Note it, after the commit: a note that is one batch behind hides no loss."""
        document = {"query": self.query_id, "batch": self.batch, "before": self.before}
        access.storage.write(
            layout.note_path(layout.STREAM_NOTES, name, access.branch),
            json.dumps(document).encode(),
        )

    def refuse_gap(self, access: TableAccess, name: str, batch: int, landed: int) -> None:
        """Require that what the table has of the stream leads up to ``batch``.

        Raises:
            PositionDivergedError: the table was rolled back, and the query does not bring those rows again.
        """
        needed = self.before if batch == self.batch else self.batch
        if batch < self.batch or needed is None or landed >= needed:
            return
        ways_out = (
            "to bring them again, start the query with a new checkpoint, and a commit-user of its own",
            "to go on without them, keep the checkpoint, and give the query a commit-user of its own",
        )
        has = f"batch {landed}" if landed >= 0 else "none of its batches"
        raise PositionDivergedError(
            f"{access.name}: stream {name!r} has written batch {self.batch}, and the table has {has} now: it was "
            f"rolled back. The query would go on with batch {batch}, and the rows that were taken back would "
            f"not come again. Nothing was written. Decide: {'; or '.join(ways_out)}",
            reader=name,
            source=access.storage.uri,
            reason="rolled-back",
            stored=f"batch {self.batch}",
            found=has,
            ways_out=list(ways_out),
        )
