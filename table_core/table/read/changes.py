"""Changes between snapshots, and a reader that goes on for ever.

Snapshot order, then order within each bucket; ranges are read under the newest schema.  What each
snapshot delivers is decided in ``scan.incremental`` and ``scan.follow``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError, NotFoundError, OptionError
from table_core.expire.auto_tags import TagPeriod
from table_core.options import keys_scan
from table_core.scan.incremental import (
    ChangeMode,
    ChangeRange,
    change_mode,
    reads_of,
    requested_range,
)
from table_core.scan.plan import ScanPlan
from table_core.scan.prune import Pruner
from table_core.scan.split import change_splits
from table_core.table.files.row_form import RowForm
from table_core.table.metadata.positions import read_by
from table_core.table.metadata.refs.tags import tag_names, tagged
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.read.producers import producer_of
from table_core.table.read.scan import Scan, bound_where, selected_fields
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.state_plan import refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.predicate.bound import Bound
    from table_core.predicate.expression import Expression
    from table_core.scan.follow import Deliver
    from table_core.scan.prune import Explain
    from table_core.scan.split import Split
    from table_core.table.metadata.access import TableAccess

__all__ = ["ChangePlanner", "asked_range", "changes_of_range", "changes_scan", "range_scan"]


def changes_scan(
    access: TableAccess,
    *,
    after: int | None,
    to: int | None,
    columns: Sequence[str] | None,
    where: str | Expression | None,
    mode: str,
    consumer: str | None,
) -> Scan:
    """See ``Table.changes``.

    Raises:
        NotFoundError: a snapshot of the range is expired and its changelog too.
        ArgumentError: ``after`` lies behind ``to``, or an unknown mode.
        PositionDivergedError: the table is not what ``consumer`` has read.
    """
    refuse_unreadable(access)
    chosen = change_mode(mode, access.options)
    head = access.metadata.head_id()
    if head is None:
        access.require_there()
    if consumer is not None and after is None:
        stored = read_by(access, consumer)
        after = None if stored is None else stored.id
    last = (head or 0) if to is None else to
    first = after if after is not None else (access.metadata.earliest_id() or 1) - 1
    if last > (head or 0):
        raise NotFoundError(
            f"{access.name} has no snapshot {last} yet; the newest is {head}",
            name=str(last),
            available=[head],
        )
    if first > last or first < 0:
        what = "is no snapshot" if first < 0 else f"lies behind to={to}"
        if to is None and first > last:
            what = f"has nothing behind it: the newest snapshot is {last}"
        raise ArgumentError(f"after={first} {what}", argument="after", value=first)
    if chosen is ChangeMode.DIFF:
        from table_core.table.read.difference import difference_scan

        return difference_scan(access, first, last, columns=columns, where=where)
    bound = bound_where(access.schema, where)
    fields = selected_fields(access.schema, columns)
    reader = SplitReader(access=access, fields=fields, where=bound, form=RowForm.CHANGES)
    planner = ChangePlanner(access, bound, as_written=mode == "auto")
    return Scan(reader, lambda: planner.plan(ChangeRange(first, last, chosen)))


def range_scan(
    access: TableAccess,
    asked: ChangeRange,
    *,
    columns: Sequence[str] | None,
    where: str | Expression | None,
    limit: int | None,
) -> Scan:
    """What a batch read gives where ``incremental-between`` is set: rows that came, no kinds."""
    if asked.mode is ChangeMode.DIFF:
        from table_core.table.read.difference import difference_scan

        first, last = asked.states or (asked.after, asked.to)
        return difference_scan(access, first, last, columns=columns, where=where, with_kind=False)
    bound = bound_where(access.schema, where)
    fields = selected_fields(access.schema, columns)
    reader = SplitReader(access=access, fields=fields, where=bound, form=RowForm.ADDS)
    planner = ChangePlanner(access, bound)
    return Scan(reader, lambda: planner.plan(asked), limit=limit)


def asked_range(access: TableAccess) -> ChangeRange | None:
    """The range of snapshots that options ask for, None if they ask for none.

    Raises:
        OptionError: the range does not make sense.
    """
    asked = requested_range(access.options, TableTimeline(access))
    return asked if asked is not None else _auto_tag_range(access)


def changes_of_range(access: TableAccess, asked: ChangeRange, *, with_number: bool = False) -> Scan:
    """All changes in ``asked`` with ``_ROW_KIND``, and on demand their sequence numbers."""
    fields = access.schema.fields
    if asked.mode is ChangeMode.DIFF:
        from table_core.table.read.difference import difference_scan

        first, last = asked.states or (asked.after, asked.to)
        return difference_scan(
            access, first, last, columns=None, where=None, with_number=with_number
        )
    reader = SplitReader(
        access=access, fields=fields, form=RowForm.CHANGES, with_number=with_number
    )
    return Scan(reader, lambda: ChangePlanner(access).plan(asked))


def _auto_tag_range(access: TableAccess) -> ChangeRange | None:
    """What ``incremental-to-auto-tag`` asks for: from the automatic tag before it to that tag.

    Without that tag, or one before it, there is nothing that differs.

    Raises:
        OptionError: no automatic tag is called so.
    """
    name = access.options.get(keys_scan.INCREMENTAL_TO_AUTO_TAG)
    if name is None:
        return None
    period = TagPeriod.of(access.options)
    begin = period.begin(name)
    if begin is None:
        raise OptionError(
            f"{name!r} is not the name of an automatic tag of {access.name}",
            option=keys_scan.INCREMENTAL_TO_AUTO_TAG.key,
            value=name,
        )
    begins = {known: at for known in tag_names(access) if (at := period.begin(known)) is not None}
    earlier = [known for known, at in begins.items() if at < begin]
    if name not in begins or not earlier:
        return ChangeRange(0, 0, ChangeMode.DIFF)
    before = tagged(access, max(earlier, key=begins.__getitem__)).snapshot
    to = tagged(access, name).snapshot
    return ChangeRange(before.id, to.id, ChangeMode.DIFF, (before, to))


@dataclass(frozen=True, slots=True)
class ChangePlanner:
    """Plans reads of changes.  Values prune nothing but partitions and buckets."""

    access: TableAccess
    where: Bound | None = None
    as_written: bool = False
    """Whether the producer that a snapshot was written under says where its changes are."""

    def plan(self, asked: ChangeRange) -> ScanPlan:
        """The splits of the snapshots in ``asked``, in their order.

        Rows that still wait in the postpone bucket are left out: only streams have them before a
        compaction gives them their buckets.
        """
        pruner = self._pruner()
        timeline = TableTimeline(self.access)
        splits: list[Split] = []
        for id in range(asked.after + 1, asked.to + 1):
            snapshot, mode = timeline.delivered(id), asked.mode
            if self.as_written:
                has_producer = producer_of(self.access, snapshot) != "none"
                mode = ChangeMode.CHANGELOG if has_producer else ChangeMode.DELTA
            name, size = reads_of(snapshot, mode)
            metas = self.access.metadata.manifest_list(name, size)
            made = self._splits(pruner, id, metas, with_deleted=False)
            splits += [split for split in made if split.bucket >= 0]
        return ScanPlan(tuple(splits), pruner.explain())

    def one(self, id: int, step: Deliver) -> ScanPlan:
        """The splits of what is delivered of snapshot ``id``."""
        pruner = self._pruner()
        metas = self.access.metadata.manifest_list(step.manifest_list, step.size)
        splits = self._splits(pruner, id, metas, with_deleted=step.with_deleted)
        return ScanPlan(tuple(splits), pruner.explain())

    def explain(self) -> Explain:
        """Of a plan that read nothing."""
        return self._pruner().explain()

    def _pruner(self) -> Pruner:
        access = self.access
        return Pruner(
            access.schema,
            access.options,
            self.where,
            schema_of=access.metadata.schema,
            batch=False,
        )

    def _splits(
        self, pruner: Pruner, id: int, metas: Iterable[ManifestMeta], *, with_deleted: bool
    ) -> list[Split]:
        entries = [
            entry
            for entry in self.access.metadata.entries(filter(pruner.keep_manifest, metas))
            if pruner.keep_entry(entry)
        ]
        return change_splits(entries, snapshot_id=id, with_deleted=with_deleted)
