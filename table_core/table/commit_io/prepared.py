"""What writers and compactions have made ready, and a commit makes visible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from table_core.commit.basis import Basis

if TYPE_CHECKING:
    from table_core.commit.basis import Merged, Numbered
    from table_core.ondisk.data_file import DataFile
    from table_core.ondisk.index_manifest import IndexEntry

__all__ = ["BucketChange", "CompactChange", "WriteResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketChange:
    """New files of one bucket."""

    partition: bytes
    bucket: int
    total_buckets: int
    added: tuple[DataFile, ...]
    changelog: tuple[DataFile, ...] = ()
    index_added: tuple[IndexEntry, ...] = ()
    index_deleted: tuple[IndexEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactChange:
    """What a compaction of one bucket takes out and brings in."""

    partition: bytes
    bucket: int
    total_buckets: int
    before: tuple[DataFile, ...] = ()
    after: tuple[DataFile, ...] = ()
    changelog: tuple[DataFile, ...] = ()
    index_added: tuple[IndexEntry, ...] = ()
    index_deleted: tuple[IndexEntry, ...] = ()
    merged: Merged | None = None
    """What must be so when it is committed, in a key table."""
    numbered: Numbered | None = None
    """What the numbers of rows that are new in the bucket go on from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What a writer, maybe one of many in other processes, hands to the commit.  Picklable."""

    changes: tuple[BucketChange, ...] = ()
    compactions: tuple[CompactChange, ...] = ()
    basis: Basis = field(default_factory=Basis)
    """What was read to make ``changes``, and must be so when they are committed."""
