"""The files that documents of a branch need: states, tags, changes, and what names them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from table_core.errors import FilesExpiredError
from table_core.expire.live_keys import LiveKeys, key_of
from table_core.ondisk import layout
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.snapshot import Snapshot
from table_core.table.metadata.refs.tags import without_changelog

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.index_manifest import IndexEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.documents import Metadata

__all__ = [
    "NeededFiles",
    "changelogs_of",
    "identity_of",
    "index_place",
    "lost_its_changelog",
    "snapshot_files",
]


def index_place(access: TableAccess, entry: IndexEntry) -> str:
    """Where the index file of ``entry`` is."""
    return layout.index_file_path(
        access.schema, entry.partition, entry.bucket, entry.file_name, entry.external_path
    )


def identity_of(entry: ManifestEntry) -> tuple[object, ...]:
    """See ``ManifestEntry.identity``."""
    return entry.identity


def snapshot_files(
    metadata: Metadata,
    snapshot: Snapshot,
    key: Callable[[ManifestEntry], Hashable] = key_of,
) -> LiveKeys:
    """The data files of ``snapshot`` by ``key``; what is read is not remembered."""
    files = LiveKeys(key)
    for meta in metadata.data_manifests(snapshot):
        files.take(metadata.read_manifest(meta))
    files.end_of_state()
    return files


def lost_its_changelog(metadata: Metadata, earliest: Snapshot) -> bool:
    """Whether ``earliest``, of a branch, was made again of a tag that outlived its changelog.

    A rollback to a tag and a branch from one by Apache Paimon copy the tag, and with it the name of a
    list that went when the snapshot expired.  What was made so has no snapshot before it.  That the
    list of any other snapshot is gone, or one that names its state, is a fault.
    """
    name = earliest.changelog_manifest_list
    return name is not None and not metadata.storage.exists(layout.manifest_path(name))


def changelogs_of(access: TableAccess, branch: str) -> Iterator[Snapshot]:
    """The changelogs of ``branch`` that outlive their snapshots."""
    for info in access.storage.list(layout.changelog_folder(branch)):
        if layout.numbered(info.path.rpartition("/")[2], "changelog-") is not None:
            yield Snapshot.from_json(access.storage.read(info.path), path=info.path)


@dataclass(slots=True)
class NeededFiles:
    """What the documents that were taken in need."""

    access: TableAccess
    files: LiveKeys = field(init=False, default_factory=LiveKeys)
    paths: set[str] = field(init=False, default_factory=set)
    """The metadata files that they name."""
    _read: set[str] = field(init=False, default_factory=set)
    """Manifests that were taken in."""

    def take(
        self,
        metadata: Metadata,
        tags: Iterable[Snapshot],
        ids: Sequence[int],
        changelogs: Iterable[Snapshot],
    ) -> None:
        """Take in ``tags``, the snapshots ``ids``, ascending and all up to the newest, and ``changelogs``.

        Raises:
            FilesExpiredError, CorruptFileError: one of them cannot be read.
        """
        tags = list(tags)
        states = [*tags, *(metadata.snapshot(id) for id in ids[:1])]
        for state in states:
            for meta in metadata.data_manifests(state):
                self.files.take(metadata.read_manifest(meta))
            self.files.end_of_state()
        for tag in tags:
            self.paths |= self._named(metadata, without_changelog(tag))
        earliest = metadata.earliest_id()
        for stored in (metadata.snapshot(id) for id in ids):
            lost = stored.id == earliest and lost_its_changelog(metadata, stored)
            snapshot = without_changelog(stored) if lost else stored
            self.paths |= self._named(metadata, snapshot)
            for name in (snapshot.delta_manifest_list, snapshot.changelog_manifest_list):
                self._take_added(metadata, metadata.manifest_list(name))
        for kept in changelogs:
            for name in (kept.delta_manifest_list, kept.changelog_manifest_list):
                self.paths |= self._take_kept(metadata, name)

    def _take_kept(self, metadata: Metadata, name: str | None) -> set[str]:
        """What a kept changelog still has: with a producer, no longer what its snapshot changed."""
        try:
            metas = metadata.manifest_list(name)
            self._take_added(metadata, metas)
        except FilesExpiredError:
            return set()
        names = [name] if name is not None else []
        return {layout.manifest_path(n) for n in (*names, *(m.file_name for m in metas))}

    def _take_added(self, metadata: Metadata, metas: Iterable[ManifestMeta]) -> None:
        for meta in metas:
            if meta.file_name not in self._read and meta.num_added_files:
                self.files.take_added(metadata.read_manifest(meta))
                self._read.add(meta.file_name)

    def _named(self, metadata: Metadata, document: Snapshot) -> set[str]:
        paths: set[str] = set()
        lists = (
            document.base_manifest_list,
            document.delta_manifest_list,
            document.changelog_manifest_list,
        )
        for name in lists:
            if name is not None:
                paths.add(layout.manifest_path(name))
                metas = metadata.manifest_list(name)
                paths.update(layout.manifest_path(meta.file_name) for meta in metas)
        if document.index_manifest is not None:
            path = layout.manifest_path(document.index_manifest)
            paths.add(path)
            body = self.access.storage.read(path)
            entries = decode_index_manifest(body, path=path)
            paths.update(index_place(self.access, entry) for entry in entries)
        if document.statistics is not None:
            paths.add(layout.statistics_path(document.statistics))
        return paths
