"""Snapshot expiry: promise first, then delete, one snapshot at a time, oldest first.

For each snapshot s below the promised end::

    data files that s+1 took out, unless a tag or branch needs them     (needed by s, no more after)
    changelog files of s, unless changelogs live longer
    manifests, lists, index files, statistics of s that nothing that stays names
    snapshot s itself, last

Why this order holds.  A crash leaves s with its document, so the next run finds it below the floor
(``Bounds.leftovers``) and repeats its step; every delete may be repeated.  What a later step reads, the
delta of s+1, is no part of s: manifests of s are those of before and its own.  Nothing that a
promised snapshot names is touched, so the table reads right at every moment.  And the floor was
raised before, so a commit that finds or re-uses an id below it knows better than to trust it
(docs/adr/0002).

Memory: the metadata file names of ``end``, tags and branches, one batch of one snapshot's entries, and
8 bytes a file of the delta, of the tag and of the branches that are asked whether they need it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.errors import FilesExpiredError
from table_core.expire import plan as fx
from table_core.expire.live_keys import LiveKeys, key_of
from table_core.expire.snapshots import choose_end
from table_core.ondisk.data_file import EntryKind, FileSource
from table_core.ondisk.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.expire.snapshots import Steps
    from table_core.ondisk.data_file import DataFile, ManifestEntry

__all__ = ["BATCH_MAX", "expire_snapshots", "unneeded", "unpinned"]

BATCH_MAX: Final = 10_000
"""Data files that are held at once."""


@dataclass(slots=True)
class _Run:
    """What one expiry knows and has done."""

    retention: fx.Retention
    pins: fx.Pins
    kept: frozenset[str]
    snapshots: list[int] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    metadata: int = 0
    buckets: set[fx.BucketKey] = field(default_factory=set)
    """Where files went, if empty folders are to go."""
    gone: set[str] = field(default_factory=set)
    """Metadata paths that were counted: neighbours name the same ones."""


def expire_snapshots(retention: fx.Retention) -> Steps[fx.Expired]:
    """Expire what ``retention`` allows and finish what an earlier run began.

    Raises:
        TableError: of an effect.  What was promised stays promised, the next run goes on from there.
    """
    bounds = yield fx.ReadBounds()
    if not isinstance(bounds, fx.Bounds):
        return fx.Expired(end=0)
    consumer = yield fx.ReadConsumers()
    assert consumer is None or isinstance(consumer, int)
    end, held = yield from choose_end(bounds, retention, consumer)
    if end == bounds.earliest and not bounds.leftovers:
        return fx.Expired(end=end, held_by=held)
    if not retention.dry_run:
        yield fx.Promise(end)
    # Whoever registers a consumer or a tag writes it first and then reads the floor; we raised
    # the floor and now read what is registered.  One of the two sees the other.
    consumer = yield fx.ReadConsumers()
    assert consumer is None or isinstance(consumer, int)
    stop = end
    if consumer is not None and retention.consumers_hold:
        stop = min(end, consumer)
    run = yield from _begin(retention, bounds, end)
    for id in itertools.chain(bounds.leftovers, range(bounds.earliest, end)):
        if id >= stop:
            held = fx.HeldBy.CONSUMER
            break
        snapshot = yield fx.ReadSnapshot(id)
        if isinstance(snapshot, Snapshot):
            yield from _expire_one(run, snapshot)
    folders: fx.Reply = 0
    if run.buckets and not retention.dry_run:
        folders = yield fx.CleanFolders(frozenset(run.buckets))
    assert isinstance(folders, int)
    return fx.Expired(
        end=end,
        snapshots=tuple(run.snapshots),
        files_deleted=run.files,
        bytes_deleted=run.bytes,
        metadata_deleted=run.metadata,
        folders_deleted=folders,
        held_by=held,
        unreadable=tuple(run.unreadable),
    )


def _begin(retention: fx.Retention, bounds: fx.Bounds, end: int) -> Steps[_Run]:
    """Read what must stay: metadata of ``end``, of tags that reach into the range, of branches."""
    pins = yield fx.ReadPins()
    assert isinstance(pins, fx.Pins)
    first = min((*bounds.leftovers, bounds.earliest))
    before = [t for t in pins.tags if t.id < first][-1:]
    staying = [*before, *(t for t in pins.tags if first <= t.id < end)]
    survivor = yield fx.ReadSnapshot(end)
    if not isinstance(survivor, Snapshot):
        raise FilesExpiredError(
            f"snapshot {end}, which was to stay, was expired by somebody else meanwhile: begin anew",
            snapshot=end,
        )
    kept: set[str] = set()
    for snapshot in (*staying, survivor):
        names = yield fx.ReadMetadata(snapshot, must_read=True)
        assert isinstance(names, fx.Metadata)
        kept.update(names.state, names.other)  # its changelog is its own, nobody else names it
    if pins.branches:
        named = yield fx.ReadNeededPaths()
        assert isinstance(named, frozenset)
        kept.update(str(path) for path in named)
    return _Run(retention, pins, frozenset(kept))


def _expire_one(run: _Run, snapshot: Snapshot) -> Steps[None]:
    """Delete what only ``snapshot`` needs, and ``snapshot`` last."""
    successor = yield fx.ReadSnapshot(snapshot.id + 1)
    if isinstance(successor, Snapshot):
        yield from _delete_data(run, snapshot, successor)
    if not run.retention.changelog_decoupled:
        yield from _delete_changelog(run, snapshot)
    yield from _delete_metadata(run, snapshot)
    if not run.retention.dry_run:
        if run.retention.changelog_decoupled:
            yield fx.KeepChangelog(snapshot)
        yield fx.DeleteSnapshot(snapshot.id)
    run.snapshots.append(snapshot.id)


def _delete_data(run: _Run, snapshot: Snapshot, successor: Snapshot) -> Steps[None]:
    """Delete the files that ``successor`` took out of the table."""
    added = yield fx.ReadEntries(successor, EntryKind.ADD)
    deleted = yield fx.ReadEntries(successor, EntryKind.DELETE)
    if added is None or deleted is None:
        run.unreadable.append(successor.id)
        return
    # A file that comes back in the same delta was upgraded to another level (spec T52).
    back = LiveKeys()
    back.take_added(_entries(added))
    for batch in _batches(_entries(deleted)):
        again = back.among(map(key_of, batch))
        going = {
            key_of(e): e
            for e in batch
            if key_of(e) not in again
            and not (run.retention.appends_are_changelog and _is_append(e.file))
        }
        yield from _delete(run, (yield from unpinned(run.pins, snapshot.id, going)))


def unpinned(
    pins: fx.Pins, id: int, going: dict[fx.FileKey, ManifestEntry]
) -> Steps[tuple[ManifestEntry, ...]]:
    """Those of ``going``, last needed by snapshot ``id``, that no tag and no branch needs."""
    tags = [tag for tag in pins.tags if tag.id <= id][-1:]
    return (yield from unneeded(tags, going, branches=pins.branches))


def unneeded(
    states: Iterable[Snapshot], going: dict[fx.FileKey, ManifestEntry], *, branches: bool
) -> Steps[tuple[ManifestEntry, ...]]:
    """Those of ``going`` that are in none of ``states`` and needed by no other branch."""
    for state in states:
        if going:
            kept = yield fx.ReadKept(state, frozenset(going))
            assert isinstance(kept, frozenset)
            going = {k: e for k, e in going.items() if k not in kept}
    if going and branches:
        kept = yield fx.ReadNeeded(frozenset(going))
        assert isinstance(kept, frozenset)
        going = {k: e for k, e in going.items() if k not in kept}
    return tuple(going.values())


def _delete_changelog(run: _Run, snapshot: Snapshot) -> Steps[None]:
    """Delete the changelog files of ``snapshot``, tagged or not: a tag is a state, no change (T54)."""
    if snapshot.changelog_manifest_list is None:
        return
    added = yield fx.ReadEntries(snapshot, EntryKind.ADD, changelog=True)
    if added is None:
        run.unreadable.append(snapshot.id)
        return
    for batch in _batches(_entries(added)):
        going = {key_of(entry): entry for entry in batch}
        others = fx.Pins((), branches=run.pins.branches)
        yield from _delete(run, (yield from unpinned(others, snapshot.id, going)))


def _delete_metadata(run: _Run, snapshot: Snapshot) -> Steps[None]:
    """Delete the metadata files of ``snapshot`` that nothing that stays names."""
    names = yield fx.ReadMetadata(snapshot, must_read=False)
    assert isinstance(names, fx.Metadata)
    groups = [names.other]
    if not run.retention.changelog_decoupled:
        groups.append(names.changelog)
    if not run.retention.appends_are_changelog:
        groups.append(names.state)
    going = {path: size for group in groups for path, size in group.items() if path not in run.kept}
    fresh = going.keys() - run.gone
    run.gone |= fresh
    run.metadata += len(fresh)
    run.bytes += sum(going[path] for path in fresh)
    if going and not run.retention.dry_run:
        yield fx.Delete(paths=tuple(going))


def _delete(run: _Run, entries: tuple[ManifestEntry, ...]) -> Steps[None]:
    if not entries:
        return
    run.files += sum(1 + len(e.file.extra_files) for e in entries)
    run.bytes += sum(e.file.file_size for e in entries)
    if run.retention.clean_folders:
        run.buckets.update((e.partition, e.bucket) for e in entries)
    if not run.retention.dry_run:
        yield fx.Delete(data=tuple((e.partition, e.bucket, e.file) for e in entries))


def _is_append(file: DataFile) -> bool:
    return file.file_source is FileSource.APPEND


def _entries(reply: fx.Reply) -> Iterator[ManifestEntry]:
    assert isinstance(reply, Iterator), reply
    return reply


def _batches(entries: Iterator[ManifestEntry]) -> Iterator[tuple[ManifestEntry, ...]]:
    while batch := tuple(itertools.islice(entries, BATCH_MAX)):
        yield batch
