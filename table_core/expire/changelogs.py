"""Expiry of changelogs that outlive their snapshots: promise first, then delete, oldest first.

What is kept of snapshot s as ``changelog-s`` goes in this order::

    changelog files of s; without a producer, the files that s took out
    lists and manifests of s that nothing that stays names
    changelog-s itself, last

Without a producer appended files are the changes, so snapshot expiry leaves them and the lists that name
them.  A file that s took out was brought in before s, whose changelogs are gone by now, and is in no
state from s on.

The promise is ``changelog/EARLIEST``.  A run cut short is finished by the next: what lies below the
hint still has its document.

With a producer: snapshots 1 to 9 have expired, ``changelog-1`` to ``changelog-9`` are there, and 7 to 9 shall
stay.  EARLIEST becomes 7.  Then the changelog files of 1, its lists, ``changelog-1``; and so with 2 to 6.  If the
run dies in 3, the next one finds 3 below the hint and goes on with it.

Source: ``org.apache.paimon.table.ExpireChangelogImpl``, ``ChangelogDeletion``; format 11.3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from table_core.errors import FilesExpiredError
from table_core.expire import plan as fx
from table_core.expire.run import Run, is_append, read_consumer, read_staying_paths
from table_core.expire.snapshots import may_have_come_back, newest_snapshots
from table_core.ondisk.snapshot import Snapshot

if TYPE_CHECKING:
    from table_core.expire.snapshots import Steps

__all__ = ["choose_end", "expire_changelogs"]


def expire_changelogs(retention: fx.Retention) -> Steps[fx.Expired]:
    """Expire what ``retention`` allows, and finish what an earlier run began.

    Raises:
        TableError: of an effect.  What was promised stays promised, the next run goes on from there.
    """
    changelogs = yield fx.ReadChangelogs()
    if not isinstance(changelogs, fx.Changelogs):
        return fx.Expired(end=0)
    consumer = yield from read_consumer(retention)
    end, held = yield from choose_end(changelogs, retention, consumer)
    going = [id for id in changelogs.ids if id < end]
    if not going:
        return fx.Expired(end=end, held_by=held)
    if not retention.dry_run:
        yield fx.PromiseChangelog(end)
    consumer = yield from read_consumer(retention)  # as in snapshot expiry: after the promise
    run = yield from _begin(retention, changelogs, end)
    if (yield from run.expire_each(going, fx.ReadChangelog, _expire_one, consumer=consumer)):
        held = fx.HeldBy.CONSUMER
    return run.expired(end, held)


def choose_end(
    changelogs: fx.Changelogs, retention: fx.Retention, consumer: int | None
) -> Steps[tuple[int, fx.HeldBy | None]]:
    """(the first id that stays, what holds it).  The newest changelog always stays."""
    earliest, latest = changelogs.earliest, changelogs.latest_snapshot
    end, held = latest - max(retention.retained_min, 1) + 1, fx.HeldBy.RETAINED_MIN
    if changelogs.ids[-1] < end:
        end, held = changelogs.ids[-1], fx.HeldBy.NEWEST
    if consumer is not None and consumer < end:
        end, held = consumer, fx.HeldBy.CONSUMER
    if earliest + retention.deletes_max < end:
        end, held = earliest + retention.deletes_max, fx.HeldBy.LIMIT
    first = max(latest - retention.retained_max + 1, earliest)
    cutoff_ms = (
        changelogs.now_ms - retention.time_retained_ms
        if retention.older_than_ms is None
        else retention.older_than_ms
    )
    for id in (id for id in changelogs.ids if first <= id < end):
        document = yield fx.ReadChangelog(id)
        if isinstance(document, Snapshot) and document.time_millis >= cutoff_ms:
            end, held = id, fx.HeldBy.AGE
            break
    return max(end, earliest), held


def _begin(retention: fx.Retention, changelogs: fx.Changelogs, end: int) -> Steps[Run]:
    """Read what must stay: lists and manifests of changelog ``end``, of tags and of branches.

    A manifest that goes out of the chain of states does not come back, so ``end`` speaks for all that
    follow, snapshots included; unless an overwrite of somebody else may have brought it back.
    """
    pins = yield fx.ReadPins()
    assert isinstance(pins, fx.Pins)
    kept: set[str] = set()
    if retention.appends_are_changelog:
        pins = yield from _asked(pins, changelogs, end)
        if pins.since is not None:
            kept.update((yield from read_staying_paths(pins)))
        id = min(i for i in changelogs.ids if i >= end)
        oldest = yield fx.ReadChangelog(id)
        if not isinstance(oldest, Snapshot):
            raise FilesExpiredError(
                f"changelog {id} was expired by somebody else meanwhile: start again", snapshot=id
            )
        for snapshot in (*pins.tags, oldest):
            names = yield fx.ReadMetadata(snapshot, must_read=True)
            assert isinstance(names, fx.Metadata)
            kept.update(names.state)
    if pins.branches:
        named = yield fx.ReadNeededPaths()
        assert isinstance(named, frozenset)
        kept.update(str(path) for path in named)
    return Run(retention, pins, frozenset(kept))


def _asked(pins: fx.Pins, changelogs: fx.Changelogs, end: int) -> Steps[fx.Pins]:
    """``pins``, of which all are asked if files may have come back."""
    bounds = yield fx.ReadBounds()
    if not isinstance(bounds, fx.Bounds):
        return pins
    walked = yield from newest_snapshots(bounds)
    if may_have_come_back(walked, [*changelogs.ids, *fx.states(bounds, pins)]):
        return replace(pins, since=bounds.earliest, changelogs_since=end)
    return pins


def _expire_one(run: Run, document: Snapshot) -> Steps[None]:
    """Delete what only this changelog needs, and its document last."""
    yield from run.delete_added(document)
    if run.retention.appends_are_changelog:
        yield from run.delete_taken_out(document, is_append)
    names = yield fx.ReadMetadata(document, must_read=False)
    assert isinstance(names, fx.Metadata)
    run.delete_metadata(names.changelog, names.state if run.retention.appends_are_changelog else {})
    yield from run.flush()
    if not run.retention.dry_run:
        yield fx.DeleteChangelog(document.id)
