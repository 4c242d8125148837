"""A reader that follows a table: shows ``scan.follow`` the snapshots, reads what it asks for.

Rows come as one table where a snapshot is small, as several where it is large.  A consumer moves on
when everything of a snapshot has been taken, which is when the next table is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_core.errors import ArgumentError
from table_core.options import keys_scan
from table_core.position.place import SnapshotPlace
from table_core.scan.follow import Deliver, Ended, Wait
from table_core.table.files.row_form import RowForm
from table_core.table.metadata.positions import place_at
from table_core.table.read.producers import waits_unseen
from table_core.table.read.scan import Scan, selected_fields
from table_core.table.read.source_rows import waiting_plan
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.stream_plan import StreamPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.snapshot import Snapshot
    from table_core.scan.follow import Start
    from table_core.table.metadata.access import TableAccess
    from table_core.table.read.scan import RowReader

__all__ = ["follow"]

_POLL_SECONDS: Final = 1.0
_BYTES_AT_ONCE: Final = 64 << 20


def follow(
    access: TableAccess,
    *,
    after: int | None,
    consumer: str | None,
    poll_seconds: float | None,
    columns: Sequence[str] | None = None,
    shown: Callable[[RowReader], RowReader] = lambda reader: reader,
    with_number: bool = False,
    begins: RowForm = RowForm.INSERTS,
) -> Iterator[pa.Table]:
    """See ``Table.follow``.  ``shown`` makes of each reader the one whose rows are given.

    ``begins`` is the form of the first, full read.  Without ``poll_seconds`` the table's
    ``continuous.discovery-interval`` says how often to look, and without that it is once a second.

    Raises:
        OptionError: ``scan.mode`` cannot be followed.
        ArgumentError: ``poll_seconds`` is negative or no number.
        NotFoundError: the next snapshot has expired.
        PositionDivergedError: the table was rolled back, fast-forwarded or recreated under the reader.
    """
    planner = StreamPlanner.of(access, consumer)
    if poll_seconds is None:
        asked = access.options.get(keys_scan.CONTINUOUS_DISCOVERY_INTERVAL)
        has_interval = access.options.is_set(keys_scan.CONTINUOUS_DISCOVERY_INTERVAL)
        poll_seconds = asked / 1000 if has_interval else _POLL_SECONDS
    if not 0 <= poll_seconds < math.inf:
        raise ArgumentError(
            f"poll_seconds={poll_seconds}: expected seconds, 0 or more",
            argument="poll_seconds",
            value=poll_seconds,
        )
    poll_ms = int(poll_seconds * 1000)
    fields = selected_fields(access.schema, columns)
    following = _Following(planner, poll_ms, fields, shown, with_number, begins)
    return following.tables(planner.begin(after))


@dataclass(frozen=True, slots=True)
class _Following:
    planner: StreamPlanner
    poll_ms: int
    fields: tuple[Field, ...]
    shown: Callable[[RowReader], RowReader]
    with_number: bool
    begins: RowForm

    def tables(self, begin: Start) -> Iterator[pa.Table]:
        planner = self.planner
        read = self._before(begin)
        birth = planner.access.metadata.birth()
        if begin.full is not None:
            yield from _joined(self._state(begin.full, begin))
            if waits_unseen(planner.access, begin.full):
                yield from _joined(self._waiting(begin.full))
        planner.hold(begin.next_id, read, birth)
        if planner.follower.ends_after_full(begin):
            return
        next_id = begin.next_id
        while True:
            step, place = planner.look(next_id, read, birth)
            if step is None or isinstance(step, Wait):
                planner.access.clock.sleep_ms(self.poll_ms if step is None else step.milliseconds)
                continue
            if isinstance(step, Ended):
                return
            if isinstance(step, Deliver):
                yield from _joined(self._changes(next_id, step))
            read, next_id = place, next_id + 1
            planner.hold(next_id, read, birth)

    def _before(self, begin: Start) -> SnapshotPlace:
        """What is taken where the stream begins."""
        if begin.full is not None and begin.full.id == begin.next_id - 1:
            return SnapshotPlace.of(begin.full)
        return place_at(self.planner.access, begin.next_id - 1)

    def _state(self, full: Snapshot, begin: Start) -> Scan:
        """The first, full read, as ``+I``."""
        levels, created_after_ms = begin.levels, begin.created_after_ms
        return Scan(
            self._reader(self.begins), lambda: self.planner.state(full, levels, created_after_ms)
        )

    def _waiting(self, full: Snapshot) -> Scan:
        """What no state shows yet, and no compaction will tell."""
        access = self.planner.access
        return Scan(self._reader(RowForm.CHANGES), lambda: waiting_plan(access, full))

    def _reader(self, form: RowForm) -> RowReader:
        return self.shown(
            SplitReader(
                access=self.planner.access,
                fields=self.fields,
                form=form,
                with_number=self.with_number,
                ignores_damage=True,
            )
        )

    def _changes(self, id: int, step: Deliver) -> Scan:
        return Scan(self._reader(RowForm.CHANGES), lambda: self.planner.changes(id, step))


def _joined(scan: Scan) -> Iterator[pa.Table]:
    """The batches of ``scan``, small ones together; nothing where there is no row."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in scan.to_batches():
        held.append(batch)
        size += batch.nbytes
        if size >= _BYTES_AT_ONCE:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)
