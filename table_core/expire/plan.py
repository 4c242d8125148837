"""What snapshot expiry is asked, what it finds, what it did; and the effects between.

A performer carries an effect out and sends the reply.  Errors thrown into the generator end the run: what
was done stays done, and the next run finishes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from table_core.expire.retention import HeldBy, Retention

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry
    from table_core.ondisk.snapshot import Snapshot

__all__ = [
    "Bounds",
    "BucketKey",
    "Changelogs",
    "CleanFolders",
    "Delete",
    "DeleteChangelog",
    "DeleteSnapshots",
    "DeleteTag",
    "Effect",
    "Expired",
    "FileKey",
    "HeldBy",
    "KeepChangelog",
    "Metadata",
    "Pins",
    "Promise",
    "PromiseChangelog",
    "ReadBounds",
    "ReadChangelog",
    "ReadChangelogs",
    "ReadConsumers",
    "ReadEntries",
    "ReadKept",
    "ReadLine",
    "ReadLive",
    "ReadMetadata",
    "ReadNeeded",
    "ReadNeededPaths",
    "ReadPins",
    "ReadSnapshot",
    "ReadStaying",
    "ReadStayingPaths",
    "Reply",
    "Retention",
    "states",
]

FileKey: TypeAlias = "tuple[bytes, int, str, str | None]"
"""Where a file is: partition, bucket, name, external path.  Unlike a manifest entry's identity it has
no level: an upgraded file is the same file (format T52)."""


BucketKey: TypeAlias = "tuple[bytes, int]"
"""Partition and bucket: a folder of data files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Which snapshots there are."""

    earliest: int
    """The smallest id at or above the floor that has a file."""
    latest: int
    leftovers: tuple[int, ...]
    """Ids below the floor that have a file, ascending: an earlier run was cut short."""
    now_ms: int
    head: Snapshot | None = None
    """The snapshot ``latest``, where it was read."""


@dataclass(frozen=True, slots=True)
class ReadBounds:
    """Reply ``Bounds``, or None for a table without snapshots.  Never from a cache.

    From one listing of ``snapshot/``.  The floor is ``snapshot/EARLIEST`` if that snapshot exists, else
    the smallest id listed (format 1.2).
    """


@dataclass(frozen=True, slots=True)
class ReadLine:
    """Reply the number of the newest turn of the line, an int; None: one is under way.  Never from a cache.

    The mark of this expiry says before that snapshots up to ``next`` go now; 0: none more.  So a turn that goes
    below it is seen here, or sees the mark (docs/adr/0026).
    """

    next: int = 0


@dataclass(frozen=True, slots=True)
class ReadSnapshot:
    """Reply the ``Snapshot``, or None if there is no such file."""

    id: int


@dataclass(frozen=True, slots=True)
class ReadConsumers:
    """Reply the smallest next snapshot of all consumers, of every branch of this name; None: none.

    Read ``consumer/`` afresh.  Files past ``consumer.expiration-time`` do not count.
    """


@dataclass(frozen=True, slots=True)
class Pins:
    """Snapshots outside ``snapshot/`` whose files must stay."""

    tags: tuple[Snapshot, ...]
    """Of this branch, ascending by id."""
    branches: bool = False
    """Whether there are other branches: they share files with this one."""
    since: int | None = None
    """Files may have come back: all that stays is asked for, the tags, and the snapshots from this one on."""
    changelogs_since: int | None = None
    """The changelogs from this one on stay, and are asked for too."""


def states(bounds: Bounds, pins: Pins) -> list[int]:
    """The ids of all snapshots and tags."""
    snapshots = [*bounds.leftovers, *range(bounds.earliest, bounds.latest + 1)]
    return [*snapshots, *(tag.id for tag in pins.tags)]


@dataclass(frozen=True, slots=True)
class ReadPins:
    """Reply ``Pins``, read afresh."""


@dataclass(frozen=True, slots=True)
class ReadStaying:
    """Reply a frozenset: those of ``among`` that something of this branch needs that stays.

    That is one of the tags of ``pins``, a snapshot from ``pins.since`` on, or such a changelog.  What cannot be read is
    an error: throw it.
    """

    pins: Pins
    among: frozenset[FileKey]


@dataclass(frozen=True, slots=True)
class ReadStayingPaths:
    """Reply a frozenset: the metadata files that these documents name."""

    pins: Pins


@dataclass(frozen=True, slots=True)
class ReadNeeded:
    """Reply a frozenset: those of ``among`` that a document of another branch needs.

    What cannot be read is an error: throw it.
    """

    among: frozenset[FileKey]


@dataclass(frozen=True, slots=True)
class ReadNeededPaths:
    """Reply a frozenset: the metadata files that documents of other branches name."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Write ``snapshot/EARLIEST``: the larger of ``end`` and what it says.  Durable; reply None.

    From here on no commit and no reader may count on a snapshot below ``end`` (docs/adr/0002).
    """

    end: int
    lower: bool = False
    """Only if the hint is above the newest snapshot: the table was rolled back meanwhile."""


@dataclass(frozen=True, slots=True)
class ReadEntries:
    """Reply an iterator over entries of one ``kind`` of one list of ``snapshot``, or None.

    ``changelog`` False: the delta list; True: the changelog list (empty if there is none).  None: the
    list or one of its manifests is missing or unreadable; decided before the first entry is given.
    Entries stream: hold one manifest at a time.
    """

    snapshot: Snapshot
    kind: EntryKind
    changelog: bool = False


@dataclass(frozen=True, slots=True)
class ReadKept:
    """Reply a frozenset: those of ``among`` that are live data files of ``snapshot``.

    Prune manifests by the partitions in ``among``; keep what was read of one snapshot until another
    is asked about.  A manifest that cannot be read is an error: throw it.
    """

    snapshot: Snapshot
    among: frozenset[FileKey]


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata files that one snapshot names: path relative to the table, and size."""

    state: Mapping[str, int] = field(default_factory=dict)
    """Base and delta lists and their manifests."""
    changelog: Mapping[str, int] = field(default_factory=dict)
    """Changelog list and its manifests."""
    other: Mapping[str, int] = field(default_factory=dict)
    """Index manifest, index files, statistics."""


@dataclass(frozen=True, slots=True)
class ReadMetadata:
    """Reply ``Metadata`` of ``snapshot``; what cannot be read any more names nothing further.

    ``must_read``: it keeps files from being deleted, so a fault is an error: throw it.
    """

    snapshot: Snapshot
    must_read: bool


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete these files, as given where it is one at a time; those gone already are no error.

    ``data``: (partition, bucket, file), extra files included; its path is ``layout.data_file_path``.
    ``paths``: relative to the table.  Reply None when all are deleted.
    """

    data: tuple[tuple[bytes, int, DataFile], ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CleanFolders:
    """Delete the folders of ``buckets`` that are empty, and empty partitions above; reply None.

    Not told of: which are empty is up to those who write meanwhile, and to the store.
    """

    buckets: frozenset[BucketKey]


@dataclass(frozen=True, slots=True)
class KeepChangelog:
    """Copy the document of ``snapshot`` to ``changelog/changelog-<id>``; reply None.

    Then write ``changelog/LATEST``, and ``changelog/EARLIEST`` if it is missing.  Repeating it all is
    harmless.
    """

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class DeleteSnapshots:
    """Delete ``snapshot/snapshot-<id>`` for each of ``ids``, ascending; reply None.

    If it is a while since the line was looked at, look again first, as of ``ReadLine``.
    """

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changelogs:
    """Which changelogs there are, and the newest snapshot."""

    ids: tuple[int, ...]
    """Ascending, at least one; those below ``earliest`` are left from a run cut short."""
    earliest: int
    """``changelog/EARLIEST`` if that changelog exists, else the smallest id."""
    latest_snapshot: int
    now_ms: int


@dataclass(frozen=True, slots=True)
class ReadChangelogs:
    """Reply ``Changelogs``, or None without any.  Never from a cache."""


@dataclass(frozen=True, slots=True)
class ReadChangelog:
    """Reply the ``Snapshot`` in ``changelog/changelog-<id>``, or None if there is no such file."""

    id: int


@dataclass(frozen=True, slots=True)
class PromiseChangelog:
    """Write ``changelog/EARLIEST``: ``end``.  Durable; reply None."""

    end: int


@dataclass(frozen=True, slots=True)
class DeleteChangelog:
    """Delete ``changelog/changelog-<id>``; reply None."""

    id: int


@dataclass(frozen=True, slots=True)
class ReadLive:
    """Reply an iterator over the entries of the live files of ``snapshot``; hold a manifest at a time.

    What cannot be read is an error: throw it.
    """

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class DeleteTag:
    """Delete the tag ``name``, with its success file; reply ``Pins`` of the tags that are there now and not ``known``.

    Who renames a tag makes the new one, then looks whether the old one is there: one of the two sees the other.
    """

    name: str
    known: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """What a run did, or with ``dry_run`` would do."""

    end: int
    """The oldest snapshot that is promised from now on."""
    snapshots: tuple[int, ...] = ()
    files_deleted: int = 0
    """Data and changelog files, with their extra files, whose length nobody wrote down."""
    bytes_deleted: int = 0
    metadata_deleted: int = 0
    metadata_bytes: int = 0
    held_by: HeldBy | None = None
    unreadable: tuple[int, ...] = ()
    """Snapshots whose manifests could not be read: their data files stay for orphan removal."""


Effect: TypeAlias = (
    ReadBounds
    | ReadLine
    | ReadSnapshot
    | ReadConsumers
    | ReadPins
    | Promise
    | ReadEntries
    | ReadKept
    | ReadMetadata
    | ReadStaying
    | ReadStayingPaths
    | ReadNeeded
    | ReadNeededPaths
    | Delete
    | CleanFolders
    | KeepChangelog
    | DeleteSnapshots
    | ReadChangelogs
    | ReadChangelog
    | PromiseChangelog
    | DeleteChangelog
    | ReadLive
    | DeleteTag
)
Reply: TypeAlias = "Bounds | Changelogs | Snapshot | Pins | Metadata | Iterator[ManifestEntry] | frozenset[FileKey] | frozenset[str] | int | None"
