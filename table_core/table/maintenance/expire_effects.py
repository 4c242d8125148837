"""Performs the effects of snapshot and changelog expiry against a store."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Final

from table_core.errors import CorruptFileError, FilesExpiredError, NotFoundError
from table_core.expire import plan as fx
from table_core.ondisk import layout
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.hints import EARLIEST, decode_hint, encode_hint
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.snapshot import FIRST_ID, Snapshot
from table_core.table.maintenance.file_deletion import delete_empty_folders, delete_files, paths_of
from table_core.table.metadata.progress import tell
from table_core.table.metadata.refs.consumers import held_from
from table_core.table.metadata.refs.needed_files import (
    NeededFiles,
    changelogs_of,
    identity_of,
    index_place,
    snapshot_files,
)
from table_core.table.metadata.refs.other_branches import OtherBranches, tag_documents
from table_core.table.metadata.refs.tags import tag_names, tagged
from table_core.table.metadata.refs.turns import newest_turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.expire.live_keys import LiveKeys
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.refs.turns import HeldMark

__all__ = ["ExpiryEffects"]

_HELD_ENTRIES: Final = 50_000
"""A list with no more entries is read once and held; a longer one is read a manifest at a time."""

_HELD_STATES: Final = 2
"""A file may be asked for in the tag before and in what comes after."""


@dataclass(slots=True)
class ExpiryEffects:
    """Performs effects of one run."""

    access: TableAccess
    by_hints: bool = False
    """Find the oldest snapshot by its hint instead of a listing: for what follows each commit."""
    mark: HeldMark | None = None
    """Says that snapshots expire."""
    _live: dict[tuple[str, str], LiveKeys] = field(init=False, default_factory=dict)
    _held: tuple[str, list[ManifestEntry]] | None = field(init=False, default=None)
    _others: OtherBranches = field(init=False)
    _staying: tuple[fx.Pins, NeededFiles] | None = field(init=False, default=None)
    _promised: int = field(init=False, default=0)
    """Snapshots below this one go."""
    _expired: int = field(init=False, default=0)
    """When it was seen last that the table is still there."""

    def __post_init__(self) -> None:
        self._others = OtherBranches(self.access)

    @singledispatchmethod
    def perform(self, effect: fx.Effect) -> fx.Reply:
        """Carry out ``effect`` and give the reply that its docstring promises."""
        raise AssertionError(effect)

    @perform.register(fx.ReadBounds)
    def _bounds(self, _: fx.ReadBounds) -> fx.Bounds | None:
        return self.bounds()

    def bounds(self) -> fx.Bounds | None:
        """Which snapshots there are."""
        metadata, now_ms = self.access.metadata, self.access.clock.now_ms()
        floor, head = metadata.hinted_floor(), metadata.head()
        latest = head.id if head else None
        if self.by_hints and floor is not None and latest is not None and floor <= latest:
            below = floor - 1
            while below >= FIRST_ID and metadata.has_snapshot(below):
                below -= 1
            if metadata.has_snapshot(floor):
                left = tuple(range(below + 1, floor))
                return fx.Bounds(
                    earliest=floor, latest=latest, leftovers=left, now_ms=now_ms, head=head
                )
        ids = [id for id in metadata.snapshot_ids() if latest is not None and id <= latest]
        if latest is None or not ids:
            return None
        earliest = floor if floor in ids else ids[0]
        below_floor = tuple(id for id in ids if id < earliest)
        return fx.Bounds(
            earliest=earliest, latest=latest, leftovers=below_floor, now_ms=now_ms, head=head
        )

    @perform.register(fx.ReadLine)
    def _line(self, effect: fx.ReadLine) -> int | None:
        if self.mark is not None and effect.next:
            self.mark.move_to(effect.next)
        try:
            return newest_turn(self.access, self.mark)
        except NotFoundError:
            metadata = self.access.metadata
            if self._promised and metadata.hinted_floor() == self._promised:
                # Another table is here, and what was promised of the old one is no promise of it.
                path = layout.hint_path("snapshot", EARLIEST, self.access.branch)
                self.access.storage.delete([path])
            raise

    @perform.register(fx.ReadSnapshot)
    def _snapshot(self, effect: fx.ReadSnapshot) -> Snapshot | None:
        path = layout.snapshot_path(effect.id, self.access.branch)
        try:
            return Snapshot.from_json(self.access.storage.read(path), path=path)
        except NotFoundError:
            return None

    @perform.register(fx.ReadConsumers)
    def _consumers(self, _: fx.ReadConsumers) -> int | None:
        return held_from(self.access)

    @perform.register(fx.ReadPins)
    def _pins(self, _: fx.ReadPins) -> fx.Pins:
        tags = sorted(tag_documents(self.access, self.access.branch), key=lambda tag: tag.id)
        return fx.Pins(tuple(tags), branches=bool(self._others.names()))

    @perform.register(fx.ReadStaying)
    def _staying_files(self, effect: fx.ReadStaying) -> frozenset[fx.FileKey]:
        return self._needed_by(effect.pins).files.among(effect.among)

    @perform.register(fx.ReadStayingPaths)
    def _staying_paths(self, effect: fx.ReadStayingPaths) -> frozenset[str]:
        return frozenset(self._needed_by(effect.pins).paths)

    def _needed_by(self, pins: fx.Pins) -> NeededFiles:
        if self._staying is None or self._staying[0] != pins:
            access, needed = self.access, NeededFiles(self.access)
            least, first = pins.changelogs_since, pins.since or 0
            changelogs = () if least is None else changelogs_of(access, access.branch)
            staying = (log for log in changelogs if log.id >= (least or 0))
            ids = [id for id in access.metadata.snapshot_ids() if id >= first]
            try:
                needed.take(access.metadata, pins.tags, ids, staying)
            except NotFoundError as error:
                raise FilesExpiredError(
                    f"a snapshot from {first} on was expired meanwhile: start again", snapshot=first
                ) from error
            self._staying = pins, needed
        return self._staying[1]

    @perform.register(fx.ReadNeeded)
    def _needed(self, effect: fx.ReadNeeded) -> frozenset[fx.FileKey]:
        return self._others.need(effect.among)

    @perform.register(fx.ReadNeededPaths)
    def _needed_paths(self, _: fx.ReadNeededPaths) -> frozenset[str]:
        return self._others.paths()

    @perform.register(fx.Promise)
    def _promise(self, effect: fx.Promise) -> None:
        metadata = self.access.metadata
        floor = max(effect.end, metadata.hinted_floor() or 0)
        if effect.lower:
            latest = metadata.head_id()
            if latest is None or floor <= latest:
                return
            floor = min(effect.end, latest)
        path = layout.hint_path("snapshot", EARLIEST, self.access.branch)
        self.access.storage.write(path, encode_hint(floor))
        self._promised = floor

    @perform.register(fx.ReadEntries)
    def _entries(self, effect: fx.ReadEntries) -> Iterator[ManifestEntry] | None:
        snapshot = effect.snapshot
        name = (
            snapshot.changelog_manifest_list if effect.changelog else snapshot.delta_manifest_list
        )
        if name is None:
            return iter(())
        try:
            entries = self._entries_of(name)
        except (CorruptFileError, FilesExpiredError):
            return None
        return (entry for entry in entries if entry.kind is effect.kind)

    def _entries_of(self, name: str) -> Iterator[ManifestEntry]:
        """The entries of a list, every one of which can be read."""
        if self._held is not None and self._held[0] == name:
            return iter(self._held[1])
        metas = self.access.metadata.manifest_list(name)
        if sum(m.num_added_files + m.num_deleted_files for m in metas) <= _HELD_ENTRIES:
            self._held = (name, list(self._streamed(metas)))
            return iter(self._held[1])
        for _ in self._streamed(metas):
            pass
        return self._streamed(metas)

    def _streamed(self, metas: list[ManifestMeta]) -> Iterator[ManifestEntry]:
        for meta in metas:
            yield from self.access.metadata.read_manifest(meta)

    @perform.register(fx.ReadKept)
    def _kept(self, effect: fx.ReadKept) -> frozenset[fx.FileKey]:
        # By its lists and not by its id: a rollback lets a number be used again.
        state = (effect.snapshot.base_manifest_list, effect.snapshot.delta_manifest_list)
        if state not in self._live:
            if len(self._live) >= _HELD_STATES:
                del self._live[next(iter(self._live))]
            self._live[state] = snapshot_files(self.access.metadata, effect.snapshot)
        return self._live[state].among(effect.among)

    @perform.register(fx.ReadMetadata)
    def _metadata(self, effect: fx.ReadMetadata) -> fx.Metadata:
        return _named(self.access, effect.snapshot, must_read=effect.must_read)

    @perform.register(fx.Delete)
    def _delete(self, effect: fx.Delete) -> None:
        delete_files(self.access, [*effect.paths, *paths_of(self.access, effect.data)])

    @perform.register(fx.CleanFolders)
    def _clean_folders(self, effect: fx.CleanFolders) -> None:
        delete_empty_folders(self.access, effect.buckets)

    @perform.register(fx.KeepChangelog)
    def _keep_changelog(self, effect: fx.KeepChangelog) -> None:
        storage, branch, id = self.access.storage, self.access.branch, effect.snapshot.id
        storage.write(layout.changelog_path(id, branch), effect.snapshot.to_json())
        storage.write(layout.hint_path("changelog", "LATEST", branch), str(id).encode())
        earliest = layout.hint_path("changelog", "EARLIEST", branch)
        if not storage.exists(earliest):
            storage.write(earliest, str(id).encode())

    @perform.register(fx.DeleteSnapshots)
    def _delete_snapshots(self, effect: fx.DeleteSnapshots) -> None:
        self._line(fx.ReadLine())  # a table that was made anew meanwhile has the same numbers
        branch = self.access.branch
        self.access.storage.delete([layout.snapshot_path(id, branch) for id in effect.ids])
        self._expired += len(effect.ids)
        left = max(self._promised - effect.ids[-1] - 1, 0)
        tell("expiring", self._expired, self._expired + left, "snapshots")

    @perform.register(fx.ReadLive)
    def _live_entries(self, effect: fx.ReadLive) -> Iterator[ManifestEntry]:
        metadata = self.access.metadata
        live = snapshot_files(metadata, effect.snapshot, identity_of)
        for meta in metadata.data_manifests(effect.snapshot):
            entries = metadata.read_manifest(meta)
            added = {e.identity: e for e in entries if e.kind is EntryKind.ADD}
            there = live.among(added)
            yield from (entry for identity, entry in added.items() if identity in there)

    @perform.register(fx.DeleteTag)
    def _delete_tag(self, effect: fx.DeleteTag) -> fx.Pins:
        access, name = self.access, effect.name
        paths = [layout.tag_path(name, access.branch), layout.tag_success_path(name, access.branch)]
        access.storage.delete(paths)
        new = []
        for other in set(tag_names(access)) - effect.known:
            with suppress(NotFoundError):  # it goes again
                new.append(tagged(access, other).snapshot)
        return fx.Pins(tuple(new), branches=False)

    @perform.register(fx.ReadChangelogs)
    def _changelogs(self, _: fx.ReadChangelogs) -> fx.Changelogs | None:
        access = self.access
        listed = access.storage.list(layout.changelog_folder(access.branch))
        names = (info.path.rpartition("/")[2] for info in listed)
        ids = sorted(id for n in names if (id := layout.numbered(n, "changelog-")) is not None)
        latest = access.metadata.head_id()
        if not ids or latest is None:
            return None
        try:
            path = layout.hint_path("changelog", EARLIEST, access.branch)
            hinted = decode_hint(access.storage.read(path))
        except NotFoundError:
            hinted = None
        return fx.Changelogs(
            ids=tuple(ids),
            earliest=hinted if hinted in ids else ids[0],
            latest_snapshot=latest,
            now_ms=access.clock.now_ms(),
        )

    @perform.register(fx.ReadChangelog)
    def _changelog(self, effect: fx.ReadChangelog) -> Snapshot | None:
        path = layout.changelog_path(effect.id, self.access.branch)
        try:
            return Snapshot.from_json(self.access.storage.read(path), path=path)
        except NotFoundError:
            return None

    @perform.register(fx.PromiseChangelog)
    def _promise_changelog(self, effect: fx.PromiseChangelog) -> None:
        path = layout.hint_path("changelog", EARLIEST, self.access.branch)
        self.access.storage.write(path, encode_hint(effect.end))

    @perform.register(fx.DeleteChangelog)
    def _delete_changelog(self, effect: fx.DeleteChangelog) -> None:
        self.access.storage.delete([layout.changelog_path(effect.id, self.access.branch)])


def _named(access: TableAccess, snapshot: Snapshot, *, must_read: bool) -> fx.Metadata:
    """The metadata files that ``snapshot`` names, with their sizes.

    What it says of its changelog is never required: of a tag it went with the snapshot
    (format T54).
    """
    metadata = access.metadata

    def manifests(name: str | None, size: int | None, *, must_read: bool) -> dict[str, int]:
        if name is None:
            return {}
        sizes = {layout.manifest_path(name): size or 0}
        try:
            metas = metadata.manifest_list(name)
        except (CorruptFileError, FilesExpiredError):
            if must_read:
                raise
            return sizes
        return sizes | {layout.manifest_path(m.file_name): m.file_size for m in metas}

    other: dict[str, int] = {}
    if snapshot.index_manifest is not None:
        path = layout.manifest_path(snapshot.index_manifest)
        other[path] = 0
        try:
            for entry in decode_index_manifest(access.storage.read(path), path=path):
                other[index_place(access, entry)] = entry.file_size
        except (CorruptFileError, NotFoundError):
            if must_read:
                raise
    if snapshot.statistics is not None:
        other[layout.statistics_path(snapshot.statistics)] = 0
    base, delta = (
        manifests(name, size, must_read=must_read)
        for name, size in (
            (snapshot.base_manifest_list, snapshot.base_manifest_list_size),
            (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
        )
    )
    log = manifests(
        snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size, must_read=False
    )
    return fx.Metadata(state={**base, **delta}, changelog=log, other=other)
