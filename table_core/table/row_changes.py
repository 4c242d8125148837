"""Changes rows of a table without primary key.

With ``deletion-vectors.enabled`` the old rows are marked as deleted; otherwise files that hold them
are written anew.  Readers see the old state until one OVERWRITE commit.  Another writer that touches
the same files meanwhile is a conflict; one that appends is none.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa

from table_core.commit.request import CommitPart
from table_core.ondisk.data_file import DataFile, EntryKind, FileSource, ManifestEntry
from table_core.ondisk.snapshot import CommitKind
from table_core.options import keys_write
from table_core.predicate.to_arrow import mask
from table_core.table.append_vectors import AppendVectors
from table_core.table.data_files import FileFactory
from table_core.table.file_reader import POSITION_COLUMN, FileReader
from table_core.table.state_plan import StatePlanner
from table_core.table.writer import TableWriter, refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.bound import Bound
    from table_core.table.access import Bucket, TableAccess
    from table_core.table.writer import WriteResult

__all__ = ["RowChanges"]


@dataclass(slots=True)
class RowChanges:
    """The change of one append table, as of ``head``: rows that go, rows that come."""

    access: TableAccess
    head: Snapshot | None
    gone: int = field(init=False, default=0)
    """Rows that were taken out."""
    _entries: dict[tuple[bytes, int, str], ManifestEntry] = field(init=False)
    _positions: dict[tuple[bytes, int, str], list[Any]] = field(init=False)
    _added: list[ManifestEntry] = field(init=False, default_factory=list)
    _new: TableWriter = field(init=False)
    _factory: FileFactory = field(init=False)
    _vectors: AppendVectors = field(init=False)

    def __post_init__(self) -> None:
        refuse_unwritable(self.access)
        live = self.access.live_entries(self.head)
        self._entries = {(e.partition, e.bucket, e.file.file_name): e for e in live}
        self._positions = defaultdict(list)
        access = self.access
        self._new = TableWriter(access, _never, compact=False)
        self._factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
        self._vectors = AppendVectors(access, self.head)

    def rows(self, where: Bound | None = None) -> Iterator[tuple[Bucket, str, pa.Table]]:
        """The rows that ``where`` holds for, with ``_POSITION``: bucket, file, rows."""
        plan = StatePlanner(access=self.access, where=where).plan(self.head)
        for split in plan.splits:
            bucket = (split.partition, split.bucket)
            reader = self._reader(bucket, positions=True)
            for file in split.files:
                for batch in reader.read(file):
                    table = pa.Table.from_batches([batch])
                    if where is not None:
                        table = table.filter(mask(where, table))
                    if table.num_rows:
                        yield bucket, file.file_name, table

    def take_out(self, bucket: Bucket, file_name: str, positions: Any) -> None:
        """Let the rows at ``positions`` of a file go."""
        self._positions[(*bucket, file_name)].append(np.asarray(positions, np.int64))
        self.gone += len(positions)

    def put_in(self, rows: pa.Table) -> None:
        """Add rows, which find their partition and bucket like any others."""
        self._new.write(rows)

    def part(self) -> CommitPart | None:
        """Write the files; what to commit, None if nothing changes."""
        try:
            entries = self._marked() if self._marks else self._written_anew()
            result: WriteResult = self._new.prepare()
            index_added, index_deleted = self._vectors.store()
        except BaseException:
            self.abort()
            raise
        self._added += [
            ManifestEntry(EntryKind.ADD, c.partition, c.bucket, c.total_buckets, file)
            for c in result.changes
            for file in c.added
        ]
        entries += self._added
        if not entries and not index_added:
            return None
        return CommitPart(
            kind=CommitKind.APPEND,
            entries=tuple(entries),
            index_added=index_added,
            index_deleted=index_deleted,
        )

    def abort(self) -> None:
        """Take away what was written."""
        self._new.abort()
        self._factory.discard()
        self._vectors.discard()

    @property
    def _marks(self) -> bool:
        return self.access.options.get(keys_write.DELETION_VECTORS_ENABLED)

    def _marked(self) -> list[ManifestEntry]:
        """Mark the rows that go; the files that go, because all of their rows do."""
        gone = []
        for key in self._positions:
            bucket, entry = key[:2], self._entries[key]
            positions = self._gone(key)
            if len(positions) == entry.file.row_count:
                gone.append(entry.deleted())
                self._vectors.forget(bucket, key[2])
            else:
                self._vectors.mark(bucket, key[2], positions)
        return gone

    def _written_anew(self) -> list[ManifestEntry]:
        """Write the rows that stay anew; the files that go."""
        self._keep_the_others()
        for key in self._positions:
            self._vectors.forget(key[:2], key[2])
        return [self._entries[key].deleted() for key in self._positions]

    def _gone(self, key: tuple[bytes, int, str]) -> Any:
        """Positions of the rows of a file that are gone after this, those before it too."""
        before = self._vectors.of(key[:2], key[2])
        return np.unique(
            np.concatenate([*self._positions[key], *([] if before is None else [before])])
        )

    def _keep_the_others(self) -> None:
        """Write the rows that stay.  Files of a bucket with an order are not joined."""
        access = self.access
        groups: dict[tuple[Any, ...], list[ManifestEntry]] = defaultdict(list)
        for key in self._positions:
            groups[key if access.schema.bucket > 0 else key[:2]].append(self._entries[key])
        for members in groups.values():
            first = members[0]
            bucket = (first.partition, first.bucket)
            writer = self._factory.rolling(
                *bucket,
                source=FileSource.APPEND,
                first_sequence=min(e.file.min_sequence_number for e in members),
            )
            with writer:
                for entry in members:
                    for rows in self._kept(bucket, entry.file):
                        writer.write(rows)
                files = writer.close()
            self._added += [
                ManifestEntry(EntryKind.ADD, *bucket, first.total_buckets, file) for file in files
            ]

    def _kept(self, bucket: Bucket, file: DataFile) -> Iterator[pa.Table]:
        gone = self._gone((*bucket, file.file_name))
        if len(gone) == file.row_count:
            return
        for batch in self._reader(bucket, positions=True).read(file):
            table = pa.Table.from_batches([batch])
            at = table[POSITION_COLUMN].to_numpy()
            stays = np.isin(at, gone, assume_unique=True, invert=True)
            yield table.filter(pa.array(stays)).drop_columns([POSITION_COLUMN])

    def _reader(self, bucket: Bucket, *, positions: bool) -> FileReader:
        return FileReader(
            access=self.access,
            partition=bucket[0],
            bucket=bucket[1],
            fields=self.access.schema.fields,
            deletions=self._vectors.within(bucket),
            positions=positions,
        )


def _never(_: WriteResult) -> NoReturn:
    raise AssertionError("the statement commits")
