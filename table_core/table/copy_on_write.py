"""Changes rows of a table without primary key: files that hold them are written anew.

Readers see the old files until one OVERWRITE commit puts the new ones in their place.  Another
writer that touches the same files meanwhile is a conflict; one that appends is none.
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
from table_core.predicate.to_arrow import mask
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

__all__ = ["CopyOnWrite"]


@dataclass(slots=True)
class CopyOnWrite:
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

    def __post_init__(self) -> None:
        refuse_unwritable(self.access)
        live = self.access.live_entries(self.head)
        self._entries = {(e.partition, e.bucket, e.file.file_name): e for e in live}
        self._positions = defaultdict(list)
        access = self.access
        self._new = TableWriter(access, _never, compact=False)
        self._factory = FileFactory(access.storage, access.schema, access.clock, access.ids)

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
        entries = [self._entries[key].deleted() for key in self._positions]
        try:
            self._keep_the_others()
            result: WriteResult = self._new.prepare()
        except BaseException:
            self.abort()
            raise
        self._added += [
            ManifestEntry(EntryKind.ADD, c.partition, c.bucket, c.total_buckets, file)
            for c in result.changes
            for file in c.added
        ]
        entries += self._added
        if not entries:
            return None
        return CommitPart(kind=CommitKind.APPEND, entries=tuple(entries))

    def abort(self) -> None:
        """Take away what was written."""
        self._new.abort()
        self._factory.discard()

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
        gone = np.unique(np.concatenate(self._positions[(*bucket, file.file_name)]))
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
            positions=positions,
        )


def _never(_: WriteResult) -> NoReturn:
    raise AssertionError("the statement commits")
