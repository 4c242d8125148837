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

Source: ``org.apache.paimon.table.ExpireChangelogImpl``, ``ChangelogDeletion``; spec section 11.3.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from table_core.errors import FilesExpiredError
from table_core.expire import plan as fx
from table_core.expire.live_keys import LiveKeys, key_of
from table_core.expire.protocol import BATCH_MAX, unpinned
from table_core.ondisk.data_file import EntryKind, FileSource
from table_core.ondisk.snapshot import Snapshot

if TYPE_CHECKING:
    from table_core.expire.snapshots import Steps
    from table_core.ondisk.data_file import ManifestEntry

__all__ = ["choose_end", "expire_changelogs"]


@dataclass(slots=True)
class _Run:
    """What one expiry knows and has done."""

    retention: fx.Retention
    pins: fx.Pins
    kept: frozenset[str]
    ids: list[int] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    gone: set[str] = field(default_factory=set)


def expire_changelogs(retention: fx.Retention) -> Steps[fx.Expired]:
    """Expire what ``retention`` allows, and finish what an earlier run began.

    Raises:
        TableError: of an effect.  What was promised stays promised, the next run goes on from there.
    """
    found = yield fx.ReadChangelogs()
    if not isinstance(found, fx.Changelogs):
        return fx.Expired(end=0)
    consumer = yield fx.ReadConsumers()
    assert consumer is None or isinstance(consumer, int)
    end, held = yield from choose_end(found, retention, consumer)
    going = [id for id in found.ids if id < end]
    if not going:
        return fx.Expired(end=end, held_by=held)
    if not retention.dry_run:
        yield fx.PromiseChangelog(end)
    consumer = yield fx.ReadConsumers()  # as in snapshot expiry: after the promise
    assert consumer is None or isinstance(consumer, int)
    run = yield from _begin(retention, found, end)
    for id in going:
        if consumer is not None and retention.consumers_hold and id >= consumer:
            held = fx.HeldBy.CONSUMER
            break
        document = yield fx.ReadChangelog(id)
        if isinstance(document, Snapshot):
            yield from _expire_one(run, document)
    return fx.Expired(
        end=end,
        snapshots=tuple(run.ids),
        files_deleted=run.files,
        bytes_deleted=run.bytes,
        metadata_deleted=len(run.gone),
        held_by=held,
        unreadable=tuple(run.unreadable),
    )


def choose_end(
    found: fx.Changelogs, retention: fx.Retention, consumer: int | None
) -> Steps[tuple[int, fx.HeldBy | None]]:
    """(the first id that stays, what holds it).  The newest changelog always stays."""
    earliest, latest = found.earliest, found.latest_snapshot
    end, held = latest - max(retention.retained_min, 1) + 1, fx.HeldBy.RETAINED_MIN
    if found.ids[-1] < end:
        end, held = found.ids[-1], fx.HeldBy.NEWEST
    if consumer is not None and retention.consumers_hold and consumer < end:
        end, held = consumer, fx.HeldBy.CONSUMER
    if earliest + retention.deletes_max < end:
        end, held = earliest + retention.deletes_max, fx.HeldBy.LIMIT
    first = max(latest - retention.retained_max + 1, earliest)
    cutoff_ms = (
        found.now_ms - retention.time_retained_ms
        if retention.older_than_ms is None
        else retention.older_than_ms
    )
    for id in (id for id in found.ids if first <= id < end):
        document = yield fx.ReadChangelog(id)
        if isinstance(document, Snapshot) and document.time_millis >= cutoff_ms:
            end, held = id, fx.HeldBy.AGE
            break
    return max(end, earliest), held


def _begin(retention: fx.Retention, found: fx.Changelogs, end: int) -> Steps[_Run]:
    """Read what must stay: lists and manifests of changelog ``end``, of tags and of branches.

    A manifest that goes out of the chain of states never comes back, so ``end`` speaks for all that
    follow, snapshots included.
    """
    pins = yield fx.ReadPins()
    assert isinstance(pins, fx.Pins)
    kept: set[str] = set()
    if retention.appends_are_changelog:
        id = min(i for i in found.ids if i >= end)
        oldest = yield fx.ReadChangelog(id)
        if not isinstance(oldest, Snapshot):
            raise FilesExpiredError(
                f"changelog {id} was expired by somebody else meanwhile: begin anew", snapshot=id
            )
        for snapshot in (*pins.tags, oldest):
            names = yield fx.ReadMetadata(snapshot, must_read=True)
            assert isinstance(names, fx.Metadata)
            kept.update(names.state)
    if pins.branches:
        named = yield fx.ReadNeededPaths()
        assert isinstance(named, frozenset)
        kept.update(str(path) for path in named)
    return _Run(retention, pins, frozenset(kept))


def _expire_one(run: _Run, document: Snapshot) -> Steps[None]:
    """Delete what only this changelog needs, and its document last."""
    if document.changelog_manifest_list is not None:
        added = yield fx.ReadEntries(document, EntryKind.ADD, changelog=True)
        if isinstance(added, Iterator):
            others = fx.Pins((), branches=run.pins.branches)
            while batch := tuple(itertools.islice(added, BATCH_MAX)):
                whole = {key_of(entry): entry for entry in batch}
                yield from _delete(run, (yield from unpinned(others, document.id, whole)))
        else:
            run.unreadable.append(document.id)
    if run.retention.appends_are_changelog:
        yield from _delete_taken_out(run, document)
    names = yield fx.ReadMetadata(document, must_read=False)
    assert isinstance(names, fx.Metadata)
    going = {path: size for path, size in names.changelog.items() if path not in run.kept}
    if run.retention.appends_are_changelog:
        going |= {path: size for path, size in names.state.items() if path not in run.kept}
    fresh = going.keys() - run.gone
    run.gone |= fresh
    run.bytes += sum(going[path] for path in fresh)
    if not run.retention.dry_run:
        if going:
            yield fx.Delete(paths=tuple(going))
        yield fx.DeleteChangelog(document.id)
    run.ids.append(document.id)


def _delete_taken_out(run: _Run, document: Snapshot) -> Steps[None]:
    """Delete appended files that ``document`` took out, unless a tag or branch needs them."""
    added = yield fx.ReadEntries(document, EntryKind.ADD)
    deleted = yield fx.ReadEntries(document, EntryKind.DELETE)
    if not isinstance(added, Iterator) or not isinstance(deleted, Iterator):
        run.unreadable.append(document.id)
        return
    back = LiveKeys()
    back.take_added(added)
    while batch := tuple(itertools.islice(deleted, BATCH_MAX)):
        again = back.among(map(key_of, batch))
        going = {
            key_of(e): e
            for e in batch
            if e.file.file_source is FileSource.APPEND and key_of(e) not in again
        }
        yield from _delete(run, (yield from unpinned(run.pins, document.id - 1, going)))


def _delete(run: _Run, entries: tuple[ManifestEntry, ...]) -> Steps[None]:
    if not entries:
        return
    run.files += sum(1 + len(e.file.extra_files) for e in entries)
    run.bytes += sum(e.file.file_size for e in entries)
    if not run.retention.dry_run:
        yield fx.Delete(data=tuple((e.partition, e.bucket, e.file) for e in entries))
