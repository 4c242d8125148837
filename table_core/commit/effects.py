"""What the commit protocol asks of the world, and what the world replies.

A performer carries an effect out against real storage and sends the reply.  Unless it says
otherwise, an effect is read-only and may be repeated.  An error of an effect is **thrown into the
generator** (``protocol.drive`` does so): only the protocol knows whether something has been written by
then, hence whether "unavailable" is the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.commit.basis import Opened
    from table_core.commit.live import IndexFile, LiveFiles, Partitions
    from table_core.commit.request import CommitPart
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.properties import CarriedProperties
    from table_core.ondisk.snapshot import Snapshot

__all__ = [
    "Announce",
    "CountRows",
    "Create",
    "Created",
    "Discard",
    "Effect",
    "FindMine",
    "Head",
    "LookupProperties",
    "ReadBack",
    "ReadFloor",
    "ReadHead",
    "ReadLive",
    "ReadMissing",
    "ReadTouched",
    "Renumber",
    "Reply",
    "Search",
    "SetAside",
    "TableState",
    "Touched",
    "Wait",
    "WasWithdrawn",
    "WriteManifests",
    "Written",
]


@dataclass(frozen=True, slots=True)
class Head:
    """A snapshot as stored: the document and ``readback.digest`` of its bytes."""

    snapshot: Snapshot
    digest: str

    @property
    def id(self) -> int:
        """The snapshot's id."""
        return self.snapshot.id


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """Where the table stands."""

    head: Head | None
    schema_id: int
    """Id of the newest schema."""
    buckets_may_differ: bool
    """False if every schema version says the same ``bucket``: then no file can have been written
    with another count, and appends need not look."""
    schemas: frozenset[Opened] = frozenset()
    """All schemas that the table has."""

    @property
    def birth(self) -> str:
        """What tells the table from others at its place, as ``line.FOLLOWS`` has it."""
        first = min(self.schemas, key=lambda opened: opened.schema_id, default=None)
        return "" if first is None else first.birth


@dataclass(frozen=True, slots=True)
class ReadHead:
    """Reply ``TableState`` with the newest snapshot.  Never from a cache.

    Raises ``NotFoundError`` if there is no table any more.

    Hints are hints: ``LATEST`` counts only if the next id does not exist (format 1.2).
    """


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Reply ``Head`` of the snapshot file ``id``, or None if there is no such file.  Never cached."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Result of a search backwards."""

    snapshots: tuple[Snapshot, ...]
    """Snapshots of the user with the identifier, newest first."""
    lowest: int
    """Every id from here to where the search began was read or ruled out (that id + 1: none was)."""
    superseded_by: int | None = None
    """With ``growing``: id of a snapshot of the same user with a larger identifier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindMine:
    """Reply ``Search``: what ``readback.search`` says of the snapshots from ``newest`` to ``oldest``.

    Documents may come from a cache that is keyed by id only if it belongs to this process and
    is dropped when a digest differs; the head itself was just read.
    """

    user: str
    identifier: int
    newest: int
    oldest: int
    growing: bool
    since_ms: int | None = None
    """Snapshots that are older cannot be this commit; None: nobody knows when it was first tried."""


@dataclass(frozen=True, slots=True)
class ReadFloor:
    """Reply the smallest id that expiry has promised not to delete, an int.  Never cached.

    That is ``snapshot/EARLIEST``; where it is missing or no number, the smallest id in a listing of
    ``snapshot/``; 1 if there is none.
    """


@dataclass(frozen=True, slots=True)
class LookupProperties:
    """Reply ``CarriedProperties``: what ``properties.carried`` says of these snapshots.

    Give it ``newest``, ``newest - 1`` ... down to the first id without a file; it stops early.  Asked
    only when the head is another writer's.
    """

    newest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLive:
    """Reply ``LiveFiles`` of ``snapshot``.  Manifests are immutable: cache them, prune by partition.

    ``files`` False: ``entries`` may be left empty, only the index is wanted.
    """

    snapshot: Snapshot
    partitions: Partitions
    files: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRows:
    """Reply how many rows of a key table whole buckets of ``snapshot`` have, merged, an int; None: too many to count.

    ``entries`` are those buckets' files.
    """

    snapshot: Snapshot
    entries: tuple[ManifestEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What one snapshot did."""

    snapshot: Snapshot
    entries: tuple[ManifestEntry, ...] = ()
    """Its delta."""
    partitions: frozenset[bytes]
    """Of its delta entries."""
    fixed_buckets: bool
    """Whether any of them has ``_TOTAL_BUCKETS`` > 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTouched:
    """Reply a tuple of ``Touched``, one for each snapshot in (after, to] that ``user`` did not make.

    Raises ``NotFoundError`` if one of them is expired.
    """

    after: int
    to: int
    user: str | None
    """None: those of all users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renumber:
    """Write files of ``part`` anew, the sequence numbers of their rows larger; reply ``CommitPart``.

    ``by``: bucket to how much is added there, in files of data and of changelog.  The old files stay
    until it is certain what became of the commit: a caller who does not know may commit them again.
    """

    part: CommitPart
    by: Mapping[tuple[bytes, int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Metadata files that are on disk, durable, and not yet named by any snapshot."""

    base_manifest_list: str
    base_manifest_list_size: int
    delta_manifest_list: str
    delta_manifest_list_size: int
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    """The name for the snapshot: a new file, or the head's if nothing changed."""
    files: tuple[str, ...] = ()
    """Every file that was written, relative to the table; for ``Discard``."""
    time_ms: int
    """The clock, read last."""
    uuid: str
    """A new random UUID."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteManifests:
    """Write the metadata of the snapshot after ``head``; reply ``Written``.

    1. Base list: base and delta manifests of ``head``, after ``manifest_merge.plan``; a valid empty
       list for the first snapshot (format T14).  ``rewrites``: the delta is a compaction on its
       own, and the plan is told how many files it deletes.
    2. Delta manifests and list from ``delta``, an empty list if there is none; changelog list only if
       ``changelog``.
    3. Index manifest with exactly ``index``; None: keep the head's.
    4. All of them durable (``Storage.sync``), data files too that are not yet.

    ``previous`` is what an earlier attempt of the same part wrote.  With ``same_delta`` its delta and
    changelog lists are to be used again.  Its files that are not used again are deleted; the
    protocol passes one only if no snapshot can name it.  If writing fails half-way, the performer
    deletes what it wrote in this call before it throws.
    """

    head: Head | None
    delta: tuple[ManifestEntry, ...]
    changelog: tuple[ManifestEntry, ...]
    index: tuple[IndexFile, ...] | None
    previous: Written | None = None
    same_delta: bool = False
    rewrites: bool = False


class Created(Enum):
    """What became of a ``Create``."""

    CREATED = "created"
    EXISTS = "exists"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Create:
    """Create ``snapshot/snapshot-<id>`` if absent, atomically and durably, with ``snapshot.to_json()``.

    Reply ``Created.CREATED``, ``EXISTS`` (a file of that id is there; whose is not yet known), or
    ``UNKNOWN`` where ``Storage.create`` raised ``OutcomeUnknownError``.  Never retried by the performer.
    """

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class WasWithdrawn:
    """Reply the target of the newest turn that took the snapshot of ``state`` back, an int; None: none did.

    Never from a cache.  Asked only when the snapshot is not what stands at its place any more.
    """

    state: str
    """``Snapshot.state``."""


@dataclass(frozen=True, slots=True)
class ReadMissing:
    """Reply a frozenset: those files of ``part`` that are not there; None if all are younger than orphans may be.

    Nothing is asked of the store for young files.
    """

    part: CommitPart


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """Take the snapshot file of ``head`` away, if it still has these bytes; reply None.

    It is of no line.  Only who holds a turn deletes it.  If another turn is under way, that one finds it:
    nothing is done then.  With ``keep`` a copy is left in the folder of strays.
    """

    head: Head
    keep: bool


@dataclass(frozen=True, slots=True)
class Announce:
    """Overwrite the hint ``snapshot/LATEST`` with ``id``; reply None.

    Best effort: a failure is thrown, and the protocol turns it into a warning.
    """

    id: int


@dataclass(frozen=True, slots=True)
class Discard:
    """Delete ``written.files``, which no snapshot names or will; reply None.  Best effort, as above."""

    written: Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Sleep after the lost ``attempt`` (1 is the first); reply ms since the generator's first effect.

    Sleep ``minimum_ms + jitter * (maximum_ms - minimum_ms)``, jitter from ``Ids.jitter``.  If the lost
    attempt took long, ``attempt`` times as long (half of it jitter), at most ``ceiling_ms``: on a slow
    store whoever comes back at once only slows down the writer that is about to win.
    """

    attempt: int
    minimum_ms: int
    maximum_ms: int
    ceiling_ms: int


Effect: TypeAlias = (
    ReadHead
    | ReadBack
    | FindMine
    | ReadFloor
    | LookupProperties
    | ReadLive
    | CountRows
    | ReadTouched
    | Renumber
    | WriteManifests
    | Create
    | ReadMissing
    | WasWithdrawn
    | SetAside
    | Announce
    | Discard
    | Wait
)
Reply: TypeAlias = "TableState | Head | Search | int | CarriedProperties | LiveFiles | tuple[Touched, ...] | frozenset[str] | CommitPart | Written | Created | None"
