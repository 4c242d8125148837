"""Removes files that nothing names: rests of failed writes, rollbacks and dropped branches (spec 11.8).

Every document of every branch is read first, then the table's folder is listed as a stream.  Before
a batch of candidates goes, documents that have come since are read as well; what they brought is
young, what they brought back is theirs.  A fault in a document ends the run before it deletes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from table_core.errors import FilesExpiredError, NotFoundError
from table_core.expire.orphans import FileRole, NameSet, OrphanRules, cutoff_ms
from table_core.ondisk import layout
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.snapshot import Snapshot
from table_core.table.metadata import Metadata
from table_core.table.results import ResultDocument
from table_core.table.states.branches import branch_names
from table_core.table.states.other_branches import lost_its_changelog
from table_core.table.states.tags import without_changelog
from table_core.table.times import PointInTime, epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.ports import FileInfo
    from table_core.table.access import TableAccess

__all__ = ["remove_orphan_files"]

_BATCH_FILES: Final = 10_000
_LISTED_MAX: Final = 1_000


def remove_orphan_files(
    access: TableAccess, *, older_than: PointInTime | None, allow_young: bool, dry_run: bool
) -> ResultDocument:
    """See ``Table.remove_orphan_files``.

    Raises:
        ArgumentError: ``older_than`` is less than a day ago, and ``allow_young`` is off.
        FilesExpiredError, CorruptFileError: a document cannot be read; nothing was deleted since.
    """
    started_ms = access.clock.now_ms()
    given = None if older_than is None else epoch_ms("older_than", older_than)
    cutoff = cutoff_ms(given, now_ms=started_ms, allow_young=allow_young)
    named = _Named(access)
    named.catch_up()
    seen = _Seen(named.rules(), cutoff)
    files = seen.candidates(access.storage.walk(""))
    while batch := tuple(itertools.islice(files, _BATCH_FILES)):
        orphans = named.without(batch)
        if orphans:
            named.catch_up()
            orphans = named.without(orphans)
            seen.take(orphans)
        if not dry_run:
            access.storage.delete(info.path for info, _ in orphans)
    head = access.metadata.head_id()
    return ResultDocument(
        action="remove-orphan-files",
        table=access.name,
        snapshot_before=head,
        snapshot_after=head,
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
        room = _LISTED_MAX - len(self.listed)
        self.listed.extend((info.path, info.size) for info, _ in orphans[:room])

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
    names: NameSet = field(default_factory=NameSet)
    lost_changelogs: list[str] = field(default_factory=list)
    """Snapshots made again of tags, without the changelogs that they still name."""
    _roots: set[tuple[str, int, int]] = field(default_factory=set)
    """Documents that were read, as the listing had them."""
    _manifests: set[str] = field(default_factory=set)

    def rules(self) -> OrphanRules:
        """What files are called, by the schemas of all branches."""
        branches = [Metadata(self.access.storage, b) for b in self._branches()]
        return OrphanRules.of([m.schema(id) for m in branches for id in m.schema_ids()])

    def without(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Those of ``candidates`` that nothing names; nobody names a draft."""
        absent = self.names.absent([c[0].path.rpartition("/")[2] for c in candidates])
        pairs = zip(candidates, absent, strict=True)
        return [c for c, gone in pairs if gone or c[1] is FileRole.DRAFT]

    def catch_up(self) -> None:
        """Read every document that is there and was not read yet, until there is no other."""
        while fresh := [
            (branch, info)
            for branch in self._branches()
            for info in self._documents(branch)
            if (info.path, info.size, info.modified_ms) not in self._roots
        ]:
            for branch, info in fresh:
                self._take(branch, info)
                self._roots.add((info.path, info.size, info.modified_ms))

    def _branches(self) -> list[str]:
        return [layout.MAIN, *branch_names(self.access)]

    def _documents(self, branch: str) -> Iterator[FileInfo]:
        for folder, prefix in (
            (layout.tag_folder(branch), "tag-"),
            (layout.changelog_folder(branch), "changelog-"),
            (layout.snapshot_folder(branch), "snapshot-"),
        ):
            for info in self.access.storage.list(folder):
                name = info.path.rpartition("/")[2]
                numbered = prefix == "tag-" or layout.numbered(name, prefix) is not None
                if name.startswith(prefix) and numbered and not info.is_dir:
                    yield info

    def _take(self, branch: str, info: FileInfo) -> None:
        """Add what one document names.

        Raises:
            FilesExpiredError: a promised snapshot or a tag names a file that is gone.
        """
        storage = self.access.storage
        try:
            root = Snapshot.from_json(storage.read(info.path), path=info.path)
        except NotFoundError:
            return  # expired since it was listed
        if info.path.rpartition("/")[2].startswith("tag-"):
            root = without_changelog(root)  # it went with its snapshot (spec T54)
        metadata, log = Metadata(storage, branch), root.changelog_manifest_list
        lists = (root.base_manifest_list, root.delta_manifest_list, log)
        self.names.add(name for name in (*lists, root.index_manifest, root.statistics) if name)
        steps = [partial(self._take_list, metadata, name) for name in lists if name]
        if root.index_manifest is not None:
            steps.append(partial(self._take_index, root.index_manifest))
        for step in steps:
            try:
                step()
            except (FilesExpiredError, NotFoundError):
                if not self._must_be_whole(metadata, info, root):
                    continue
                about_log = step.args[-1] == log and root.id == metadata.earliest_id()
                if not (about_log and lost_its_changelog(metadata, root)):
                    raise
                self.lost_changelogs.append(info.path)

    def _must_be_whole(self, metadata: Metadata, info: FileInfo, root: Snapshot) -> bool:
        """Whether everything that this document names has to be there.

        Not what is kept of a changelog, nor a snapshot below the floor, which expiry was about to
        delete, nor a document that has gone meanwhile.
        """
        name = info.path.rpartition("/")[2]
        if name.startswith("changelog-") or not self.access.storage.exists(info.path):
            return False
        return name.startswith("tag-") or root.id >= metadata.floor()

    def _take_list(self, metadata: Metadata, name: str) -> None:
        for meta in metadata.manifest_list(name):
            self.names.add((meta.file_name,))
            if meta.file_name in self._manifests:
                continue
            # What is only taken out, no state and no change brings back.
            files = (e.file for e in metadata.read_manifest(meta) if e.kind is EntryKind.ADD)
            self.names.add(name for file in files for name in (file.file_name, *file.extra_files))
            self._manifests.add(meta.file_name)

    def _take_index(self, name: str) -> None:
        if name in self._manifests:
            return
        path = layout.manifest_path(name)
        for entry in decode_index_manifest(self.access.storage.read(path), path=path):
            self.names.add((entry.file_name,))
        self._manifests.add(name)
