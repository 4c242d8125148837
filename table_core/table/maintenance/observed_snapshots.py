"""Reads the snapshots of a table that are new to the collector, and keeps those that it has in chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from table_core.errors import FilesExpiredError
from table_core.history.kinds import Kind
from table_core.history.shape import partition_label
from table_core.history.snapshots import (
    CHUNK,
    Chunk,
    FileChange,
    SnapshotRow,
    bounded_properties,
    chunk_part,
    file_change,
    with_totals,
)
from table_core.ondisk.partition_text import partition_text
from table_core.table.commit_io.deliveries import recorded_delivery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.history.state import State
    from table_core.ondisk.file_columns import FileColumns
    from table_core.ondisk.snapshot import Snapshot
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.access import TableAccess

__all__ = ["SnapshotHistory", "Within", "partition_of"]

_TEXT_MAX: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """The limits of one look."""

    snapshots: int = 1_000
    """So many of the newest are read; older ones that are new to us are left out."""
    detailed: int = 200
    """Of so many of them the manifests are read too: what they did to files, by bucket."""
    kept_ms: int = 90 * 86_400_000
    recheck_ms: int = 3_600_000


@dataclass(slots=True)
class SnapshotHistory:
    """The snapshots of one table: those that are kept, and those that are new."""

    access: TableAccess
    known: State | None
    opened: Chunk | None
    within: Within
    chunks: tuple[tuple[str, int, int], ...] = ()
    open: list[SnapshotRow] = field(default_factory=list)
    full: list[Chunk] = field(default_factory=list)
    cut: dict[str, int] | None = None
    read_now: int = 0

    def read(self, head: Snapshot | None, live: FileColumns) -> None:
        """Read what came after the known head, or everything that is there."""
        after, kept = self._kept(head)
        if head is None:
            return
        ids = range(max(after + 1, head.id - self.within.snapshots + 1), head.id)
        snapshots = [*self._present(ids), head] if head.id > after else []
        if snapshots and snapshots[0].id > after + 1:
            self.cut = {"from": after + 1, "to": snapshots[0].id - 1}
        detailed = {s.id for s in snapshots[-self.within.detailed :]}
        rows = [self._row(s, detailed=s.id in detailed) for s in snapshots]
        rows = with_totals(rows, len(live), int(live.size.sum())) if rows else []
        self.read_now = len(rows)
        everything = [*kept, *rows]
        while len(everything) >= CHUNK:
            chunk = Chunk(tuple(everything[:CHUNK]))
            self.full.append(chunk)
            del everything[:CHUNK]
        self.open = everything
        self.chunks += tuple(
            (chunk_part(c.rows[0].id), c.rows[-1].at_ms, len(c.rows)) for c in self.full
        )

    def _kept(self, head: Snapshot | None) -> tuple[int, list[SnapshotRow]]:
        """The id after which is new, and the rows of the open chunk that stay.

        After a rollback nobody knows which of the kept ones came to nothing: those that the table has no
        more stay, up to the first that it has.
        """
        known = self.known
        if known is None or known.head is None or head is None:
            return 0, []
        at_head = head if head.id == known.head else self._one(known.head)
        expired = at_head is None and head.id > known.head
        if known.is_before(at_head) or expired:
            self.chunks = known.chunks
            return known.head, list(self.opened.rows if self.opened else ())
        earliest = self.access.metadata.earliest_id() or head.id
        self.chunks = tuple(c for c in known.chunks if int(c[0]) + c[2] <= earliest)
        rows = self.opened.rows if self.opened else ()
        return earliest - 1, [row for row in rows if row.id < earliest]

    def _present(self, ids: range) -> list[Snapshot]:
        """The snapshots ``ids`` without those that are expired; from the newest, for they expire from the oldest."""
        snapshots = []
        for id in reversed(ids):
            snapshot = self._one(id)
            if snapshot is None:
                break
            snapshots.append(snapshot)
        return snapshots[::-1]

    def _one(self, id: int) -> Snapshot | None:
        metadata = self.access.metadata
        return metadata.snapshot(id) if metadata.has_snapshot(id) else None

    def _row(self, snapshot: Snapshot, *, detailed: bool) -> SnapshotRow:
        told = recorded_delivery(snapshot)
        delta = snapshot.delta_record_count
        added, deleted = max(delta, 0), max(-delta, 0)
        if told is not None:
            added = told.added + told.updated
            deleted = deleted if told.deleted is None else told.deleted
        row = SnapshotRow(
            id=snapshot.id,
            at_ms=snapshot.time_millis,
            kind=snapshot.commit_kind.value,
            operation=snapshot.operation,
            user=snapshot.commit_user[:_TEXT_MAX],
            identifier=snapshot.commit_identifier,
            rows_added=added,
            rows_deleted=deleted,
            rows=snapshot.total_record_count,
            schema_id=snapshot.schema_id,
            watermark=snapshot.watermark,
            mark=snapshot.delta_manifest_list,
            properties=bounded_properties(snapshot.properties),
        )
        change = self._change(snapshot) if detailed else None
        return row if change is None else row.having(change)

    def _change(self, snapshot: Snapshot) -> FileChange | None:
        """What it did to files; None if its manifests are gone."""
        metadata, schema = self.access.metadata, self.access.schema
        try:
            parts = [metadata.file_columns(meta) for meta in metadata.delta_manifests(snapshot)]
        except FilesExpiredError:
            return None
        return file_change(parts, partial(partition_of, schema))

    def documents(self) -> dict[tuple[Kind, str], Mapping[str, Any]]:
        """The full chunks that are new, and the open one."""
        documents: dict[tuple[Kind, str], Mapping[str, Any]] = {
            (Kind.SNAPSHOTS, chunk_part(c.rows[0].id)): c.to_document() for c in self.full
        }
        documents[Kind.OPEN, ""] = Chunk(tuple(self.open)).to_document()
        return documents


def partition_of(schema: TableSchema, row: bytes) -> str:
    """The values of a partition on one line."""
    return partition_label(dict(partition_text(schema, row)))
