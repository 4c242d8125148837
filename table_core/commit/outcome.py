"""What became of a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from table_core.commit.readback import Seen
    from table_core.errors import TableError
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.snapshot import Snapshot

__all__ = ["Landed", "Outcome"]


@dataclass(frozen=True, slots=True)
class Landed:
    """A snapshot of this commit.  ``replayed``: found, an earlier attempt had made it."""

    snapshot: Snapshot
    replayed: bool
    delta: tuple[ManifestEntry, ...] = ()
    """What it adds and deletes; not known of a replayed one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a commit that was not refused.  No halves: there was nothing to commit."""

    append: Landed | None = None
    compact: Landed | None = None
    superseded_by: int | None = None
    """It landed, in a snapshot that is expired, or a growing stream is past its identifier: id of the
    snapshot that shows it."""
    compact_error: TableError | None = None
    """Why the compact half is missing although asked for.  The rows are in all the same."""
    warnings: tuple[TableError, ...] = ()
    """Faults after the commit that do not undo it, as a hint that could not be written."""
    races_lost: int = 0
    seen: tuple[Seen, ...] = ()
    """To hand to the next commit of this process on this table."""

    @property
    def snapshot_ids(self) -> tuple[int, ...]:
        """Ids of the one or two snapshots, oldest first."""
        return tuple(half.snapshot.id for half in (self.append, self.compact) if half is not None)

    @property
    def replayed(self) -> bool:
        """Whether this commit was found instead of made."""
        halves = [half for half in (self.append, self.compact) if half is not None]
        return self.superseded_by is not None or (bool(halves) and halves[0].replayed)
