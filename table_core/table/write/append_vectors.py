"""The deletion vectors of a table without primary key, while a statement changes them.

In a table without buckets an index file holds the vectors of some data files of a partition, in one
with buckets those of a whole bucket (format 7.7).  Files that are touched are written anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from table_core.ondisk import layout
from table_core.ondisk.deletion_vector import decode_index_file, encode_index_file
from table_core.ondisk.index_manifest import DELETION_VECTORS, IndexEntry
from table_core.options import keys_write
from table_core.table.read.state_plan import index_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.metadata.access import Bucket, TableAccess

    Positions = npt.NDArray[np.int64]

__all__ = ["AppendVectors"]


@dataclass(slots=True)
class AppendVectors:
    """Deleted positions by data file, as of ``head``; and what must become of the index files."""

    access: TableAccess
    head: Snapshot | None
    _entries: list[IndexEntry] = field(init=False)
    _entry_of: dict[tuple[Bucket, str], IndexEntry] = field(init=False, default_factory=dict)
    _read: dict[str, dict[str, Positions]] = field(init=False, default_factory=dict)
    _changed: dict[Bucket, dict[str, Positions | None]] = field(init=False, default_factory=dict)
    """New vectors; None for data files that are gone."""
    _begun: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        entries = [] if self.head is None else index_entries(self.access, self.head)
        self._entries = [e for e in entries if e.index_type == DELETION_VECTORS]
        for entry in self._entries:
            for reference in entry.ranges or ():
                bucket = (entry.partition, entry.bucket)
                self._entry_of[bucket, reference.file_name] = entry

    def within(self, bucket: Bucket) -> Callable[[str], npt.NDArray[Any] | None]:
        """A look-up of the deleted positions of the data files of ``bucket``."""
        return lambda file_name: self.of(bucket, file_name)

    def of(self, bucket: Bucket, file_name: str) -> Positions | None:
        """The deleted positions of a data file, as of the beginning; None without any."""
        entry = self._entry_of.get((bucket, file_name))
        return None if entry is None else self._vectors(entry)[file_name]

    def index_file(self, bucket: Bucket, file_name: str) -> str | None:
        """The index file that holds the vector of a data file; None without any."""
        entry = self._entry_of.get((bucket, file_name))
        return None if entry is None else entry.file_name

    def mark(self, bucket: Bucket, file_name: str, positions: Positions) -> None:
        """Delete rows of a data file."""
        before = self.of(bucket, file_name)
        both = positions if before is None else np.concatenate([before, positions])
        self._changed.setdefault(bucket, {})[file_name] = np.unique(both)

    def forget(self, bucket: Bucket, file_name: str) -> None:
        """A data file goes."""
        if (bucket, file_name) in self._entry_of:
            self._changed.setdefault(bucket, {})[file_name] = None

    def store(self) -> tuple[tuple[IndexEntry, ...], tuple[IndexEntry, ...]]:
        """Write the index files: the entries to add and to delete."""
        added: list[IndexEntry] = []
        deleted: list[IndexEntry] = []
        for bucket, changes in self._changed.items():
            old = self._replaced(bucket, changes)
            deleted += old
            vectors = {name: at for entry in old for name, at in self._vectors(entry).items()}
            for name, positions in changes.items():
                if positions is None:
                    vectors.pop(name, None)
                else:
                    vectors[name] = positions
            added += (self._written(bucket, part) for part in self._parts(vectors))
        return tuple(added), tuple(deleted)

    def discard(self) -> None:
        """Take away what was written."""
        self.access.storage.delete(self._begun)
        self._begun.clear()

    def _replaced(self, bucket: Bucket, changes: dict[str, Positions | None]) -> list[IndexEntry]:
        mine = [e for e in self._entries if (e.partition, e.bucket) == bucket]
        if self.access.schema.bucket > 0:
            return mine
        return [e for e in mine if any(r.file_name in changes for r in e.ranges or ())]

    def _parts(self, vectors: dict[str, Positions]) -> Iterator[dict[str, Positions]]:
        """``vectors`` by index file: one for a bucket, else of about the target size."""
        most = self.access.options.get(keys_write.DELETION_VECTOR_INDEX_FILE_TARGET_SIZE)
        part: dict[str, Positions] = {}
        size = 0
        for name, positions in vectors.items():
            part[name] = positions
            size += len(encode_index_file({name: positions}, bitmap64=self._bitmap64)[0])
            if size >= most and self.access.schema.bucket < 0:
                yield part
                part, size = {}, 0
        if part:
            yield part

    def _written(self, bucket: Bucket, vectors: dict[str, Positions]) -> IndexEntry:
        access = self.access
        body, ranges = encode_index_file(vectors, bitmap64=self._bitmap64)
        name = f"index-{access.ids.uuid()}-0"
        path = layout.index_file_path(access.schema, *bucket, name)
        self._begun.append(path)
        access.storage.write(path, body)
        return IndexEntry(
            partition=bucket[0],
            bucket=bucket[1],
            index_type=DELETION_VECTORS,
            file_name=name,
            file_size=len(body),
            row_count=len(ranges),
            ranges=ranges,
        )

    @property
    def _bitmap64(self) -> bool:
        return self.access.options.get(keys_write.DELETION_VECTORS_BITMAP64)

    def _vectors(self, entry: IndexEntry) -> dict[str, Positions]:
        vectors = self._read.get(entry.file_name)
        if vectors is None:
            path = layout.index_file_path(
                self.access.schema,
                entry.partition,
                entry.bucket,
                entry.file_name,
                entry.external_path,
            )
            body = self.access.metadata.named_file(path)
            vectors = decode_index_file(body, entry.ranges or (), path=path)
            self._read[entry.file_name] = vectors
        return vectors
