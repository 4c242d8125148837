"""What a commit delivers, known when it commits and kept in its snapshot.

Whoever announces a commit reads it off the snapshot document: the files that it is about may be compacted,
its manifests expired.  Kind, operation and watermark are members of that document; here are the rows by
what happened to them, and the partitions.  Its size is bounded: where partitions are many, their number is
kept and readers ask the table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.commit.request import DELETION_VECTORS, ChangedRows
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.snapshot import CommitKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from table_core.commit.live import IndexFile
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.ondisk.snapshot import Snapshot

__all__ = [
    "DELIVERY_PROPERTY",
    "NOT_MASKED",
    "Delivery",
    "Masked",
    "added_rows",
    "delivery_of",
    "masked_rows",
    "recorded_delivery",
]

DELIVERY_PROPERTY: Final = "table-core.delivers"
"""Not carried forward: it is about its own snapshot."""
_VERSION: Final = 1
_PARTITIONS_MAX: Final = 64
_CHARACTERS_MAX: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Rows and partitions of one snapshot."""

    added: int = 0
    """Rows that came in: inserts, and upserts of a key table."""
    updated: int = 0
    """Rows that a statement changed in their place."""
    deleted: int | None = 0
    """Rows that were taken away: ``-D`` of a key table, rows of files and by deletion vectors.  None: files of a
    key table went, and nobody has counted their rows."""
    partitions: tuple[str, ...] | None = ()
    """Keys (``ondisk.partition_key``) of the partitions whose rows changed, of a compaction without changelog
    those it rewrote; '' stands for an unpartitioned table.  None: too many to be kept."""
    partitions_total: int = 0

    @property
    def rows(self) -> int:
        """All rows that were touched, as far as they are counted."""
        return self.added + self.updated + (self.deleted or 0)

    def to_text(self) -> str:
        """As the snapshot keeps it."""
        return json.dumps(
            {
                "version": _VERSION,
                "added": self.added,
                "updated": self.updated,
                "deleted": self.deleted,
                "partitions": None if self.partitions is None else list(self.partitions),
                "partitions_total": self.partitions_total,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """How deletion vectors grow."""

    rows: int = 0
    partitions: frozenset[bytes] = frozenset()


NOT_MASKED: Final = Masked()


def recorded_delivery(snapshot: Snapshot) -> Delivery | None:
    """What ``snapshot`` says it delivers; None of foreign writers, and of newer forms than ours."""
    text = (snapshot.properties or {}).get(DELIVERY_PROPERTY)
    if text is None:
        return None
    try:
        document = json.loads(text)
        if document["version"] != _VERSION:
            return None
        keys = document["partitions"]
        return Delivery(
            added=int(document["added"]),
            updated=int(document["updated"]),
            deleted=None if document["deleted"] is None else int(document["deleted"]),
            partitions=None if keys is None else tuple(str(key) for key in keys),
            partitions_total=int(document["partitions_total"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # anybody may have written it; the manifests say the same


def delivery_of(
    *,
    kind: CommitKind,
    operation: str | None,
    delta: Sequence[ManifestEntry],
    changelog: Sequence[ManifestEntry],
    masked: Masked,
    key_of: Callable[[bytes], str],
    changed: ChangedRows | None = None,
    merges: bool = False,
) -> Delivery:
    """What a commit of ``delta`` and ``changelog`` delivers.

    ``changed`` is what a statement counted.  ``merges``: files hold records, of which several may be one row.
    """
    rows = dict.fromkeys(entry.partition for entry in changelog)
    if kind is not CommitKind.COMPACT or not rows:
        rows |= dict.fromkeys((*(entry.partition for entry in delta), *masked.partitions))
    kept = _kept(rows, key_of)
    if kind in {CommitKind.COMPACT, CommitKind.ANALYZE}:
        changed = _by_changelog(changelog)
    if changed is not None:
        return Delivery(
            added=changed.added,
            updated=changed.updated,
            deleted=changed.deleted,
            partitions=kept,
            partitions_total=len(rows),
        )
    added, updated, deleted = _by_files(operation, delta, masked.rows)
    uncounted = merges and not _are_rows([e for e in delta if e.kind is EntryKind.DELETE])
    return Delivery(
        added=added,
        updated=updated,
        deleted=None if uncounted else deleted,
        partitions=kept,
        partitions_total=len(rows),
    )


def _are_rows(gone: Sequence[ManifestEntry]) -> bool:
    """Whether each record of these files of a key table is a row: no key is twice in a bucket, and none retracts."""
    levels: dict[tuple[bytes, int], set[int]] = {}
    for entry in gone:
        levels.setdefault((entry.partition, entry.bucket), set()).add(entry.file.level)
    sorted_once = all(len(those) == 1 and 0 not in those for those in levels.values())
    return sorted_once and all(e.file.delete_row_count == 0 for e in gone)


def _by_changelog(changelog: Sequence[ManifestEntry]) -> ChangedRows:
    """What a compaction has found out: of an update its changelog has two rows, ``-U`` and ``+U``.

    For example, 20 upserts of keys that are there are 40 rows of which 20 retract and 20 are ``+U``: 20 updated.
    """
    rows = sum(e.file.row_count for e in changelog)
    retracts = sum(e.file.delete_row_count or 0 for e in changelog)
    updates = sum(e.file.update_row_count or 0 for e in changelog)
    if any(e.file.update_row_count is None for e in changelog):
        return ChangedRows()
    return ChangedRows(
        added=rows - retracts - updates, updated=updates, deleted=max(0, retracts - updates)
    )


def added_rows(delta: Sequence[ManifestEntry]) -> int:
    """Rows that new files bring in, without those that retract."""
    new = [e.file for e in delta if e.kind is EntryKind.ADD]
    return sum(file.row_count - (file.delete_row_count or 0) for file in new)


def _by_files(
    operation: str | None, delta: Sequence[ManifestEntry], masked: int
) -> tuple[int, int, int]:
    """Rows added, updated and deleted, as far as files and the name of the operation tell."""
    came = sum(e.file.row_count for e in delta if e.kind is EntryKind.ADD)
    went = sum(e.file.row_count for e in delta if e.kind is EntryKind.DELETE) + masked
    retracted = sum(e.file.delete_row_count or 0 for e in delta if e.kind is EntryKind.ADD)
    fewer = max(0, went - came)
    match operation:
        case "OVERWRITE":  # what it takes out, whatever comes in its place
            return came - retracted, 0, max(0, went)
        case "UPDATE":
            return 0, masked or came, 0
        case "DELETE" | "MERGE" if went:  # files that are written anew bring nothing
            return max(0, came - went), 0, fewer
    return came - retracted, 0, retracted + fewer


def masked_rows(added: Iterable[IndexFile], deleted: Iterable[IndexFile]) -> Masked:
    """How the deletion vectors grew; old writers' files do not count their rows."""
    new, old = _vectors(added), _vectors(deleted)
    return Masked(
        rows=_rows(new) - _rows(old), partitions=frozenset(f.partition for f in (*new, *old))
    )


def _vectors(files: Iterable[IndexFile]) -> list[IndexFile]:
    return [file for file in files if file.index_type == DELETION_VECTORS]


def _rows(files: Iterable[IndexFile]) -> int:
    return sum(vector.cardinality or 0 for file in files for vector in file.ranges or ())


def _kept(rows: Iterable[bytes], key_of: Callable[[bytes], str]) -> tuple[str, ...] | None:
    keys: list[str] = []
    left = _CHARACTERS_MAX
    for row in rows:
        keys.append(key_of(row))
        left -= len(keys[-1])
        if len(keys) > _PARTITIONS_MAX or left < 0:
            return None
    return tuple(keys)
