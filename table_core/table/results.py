"""What calls that commit take, and what they give back."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.table.access import TableAccess

__all__ = ["Commit", "CommitAs", "ResultDocument", "unchanged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAs:
    """Who commits, and what goes along with the commit.

    A call with a (user, identifier) that has landed is a no-op that returns the first result.
    """

    user: str | None = None
    """Stable across retries of one logical write; None is a random user."""
    identifier: int | None = None
    """None is Paimon's batch identifier without a user, and 0 with one."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Kept in the snapshot; names that begin with ``tc.`` are carried forward by later commits."""
    watermark: int | None = None
    """Event time in epoch milliseconds up to which rows are complete."""
    expect: Mapping[str, str | None] = field(default_factory=dict)
    """Properties and the values that the caller read; a difference is kind ``conflict``."""
    growing: bool = False
    """Identifiers of ``user`` only grow, as those of a stream: one at or below the newest that landed
    is a no-op, and a commit without rows makes a snapshot too (``snapshot.ignore-empty-commit``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What one commit did."""

    snapshot_ids: tuple[int, ...] = ()
    """New snapshots, oldest first; none when there was nothing to commit."""
    rows_added: int = 0
    """Rows of the new files, compaction aside: of rows with one key, a key table keeps one."""
    files_added: int = 0
    files_deleted: int = 0
    bytes_added: int = 0
    replayed: bool = False
    """Whether the commit was found instead of made."""
    compact_conflicts: tuple[str, ...] = ()
    """Why the compaction that went along was dropped; the rows are in."""

    @property
    def snapshot_id(self) -> int | None:
        """The newest snapshot of this commit."""
        return self.snapshot_ids[-1] if self.snapshot_ids else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDocument:
    """What every maintenance call returns; ``to_document`` is its JSON form."""

    action: str
    table: str
    snapshot_before: int | None = None
    snapshot_after: int | None = None
    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    files_deleted: int = 0
    bytes_deleted: int = 0
    rows_written: int = 0
    seconds: float = 0.0
    dry_run: bool = False
    details: Mapping[str, object] = field(default_factory=dict)

    def to_document(self) -> dict[str, object]:
        """JSON-safe members, under the same names."""
        document = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return document | {"details": dict(self.details)}


def unchanged(
    access: TableAccess, action: str, details: Mapping[str, object], *, dry_run: bool = False
) -> ResultDocument:
    """The result of a verb that makes no snapshot and takes no data file."""
    head = access.metadata.head_id()
    return ResultDocument(
        action=action,
        table=access.name,
        snapshot_before=head,
        snapshot_after=head,
        dry_run=dry_run,
        details=details,
    )
