"""The commit of one micro-batch: made once, whatever is started again.

A stream has a *name* in the table it writes to, and there a property says which query came how far:
``tc.stream.<name>`` = ``<query>/<batch>``.  Spark repeats the last batch of a query, never an older
one, and a query keeps its id as long as it keeps its checkpoint.  So whatever else is seen means that
the checkpoint is gone, or was taken back, and what the stream read before would be written twice.
A table that has seen less than the query was rolled back: see ``LandedBatches``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError
from table_core.spark.streams.landed_batches import LandedBatches
from table_core.table.metadata.carried import position
from table_core.table.metadata.results import CommitAs

if TYPE_CHECKING:
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit

__all__ = ["BatchCommit", "name_of_checkpoint"]

_PROPERTY: Final = "tc.stream."


def name_of_checkpoint(location: str) -> str:
    """The name of a stream that has none but the place of its checkpoint."""
    return f"at-{hashlib.sha256(location.rstrip('/').encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCommit:
    """One micro-batch of one stream, as the table knew it when it was looked up."""

    name: str
    user: str
    query_id: str | None
    """None where it cannot be known: then only batches that go back are noticed."""
    batch: int
    before: str | None
    """The property of the stream."""
    noted: LandedBatches
    """Those of the stream before this one."""

    @classmethod
    def of(
        cls,
        access: TableAccess,
        *,
        name: str,
        user: str,
        query_id: str | None,
        batch: int,
        replaces: bool = False,
    ) -> BatchCommit:
        """The batch, if the table has not seen more of this stream than the query knows of.

        ``replaces``: it brings all rows anew, so it does not matter what a rollback took back.

        Raises:
            ArgumentError: it has.
            OutcomeUnknownError: it may have, and the snapshot that would tell has expired.
            PositionDivergedError: it has seen less: it was rolled back.
        """
        before = position(access, _PROPERTY + name)
        if before is not None:
            query, _, landed = before.rpartition("/")
            if batch < int(landed) or (query_id and query and query != query_id):
                raise ArgumentError(
                    f"{access.name} has batch {landed} of stream {name!r} from query "
                    f"{query or '?'}, and query {query_id or '?'} now brings batch {batch}: the "
                    "checkpoint was deleted, reverted or replaced. Going on would write rows twice or "
                    "leave some out. Restore the checkpoint; or, if this is a new stream whose "
                    "rows should be added, give it a commit-user of its own",
                    argument="checkpointLocation",
                    value=name,
                )
        noted = LandedBatches.read(access, name, query_id)
        if not replaces:
            newest = -1 if before is None else int(before.rpartition("/")[2])
            noted.refuse_gap(access, name, batch, newest)
        return cls(name=name, user=user, query_id=query_id, batch=batch, before=before, noted=noted)

    def note(self, access: TableAccess, done: Commit) -> None:
        """Note beside the snapshots that it has landed, or that there was nothing to commit."""
        landed = bool(done.snapshot_ids) or done.replayed
        now = self.noted.plus(self.batch) if landed else self.noted.before(self.batch)
        if now != self.noted:
            replace(now, query_id=self.query_id or now.query_id).write(access, self.name)

    @property
    def commit(self) -> CommitAs:
        """How the batch is committed: by nobody else at the same time."""
        key = _PROPERTY + self.name
        return CommitAs(
            user=self.user,
            identifier=self.batch,
            growing=True,
            properties={key: f"{self.query_id or ''}/{self.batch}"},
            expect={key: self.before},
        )
