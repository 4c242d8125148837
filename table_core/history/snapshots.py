"""Snapshots as rows of a document, in chunks: a page of them is read without the rest.

A chunk that is full is never written again.  The newest snapshots are in the open chunk, which is small.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.history.kinds import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.ondisk.file_columns import FileColumns

__all__ = [
    "CHUNK",
    "BucketChange",
    "Chunk",
    "FileChange",
    "SnapshotRow",
    "bounded_properties",
    "chunk_part",
    "file_change",
    "numbers_of",
    "with_totals",
]

CHUNK: Final = 128
"""So many snapshots make a full chunk."""
_BUCKETS_MAX: Final = 64
"""A commit that touches more buckets is not told bucket by bucket."""
_PROPERTIES_MAX: Final = 16
_TEXT_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketChange:
    """What a snapshot did to the files of one bucket."""

    partition: str
    """The values of the partition columns as text, ``dt=2026-01-01/hour=5``; empty without any."""
    bucket: int
    files_added: int
    files_deleted: int
    rows_added: int
    rows_deleted: int
    bytes_added: int
    bytes_deleted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What a snapshot did to the files of its table."""

    files_added: int = 0
    files_deleted: int = 0
    rows_added: int = 0
    rows_deleted: int = 0
    bytes_added: int = 0
    bytes_deleted: int = 0
    by_bucket: tuple[BucketChange, ...] | None = ()
    """None: many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRow:
    """One snapshot; None is what nobody has counted."""

    id: int
    at_ms: int
    kind: str
    operation: str | None
    user: str
    identifier: int
    rows_added: int
    rows_deleted: int
    rows: int
    bytes: int | None = None
    files_added: int | None = None
    files_deleted: int | None = None
    files: int | None = None
    bytes_added: int | None = None
    bytes_deleted: int | None = None
    schema_id: int = 0
    watermark: int | None = None
    mark: str = ""
    """What tells it from another snapshot of that number."""
    properties: Mapping[str, str] | None = None
    by_bucket: tuple[tuple[Any, ...], ...] | None = None
    """Members of ``BucketChange``, a row a bucket."""

    def having(self, change: FileChange) -> SnapshotRow:
        """This, with what it did to files."""
        buckets = change.by_bucket
        return replace(
            self,
            files_added=change.files_added,
            files_deleted=change.files_deleted,
            bytes_added=change.bytes_added,
            bytes_deleted=change.bytes_deleted,
            by_bucket=None if buckets is None else tuple(astuple(one) for one in buckets),
        )


_NAMES: Final = tuple(field.name for field in fields(SnapshotRow))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbouring snapshots, oldest first."""

    rows: tuple[SnapshotRow, ...]

    def to_document(self) -> dict[str, Any]:
        """JSON-safe: the names of the columns once, then a list a snapshot."""
        columns = list(_NAMES)
        return {
            "version": VERSION,
            "columns": columns,
            "rows": [[getattr(row, name) for name in columns] for row in self.rows],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Chunk:
        """Read what ``to_document`` made; columns of later releases are left out.

        Raises:
            ValueError: it is none: others may have written it.
        """
        columns, rows = document.get("columns"), document.get("rows")
        fits = isinstance(columns, list) and isinstance(rows, list)
        if not fits or columns is None or rows is None:
            raise ValueError("no chunk of snapshots")
        kept = [(at, name) for at, name in enumerate(columns) if name in _NAMES]
        return cls(tuple(_row(row, kept, len(columns)) for row in rows))


def numbers_of(document: Mapping[str, Any], names: Sequence[str]) -> list[tuple[int | None, ...]]:
    """Some columns of numbers of a chunk, oldest first, without making rows of it: a chart needs no more.

    Raises:
        ValueError: it is no chunk.
    """
    columns, rows = document.get("columns"), document.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list) or not {*names} <= {*columns}:
        raise ValueError("no chunk of snapshots")
    kept = [columns.index(name) for name in names]
    numbers = []
    for row in rows:
        if not isinstance(row, list) or len(row) != len(columns):
            raise ValueError("no snapshot")
        values = tuple(row[at] for at in kept)
        if not all(value is None or _is_whole(value) for value in values):
            raise ValueError("no numbers")
        numbers.append(values)
    return numbers


def _row(row: object, kept: Sequence[tuple[int, str]], length: int) -> SnapshotRow:
    """A row of a document, each member of its kind.

    Raises:
        ValueError: it is none.
    """
    members = (
        {name: row[at] for at, name in kept} if isinstance(row, list) and len(row) == length else {}
    )
    for name, fits in _FITS.items():
        if name not in members and name in _REQUIRED:
            raise ValueError(f"a snapshot without {name}")
        if name in members and not fits(members[name]):
            raise ValueError(f"{name} of a snapshot is none")
    return SnapshotRow(**members)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**63


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_buckets(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, list)
        and len(one) == 8
        and _is_text(one[0])
        and all(map(_is_whole, one[1:]))
        for one in value
    )


def _or_none(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


_REQUIRED: Final = (
    *("id", "at_ms", "kind", "user", "identifier", "rows_added", "rows_deleted", "rows"),
    *("schema_id", "mark"),
)
_FITS: Final[Mapping[str, Callable[[object], bool]]] = {
    **dict.fromkeys(_NAMES, _or_none(_is_whole)),
    **dict.fromkeys(_REQUIRED, _is_whole),
    **dict.fromkeys(("kind", "user", "mark"), _is_text),
    "operation": _or_none(_is_text),
    "properties": _or_none(_is_texts),
    "by_bucket": _or_none(_is_buckets),
}


def chunk_part(first_id: int) -> str:
    """The part of the chunk that begins at ``first_id``: texts sort as the ids do."""
    return f"{first_id:020d}"


def bounded_properties(properties: Mapping[str, str] | None) -> dict[str, str] | None:
    """Those that a page shows: few and short."""
    if not properties:
        return None
    shown = [(k, v) for k, v in properties.items() if not k.startswith("table-core.")]
    return {k[:_TEXT_MAX]: str(v)[:_TEXT_MAX] for k, v in shown[:_PROPERTIES_MAX]} or None


def file_change(parts: Iterable[FileColumns], text_of: Callable[[bytes], str]) -> FileChange:
    """What the manifest entries ``parts`` add and delete."""
    change = FileChange()
    buckets: dict[tuple[bytes, int], list[int]] = {}
    for part in parts:
        if not len(part):
            continue
        is_new = part.kind == 0
        change = replace(
            change,
            files_added=change.files_added + int(is_new.sum()),
            files_deleted=change.files_deleted + int((~is_new).sum()),
            rows_added=change.rows_added + int(part.rows[is_new].sum()),
            rows_deleted=change.rows_deleted + int(part.rows[~is_new].sum()),
            bytes_added=change.bytes_added + int(part.size[is_new].sum()),
            bytes_deleted=change.bytes_deleted + int(part.size[~is_new].sum()),
        )
        _add_buckets(buckets, part, is_new)
    if len(buckets) > _BUCKETS_MAX:
        return replace(change, by_bucket=None)
    told = [
        BucketChange(
            partition=text_of(partition),
            bucket=bucket,
            files_added=sums[0],
            files_deleted=sums[1],
            rows_added=sums[2],
            rows_deleted=sums[3],
            bytes_added=sums[4],
            bytes_deleted=sums[5],
        )
        for (partition, bucket), sums in buckets.items()
    ]
    return replace(change, by_bucket=tuple(sorted(told, key=lambda b: (b.partition, b.bucket))))


def _add_buckets(
    buckets: dict[tuple[bytes, int], list[int]], part: FileColumns, is_new: Any
) -> None:
    """Sums of the entries of each bucket; no more than it takes to see that they are many."""
    pairs = np.stack((part.partition, part.bucket), axis=1)
    for pair in np.unique(pairs, axis=0):
        if len(buckets) > _BUCKETS_MAX:
            return
        of_pair = (pairs == pair).all(axis=1)
        sums = buckets.setdefault((part.partitions[int(pair[0])], int(pair[1])), [0] * 6)
        for at, chosen in enumerate((of_pair & is_new, of_pair & ~is_new)):
            sums[at] += int(chosen.sum())
            sums[2 + at] += int(part.rows[chosen].sum())
            sums[4 + at] += int(part.size[chosen].sum())


def with_totals(rows: Sequence[SnapshotRow], files: int, bytes_: int) -> list[SnapshotRow]:
    """``rows`` (oldest first, the last is the head) with the files and bytes that there were after each.

    Counted backwards from what the head has, as far as each snapshot says what it changed::

        head has 5 files, it added 2 and deleted 1  ->  before it there were 4
    """
    totals: list[SnapshotRow] = []
    known: tuple[int, int] | None = (files, bytes_)
    for row in reversed(rows):
        if known is None:
            totals.append(row)
            continue
        totals.append(replace(row, files=known[0], bytes=known[1]))
        if row.files_added is None or row.bytes_added is None:
            known = None
            continue
        known = (
            known[0] - row.files_added + (row.files_deleted or 0),
            known[1] - row.bytes_added + (row.bytes_deleted or 0),
        )
    totals.reverse()
    return totals
