"""What a flow reads: every source pinned, from where its position says to the newest snapshot.

Positions are compared with their sources before anything is computed: see ``position.decide``.  What the
run needs, and the next one, is held by consumers first.  A consumer is only ever put back by a run, and
put forward by the run whose commit moved the position: so it never stands behind what nobody committed.

A run that writes to a branch which main is to take over reads for main.  Its commit moves no consumer: if
nobody publishes it, main reads the same again.  The next run puts the consumer to where main stands by then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from table_core.errors import ArgumentError, PositionDivergedError
from table_core.jobs.flow_name import (
    PREFIX,
    FlowName,
    refuse_one_name,
    require_source,
    view_of_pending,
)
from table_core.jobs.window import refuse_half_told, refuse_window, turned
from table_core.ondisk.layout import MAIN
from table_core.position.decide import Diverged, another_reader
from table_core.position.document import Position
from table_core.position.kept import Kept
from table_core.position.place import SnapshotPlace
from table_core.position.reader import Reader, ReaderKind, digest_of, require_position_name
from table_core.position.source import TableId
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.positions import (
    came_to,
    positions_at,
    positions_of,
    standing,
    table_at,
    table_now,
)
from table_core.table.metadata.refs.branches import is_to_be_published
from table_core.table.metadata.refs.consumers import next_snapshot_of, set_consumer
from table_core.table.metadata.timeline import find_snapshot
from table_core.table.read.source_rows import first_rows, new_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.read.scan import Scan

__all__ = ["Pinned", "View", "pin", "views_ahead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A pinned source: what SQL sees under its name."""

    table: Table
    snapshot: int | None
    """The state to read, or the end of the range; None for a table without snapshots."""
    after: int | None = None
    """With a value: the changes in (``after``, ``snapshot``]."""
    changes: bool = False
    """Rows carry their ``_ROW_KIND``: without ``after``, of the first run, that is ``+I``."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be in it."""
        return self.snapshot is None or self.after == self.snapshot

    def scan(self) -> Scan | None:
        """The rows; None for a table without snapshots."""
        if self.snapshot is None:
            return None
        if not self.changes:
            return self.table.read(snapshot=self.snapshot)
        if self.after is None:
            return first_rows(self.table.access, self.snapshot)
        return new_rows(self.table.access, self.after, self.snapshot)


@dataclass(slots=True, kw_only=True)
class _Consumer:
    """What lets expiry wait."""

    table: Table
    name: str
    main: Kept | None = None
    """What main holds, where a branch is written that main is to take over."""

    def hold_for_main(self, reader: Reader, source: TableId, key: str, id: int) -> None:
        """Keep what main, which stands at ``id`` at most, reads next if it does not take the branch over."""
        said = None if self.main is None else self.main.find(reader, source, key)
        place = None if said is None else said.place
        if isinstance(place, SnapshotPlace) and 0 < place.id <= id:
            set_consumer(self.table.access, self.name, place.id)

    def hold(self, id: int) -> None:
        """Keep expiry from snapshot ``id`` on, wherever it stood."""
        stands = next_snapshot_of(self.table.access, self.name)
        if stands is None or stands > max(id, 1):
            set_consumer(self.table.access, self.name, max(id, 1))

    def advance(self, id: int) -> None:
        """What is read next begins at ``id``: the commit that says so is made."""
        if self.main is not None:
            return
        if id:
            set_consumer(self.table.access, self.name, id)


@dataclass(slots=True, kw_only=True)
class Pinned:
    """What one run of a flow reads."""

    flow: FlowName
    views: dict[str, View]
    kept: Kept
    consumers: dict[str, _Consumer]
    """Of views whose tables must keep what the next run reads."""
    first: bool = True
    """Whether no run before this one has kept a position."""
    moved: bool = False
    """Whether a source is not where the last run left it."""
    main: Kept | None = None
    """What main holds, where a branch is written that main is to take over."""

    @property
    def runs(self) -> bool:
        """Whether there is anything to compute: a query of states alone is, whatever they hold."""
        return self.first or self.moved or not any(view.changes for view in self.views.values())

    @property
    def stores(self) -> bool:
        """Whether a changes source has gone on: then the new position is stored, rows or not."""
        return any(view.changes and not view.is_empty for view in self.views.values())

    def wait_for(self, view: str, table: Table, id: int | None) -> None:
        """The rows that wait are those of snapshot ``id`` of ``table``; None: none do."""
        place = SnapshotPlace(id=0)
        if id is not None:
            place = SnapshotPlace.of(table.snapshot(id))
        reader = self.flow.state_reader(view)
        table_id = table_at(table.access)
        old = self.kept.find(reader, table_id, self.flow.key(view))
        source = old.source if old is not None else table_id
        self.kept.put(self.flow.key(view), Position(reader, source, place), old)

    def advance(self) -> None:
        """Let expiry go on: the commit of this run has been made, and is no other's."""
        for name, consumer in self.consumers.items():
            view = self.views[name]
            if view.changes:
                consumer.advance(view.snapshot or 0)
                continue
            source = table_at(consumer.table.access)
            kept = self.kept.now(self.flow.state_reader(name), source, self.flow.key(name))
            if kept is not None and isinstance(kept.place, SnapshotPlace):
                consumer.advance(kept.place.id)


def pin(catalog: Catalog, table: Table, args: Mapping[str, Any], head: Snapshot | None) -> Pinned:
    """Decide what this run of the flow into ``table``, whose newest snapshot is ``head``, reads.

    Raises:
        ArgumentError: views, modes or names that cannot be.
        PositionDivergedError: a source is not what the flow has read, or nobody can tell.
        OutcomeUnknownError: a position was stored once and the snapshot that held it is gone.
    """
    flow = FlowName.of(args)
    sources, pending = args.get("sources") or {}, args.get("pending")
    waiting = None if pending is None else view_of_pending(pending)
    refuse_one_name([*sources, *([] if waiting is None else [waiting])])
    kept = positions_at(table.access, head)
    pinned = Pinned(
        flow=flow,
        views={},
        kept=Kept(kept.properties),
        consumers={},
        main=_kept_by_main(table) if is_to_be_published(table.access) else None,
    )
    heads: dict[str, Snapshot | None] = {}
    for name, source in sources.items():
        require_source(name, source)
        handle = catalog.table(source["table"])
        at = f"{handle.uri}${handle.access.branch}"
        if at not in heads:
            heads[at] = handle.latest_snapshot()
        _Source(catalog, pinned, table, name, source, handle, heads[at]).pin(complete=kept.complete)
    if pending is not None and waiting is not None:
        _pin_pending(pinned, table, waiting, catalog.table(pending["table"]))
    return pinned


def views_ahead(catalog: Catalog, table: Table, args: Mapping[str, Any]) -> dict[str, View]:
    """What ``pin`` would give to the query, by metadata alone: nothing is held, nothing refused."""
    kept, pending = Kept(positions_of(table.access).properties), args.get("pending")
    pinned = Pinned(flow=FlowName.of(args), views={}, kept=kept, consumers={})
    waiting = {} if pending is None else {view_of_pending(pending): {"table": pending["table"]}}
    for name, spec in {**(args.get("sources") or {}), **waiting}.items():
        source = _Source(catalog, pinned, table, name, spec, catalog.table(spec["table"]), None)
        pinned.views[name] = source.ahead()
    return pinned.views


@dataclass(slots=True)
class _Source:
    """One source of a flow."""

    catalog: Catalog
    pinned: Pinned
    target: Table
    view: str
    spec: Mapping[str, Any]
    table: Table
    head: Snapshot | None

    def pin(self, *, complete: bool) -> None:
        flow, spec = self.pinned.flow, self.spec
        mode = spec.get("mode", "snapshot")
        if mode not in {"snapshot", "changes"}:
            raise ArgumentError(
                f"source {self.view!r}: mode {mode!r} is neither 'snapshot' nor 'changes'",
                argument="sources",
                value=mode,
            )
        key = spec.get("position")
        reader = flow.reader if mode == "changes" else flow.state_reader(self.view)
        if key is not None:
            require_position_name(f"position of source {self.view!r}", key)
            reader = Reader(reader.kind, key, explicit=True)
        key = key or flow.key(self.view)
        self.pinned.kept.refuse_unreadable(reader, (key, PREFIX + self.view))
        stored = self._stored(reader, key)
        if stored is None and not complete:
            positions_of(self.target.access, needed=key)
        if mode == "changes":
            self._pin_changes(reader, key, stored)
        else:
            self._pin_state(reader, key, stored)
        if stored is not None:
            self.pinned.first = False

    def ahead(self) -> View:
        """What it would be pinned to."""
        head, flow, key = self.table.latest_snapshot(), self.pinned.flow, self.spec.get("position")
        view = View(table=self.table, snapshot=head.id if head else None)
        if self.spec.get("mode") != "changes":
            return view
        reader = flow.reader if key is None else Reader(ReaderKind.FLOW, key, explicit=True)
        stored = self._stored(reader, key or flow.key(self.view))
        place = stored and stored.place
        after = place.id or None if isinstance(place, SnapshotPlace) else None
        return replace(view, changes=True, after=after)

    def _stored(self, reader: Reader, key: str) -> Position | None:
        kept, source = self.pinned.kept, table_at(self.table.access)
        position = kept.find(reader, source, key)
        if position is None and reader.kind is ReaderKind.FLOW:  # it read states before
            position = kept.find(self.pinned.flow.state_reader(self.view), source, key)
        return position

    def _pin_changes(self, reader: Reader, key: str, stored: Position | None) -> None:
        access, kept = self.table.access, self.pinned.kept
        find = cache(partial(find_snapshot, access))  # one look serves all that is decided
        source, stored = standing(
            access, stored, lambda born: kept.elsewhere(reader, born), head=self.head, find=find
        )
        if stored is None:
            self._refuse_moved(kept.elsewhere(reader, source))
        if stored is None:
            for other in kept.others(reader, source):
                if not (reader.explicit and other.reader.explicit):
                    raise another_reader(reader, other).error()
        place = None
        if stored is not None:
            assert isinstance(stored.place, SnapshotPlace)
            now = table_now(access, stored.place, source=source, head=self.head, find=find)
            place = came_to(stored, now)
        newest = SnapshotPlace.of(self.head)
        after = place.id if place is not None else 0
        consumer = _consumer(self.pinned, self.target, self.table, key, self.view)
        consumer.hold(after or (access.metadata.floor() if self.head else 1))
        consumer.hold_for_main(reader, source, key, after)
        if stored is not None and stored.reader.kind is ReaderKind.QUERY:
            refuse_half_told(self.table, reader, source, after)
        window: list[Snapshot | None] = []
        if after:
            window += refuse_window(self.table, reader, source, after, newest.id)
        elif newest.id:
            window += [find_snapshot(access, newest.id)]
        self._settle_on(window)
        self.pinned.consumers[self.view] = consumer
        self.pinned.views[self.view] = View(
            table=self.table, snapshot=newest.id or None, after=after or None, changes=True
        )
        self.pinned.moved |= newest.id != after
        kept.put(key, Position(reader, source, newest), stored)

    def _settle_on(self, window: list[Snapshot | None]) -> None:
        """Have the query read the snapshots of ``window``, whatever has their numbers then.

        They were looked at after they were held.  The last must be what the position will name: then all are of its line.

        Raises:
            CommitConflictError: the source was rolled back or made anew since it was looked at first.
        """
        newest, pinned = SnapshotPlace.of(self.head), self.table.access.metadata.pinned
        if window and not newest.is_at(SnapshotPlace.of(window[-1])):
            raise turned(self.table, newest.id)
        pinned.update((snapshot.id, snapshot) for snapshot in window if snapshot is not None)

    def _pin_state(self, reader: Reader, key: str, stored: Position | None) -> None:
        newest = SnapshotPlace.of(self.head)
        if self.head is not None:
            self.table.access.metadata.pinned[newest.id] = self.head
        self.pinned.views[self.view] = View(table=self.table, snapshot=newest.id or None)
        same = stored is not None and newest.id == 0 and stored.place == newest
        self.pinned.moved |= not same
        self.pinned.kept.put(key, Position(reader, table_at(self.table.access), newest), stored)

    def _refuse_moved(self, elsewhere: list[Position]) -> None:
        """Refuse to start in what is perhaps a table that was read at another place, and is gone there."""
        warehouse = self.catalog.storage
        for position in elsewhere:
            assert isinstance(position.source, TableId)
            inside = position.source.location.removeprefix(f"{warehouse.uri}/")
            if inside != position.source.location and not warehouse.exists(f"{inside}/schema"):
                raise Diverged(
                    reason="moved",
                    why=f"{position.source} was read up to {position.place} and is gone, {self.table.uri} is "
                    "perhaps the same table, and has not that snapshot",
                    reader=str(position.reader),
                    source=self.table.uri,
                    stored=str(position.place),
                ).error()


def _pin_pending(pinned: Pinned, target: Table, view: str, table: Table) -> None:
    """The rows that wait: of the snapshot that the last commit names, not of the newest."""
    flow, access = pinned.flow, table.access
    reader, key = flow.state_reader(view), flow.key(view)
    source = table_at(access)
    place: SnapshotPlace | None = None
    pinned.kept.refuse_unreadable(reader, (key, PREFIX + view))
    if (stored := pinned.kept.find(reader, source, key)) is not None:
        assert isinstance(stored.place, SnapshotPlace)
        place = stored.place
        snapshot = find_snapshot(access, place.id) if place.id else None
        if place.id and (snapshot is None or not place.is_at(SnapshotPlace.of(snapshot))):
            raise PositionDivergedError(
                f"the rows waiting in {table.name} belong to {place}, and it is gone: the "
                "table was rolled back or recreated. Nothing was read. Restore them, or run 'table-core "
                "position reset' if no rows wait",
                reader=str(flow.reader),
                source=str(source),
                reason="rolled-back",
                stored=str(place),
                found=str(snapshot and snapshot.id),
                ways_out=["put the rows back", "table-core position reset"],
            )
    consumer = _consumer(pinned, target, table, key, view)
    consumer.hold(place.id if place is not None and place.id else access.metadata.floor())
    consumer.hold_for_main(reader, source, key, place.id if place is not None else 0)
    pinned.consumers[view] = consumer
    pinned.views[view] = View(table=table, snapshot=place.id or None if place else None)
    pinned.moved |= not pinned.views[view].is_empty


def _kept_by_main(table: Table) -> Kept:
    main = replace(table.access, metadata=Metadata(table.access.storage))
    return Kept(positions_of(main).properties)


def _consumer(pinned: Pinned, target: Table, table: Table, key: str, view: str) -> _Consumer:
    """Told apart by the target itself, not by its name, which may change and be another's."""
    birth, branch = target.birth, target.access.branch if pinned.main is None else MAIN
    label = "".join(c if c.isalnum() or c in "._-" else "_" for c in key.removeprefix(PREFIX))
    return _Consumer(
        table=table,
        name=f"flow-{label[:60]}-{digest_of(birth, branch, key, view)}",
        main=pinned.main,
    )
