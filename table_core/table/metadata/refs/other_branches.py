"""What the other branches of a table still need of the files that all branches share.

Branches have their own snapshots and share data files and manifests (format 1.1).  Where a branch
began is written nowhere, and after a fast-forward two branches have the same history; so nothing is
concluded from numbers.  A file is needed if the earliest state, a tag or a kept changelog of another
branch has it, or any later snapshot brought it in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from table_core.errors import FilesExpiredError, NotFoundError
from table_core.expire.live_keys import LiveKeys, key_of
from table_core.ondisk import layout
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.snapshot import Snapshot
from table_core.ondisk.tag import Tag
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.refs.branches import branch_names
from table_core.table.metadata.refs.tags import without_changelog

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from table_core.expire.plan import FileKey
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.index_manifest import IndexEntry
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "OtherBranches",
    "identity_of",
    "index_place",
    "lost_its_changelog",
    "snapshot_files",
    "tag_documents",
]

T = TypeVar("T")
_ATTEMPTS: Final = 20


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


def tag_documents(access: TableAccess, branch: str) -> list[Snapshot]:
    """The snapshots that the tags of ``branch`` hold.

    A tag that is renamed meanwhile may be in no listing, or under a name that is gone when it is read: so
    the tags were read when a listing after it shows the same ones.

    Raises:
        FilesExpiredError: they changed all the time.
    """

    def paths() -> list[str]:
        infos = access.storage.list(layout.tag_folder(branch))
        files = (info.path for info in infos if not info.is_dir)
        return sorted(path for path in files if path.rpartition("/")[2].startswith("tag-"))

    def read(listed: list[str]) -> list[Snapshot]:
        return [Tag.from_json(access.storage.read(p), path=p).snapshot for p in listed]

    return _settled(f"{access.name}: tags", paths, read)


def _settled(what: str, listed: Callable[[], list[str]], read: Callable[[list[str]], T]) -> T:
    """What ``read`` gives of what is ``listed``, once that is the same before and after."""
    before, missing = listed(), None
    for _ in range(_ATTEMPTS):
        content = None
        try:
            content = read(before)
        except NotFoundError as error:
            missing = error
        after = listed()
        if after == before and content is not None:
            return content
        before = after
    raise FilesExpiredError(f"{what} changed {_ATTEMPTS} times while they were read") from missing


@dataclass(slots=True)
class OtherBranches:
    """Reads, once, what every branch but that of ``access`` needs."""

    access: TableAccess
    _files: LiveKeys | None = field(init=False, default=None)
    _paths: frozenset[str] = field(init=False, default=frozenset())
    _read: set[str] = field(init=False, default_factory=set)
    """Manifests that were taken in."""

    def names(self) -> list[str]:
        """Which there are."""
        everyone = [layout.MAIN, *branch_names(self.access)]
        return [name for name in everyone if name != self.access.branch]

    def need(self, keys: Iterable[FileKey]) -> frozenset[FileKey]:
        """Those of ``keys`` that another branch needs.

        Raises:
            FilesExpiredError, CorruptFileError: a document of another branch cannot be read.
        """
        return self._known().among(keys)

    def paths(self) -> frozenset[str]:
        """The metadata files that other branches name."""
        self._known()
        return self._paths

    def _known(self) -> LiveKeys:
        if self._files is None:
            what = f"{self.access.name}: branches"
            self._files, self._paths = _settled(what, self.names, self._all_of)
        return self._files

    def _all_of(self, names: list[str]) -> tuple[LiveKeys, frozenset[str]]:
        files, paths = LiveKeys(), set[str]()
        self._read.clear()
        for name in names:
            self._take(files, paths, Metadata(self.access.storage, name))
        return files, frozenset(paths)

    def _take(self, files: LiveKeys, paths: set[str], metadata: Metadata) -> None:
        ids = metadata.snapshot_ids()
        tags = tag_documents(self.access, metadata.branch)
        states = [*tags, *(metadata.snapshot(id) for id in ids[:1])]
        for state in states:
            for meta in metadata.data_manifests(state):
                files.take(metadata.read_manifest(meta))
            files.end_of_state()
        for tag in tags:
            paths |= self._named(metadata, without_changelog(tag))
        earliest = metadata.earliest_id()
        for stored in (metadata.snapshot(id) for id in ids):
            lost = stored.id == earliest and lost_its_changelog(metadata, stored)
            snapshot = without_changelog(stored) if lost else stored
            paths |= self._named(metadata, snapshot)
            for name in (snapshot.delta_manifest_list, snapshot.changelog_manifest_list):
                self._take_added(files, metadata, metadata.manifest_list(name))
        for kept in self._changelogs(metadata.branch):
            for name in (kept.delta_manifest_list, kept.changelog_manifest_list):
                paths |= self._take_kept(files, metadata, name)

    def _take_kept(self, files: LiveKeys, metadata: Metadata, name: str | None) -> set[str]:
        """What a kept changelog still has: with a producer, no longer what its snapshot changed."""
        try:
            metas = metadata.manifest_list(name)
            self._take_added(files, metadata, metas)
        except FilesExpiredError:
            return set()
        names = [name] if name is not None else []
        return {layout.manifest_path(n) for n in (*names, *(m.file_name for m in metas))}

    def _take_added(
        self, files: LiveKeys, metadata: Metadata, metas: Iterable[ManifestMeta]
    ) -> None:
        for meta in metas:
            if meta.file_name not in self._read and meta.num_added_files:
                files.take_added(metadata.read_manifest(meta))
                self._read.add(meta.file_name)

    def _changelogs(self, branch: str) -> Iterator[Snapshot]:
        for info in self.access.storage.list(layout.changelog_folder(branch)):
            if layout.numbered(info.path.rpartition("/")[2], "changelog-") is not None:
                yield Snapshot.from_json(self.access.storage.read(info.path), path=info.path)

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
