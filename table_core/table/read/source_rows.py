"""What a flow reads of a source: all that is there at first, then what came since.

Both as a stream reads them, so that the second goes on where the first has ended.  Rows whose changes come with
a later compaction are left out of the first, and rows that batch reads do not see yet are in it where no
compaction tells of them.  Rows in the postpone bucket are taken when they are committed, if no producer tells of
them at their compaction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.ondisk.layout import POSTPONE_BUCKET
from table_core.ondisk.snapshot import CommitKind
from table_core.scan.follow import Deliver, Follower, levels_of, require_changes
from table_core.scan.plan import ScanPlan
from table_core.scan.split import change_splits
from table_core.table.files.row_form import RowForm
from table_core.table.metadata.timeline import TableTimeline
from table_core.table.read.changes import ChangePlanner
from table_core.table.read.producers import producer_of, waits_unseen
from table_core.table.read.scan import Scan
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.state_plan import (
    StatePlan,
    StatePlanner,
    fallback_of,
    plan_with_fallback,
    refuse_unreadable,
)

if TYPE_CHECKING:
    from table_core.ondisk.snapshot import Snapshot
    from table_core.scan.split import Split
    from table_core.table.metadata.access import TableAccess

__all__ = ["first_rows", "new_rows", "waiting_plan", "with_waiting"]


def first_rows(access: TableAccess, id: int) -> Scan:
    """The rows of snapshot ``id`` as ``+I``, but those that the changes after it bring.

    Raises:
        NotFoundError: it has expired.
        UnsupportedFeatureError: the table needs what this release cannot read.
        OptionError: the table merges rows, and has no changelog producer.
    """
    _require_streamable(access)
    snapshot = access.metadata.snapshot(id)
    levels = levels_of(producer_of(access, snapshot))
    planner = StatePlanner(access=access, levels=levels, streams=True)
    fields = access.schema.fields
    reader = SplitReader(access=access, fields=fields, form=RowForm.INSERTS)
    if waits_unseen(access, snapshot):
        stored = SplitReader(access=access, fields=fields, form=RowForm.CHANGES)
        return Scan(stored, lambda: with_waiting(access, snapshot, planner.plan(snapshot)))
    fallback = fallback_of(access)
    if fallback is None:
        plan = StatePlan(planner, snapshot)
        return Scan(reader, plan, state=plan)
    rest = StatePlanner(access=fallback, levels=levels, streams=True)
    same = fallback.schema.select(field.name for field in fields)
    theirs = SplitReader(access=fallback, fields=same, form=RowForm.INSERTS)
    return Scan(
        reader,
        lambda: plan_with_fallback(planner, snapshot, rest, explicit=True),
        branches={fallback.branch: theirs},
    )


def new_rows(access: TableAccess, after: int, to: int) -> Scan:
    """The changes of the snapshots in (``after``, ``to``]; overwrites bring none.

    Raises:
        NotFoundError: one has expired, and its changelog too.
        OptionError: the table merges rows, and has no changelog producer.
    """
    _require_streamable(access)
    reader = SplitReader(access=access, fields=access.schema.fields, form=RowForm.CHANGES)
    return Scan(reader, lambda: _new_plan(access, after, to))


def _require_streamable(access: TableAccess) -> None:
    refuse_unreadable(access)
    require_changes(access.options, access.name, is_key_table=access.schema.is_key_table)


def with_waiting(access: TableAccess, snapshot: Snapshot, state: ScanPlan) -> ScanPlan:
    """The splits of ``state`` as ``+I``, and behind them what waits and no compaction will tell."""
    waiting = waiting_plan(access, snapshot).splits if waits_unseen(access, snapshot) else ()
    splits = (*(replace(split, inserts=True) for split in state.splits), *waiting)
    return ScanPlan(splits, state.explain)


def waiting_plan(access: TableAccess, snapshot: Snapshot) -> ScanPlan:
    """The rows of ``snapshot`` in the postpone bucket, as changes."""
    planner = ChangePlanner(access)
    live = access.live_entries(snapshot, keep=lambda entry: entry.bucket == POSTPONE_BUCKET)
    splits = change_splits(live, snapshot_id=snapshot.id, with_deleted=False)
    return ScanPlan(tuple(splits), planner.explain())


def _new_plan(access: TableAccess, after: int, to: int) -> ScanPlan:
    """The changes, snapshot by snapshot."""
    follower = Follower(access.options, access.schema.is_key_table, access.name)
    timeline, planner = TableTimeline(access), ChangePlanner(access)
    splits: list[Split] = []
    for id in range(after + 1, to + 1):
        snapshot = timeline.delivered(id)
        if snapshot.commit_kind is CommitKind.OVERWRITE:
            continue
        step = follower.reads(snapshot, producer_of(access, snapshot))
        if isinstance(step, Deliver):
            splits += planner.one(id, step).splits
    return ScanPlan(tuple(splits), planner.explain())
