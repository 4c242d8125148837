"""Which batches of a stream have landed in its target, noted beside the snapshots: a rollback does not take it back.

The checkpoint of a query knows nothing about the target.  If snapshots of the target go, the query goes on
behind them, and nobody brings their rows again.  The number of the batch does not show it, because a batch
without rows makes no snapshot: after batch 4, batch 7 may be the next.  The note shows it.

    noted 0, 4, 6, 7; the table has come to batch    the query brings    between them
    7, or later: the note comes after the commit     8                   nothing: go on
    4: it was rolled back                            8                   6 and 7 are gone: an error
    4: it was rolled back                            7, once more        6 is gone: an error
    4, and the checkpoint went back too              5                   nothing: go on, forget 6 and 7

A query that goes back may cut its batches otherwise, so what is noted from its batch on says nothing more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_core.errors import NotFoundError, PositionDivergedError
from table_core.ondisk import layout
from table_core.options.stored_json import json_document
from table_core.validation_errors import stored

if TYPE_CHECKING:
    from table_core.table.metadata.access import TableAccess

__all__ = ["LandedBatches"]

_NOTED_MAX: Final = 500
"""Who goes back further than so many batches is not looked after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedBatches:
    """The batches with rows that landed."""

    query_id: str
    """'' where Spark did not tell."""
    batches: tuple[int, ...]
    """In their order; not all the way back."""

    @classmethod
    def read(cls, access: TableAccess, name: str, query_id: str | None) -> LandedBatches:
        """The note of the stream ``name`` as far as it speaks of this query; empty if it does not."""
        path = layout.note_path(layout.STREAM_NOTES, name, access.branch)
        try:
            body = access.storage.read(path)
        except NotFoundError:
            return cls(query_id=query_id or "", batches=())
        with stored("note of a stream", path):
            document = json_document(body, path=path)
            noted = cls(
                query_id=str(document["query"]),
                batches=tuple(int(batch) for batch in document["batches"]),
            )
        other = query_id and noted.query_id not in {"", query_id}
        return cls(query_id=query_id or "", batches=()) if other else noted

    @classmethod
    def passed(cls, access: TableAccess, name: str, query_id: str | None, batch: int) -> None:
        """Note that ``batch`` had no rows, if the query went back and it or later ones are noted."""
        noted = cls.read(access, name, query_id)
        left = noted.before(batch)
        if left != noted:
            left.write(access, name)

    def write(self, access: TableAccess, name: str) -> None:
        """Note it, after the commit: a note that is one batch behind hides no loss."""
        document = {"query": self.query_id, "batches": self.batches}
        access.storage.write(
            layout.note_path(layout.STREAM_NOTES, name, access.branch),
            json.dumps(document).encode(),
        )

    def before(self, batch: int) -> LandedBatches:
        """What it says to a query that brings ``batch``."""
        return replace(self, batches=tuple(noted for noted in self.batches if noted < batch))

    def plus(self, batch: int) -> LandedBatches:
        """With ``batch``, which landed."""
        return replace(self, batches=(*self.before(batch).batches, batch)[-_NOTED_MAX:])

    def refuse_gap(self, access: TableAccess, name: str, batch: int, landed: int) -> None:
        """Require that what the table has of the stream, up to ``landed``, leads up to ``batch``.

        Raises:
            PositionDivergedError: the table was rolled back, and the query does not bring those rows again.
        """
        if not any(landed < noted < batch for noted in self.batches):
            return
        ways_out = (
            "to bring them again, start the query with a new checkpoint, and a commit-user of its own",
            "to go on without them, keep the checkpoint, and give the query a commit-user of its own",
        )
        has = f"batch {landed}" if landed >= 0 else "none of its batches"
        raise PositionDivergedError(
            f"{access.name}: stream {name!r} has written batch {self.batches[-1]}, and the table has {has} now: it was "
            f"rolled back. The query would go on with batch {batch}, and the rows that were taken back would "
            f"not come again. Nothing was written. Decide: {'; or '.join(ways_out)}",
            reader=name,
            source=access.storage.uri,
            reason="rolled-back",
            stored=f"batch {self.batches[-1]}",
            found=has,
            ways_out=list(ways_out),
        )
