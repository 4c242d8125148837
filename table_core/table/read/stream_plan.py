"""What a stream of a table reads next, for whoever reads it: ``Table.follow``, or tasks on Spark.

``scan.follow`` decides; here it is shown the snapshots, and what it answers becomes splits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, NotFoundError, SchemaError
from table_core.ondisk.snapshot import FIRST_ID
from table_core.options import keys_scan
from table_core.position.document import Position
from table_core.position.place import SnapshotPlace
from table_core.position.reader import Reader, ReaderKind
from table_core.position.source import TableId
from table_core.scan.follow import Deliver, Follower, Skip, require_changes, start
from table_core.scan.stream_offset import NO_LIMIT, StreamOffset, taken
from table_core.table.metadata.positions import came_to, place_at, read_by, table_now
from table_core.table.metadata.refs.consumers import set_consumer
from table_core.table.metadata.timeline import TableTimeline, find_snapshot
from table_core.table.read.changes import ChangePlanner
from table_core.table.read.chosen_partitions import refuse_chosen_partitions
from table_core.table.read.producers import producer_of, refuse_switch
from table_core.table.read.source_rows import with_waiting
from table_core.table.read.state_plan import StatePlanner, refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.bound import Bound
    from table_core.scan.follow import Levels, Start, Step
    from table_core.scan.plan import ScanPlan
    from table_core.scan.split import Split
    from table_core.scan.stream_offset import ReadLimit
    from table_core.table.metadata.access import TableAccess

__all__ = ["StreamPlanner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlanner:
    """Plans the reads of one stream.  Picklable."""

    access: TableAccess
    consumer: str | None
    """Keeps the position in the table, so that expiry waits for this stream."""
    where: Bound | None = None
    as_written: bool = False
    """Whether it shows commits, and not what they change."""

    @classmethod
    def of(
        cls, access: TableAccess, consumer: str | None = None, where: Bound | None = None
    ) -> StreamPlanner:
        """A stream of ``access``, with the consumer of its options unless one is given.

        Raises:
            UnsupportedFeatureError: the table needs what this release cannot read.
            OptionError: the table merges rows, and has no changelog producer.
        """
        refuse_unreadable(access)
        refuse_chosen_partitions(access, "a stream")
        require_changes(access.options, access.name, is_key_table=access.schema.is_key_table)
        named = consumer or access.options.get(keys_scan.CONSUMER_ID)
        return cls(access=access, consumer=named, where=where)

    # ------------------------------------------------------------------------ one after the other
    def begin(self, after: int | None = None) -> Start:
        """Where the stream begins: ``after``, its consumer's position, or as ``scan.mode`` says.

        Raises:
            OptionError: ``scan.mode`` cannot be followed.
            NotFoundError: the state to start from does not exist.
            PositionDivergedError: the table is not what the consumer has read.
        """
        access = self.access
        stored = None
        if self.consumer is not None and after is None:
            stored = read_by(access, self.consumer)
        consumer_next = None if stored is None else stored.id + 1
        return start(
            access.options, TableTimeline(access), after=after, consumer_next=consumer_next
        )

    @property
    def follower(self) -> Follower:
        """What decides about each snapshot."""
        access = self.access
        return Follower(
            access.options, access.schema.is_key_table, access.name, as_written=self.as_written
        )

    def step(self, next_id: int) -> Step | None:
        """What to do about snapshot ``next_id``; None if it is not there yet.

        Raises:
            NotFoundError: it has expired, or the table was rolled back to before it.
        """
        return self.look(next_id, None)[0]

    def begun(self) -> StreamOffset:
        """Where the stream begins, as ``begin`` says, with what tells the table and its snapshot from others."""
        begin = self.begin()
        at = StreamOffset.of(begin)
        if begin.full is not None:
            read = SnapshotPlace.of(begin.full)
        else:
            read = place_at(self.access, begin.next_id - 1)
        return replace(at, read=read, birth=self.access.metadata.birth())

    def look(
        self,
        next_id: int,
        read: SnapshotPlace | None,
        birth: str = "",
        kind: ReaderKind = ReaderKind.CONSUMER,
        *,
        looked_at: bool = False,
    ) -> tuple[Step | None, SnapshotPlace]:
        """What to do about snapshot ``next_id``, and the place behind it; None if it is not there yet.

        ``read`` is the snapshot before it, which the reader has taken, in the table of that ``birth``.  It is
        looked at after the next one: where it is still the same, so is what lies between.  If it was
        ``looked_at`` just now, it is once more only where nothing comes next.

        Raises:
            NotFoundError: it has expired, or the table was rolled back to before it.
            PositionDivergedError: ``read`` is another snapshot by now, or another changelog producer has come
                while rows waited for their compaction.
        """
        access = self.access
        snapshot = find_snapshot(access, next_id)
        earliest = None
        before = None
        if read is not None and (snapshot is None or not looked_at):
            before = self._stands(read, birth, kind)
        elif read is not None and snapshot is not None and (access.schema.id or snapshot.schema_id):
            before = find_snapshot(access, read.id)  # the table was altered at some time
        if snapshot is not None and before is not None:
            reader, source = self._who(birth, kind)
            refuse_switch(access, reader, source, before, snapshot)
        if snapshot is None:
            if before is not None:
                return None, SnapshotPlace(id=next_id)
            earliest = TableTimeline(access).earliest_delivered()
            self._refuse_lost(next_id, access.metadata.head_id())
        now_ms = access.clock.now_ms()
        producer = None if snapshot is None else producer_of(access, snapshot)
        step = self.follower.step(
            next_id, snapshot, earliest=earliest, now_ms=now_ms, producer=producer
        )
        return (None if snapshot is None else step), SnapshotPlace.of(snapshot)

    def _stands(self, read: SnapshotPlace, birth: str, kind: ReaderKind) -> Snapshot | None:
        """The snapshot ``read``, which is the same; None where it has only expired."""
        if not read.id or not read.mark:
            return None
        access = self.access
        snapshot = find_snapshot(access, read.id)
        if snapshot is not None and read.is_at(SnapshotPlace.of(snapshot)):
            return snapshot
        reader, source = self._who(birth, kind)
        came_to(Position(reader, source, read), table_now(access, read))
        return None

    def _who(self, birth: str, kind: ReaderKind) -> tuple[Reader, TableId]:
        """Who reads, and what."""
        access = self.access
        source = TableId(location=access.storage.uri, birth=birth, branch=access.branch)
        return Reader(kind, self.consumer or "follow", explicit=True), source

    def state(self, snapshot: Snapshot, levels: Levels, created_after_ms: int | None) -> ScanPlan:
        """The first, full read."""
        return StatePlanner(
            access=self.access,
            where=self.where,
            levels=levels,
            created_after_ms=created_after_ms,
            streams=True,
        ).plan(snapshot)

    def beginning(
        self, snapshot: Snapshot, levels: Levels, created_after_ms: int | None
    ) -> ScanPlan:
        """The first, full read as changes, and what waits without being a state yet."""
        state = self.state(snapshot, levels, created_after_ms)
        return with_waiting(self.access, snapshot, state)

    def changes(self, id: int, step: Deliver) -> ScanPlan:
        """The changes of snapshot ``id``."""
        planner = ChangePlanner(self.access, self.where)
        return planner.one(id, step)

    def hold(self, next_id: int, read: SnapshotPlace | None = None, birth: str = "") -> None:
        """Let expiry keep what the stream reads from ``next_id`` on, once it has taken ``read``."""
        if self.consumer is not None:
            set_consumer(self.access, self.consumer, next_id, read, birth, keep=True)

    # ---------------------------------------------------------------------------- by positions
    def reached(
        self, at: StreamOffset, limit: ReadLimit = NO_LIMIT, until: StreamOffset | None = None
    ) -> StreamOffset:
        """How far a reader that stands ``at`` can go now, within ``limit`` and not past ``until``.

        Raises:
            NotFoundError: what comes next has expired.
            PositionDivergedError: the table is not what was read up to ``at``.
        """
        used: list[Split] = []
        snapshots, first = 0, at
        while until is None or at.order < until.order:
            place = at.read
            if at.full is None:
                step, place = self._next(at, looked_at=at is not first)
                if isinstance(step, Skip):
                    at = self._beyond(at, place)
                    continue
                if not isinstance(step, Deliver):
                    return at
            if limit.snapshots is not None and snapshots >= limit.snapshots:
                return at
            if limit.counts_files:
                last = until.index if until is not None and at.same_snapshot(until) else None
                for split in taken(self._splits(at)[1], at.index, last or None):
                    if used and not limit.allows([*used, split]):
                        return at
                    used.append(split)
                    at = at.at(at.index + len(split.files), place)
            if until is not None and at.same_snapshot(until):
                return replace(until, read=place, birth=at.birth)
            at = self._beyond(at, place)
            snapshots += 1
        return at

    def _next(self, at: StreamOffset, *, looked_at: bool) -> tuple[Step | None, SnapshotPlace]:
        return self.look(at.snapshot, at.read, at.birth, ReaderKind.STREAM, looked_at=looked_at)

    def _beyond(self, at: StreamOffset, place: SnapshotPlace | None) -> StreamOffset:
        """After the snapshot of ``at``; a position of an earlier release gets the table's birth."""
        known = at if at.birth else replace(at, birth=self.access.metadata.birth())
        return known.beyond(place)

    def newest(self) -> StreamOffset:
        """How far a reader can go now, wherever it stands."""
        earliest = TableTimeline(self.access).earliest_delivered()
        return self.reached(StreamOffset(snapshot=earliest or FIRST_ID))

    def between(
        self, begin: StreamOffset, end: StreamOffset, *, looked_at: bool = False
    ) -> list[Split]:
        """What is read between two positions, in order.

        ``looked_at``: ``end`` is what was reached from ``begin`` just now.

        Raises:
            NotFoundError: it has expired.
            PositionDivergedError: the table is not what was read, or looked at, up to one of them.
            ArgumentError: the positions are not of this stream.
        """
        if not looked_at:
            self._refuse_other(begin, None)
        if begin.order > end.order:
            raise ArgumentError(
                f"a stream of {self.access.name} cannot go from {begin.to_document()} back to "
                f"{end.to_document()}; start it again with a new checkpoint",
                argument="offset",
                value=end.to_document(),
            )
        planned: list[Split] = []
        at, seen = begin, None
        try:
            while at.order < end.order:
                last = at.same_snapshot(end)
                seen, splits = self._splits(at)
                planned += taken(splits, at.index, end.index if last else None)
                if last:
                    break
                at = at.beyond(None)
        finally:  # what is not there any more may have been taken back
            self._refuse_other(end, seen)
        return planned

    def _refuse_other(self, at: StreamOffset, seen: SnapshotPlace | None) -> None:
        """Refuse a place that is another by now; ``seen`` was looked at."""
        if at.read is not None and at.read != seen:
            self._stands(at.read, at.birth, ReaderKind.STREAM)

    def _splits(self, at: StreamOffset) -> tuple[SnapshotPlace, Sequence[Split]]:
        """The snapshot in which ``at`` stands, and everything of it."""
        timeline = TableTimeline(self.access)
        if at.full is not None:
            try:
                state = timeline.snapshot(at.snapshot)
            except NotFoundError as error:
                raise NotFoundError(
                    f"snapshot {at.snapshot}, which this stream reads in full, has expired; start "
                    "it again with a new checkpoint, and keep snapshots longer "
                    "(snapshot.time-retained) or set consumer-id, so that expiry waits for it",
                    name=str(at.snapshot),
                    available=[],
                ) from error
            return SnapshotPlace.of(state), self.beginning(
                state, at.full, at.created_after_ms
            ).splits
        snapshot = find_snapshot(self.access, at.snapshot)
        if snapshot is None:
            self.step(at.snapshot)  # says why
            raise NotFoundError(
                f"snapshot {at.snapshot} is not there", name=str(at.snapshot), available=[]
            )
        step = self.follower.reads(snapshot, producer_of(self.access, snapshot))
        told = self.changes(at.snapshot, step).splits if isinstance(step, Deliver) else ()
        return SnapshotPlace.of(snapshot), told

    def refuse_new_schema(self, splits: Sequence[Split], fields: Sequence[Field]) -> None:
        """Refuse files under a newer schema in which ``fields`` are no longer what they were.

        Columns that came count where ``fields`` are all that there were.

        Raises:
            SchemaError: the stream has to be started again.
        """
        access = self.access
        newest = max((f.schema_id for s in splits for f in s.files), default=access.schema.id)
        if newest <= access.schema.id:
            return
        whole = len(fields) == len(access.schema.fields)
        read = {f.id: (f.name, f.type) for f in fields}
        theirs = access.metadata.schema(newest).fields
        if {f.id: (f.name, f.type) for f in theirs if whole or f.id in read} != read:
            raise SchemaError(
                f"{access.name}: schema {newest} changed columns that this stream reads under "
                f"schema {access.schema.id}; start the query again with the same checkpoint",
                problems=[],
            )

    def _refuse_lost(self, next_id: int, head: int | None) -> None:
        """Refuse to wait for what may never come, or come again as something else."""
        if head is not None and next_id > head + 1:
            raise NotFoundError(
                f"{self.access.name} ends at snapshot {head}, and snapshot {next_id} is to be read "
                "next: the table was rolled back or recreated; start the reader again",
                name=str(next_id),
                available=[head],
            )
