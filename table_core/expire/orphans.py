"""Which files of a table are orphans: made by the format, old, and named by nothing.

A name decides what a file is.  One that the format could not have made is foreign and stays whatever
its age.  A document (snapshot, schema, tag, hint, consumer) is a root of the search, never an orphan.
What is left, data, changelog, manifest, index and statistics files, must be named by a root; drafts
(``.name.uuid.tmp``) are named by nobody and only have to be old.

    snapshot/snapshot-7                       document
    dt=1/bucket-0/data-<uuid>-0.parquet       named: an orphan if no snapshot, tag or branch names it
    dt=1/bucket-0/notes.txt                   foreign: stays
    .spark.<uuid>.tmp/part-00000-….parquet    draft, as all in such a folder: a job that was cut short
    manifest/.manifest-<uuid>-0.<uuid>.tmp    draft: an orphan once it is old

Source: ``org.apache.paimon.operation.OrphanFilesClean``; format 1 and 11.8.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from table_core.errors import ArgumentError
from table_core.ondisk import layout
from table_core.options import keys_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.schema.table_schema import TableSchema

__all__ = ["FLOOR_MS", "FileRole", "NameSet", "OrphanRules", "cutoff_ms", "is_staging"]

FLOOR_MS: Final = 24 * 3_600_000
"""Younger files may belong to a commit that is still to come."""
_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_DRAFT: Final = re.compile(rf"\..+\.{_UUID}\.tmp")
_MANIFEST: Final = re.compile(rf"(?:index-)?manifest-(?:list-)?{_UUID}-\d+")
_INDEX: Final = re.compile(rf"index-{_UUID}-\d+")
_STATISTICS: Final = re.compile(rf"stat-{_UUID}-\d+")
_BUCKET: Final = re.compile(r"bucket-(?:\d+|postpone)")
_EXTENSION: Final = r"(?:\.[a-z0-9]+){1,2}"
_DOCUMENTS: Final = {
    "snapshot": re.compile(r"snapshot-\d+|EARLIEST|LATEST"),
    "changelog": re.compile(r"changelog-\d+|EARLIEST|LATEST"),
    "schema": re.compile(r"schema-\d+"),
    "tag": re.compile(r"tag-.+"),
    "consumer": re.compile(r"consumer-.+"),
    **dict.fromkeys(layout.NOTE_FOLDERS, re.compile("[0-9a-f]{32}")),
    layout.LINE_FOLDER: re.compile(rf"turn-\d+|stray-\d+-[0-9a-f]{{32}}|expiring-{_UUID}(-at)?"),
}
_SUCCESS: Final = "_SUCCESS"
_SUCCESS_DRAFT: Final = re.compile(rf"\._SUCCESS\.{_UUID}\.tmp")
_BATCH_NAMES: Final = 262_144


def is_staging(name: str) -> bool:
    """Whether a folder of this name in the table's root holds the drafts of one job, whatever their names."""
    return layout.STAGING.fullmatch(name) is not None


class FileRole(StrEnum):
    """What the place and the name of a file make it."""

    NAMED = "named"
    """It stays as long as something names it."""
    DRAFT = "draft"
    """The rest of a write that was cut short."""
    DOCUMENT = "document"
    """It names others, or notes what was done."""
    FOREIGN = "foreign"
    """The format makes no such file: it is somebody else's."""


def cutoff_ms(older_than_ms: int | None, *, now_ms: int, allow_young: bool) -> int:
    """Files changed at or after this stay.

    Raises:
        ArgumentError: it is less than a day ago, and ``allow_young`` is off.
    """
    floor_ms = now_ms - FLOOR_MS
    if older_than_ms is None:
        return floor_ms
    if older_than_ms > floor_ms and not allow_young:
        raise ArgumentError(
            "older_than is less than a day ago: files of a writer that has not committed yet look "
            "like orphans. Take an earlier time, or pass allow_young=True when nobody writes",
            argument="older_than",
            value=older_than_ms,
            newest_allowed=floor_ms,
        )
    return older_than_ms


@dataclass(frozen=True, slots=True)
class OrphanRules:
    """What the files of one table are called, by all of its schemas."""

    partition_keys: tuple[str, ...]
    """Escaped, as folders have them."""
    above: tuple[str, ...]
    """Folders between the table and its partitions (``data-file.path-directory``)."""
    data_names: re.Pattern[str]

    @classmethod
    def of(cls, schemas: Sequence[TableSchema]) -> OrphanRules:
        """The rules for a table that had ``schemas``, of all branches.  Partition keys never change."""
        prefixes = {"data-", "changelog-"}
        above = {""}
        for schema in schemas:
            prefixes.add(schema.options.get(keys_files.DATA_FILE_PREFIX))
            prefixes.add(schema.options.get(keys_files.CHANGELOG_FILE_PREFIX))
            above.add((schema.options.get(keys_files.DATA_FILE_PATH_DIRECTORY) or "").strip("/"))
        prefix = "|".join(re.escape(p) for p in sorted(prefixes))
        postponed = rf"-u-.+-s-\d+-w-{_UUID}-\d+"
        name = rf"(?:{prefix})(?:{_UUID}-\d+|{postponed}){_EXTENSION}"
        return cls(
            partition_keys=tuple(layout.escape(key) for key in schemas[-1].partition_keys),
            above=tuple(sorted(above, key=len, reverse=True)),
            data_names=re.compile(rf"{name}(?:(?:-\d+)?\.index)?"),
        )

    def role(self, path: str) -> FileRole:
        """What the file at ``path``, relative to the table, is."""
        folder, _, name = path.rpartition("/")
        if is_staging(path.partition("/")[0]) and folder:
            return FileRole.DRAFT
        if self._in_bucket(folder):
            if _DRAFT.fullmatch(name):
                return FileRole.DRAFT
            made = self.data_names.fullmatch(name) or _INDEX.fullmatch(name)
            return FileRole.NAMED if made else FileRole.FOREIGN
        shared = {
            layout.MANIFEST_FOLDER: _MANIFEST,
            layout.INDEX_FOLDER: _INDEX,
            layout.STATISTICS_FOLDER: _STATISTICS,
        }
        if folder in shared and shared[folder].fullmatch(name):
            return FileRole.NAMED
        documents = _DOCUMENTS.get(_without_branch(folder))
        if documents is not None or folder in shared:
            if _DRAFT.fullmatch(name):
                return FileRole.DRAFT
            if documents is not None and documents.fullmatch(name):
                return FileRole.DOCUMENT
        if _without_branch(folder) == "tag/tag-success-file" and name.endswith(_SUCCESS):
            return FileRole.DOCUMENT
        if name == _SUCCESS and self._in_partition(folder):
            return FileRole.DOCUMENT
        if _SUCCESS_DRAFT.fullmatch(name) and self._in_partition(folder):
            return FileRole.DRAFT
        return FileRole.FOREIGN

    def _in_bucket(self, folder: str) -> bool:
        partition, _, bucket = folder.rpartition("/")
        if not _BUCKET.fullmatch(bucket):
            return False
        depth = len(self.partition_keys)
        return any(
            len(levels) == depth and self._named(levels) for levels in self._levels(partition)
        )

    def _in_partition(self, folder: str) -> bool:
        return any(levels and self._named(levels) for levels in self._levels(folder))

    def _levels(self, folder: str) -> Iterable[list[str]]:
        """The folders below the places where partitions may begin."""
        for above in self.above:
            if folder == above:
                yield []
            elif not above:
                yield folder.split("/")
            elif folder.startswith(f"{above}/"):
                yield folder[len(above) + 1 :].split("/")

    def _named(self, levels: Sequence[str]) -> bool:
        pairs = zip(levels, self.partition_keys, strict=False)
        return len(levels) <= len(self.partition_keys) and all(
            level.startswith(f"{key}=") for level, key in pairs
        )


def _without_branch(folder: str) -> str:
    """``branch/branch-b1/snapshot`` as ``snapshot``."""
    parts = folder.split("/")
    inside = len(parts) > 2 and parts[0] == layout.BRANCH_FOLDER and parts[1].startswith("branch-")
    return "/".join(parts[2:]) if inside else folder


class NameSet:
    """File names as 8 bytes each.  Two names of one hash are one name: a file more is kept."""

    def __init__(self) -> None:
        self._sorted = np.empty(0, np.uint64)
        self._fresh: list[int] = []

    def __len__(self) -> int:
        return len(self._merged())

    def add(self, names: Iterable[str]) -> None:
        """Take ``names`` in."""
        self._fresh.extend(map(_hash, names))
        if len(self._fresh) >= max(_BATCH_NAMES, len(self._sorted) // 4):
            self._merged()

    def join(self, other: NameSet) -> None:
        """Take in what ``other`` has."""
        self._sorted = np.union1d(self._merged(), other._merged())

    def absent(self, names: Sequence[str]) -> list[bool]:
        """For each name, whether it is certain that it was never added."""
        known = self._merged()
        asked = np.fromiter(map(_hash, names), np.uint64, len(names))
        at = np.searchsorted(known, asked)
        is_added = np.zeros(len(asked), np.bool_)
        within = at < len(known)
        is_added[within] = known[at[within]] == asked[within]
        return [not f for f in is_added.tolist()]

    def _merged(self) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        if self._fresh:
            fresh = np.array(self._fresh, np.uint64)
            self._sorted = np.unique(np.concatenate((self._sorted, fresh)))
            self._fresh.clear()
        return self._sorted


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
