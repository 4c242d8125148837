"""The deletion vectors of one bucket of a key table, while a compaction changes them.

A bucket has one index file with the vectors of all its data files; every change writes it anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from table_core.ondisk import layout
from table_core.ondisk.data_file import EntryKind
from table_core.ondisk.deletion_vector import decode_index_file, encode_index_file
from table_core.ondisk.index_manifest import DELETION_VECTORS, IndexEntry
from table_core.options import keys_write
from table_core.table.read.state_plan import index_entries

if TYPE_CHECKING:
    from table_core.table.files.data_files import FileFactory
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = ["BucketVectors"]


@dataclass(slots=True)
class BucketVectors:
    """Data file name to deleted positions, ascending; and what must become of the index file."""

    access: TableAccess
    bucket: Bucket
    entry: IndexEntry | None
    _positions: dict[str, np.ndarray[Any, Any]]
    _changed: bool = field(init=False, default=False)

    @classmethod
    def load(cls, access: TableAccess, bucket: Bucket) -> BucketVectors | None:
        """Those of the newest snapshot; None if the table has no deletion vectors."""
        head = access.head()
        entries = () if head is None else index_entries(access, head)
        for entry in entries:
            if entry.index_type == DELETION_VECTORS and (entry.partition, entry.bucket) == bucket:
                path = layout.index_file_path(
                    access.schema, *bucket, entry.file_name, entry.external_path
                )
                body = access.metadata.named_file(path)
                vectors = decode_index_file(body, entry.ranges or (), path=path)
                return cls(access, bucket, entry, dict(vectors))
        if not access.options.get(keys_write.DELETION_VECTORS_ENABLED):
            return None
        return cls(access, bucket, None, {})

    def of(self, file_name: str) -> np.ndarray[Any, Any] | None:
        """The deleted positions of a data file."""
        return self._positions.get(file_name)

    def mark(self, file_name: str, positions: np.ndarray[Any, Any]) -> None:
        """Delete rows of a data file."""
        before = self._positions.get(file_name)
        both = positions if before is None else np.concatenate([before, positions])
        self._positions[file_name] = np.unique(both)
        self._changed = True

    def forget(self, file_name: str) -> None:
        """A data file is gone."""
        if self._positions.pop(file_name, None) is not None:
            self._changed = True

    def store(self, factory: FileFactory) -> tuple[tuple[IndexEntry, ...], tuple[IndexEntry, ...]]:
        """Write the index file if anything changed: the entries to add and to delete.

        ``factory`` deletes it with the data files where they come to nothing.
        """
        if not self._changed:
            return (), ()
        access = self.access
        bitmap64 = access.options.get(keys_write.DELETION_VECTORS_BITMAP64)
        body, ranges = encode_index_file(self._positions, bitmap64=bitmap64)
        name = f"index-{access.ids.uuid()}-0"
        path = layout.index_file_path(access.schema, *self.bucket, name)
        factory.begin(path)
        access.storage.write(path, body)
        added = IndexEntry(
            kind=EntryKind.ADD,
            partition=self.bucket[0],
            bucket=self.bucket[1],
            index_type=DELETION_VECTORS,
            file_name=name,
            file_size=len(body),
            row_count=len(ranges),
            ranges=ranges,
        )
        return (added,), () if self.entry is None else (self.entry,)
