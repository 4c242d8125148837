"""What one expiry knows and has done, of snapshots or of changelogs; what goes, goes through here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from table_core.expire import plan as fx
from table_core.expire.live_keys import LiveKeys, key_of
from table_core.ondisk.data_file import EntryKind, FileSource
from table_core.ondisk.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from table_core.expire.snapshots import Steps
    from table_core.ondisk.data_file import DataFile, ManifestEntry

__all__ = [
    "Run",
    "batches",
    "is_append",
    "read_consumer",
    "read_staying_paths",
    "unneeded_elsewhere",
    "unneeded_here",
]

_BATCH_MAX: Final = 10_000
"""Data files that are held at once, and those that wait to be deleted."""


@dataclass(slots=True)
class Run:
    """One expiry.  With ``dry_run`` everything is counted and nothing deleted."""

    retention: fx.Retention
    pins: fx.Pins
    kept: frozenset[str]
    """Metadata files that something names that stays."""
    ids: list[int] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    metadata_bytes: int = 0
    buckets: set[fx.BucketKey] = field(default_factory=set)
    """Where files went, if empty folders are to go."""
    gone: set[str] = field(default_factory=set)
    """Metadata paths that were counted: neighbours name the same ones."""
    read: dict[int, Snapshot] = field(default_factory=dict)
    """Snapshots that are still to come.  Before one goes, it is asked whether the line is the one it was read on."""
    data: list[ManifestEntry] = field(default_factory=list)
    """Data files that go with the next ``flush``."""
    paths: dict[str, None] = field(default_factory=dict)
    """Metadata files that go with it, each before what names it."""

    def expire_each(
        self,
        ids: Iterable[int],
        read: Callable[[int], fx.Effect],
        expire: Callable[[Run, Snapshot], Steps[None]],
        *,
        consumer: int | None,
    ) -> Steps[bool]:
        """``expire`` the documents of ``ids``, oldest first; whether ``consumer`` ended it."""
        for id in ids:
            if consumer is not None and id >= consumer:
                return True
            document = self.read.pop(id, None) or (yield read(id))
            if isinstance(document, Snapshot):
                yield from expire(self, document)
                self.ids.append(id)
        return False

    def delete_added(self, document: Snapshot) -> Steps[None]:
        """Delete the changelog files of ``document``, tagged or not: a tag is a state (format T54)."""
        if document.changelog_manifest_list is None:
            return
        added = yield fx.ReadEntries(document, EntryKind.ADD, changelog=True)
        if not isinstance(added, Iterator):
            self.unreadable.append(document.id)
            return
        for batch in batches(added):
            going = {key_of(entry): entry for entry in batch}
            yield from self._delete((yield from self._unneeded_elsewhere(going)))

    def delete_taken_out(
        self, document: Snapshot, wanted: Callable[[DataFile], bool]
    ) -> Steps[None]:
        """Delete the ``wanted`` ones of the files that ``document`` took out of the table.

        They were last needed by the snapshot before, or by the tag that is nearest to it, unless files may have come back.
        """
        added = yield fx.ReadEntries(document, EntryKind.ADD)
        deleted = yield fx.ReadEntries(document, EntryKind.DELETE)
        if not isinstance(added, Iterator) or not isinstance(deleted, Iterator):
            self.unreadable.append(document.id)
            return
        # A file that comes back in the same delta was upgraded to another level (format T52).
        back = LiveKeys()
        back.take_added(added)
        tags = [tag for tag in self.pins.tags if tag.id < document.id][-1:]
        for batch in batches(deleted):
            again = back.among(map(key_of, batch))
            going = {key_of(e): e for e in batch if key_of(e) not in again and wanted(e.file)}
            going = yield from unneeded_here(tags, going, self.pins)
            yield from self._delete((yield from self._unneeded_elsewhere(going)))

    def delete_metadata(self, *groups: Mapping[str, int]) -> None:
        """Let what ``groups`` name, and nothing that stays does, go with the next ``flush``."""
        going = {path: size for group in groups for path, size in group.items()}
        going = {path: size for path, size in going.items() if path not in self.kept}
        fresh = going.keys() - self.gone
        self.gone |= fresh
        self.metadata_bytes += sum(going[path] for path in fresh)
        if not self.retention.dry_run:
            self.paths |= dict.fromkeys(reversed(going))

    def flush(self) -> Steps[None]:
        """Delete what waits for it: data files first, because metadata says where they are."""
        yield from self._flush_data()
        if self.paths:
            paths = tuple(self.paths)
            self.paths.clear()
            yield fx.Delete(paths=paths)

    def expired(self, end: int, held: fx.HeldBy | None) -> fx.Expired:
        """What was done."""
        return fx.Expired(
            end=end,
            snapshots=tuple(self.ids),
            files_deleted=self.files,
            bytes_deleted=self.bytes,
            metadata_deleted=len(self.gone),
            metadata_bytes=self.metadata_bytes,
            held_by=held,
            unreadable=tuple(self.unreadable),
        )

    def _unneeded_elsewhere(
        self, going: dict[fx.FileKey, ManifestEntry]
    ) -> Steps[tuple[ManifestEntry, ...]]:
        return (yield from unneeded_elsewhere(going, self.pins))

    def _delete(self, entries: tuple[ManifestEntry, ...]) -> Steps[None]:
        if not entries:
            return
        self.files += sum(1 + len(e.file.extra_files) for e in entries)
        self.bytes += sum(e.file.file_size for e in entries)
        if self.retention.clean_folders:
            self.buckets.update((e.partition, e.bucket) for e in entries)
        if self.retention.dry_run:
            return
        if len(self.data) + len(entries) > _BATCH_MAX:
            yield from self._flush_data()
        self.data.extend(entries)

    def _flush_data(self) -> Steps[None]:
        if self.data:
            gone = tuple((e.partition, e.bucket, e.file) for e in self.data)
            self.data.clear()
            yield fx.Delete(data=gone)


def unneeded_here(
    states: Iterable[Snapshot], going: dict[fx.FileKey, ManifestEntry], pins: fx.Pins
) -> Steps[dict[fx.FileKey, ManifestEntry]]:
    """Those of ``going`` that nothing of this branch needs.

    The neighbours ``states`` speak for all others, unless files may have come back.
    """
    asked: list[Callable[[frozenset[fx.FileKey]], fx.Effect]]
    if pins.since is None:
        asked = [partial(fx.ReadKept, state) for state in states]
    else:
        asked = [partial(fx.ReadStaying, pins)]
    for effect_of in asked:
        if going:
            kept = yield effect_of(frozenset(going))
            assert isinstance(kept, frozenset)
            going = {k: e for k, e in going.items() if k not in kept}
    return going


def unneeded_elsewhere(
    going: dict[fx.FileKey, ManifestEntry], pins: fx.Pins
) -> Steps[tuple[ManifestEntry, ...]]:
    """Those of ``going`` that no other branch needs."""
    if going and pins.branches:
        kept = yield fx.ReadNeeded(frozenset(going))
        assert isinstance(kept, frozenset)
        going = {k: e for k, e in going.items() if k not in kept}
    return tuple(going.values())


def read_staying_paths(pins: fx.Pins) -> Steps[frozenset[str]]:
    """The metadata files that something of this branch names that stays, where files may have come back."""
    named = yield fx.ReadStayingPaths(pins)
    assert isinstance(named, frozenset)
    return frozenset(str(path) for path in named)


def read_consumer(retention: fx.Retention) -> Steps[int | None]:
    """The next snapshot of the consumer that is furthest behind, if consumers hold anything."""
    consumer = yield fx.ReadConsumers()
    assert consumer is None or isinstance(consumer, int)
    return consumer if retention.consumers_hold else None


def batches(entries: Iterator[ManifestEntry]) -> Iterator[tuple[ManifestEntry, ...]]:
    """``entries``, some thousand at a time."""
    while batch := tuple(itertools.islice(entries, _BATCH_MAX)):
        yield batch


def is_append(file: DataFile) -> bool:
    """Whether a write made ``file``, and no compaction."""
    return file.file_source is FileSource.APPEND
