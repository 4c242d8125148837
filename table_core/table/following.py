"""A reader that follows a table: shows ``scan.follow`` the snapshots, reads what it asks for.

Rows come as one table where a snapshot is small, as several where it is large.  A consumer moves on
when everything of a snapshot has been taken, which is when the next table is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_core.errors import NotFoundError
from table_core.options import keys_scan
from table_core.scan.follow import Deliver, Ended, Follower, Wait, start
from table_core.table.changes import ChangePlanner
from table_core.table.consumers import next_snapshot_of, set_consumer
from table_core.table.scan import Scan
from table_core.table.split_reader import RowForm, SplitReader
from table_core.table.state_plan import StatePlanner, refuse_unreadable
from table_core.table.timeline import TableTimeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.ondisk.snapshot import Snapshot
    from table_core.scan.follow import Start
    from table_core.table.access import TableAccess
    from table_core.table.scan import RowReader

__all__ = ["follow"]

_BYTES_AT_ONCE: Final = 64 << 20


def follow(
    access: TableAccess,
    *,
    after: int | None,
    consumer: str | None,
    poll_seconds: float,
    shown: Callable[[RowReader], RowReader] = lambda reader: reader,
    with_number: bool = False,
    begins: RowForm = RowForm.INSERTS,
) -> Iterator[pa.Table]:
    """See ``Table.follow``.  ``shown`` makes of each reader the one whose rows are given.

    ``begins`` is the form of the first, full read.

    Raises:
        OptionError: ``scan.mode`` cannot be followed.
        NotFoundError: the next snapshot has expired.
    """
    refuse_unreadable(access)
    consumer = consumer or access.options.get(keys_scan.CONSUMER_ID)
    stored = None
    if consumer is not None and after is None:
        stored = next_snapshot_of(access, consumer)
    begin = start(access.options, TableTimeline(access), after=after, consumer_next=stored)
    poll_ms = max(int(poll_seconds * 1000), 0)
    following = _Following(access, consumer, poll_ms, shown, with_number, begins)
    return following.tables(begin)


@dataclass(frozen=True, slots=True)
class _Following:
    access: TableAccess
    consumer: str | None
    poll_ms: int
    shown: Callable[[RowReader], RowReader]
    with_number: bool
    begins: RowForm

    def tables(self, begin: Start) -> Iterator[pa.Table]:
        access = self.access
        follower = Follower(access.options, access.schema.is_key_table)
        if begin.full is not None:
            yield from _joined(self._state(begin))
        self._taken(begin.next_id)
        if follower.ends_after_full(begin):
            return
        next_id = begin.next_id
        while True:
            timeline = TableTimeline(access)
            snapshot = self._delivered(timeline, next_id)
            earliest = None
            if snapshot is None:
                earliest = timeline.earliest_delivered()
                self._refuse_lost(next_id, access.metadata.head_id())
            step = follower.step(next_id, snapshot, earliest=earliest, now_ms=access.clock.now_ms())
            if isinstance(step, Wait):
                access.clock.sleep_ms(self.poll_ms if snapshot is None else step.milliseconds)
                continue
            if isinstance(step, Ended):
                return
            if isinstance(step, Deliver):
                yield from _joined(self._changes(next_id, step))
            next_id += 1
            self._taken(next_id)

    def _state(self, begin: Start) -> Scan:
        """The first, full read, as ``+I``."""
        assert begin.full is not None
        access, full = self.access, begin.full
        planner = StatePlanner(
            access=access,
            levels=begin.levels,
            created_after_ms=begin.created_after_ms,
            streams=True,
        )
        return Scan(self._reader(self.begins), lambda: planner.plan(full))

    def _reader(self, form: RowForm) -> RowReader:
        access = self.access
        return self.shown(
            SplitReader(
                access=access,
                fields=access.schema.fields,
                form=form,
                with_number=self.with_number,
                forgives=True,
            )
        )

    def _changes(self, id: int, step: Deliver) -> Scan:
        planner = ChangePlanner(self.access)
        return Scan(
            self._reader(RowForm.CHANGES),
            lambda: planner.one(id, step),
        )

    def _delivered(self, timeline: TableTimeline, id: int) -> Snapshot | None:
        try:
            return timeline.delivered(id)
        except NotFoundError:
            return None

    def _refuse_lost(self, next_id: int, head: int | None) -> None:
        """Refuse to wait for what may never come, or come again as something else."""
        if head is not None and next_id > head + 1:
            raise NotFoundError(
                f"{self.access.name} ends at snapshot {head}, and snapshot {next_id} is to be read "
                "next: the table was rolled back or made anew; start the reader again",
                name=str(next_id),
                available=[head],
            )

    def _taken(self, next_id: int) -> None:
        if self.consumer is not None:
            set_consumer(self.access, self.consumer, next_id)


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
