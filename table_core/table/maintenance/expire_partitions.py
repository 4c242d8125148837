"""Drops partitions past their time, a batch a commit (format 11.4)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from table_core.commit.basis import AsOf, Basis
from table_core.commit.overwrite import Selection
from table_core.commit.request import CommitPart
from table_core.errors import ArgumentError
from table_core.expire.partitions import Partition, PartitionExpiry, plan_partitions
from table_core.expire.undatable import dated_texts, never_dated, readable_values
from table_core.ondisk.file_columns import UNKNOWN
from table_core.ondisk.partition_text import partition_text
from table_core.ondisk.snapshot import CommitKind
from table_core.table.commit_io.committer import commit_parts, find_commit
from table_core.table.dml.overwrite import TRUNCATE
from table_core.table.dml.redo import done_again
from table_core.table.maintenance.update_moments import UpdateMoments
from table_core.table.metadata.describing import committed, foretold
from table_core.table.metadata.partition_marks import unmark
from table_core.table.metadata.timestamps import length_ms

if TYPE_CHECKING:
    from table_core.expire.partitions import PartitionPlan
    from table_core.ondisk.file_columns import FileColumns
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.results import Commit, CommitAs, ResultDocument

__all__ = ["expire_partitions", "partitions_of"]

_ACTION: Final = "expire-partitions"
_log = logging.getLogger(__name__)


def expire_partitions(
    access: TableAccess, expiration_time: str | None, *, dry_run: bool, commit: CommitAs
) -> ResultDocument:
    """See ``Table.expire_partitions``.

    Raises:
        ArgumentError: the table has no partitions, or nobody says when they expire.
    """
    started_ms = access.clock.now_ms()
    if not access.schema.partition_keys:
        raise ArgumentError(f"{access.name} is not partitioned", argument="table")
    expiry = PartitionExpiry.of(access.options, expiration_ms=_age_ms(expiration_time))
    if expiry is None:
        raise ArgumentError(
            f"{access.name} sets no 'partition.expiration-time', and none was given; pass "
            "expiration_time='7 d'",
            argument="expiration_time",
        )
    head = access.head()
    live = access.metadata.live_files(head)
    commit = commit.with_request(_ACTION, access.branch, expiration_time=expiration_time)
    run = _Run(access, expiry, commit)
    if dry_run:
        run.plan(head, live)
    else:
        done_again(access, run.once)
    plan, done = run.planned, run.done
    expired = [*run.dropped, *(p for p in plan.expired if p not in run.dropped)]
    details = {
        "partitions": [dict(partition.texts) for partition in expired],
        "undated": [readable_values(access.schema, partition.row) for partition in plan.undated],
        "left_for_next_run": plan.left,
    }
    if (advice := never_dated(access.schema, expiry)) is not None:
        details["advice"] = advice
        _log.warning("%s: %s", access.name, advice)
    if dry_run:
        rows = {partition.row for partition in expired}
        sizes = live.of_partitions(rows.__contains__).size.tolist()
        told = {**details, "replayed": False}
        return foretold(access, _ACTION, head, sizes, told, started_ms=started_ms, instead=False)
    return committed(access, _ACTION, done, head, details, started_ms=started_ms)


def _age_ms(text: str | None) -> int | None:
    return None if text is None else length_ms("expiration_time", text)


@dataclass(slots=True)
class _Run:
    """One call: planned anew where somebody wrote to a partition that was idle."""

    access: TableAccess
    expiry: PartitionExpiry
    commit: CommitAs
    done: list[Commit] = field(default_factory=list)
    dropped: list[Partition] = field(default_factory=list)
    planned: PartitionPlan = field(init=False)

    def plan(self, head: Snapshot | None, live: FileColumns) -> AsOf:
        """Find what is past its time as of ``head``."""
        access = self.access
        now_ms = access.clock.now_ms()
        self.planned = plan_partitions(
            partitions_of(access, live),
            self.expiry,
            now_local_ms=access.wall_clock.shown(now_ms),
            now_ms=now_ms,
        )
        return AsOf.of(head)

    def once(self) -> None:
        """One OVERWRITE commit a batch; see ``CommitAs.nth``.

        A retry plans what is left, so its numbers begin after those that have landed.  What goes along
        with the commit goes with the first.
        """
        access, commit, done = self.access, self.commit, self.done
        head = access.head()
        as_of = self.plan(head, access.metadata.live_files(head))
        while (landed := find_commit(access, _nth(commit, len(done)))) is not None:
            done.append(landed)
        if done and self.planned.batch_max is None:
            return
        basis = Basis(idle=frozenset({as_of})) if self.expiry.by_update else Basis()
        for batch in self.planned.batches():
            selection = Selection(frozenset(partition.row for partition in batch))
            part = CommitPart(kind=CommitKind.OVERWRITE, overwrite=selection, basis=basis)
            as_ = _nth(commit, len(done))
            unmark(access, (partition.row for partition in batch))
            done.append(commit_parts(access, as_, append=part, operation=TRUNCATE, upkeep=False))
            self.dropped += batch


def _nth(commit: CommitAs, number: int) -> CommitAs:
    return commit if number == 0 else replace(commit.nth(number), properties={}, expect={})


def partitions_of(access: TableAccess, live: FileColumns) -> list[Partition]:
    """The partitions of the ``live`` files, with the moment of their last update."""
    there, group = np.unique(live.partition, return_inverse=True)
    group = group.reshape(-1)
    newest = np.full(len(there), UNKNOWN, np.int64)
    np.maximum.at(newest, group, live.created_ms)
    undated = np.bincount(group, live.created_ms == UNKNOWN, minlength=len(there)) > 0
    moments, partitions = UpdateMoments(access, live), []
    for i, at_ms, unknown in zip(there.tolist(), newest.tolist(), undated.tolist(), strict=True):
        row = live.partitions[i]
        partitions.append(
            Partition(
                row=row,
                texts=dict(partition_text(access.schema, row)),
                updated_ms=None if unknown else moments.of(i, at_ms),
                dated_by=dated_texts(access.schema, row),
            )
        )
    return partitions
