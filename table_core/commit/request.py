"""What a writer asks for: one logical commit, of up to two snapshots.

    append half   APPEND, OVERWRITE or ANALYZE     the rows
    compact half  COMPACT                          their rewriting, which may be dropped

Both halves carry the same user and identifier (format 10.1); the kind tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_core.commit.basis import Basis, Opened
from table_core.errors import ArgumentError
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.snapshot import CommitKind
from table_core.options import keys_commit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.commit.live import IndexFile
    from table_core.commit.overwrite import Selection
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.options.table import TableOptions

__all__ = [
    "DELETION_VECTORS",
    "HASH",
    "ChangedRows",
    "CommitLimits",
    "CommitPart",
    "CommitRequest",
]

DELETION_VECTORS: Final = "DELETION_VECTORS"
"""The index type of deletion vectors (format 4.8)."""
HASH: Final = "HASH"
"""The index type of the keys of a bucket (format 6.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRows:
    """What a statement did to rows, where files do not tell: they are written anew as a whole."""

    added: int = 0
    updated: int = 0
    deleted: int | None = 0
    """None: nobody has counted them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPart:
    """One half of a commit.  ``entries`` is its delta, in an order that format 4.6 accepts."""

    kind: CommitKind
    entries: tuple[ManifestEntry, ...] = ()
    changelog: tuple[ManifestEntry, ...] = ()
    index_added: tuple[IndexFile, ...] = ()
    index_deleted: tuple[IndexFile, ...] = ()
    """Every index file that ``index_added`` replaces or that goes: a file which the writer saw.
    One that somebody else put there meanwhile is a conflict, not a silent replacement."""
    overwrite: Selection | None = None
    """What to delete besides, chosen from the head at each attempt (format 10.5)."""
    statistics: str | None = None
    """Name of a new statistics file (ANALYZE)."""
    changed: ChangedRows | None = None
    """What a statement counted; None: the files tell."""
    basis: Basis = field(default_factory=Basis)
    """What was read to make all this; see there."""
    is_first: bool = False
    """Nothing may be in the table before it: it is all that a copy holds.  Its files are named after those of
    what is copied, so another copy may have them too, and a commit that fails leaves them."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing in the table could change."""
        return not (
            self.entries
            or self.changelog
            or self.index_added
            or self.index_deleted
            or self.statistics
            or (self.overwrite is not None and self.overwrite.may_select)
        )

    @property
    def snapshot_kind(self) -> CommitKind:
        """The kind to commit as: an append that takes anything out is OVERWRITE (format 10.1)."""
        if self.kind is not CommitKind.APPEND:
            return self.kind
        takes_out = any(e.kind is EntryKind.DELETE for e in self.entries)
        masks = any(i.index_type == DELETION_VECTORS for i in self.index_added + self.index_deleted)
        overwrites = self.overwrite is not None
        return CommitKind.OVERWRITE if takes_out or masks or overwrites else CommitKind.APPEND


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLimits:
    """How long to try (options ``commit.*``)."""

    retries_max: int = 10
    wait_min_ms: int = 10
    wait_max_ms: int = 10_000
    timeout_ms: int | None = None
    last_safe_snapshot: int | None = None
    """``commit.strict-mode.last-safe-snapshot``; None: not strict."""
    discard_duplicate_files: bool = False

    @classmethod
    def of(cls, options: TableOptions) -> CommitLimits:
        """The limits that ``options`` of a table set."""
        return cls(
            retries_max=options.get(keys_commit.COMMIT_MAX_RETRIES),
            wait_min_ms=options.get(keys_commit.COMMIT_MIN_RETRY_WAIT),
            wait_max_ms=options.get(keys_commit.COMMIT_MAX_RETRY_WAIT),
            timeout_ms=options.get(keys_commit.COMMIT_TIMEOUT),
            last_safe_snapshot=options.get(keys_commit.COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT),
            discard_duplicate_files=options.get(keys_commit.COMMIT_DISCARD_DUPLICATE_FILES),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    """One logical commit of ``user`` with ``identifier``."""

    table: str
    """For messages: name or URI without secrets."""
    user: str
    identifier: int
    fresh_user: bool
    """Nobody can ask for this commit again: ``user`` was drawn for it alone, or is a mere name.  So no
    earlier process can have made it, and history need not be searched."""
    append: CommitPart | None = None
    compact: CommitPart | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    """For the first snapshot that this commit makes."""
    expect: Mapping[str, str | None] = field(default_factory=dict)
    """Property to the value (None: absent) that the head must have at each attempt."""
    opened: Opened | None = None
    """The table, as the handle opened it that commits."""
    asked: str | None = None
    """What the identifier stands for (``asked.asked``); None: nobody says."""
    watermark: int | None = None
    operation: str | None = None
    writer_version: str
    """Begins with ``properties.WRITER_PREFIX``."""
    resume_from: int | None = None
    """Id of the head (0: empty table) recorded, outside the process, before the first run of this very
    commit began.  Every run passes it, the first one too: a process that was taken for dead may wake up
    after its successor has committed and that snapshot has expired.  None: nobody recorded anything; then
    the search goes down to the earliest snapshot, and what is not there is taken as never made."""
    since_ms: int | None = None
    """No run of this commit began before this time, in epoch milliseconds, and an earlier one may have landed.
    Then what is not there, while history that could hold it is expired, is an unknown outcome.  None: this
    is the first run, or nobody knows; then what is not there is taken as never made."""
    growing: bool = False
    """Identifiers of ``user`` only grow (a stream): one at or below the newest has landed."""
    force: bool = False
    """Make a snapshot although nothing changes (``commit.force-create-snapshot``, streams)."""
    start_anew: bool = False
    """Take a ``tc.`` property that history is too short to tell about as absent."""
    index_keys_by_file: bool = False
    """The table is bucket-unaware: its deletion vectors are told apart by file (format 4.8)."""
    key_of: Callable[[bytes], str] | None = None
    """The key of a serialized partition, by the table's schema: snapshots say what they deliver
    (``commit.delivery``).  None: they do not."""
    tracks_rows: bool = False
    """Rows get ids at commit (``row-tracking.enabled``)."""
    limits: CommitLimits = field(default_factory=CommitLimits)

    def __post_init__(self) -> None:
        """Refuse halves of the wrong kind: no data can cause that, but a caller's mistake can."""
        if self.append is not None and self.append.kind is CommitKind.COMPACT:
            raise ArgumentError(
                "the append half is of kind COMPACT", argument="append", value="COMPACT"
            )
        if self.compact is not None and self.compact.kind is not CommitKind.COMPACT:
            raise ArgumentError(
                f"the compact half is of kind {self.compact.kind}",
                argument="compact",
                value=self.compact.kind.value,
            )
