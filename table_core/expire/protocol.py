"""Snapshot expiry: promise first, then delete, some snapshots at a time, oldest first.

For the snapshots s to t below the promised end that go together::

    data files that s+1 to t+1 took out, unless a tag or branch needs them     (needed by s to t, no more after)
    changelog files of s to t, unless changelogs live longer
    manifests, lists, index files, statistics of s to t that nothing that stays names, each before what names it
    the snapshots s to t themselves, last

Why this order holds.  A crash leaves s to t with their documents, so the next run finds them below the floor
(``Bounds.leftovers``) and repeats their step; every delete may be repeated, and where a list is gone, so are the
files that it named.  What a later step reads, the delta of t+1, is no part of s to t: manifests of a snapshot are those
of before and its own.  Nothing that a promised snapshot names is touched, so the table reads right at every moment.
And the floor was raised before, so a commit that finds or re-uses an id below it knows better than to trust it
(docs/adr/0002).

A turn (rollback, fast-forward) replaces what lies above some snapshot.  Before some go together, expiry says up to
which, and then asks whether the line is still the one that it planned for (docs/adr/0026).  Snapshots 1 to 250: it says
100 and asks, and 1 to 100 go; it says 200 and asks; it says 250 and asks.

Memory: the metadata file names of ``end``, tags and branches and of what goes together, thousands of entries, and
8 bytes a file of the delta, of the tag and of the branches that are asked whether they need it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.errors import FilesExpiredError
from table_core.expire import plan as fx
from table_core.expire.run import Run, is_append, read_consumer, read_staying_paths
from table_core.expire.snapshots import choose_end, may_have_come_back, newest_snapshots
from table_core.ondisk.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.expire.snapshots import Steps
    from table_core.ondisk.data_file import DataFile

__all__ = ["expire_snapshots"]

_TOGETHER: Final = 100
"""Snapshots that go together: what it costs to say so and to look is small beside reading them."""


def expire_snapshots(retention: fx.Retention) -> Steps[fx.Expired]:
    """Expire what ``retention`` allows and finish what an earlier run began.

    Raises:
        TableError: of an effect.  What was promised stays promised, the next run goes on from there.
    """
    line = yield fx.ReadLine()
    if line is None:
        return fx.Expired(end=0, held_by=fx.HeldBy.TURN)
    bounds = yield fx.ReadBounds()
    if not isinstance(bounds, fx.Bounds):
        return fx.Expired(end=0)
    consumer = yield from read_consumer(retention)
    walked = yield from newest_snapshots(bounds)
    end, held = yield from choose_end(bounds, retention, consumer, walked)
    if end == bounds.earliest and not bounds.leftovers:
        return fx.Expired(end=end, held_by=held)
    if not retention.dry_run:
        yield fx.Promise(end)
        yield from _require_line(line, 0, bounds, retention)
    # Whoever registers a consumer or a tag writes it first and then reads the floor; we raised
    # the floor and now read what is registered.  One of the two sees the other.
    consumer = yield from read_consumer(retention)
    run = yield from _begin(retention, bounds, end, consumer, walked)
    for ids in _together(retention, [*bounds.leftovers, *range(bounds.earliest, end)]):
        yield from _require_line(line, ids[-1], bounds, retention)
        if (yield from _expire_together(run, ids, consumer)):
            held = fx.HeldBy.CONSUMER
            break
    if not retention.dry_run:
        yield fx.ReadLine()  # was the table dropped, what was promised goes again
    if run.buckets and not retention.dry_run:
        yield fx.CleanFolders(frozenset(run.buckets))
    return run.expired(end, held)


def _together(retention: fx.Retention, going: Sequence[int]) -> list[Sequence[int]]:
    """``going`` by what goes together: where changelogs stay, each by itself.

    One that was kept long after its snapshot was read might come back after it expired.
    """
    size = 1 if retention.changelog_decoupled else _TOGETHER
    return [going[at : at + size] for at in range(0, len(going), size)]


def _expire_together(run: Run, ids: Sequence[int], consumer: int | None) -> Steps[bool]:
    """Delete what only the snapshots ``ids`` need, and those last; whether ``consumer`` ended it."""
    before = len(run.ids)
    is_held = yield from run.expire_each(ids, fx.ReadSnapshot, _expire_one, consumer=consumer)
    yield from run.flush()
    gone = tuple(run.ids[before:])
    if gone and not run.retention.dry_run:
        yield fx.DeleteSnapshots(gone)
    return is_held


def _begin(
    retention: fx.Retention,
    bounds: fx.Bounds,
    end: int,
    consumer: int | None,
    walked: Sequence[Snapshot],
) -> Steps[Run]:
    """Read what must stay: metadata of ``end``, of tags that reach into the range, of branches."""
    pins = yield fx.ReadPins()
    assert isinstance(pins, fx.Pins)
    first = min((*bounds.leftovers, bounds.earliest))
    before = [t for t in pins.tags if t.id < first][-1:]
    staying = [*before, *(t for t in pins.tags if first <= t.id < end)]
    survivor = yield fx.ReadSnapshot(end)
    if not isinstance(survivor, Snapshot):
        if not retention.dry_run:
            yield fx.Promise(bounds.earliest, lower=True)
        raise FilesExpiredError(
            f"snapshot {end} was to be kept, but somebody else removed it meanwhile: start again",
            snapshot=end,
        )
    kept: set[str] = set()
    if may_have_come_back(walked, fx.states(bounds, pins)):
        pins = replace(pins, since=end if consumer is None else min(end, consumer))
        kept.update((yield from read_staying_paths(pins)))
        staying = []
    for snapshot in (*staying, survivor):
        names = yield fx.ReadMetadata(snapshot, must_read=True)
        assert isinstance(names, fx.Metadata)
        kept.update(names.state, names.other)  # its changelog is its own, nobody else names it
    if pins.branches:
        named = yield fx.ReadNeededPaths()
        assert isinstance(named, frozenset)
        kept.update(str(path) for path in named)
    return Run(retention, pins, frozenset(kept), read={end: survivor})


def _require_line(
    line: object, next: int, bounds: fx.Bounds, retention: fx.Retention
) -> Steps[None]:
    """Require that the table has not changed its direction since the bounds were read.

    Raises:
        FilesExpiredError: it has; what was promised on the old line is lowered to what the new one has.
    """
    if (yield fx.ReadLine(next)) == line:
        return
    if not retention.dry_run:
        yield fx.Promise(bounds.earliest, lower=True)
    raise FilesExpiredError(
        "the table was rolled back or fast-forwarded while snapshots expired: start again",
        snapshot=bounds.latest,
    )


def _expire_one(run: Run, snapshot: Snapshot) -> Steps[None]:
    """Let go what only ``snapshot`` needs, with the next ``Run.flush``."""
    retention = run.retention

    def may_go(file: DataFile) -> bool:
        return not (retention.appends_are_changelog and is_append(file))

    successor = run.read.get(snapshot.id + 1) or (yield fx.ReadSnapshot(snapshot.id + 1))
    if isinstance(successor, Snapshot):
        if (
            not retention.changelog_decoupled
        ):  # a changelog that is kept twice might come back after it expired
            run.read[successor.id] = successor
        yield from run.delete_taken_out(successor, may_go)
    if not retention.changelog_decoupled:
        yield from run.delete_added(snapshot)
    names = yield fx.ReadMetadata(snapshot, must_read=False)
    assert isinstance(names, fx.Metadata)
    run.delete_metadata(
        names.other,
        {} if retention.changelog_decoupled else names.changelog,
        {} if retention.appends_are_changelog else names.state,
    )
    if retention.changelog_decoupled and not retention.dry_run:
        yield fx.KeepChangelog(snapshot)
