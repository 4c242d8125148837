"""Removes files that nothing names, of failed writes, rollbacks and dropped branches (format 11.8).

Every document of every branch is read first, then the table's folder is listed as a stream.  Before
a batch of candidates goes, documents that have come since are read as well; what they brought is
young, what they brought back is theirs.  A fault in a document ends the run before it deletes.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from table_core.errors import FilesExpiredError, NotFoundError
from table_core.expire.orphans import FileRole, NameSet, OrphanRules, cutoff_ms, is_staging
from table_core.ondisk import layout
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.snapshot import Snapshot
from table_core.storage.stores.paths import has_no_folders, is_local
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.progress import tell
from table_core.table.metadata.refs.branches import branch_names
from table_core.table.metadata.refs.needed_files import lost_its_changelog
from table_core.table.metadata.refs.tags import without_changelog
from table_core.table.metadata.refs.turns import expiring
from table_core.table.metadata.results import ResultDocument
from table_core.table.metadata.sharing import alone
from table_core.table.metadata.timestamps import PointInTime, epoch_ms
from table_core.table.metadata.unsupported import refuse_commits

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.ports import FileInfo
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.sharing import Share

__all__ = ["remove_orphan_files"]

_CLOCKS_MS: Final = 10 * 60_000
_log = logging.getLogger(__name__)
_BATCH_FILES: Final = 10_000
_TOLD_FILES: Final = 500
"""Who watches is told after so many."""
_LISTED_MAX: Final = 1_000


def remove_orphan_files(
    access: TableAccess,
    older_than: PointInTime | None = None,
    dry_run: bool = False,
    allow_young: bool = False,
    share: Share = alone,
) -> ResultDocument:
    """See ``Table.remove_orphan_files``; manifests are read by ``share``.

    Raises:
        NotFoundError: the table was dropped or renamed.
        ArgumentError: ``older_than`` is less than a day ago, and ``allow_young`` is off.
        FilesExpiredError, CorruptFileError: a document cannot be read; nothing was deleted since.
        UnsupportedFeatureError: it asks for what this release does not do: it may have files that
            this release does not know.
    """
    schemas = access.require_same()
    refuse_commits(access)
    started_ms = access.clock.now_ms()
    older_than_ms = None if older_than is None else epoch_ms("older_than", older_than)
    now_ms = started_ms if dry_run else _sure_now_ms(access, started_ms)
    cutoff = cutoff_ms(older_than_ms, now_ms=now_ms, allow_young=allow_young)
    named = _Named(access, share)
    branches = named.branches()
    rules = named.rules(schemas, branches)  # what others call their files is foreign, and stays
    named.read_new(branches)
    seen = _Seen(rules, cutoff)
    idle = _idle_staging(access, cutoff)
    files = seen.candidates(access.storage.walk(""))
    while batch := tuple(itertools.islice(files, _BATCH_FILES)):
        orphans = named.without(batch)
        if orphans:
            named.catch_up()
            orphans = named.without(orphans)
            seen.take(orphans)
        if not dry_run:
            access.storage.delete(info.path for info, _ in orphans)
    if not dry_run:
        _remove_emptied(access, idle)
    head = access.metadata.probable_head()
    head_id = head.id if head else None
    return ResultDocument(
        action="remove-orphan-files",
        table=access.name,
        snapshot_before=head_id,
        snapshot_after=head_id,
        files_before=seen.files,
        files_after=seen.files - seen.orphans,
        bytes_before=seen.bytes,
        bytes_after=seen.bytes - seen.orphan_bytes,
        files_deleted=seen.orphans,
        bytes_deleted=seen.orphan_bytes,
        seconds=(access.clock.now_ms() - started_ms) / 1000,
        dry_run=dry_run,
        details=seen.details() | {"lost_changelogs": sorted(named.lost_changelogs)},
    )


def _sure_now_ms(access: TableAccess, now_ms: int) -> int:
    """``now_ms``, or the time of the store if that is earlier: it is the store that says how old a file is.

    A clock that is days ahead would take the files of a writer for orphans.  The store on this machine has its clock.
    """
    if is_local(access.storage.uri):
        return now_ms
    with expiring(access) as mark:
        listed = access.storage.list(layout.line_folder(access.branch))
        stored_ms = next((i.modified_ms for i in listed if i.path == mark.path), 0)
    if stored_ms and now_ms - stored_ms > _CLOCKS_MS:
        _log.warning(
            "%s: the clock of this machine is %s minutes ahead of the store's: ages of files are counted by the store's",
            access.name,
            (now_ms - stored_ms) // 60_000,
        )
    return min(now_ms, stored_ms) if stored_ms else now_ms


def _idle_staging(access: TableAccess, cutoff_ms: int) -> list[str]:
    """Folders of jobs, which nobody has begun lately."""
    if has_no_folders(access.storage.uri):
        return []
    return [
        info.path
        for info in access.storage.list("")
        if info.is_dir and is_staging(info.path) and 0 < info.modified_ms < cutoff_ms
    ]


def _remove_emptied(access: TableAccess, folders: Sequence[str]) -> None:
    """Remove those of ``folders`` in which no file is left: their job is over."""
    for folder in folders:
        if next(access.storage.walk(folder), None) is None:
            access.storage.delete_tree(folder)


_Candidate = tuple["FileInfo", FileRole]


@dataclass(slots=True)
class _Seen:
    """What the listing showed."""

    rules: OrphanRules
    cutoff_ms: int
    files: int = 0
    bytes: int = 0
    orphans: int = 0
    orphan_bytes: int = 0
    young: int = 0
    foreign: int = 0
    foreign_bytes: int = 0
    foreign_paths: list[str] = field(default_factory=list)
    listed: list[tuple[str, int]] = field(default_factory=list)
    folders: Counter[str] = field(default_factory=Counter)

    def candidates(self, files: Iterator[FileInfo]) -> Iterator[_Candidate]:
        """Those that may be orphans; all are counted."""
        for info in files:
            self.files += 1
            self.bytes += info.size
            if self.files % _TOLD_FILES == 1:
                tell("looking at", self.files, unit="files")
            role = self.rules.role(info.path)
            if role is FileRole.FOREIGN:
                self.foreign += 1
                self.foreign_bytes += info.size
                if len(self.foreign_paths) < _LISTED_MAX:
                    self.foreign_paths.append(info.path)
            elif role is not FileRole.DOCUMENT:
                # A store that does not say how old a file is says 0.
                if 0 < info.modified_ms < self.cutoff_ms:
                    yield info, role
                else:
                    self.young += 1

    def take(self, orphans: Sequence[_Candidate]) -> None:
        """Count what goes."""
        for info, _ in orphans:
            self.orphans += 1
            self.orphan_bytes += info.size
            first = info.path.partition("/")[0]
            shared = {layout.MANIFEST_FOLDER, layout.INDEX_FOLDER, layout.STATISTICS_FOLDER}
            kind = first if first in shared else "other"
            self.folders["data" if "bucket-" in info.path else kind] += 1
        left = _LISTED_MAX - len(self.listed)
        self.listed.extend((info.path, info.size) for info, _ in orphans[:left])

    def details(self) -> dict[str, object]:
        """The rest of the result document."""
        return {
            "older_than_ms": self.cutoff_ms,
            "deleted_by_folder": dict(sorted(self.folders.items())),
            "deleted": [{"path": p, "bytes": size} for p, size in sorted(self.listed)],
            "young_files": self.young,
            "foreign_files": self.foreign,
            "foreign_bytes": self.foreign_bytes,
            "foreign": sorted(self.foreign_paths),
        }


@dataclass(slots=True)
class _Named:
    """The names of all files that a document of some branch needs."""

    access: TableAccess
    share: Share
    names: NameSet = field(default_factory=NameSet)
    lost_changelogs: list[str] = field(default_factory=list)
    """Snapshots made again of tags, without the changelogs that they still name."""
    _roots: set[tuple[str, tuple[int, int, str]]] = field(default_factory=set)
    """Documents that were read, as the listing had them."""
    _manifests: set[str] = field(default_factory=set)

    def rules(self, own: Sequence[TableSchema], branches: Sequence[str]) -> OrphanRules:
        """What files are called, by the schemas of this branch, ``own``, and of the others of ``branches``."""
        names = [name for name in branches if name != self.access.branch]
        others = [Metadata(self.access.storage, name) for name in names]
        return OrphanRules.of([*own, *(schema for m in others for schema in m.schemas())])

    def without(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Those of ``candidates`` that nothing names; nobody names a draft."""
        absent = self.names.absent([c[0].path.rpartition("/")[2] for c in candidates])
        pairs = zip(candidates, absent, strict=True)
        return [c for c, gone in pairs if gone or c[1] is FileRole.DRAFT]

    def catch_up(self) -> None:
        """Read every document that is there and was not read yet, until there is no other."""
        while self.read_new(self.branches()):
            pass

    def read_new(self, branches: Sequence[str]) -> bool:
        """Read what is listed now in ``branches`` and was not read yet; whether there was any."""
        documents: dict[str, list[_Document]] = defaultdict(list)
        read: set[tuple[str, tuple[int, int, str]]] = set()
        for branch in branches:
            metadata = Metadata(self.access.storage, branch)
            for info in self._documents(branch):
                if (info.path, info.stamp) in self._roots:
                    continue
                read.add((info.path, info.stamp))
                document = _Document.read(metadata, info)
                if document is not None:
                    documents[branch].append(document)
        for of_branch in documents.values():
            self._take(of_branch)
        self._roots |= read
        return bool(read)

    def branches(self) -> list[str]:
        """Those that there are now."""
        return [layout.MAIN, *branch_names(self.access)]

    def _documents(self, branch: str) -> Iterator[FileInfo]:
        for folder, prefix in (
            (layout.tag_folder(branch), "tag-"),
            (layout.changelog_folder(branch), "changelog-"),
            (layout.snapshot_folder(branch), "snapshot-"),
            (layout.line_folder(branch), "stray-"),
        ):
            for info in self.access.storage.list(folder):
                name = info.path.rpartition("/")[2]
                numbered = prefix in {"tag-", "stray-"} or layout.numbered(name, prefix) is not None
                if name.startswith(prefix) and numbered and not info.is_dir:
                    yield info

    def _take(self, documents: Sequence[_Document]) -> None:
        """Add what documents of one branch name.

        Raises:
            FilesExpiredError: a promised snapshot or a tag names a file that is gone.
        """
        metas: dict[str, ManifestMeta] = {}
        for one in documents:
            root = one.root
            own = (*one.lists, root.index_manifest, root.statistics)
            self.names.add(name for name in own if name)
            for name in one.lists:
                try:
                    self._take_list(one.metadata, name, metas)
                except (FilesExpiredError, NotFoundError):
                    if not self._may_lack(one, name):
                        raise
            try:
                self._take_index(root)
            except (FilesExpiredError, NotFoundError):
                if one.must_be_whole():
                    raise
        gone: set[str] = set()
        work = partial(_names_of, documents[0].metadata)
        for names, missing in self.share(work, list(metas.values()), lambda meta: meta.file_size):
            self.names.join(names)
            gone.update(missing)
        self._manifests |= metas.keys() - gone
        if gone:
            self._refuse_absent(documents, gone)

    def _refuse_absent(self, documents: Sequence[_Document], gone: Container[str]) -> None:
        """Raise what reading a manifest that is gone raises, if one of ``documents`` needs it."""
        for document, name in [(one, name) for one in documents for name in one.lists]:
            try:
                for meta in document.metadata.manifest_list(name):
                    if meta.file_name in gone:
                        document.metadata.read_manifest(meta)
            except (FilesExpiredError, NotFoundError):
                if not self._may_lack(document, name):
                    raise

    def _may_lack(self, document: _Document, name: str) -> bool:
        """Whether the manifest list ``name``, or what it names, need not be there."""
        if not document.must_be_whole():
            return True
        lost = name == document.root.changelog_manifest_list and document.lost_its_changelog()
        if lost and document.info.path not in self.lost_changelogs:
            self.lost_changelogs.append(document.info.path)
        return lost

    def _take_list(self, metadata: Metadata, name: str, metas: dict[str, ManifestMeta]) -> None:
        for meta in metadata.manifest_list(name):
            self.names.add((meta.file_name,))
            if meta.file_name not in self._manifests:
                metas[meta.file_name] = meta

    def _take_index(self, root: Snapshot) -> None:
        name = root.index_manifest
        if name is None or name in self._manifests:
            return
        path = layout.manifest_path(name)
        for entry in decode_index_manifest(self.access.storage.read(path), path=path):
            self.names.add((entry.file_name,))
        self._manifests.add(name)


@dataclass(frozen=True, slots=True)
class _Document:
    """A snapshot, tag or changelog that was read."""

    metadata: Metadata
    info: FileInfo
    root: Snapshot

    @classmethod
    def read(cls, metadata: Metadata, info: FileInfo) -> _Document | None:
        """The document; None if it expired since it was listed."""
        try:
            body = metadata.storage.read(info.path)
        except NotFoundError:
            return None
        root = Snapshot.from_json(body, path=info.path)
        if info.path.rpartition("/")[2].startswith("tag-"):
            root = without_changelog(root)  # it went with its snapshot (format T54)
        return cls(metadata, info, root)

    @property
    def lists(self) -> list[str]:
        """The manifest lists that it names."""
        root = self.root
        names = root.base_manifest_list, root.delta_manifest_list, root.changelog_manifest_list
        return [name for name in names if name]

    def lost_its_changelog(self) -> bool:
        """Whether it is the snapshot of a tag, made again without the changelog that it names."""
        is_first = self.root.id == self.metadata.earliest_id()
        return is_first and lost_its_changelog(self.metadata, self.root)

    def must_be_whole(self) -> bool:
        """Whether everything that this document names has to be there.

        Not what is kept of a changelog, nor a stray, nor a snapshot below the floor, which expiry was about to
        delete, nor a document that has gone meanwhile.
        """
        name = self.info.path.rpartition("/")[2]
        if name.startswith(("changelog-", "stray-")) or not self.metadata.storage.exists(
            self.info.path
        ):
            return False
        return name.startswith("tag-") or self.root.id >= self.metadata.floor()


def _names_of(metadata: Metadata, metas: Sequence[ManifestMeta]) -> tuple[NameSet, list[str]]:
    """The data files and companions that manifests name, and those of the manifests that are gone."""
    names, gone = NameSet(), []
    for meta in metas:
        try:
            # What is only taken out, no state and no change brings back.
            added = [e.file for e in metadata.read_manifest(meta) if e.kind is EntryKind.ADD]
        except (FilesExpiredError, NotFoundError):
            gone.append(meta.file_name)
            continue
        names.add(name for file in added for name in (file.file_name, *file.extra_files))
    return names, gone
