"""Manifest entries as columns of numbers: what counting and dating files needs, 80 bytes a file.

An entry is told from another by 8 bytes of hash of its identity.  Counts may be off by one for two
files of one hash; whoever deletes asks the entries themselves.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from table_core.ondisk.data_file import EntryKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from table_core.ondisk.data_file import ManifestEntry

__all__ = ["UNKNOWN", "FileColumns", "Numbers", "live_columns"]

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
UNKNOWN: Final = -(2**63)
"""A creation time that the manifest does not tell."""
_NAMES: Final = (
    "identity",
    "kind",
    "partition",
    "bucket",
    "level",
    "size",
    "rows",
    "delete_rows",
    "created_ms",
    "total_buckets",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumns:
    """One row an entry."""

    partitions: tuple[bytes, ...]
    """Serialized; ``partition`` counts into them."""
    identity: Numbers
    kind: Numbers
    partition: Numbers
    bucket: Numbers
    level: Numbers
    size: Numbers
    rows: Numbers
    delete_rows: Numbers
    created_ms: Numbers
    total_buckets: Numbers

    def __len__(self) -> int:
        return len(self.identity)

    @classmethod
    def of(cls, entries: Iterable[ManifestEntry]) -> FileColumns:
        """The columns of ``entries``."""
        return cls.gathered(
            (
                entry.identity,
                entry.kind,
                entry.partition,
                entry.bucket,
                entry.file.level,
                entry.file.file_size,
                entry.file.row_count,
                entry.file.delete_row_count,
                entry.file.creation_time_ms,
                entry.total_buckets,
            )
            for entry in entries
        )

    @classmethod
    def gathered(cls, rows: Iterable[Sequence[Any]]) -> FileColumns:
        """The columns of ``rows``, whose members come in the order of the attributes."""
        known: dict[bytes, int] = {}
        columns = {name: array("q") for name in _NAMES}
        add = [columns[name].append for name in _NAMES]
        for (
            identity,
            kind,
            partition,
            bucket,
            level,
            size,
            count,
            deletes,
            created_ms,
            total_buckets,
        ) in rows:
            add[0](hash(identity))
            add[1](kind)
            add[2](known.setdefault(partition, len(known)))
            add[3](bucket)
            add[4](level)
            add[5](size)
            add[6](count)
            add[7](deletes or 0)
            add[8](UNKNOWN if created_ms is None else created_ms)
            add[9](total_buckets)
        numbers = {name: np.array(column, np.int64) for name, column in columns.items()}
        return cls(partitions=tuple(known), **numbers)

    def partition_rows(self) -> list[bytes]:
        """The serialized partitions that occur, in the order in which they do."""
        return [self.partitions[at] for at in dict.fromkeys(self.partition.tolist())]

    def where(self, keep: Any) -> FileColumns:
        """The rows for which the boolean array ``keep`` holds."""
        numbers = {name: getattr(self, name)[keep] for name in _NAMES}
        return FileColumns(partitions=self.partitions, **numbers)

    def of_partitions(self, selected: Callable[[bytes], bool]) -> FileColumns:
        """The rows of the partitions that ``selected`` wants."""
        wanted = np.fromiter(map(selected, self.partitions), np.bool_, len(self.partitions))
        return self.where(wanted[self.partition])


def live_columns(parts: Sequence[FileColumns]) -> FileColumns:
    """The files that are there after ``parts``, manifest after manifest (format 4.6)."""
    known: dict[bytes, int] = {}
    numbers: dict[str, list[Numbers]] = {name: [] for name in _NAMES}
    for part in parts:
        own = [known.setdefault(row, len(known)) for row in part.partitions]
        for name in _NAMES:
            column = getattr(part, name)
            if name == "partition":
                column = np.array(own, np.int64)[column]
            numbers[name].append(column)
    joined = {
        name: np.concatenate(columns) if columns else np.empty(0, np.int64)
        for name, columns in numbers.items()
    }
    whole = FileColumns(partitions=tuple(known), **joined)
    gone = np.sort(whole.identity[whole.kind == int(EntryKind.DELETE)])
    added = whole.where(whole.kind == int(EntryKind.ADD))
    if not len(gone):
        return added
    taken = np.searchsorted(gone, added.identity, "right") - np.searchsorted(gone, added.identity)
    order = np.argsort(added.identity, kind="stable")
    ordered = added.identity[order]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return added.where(rank >= taken)  # the last additions of a file are those that stand
