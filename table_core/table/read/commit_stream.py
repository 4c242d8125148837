"""Commits of a table as they come, each with its changes: for who shows them, and keeps sums of them.

Like ``following``, but a caller sees where one commit ends and the next begins, reads no rows that it
does not want, and is never made to wait: ``next`` says None while there is nothing new.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.datatypes.arrow import arrow_schema
from table_core.options import keys_scan
from table_core.position.place import SnapshotPlace
from table_core.scan.follow import Deliver, Ended, Start, Wait
from table_core.table.files.row_form import RowForm
from table_core.table.metadata.positions import place_at
from table_core.table.metadata.timeline import find_snapshot
from table_core.table.read.scan import Scan, selected_fields
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.state_plan import refuse_unreadable
from table_core.table.read.stream_plan import StreamPlanner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from table_core.ondisk.snapshot import Snapshot
    from table_core.scan.follow import Step
    from table_core.table.metadata.access import TableAccess

__all__ = ["CommitRead", "CommitStream"]

_MODE: Final = {keys_scan.SCAN_MODE.key: "latest-full"}


@dataclass(frozen=True, slots=True)
class CommitRead:
    """One snapshot, and how to read what it changed."""

    snapshot: Snapshot
    _stream: CommitStream
    _step: Step

    @property
    def delivers(self) -> bool:
        """Whether a reader of changes gets anything of it."""
        return isinstance(self._step, Deliver)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The changes, with ``_ROW_KIND`` first; none where it delivers none.

        Raises:
            NotFoundError: it has expired meanwhile.
        """
        if isinstance(self._step, Deliver):
            yield from self._stream.changes(self.snapshot.id, self._step, columns)


@dataclass(slots=True)
class CommitStream:
    """From the newest snapshot on.  No consumer moves, and nothing waits for it."""

    access: TableAccess
    next_id: int = 0
    _planner: StreamPlanner = field(init=False)
    _read: SnapshotPlace = field(init=False)
    _birth: str = field(init=False)

    def __post_init__(self) -> None:
        """Begin after the newest snapshot.

        Raises:
            UnsupportedFeatureError: the table needs what this release cannot read.
        """
        self.access = self.access.with_options(_MODE)
        refuse_unreadable(self.access)
        self._planner = StreamPlanner(access=self.access, consumer=None, as_written=True)
        self._birth = self.access.metadata.birth()
        head = self.access.head()
        self.next_id = 1 if head is None else head.id + 1
        self._read = place_at(self.access, 0) if head is None else SnapshotPlace.of(head)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns of the rows."""
        return arrow_schema(self.access.schema.fields)

    def state_now(self) -> Start:
        """The state that the changes from its ``next_id`` on complete (format T56)."""
        return self._planner.begin()

    def state(self, begin: Start, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of ``begin``, with ``_ROW_KIND`` ``+I`` first."""
        full = begin.full
        if full is None:
            return
        planner = self._planner
        reader = self._reader(columns)
        scan = Scan(reader, lambda: planner.beginning(full, begin.levels, begin.created_after_ms))
        yield from scan.to_batches()

    def next(self) -> CommitRead | None:
        """The next commit; None while there is none.

        Raises:
            NotFoundError: it has expired.
            PositionDivergedError: the table was rolled back or made anew.
        """
        step, place = self._planner.look(self.next_id, self._read, self._birth)
        if step is None or isinstance(step, Wait | Ended):
            return None
        snapshot = find_snapshot(self.access, self.next_id)
        if snapshot is None:  # gone since: the next look says why
            return None
        self._read, self.next_id = place, self.next_id + 1
        return CommitRead(snapshot, self, step)

    def changes(
        self, id: int, step: Deliver, columns: Sequence[str] | None
    ) -> Iterator[pa.RecordBatch]:
        """The changes of snapshot ``id``."""
        reader = self._reader(columns)
        yield from Scan(reader, lambda: self._planner.changes(id, step)).to_batches()

    def _reader(self, columns: Sequence[str] | None) -> SplitReader:
        fields = self.access.schema.fields
        if columns is not None:
            fields = selected_fields(self.access.schema, list(dict.fromkeys(columns)))
        return SplitReader(access=self.access, fields=fields, form=RowForm.CHANGES)
