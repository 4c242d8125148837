"""Changes rows of a table without primary key.

With ``deletion-vectors.enabled`` the old rows are marked as deleted; otherwise files that hold them
are written anew.  Readers see the old state until one OVERWRITE commit.  Another writer that touches
the same files meanwhile is a conflict; one that appends is none.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
import pyarrow as pa

from table_core.commit.request import CommitPart
from table_core.ondisk import layout
from table_core.ondisk.data_file import DataFile, EntryKind, FileSource, ManifestEntry
from table_core.ondisk.snapshot import CommitKind
from table_core.options import keys_write
from table_core.predicate.to_arrow import rows_that_meet
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.files.data_files import FileFactory
from table_core.table.files.file_reader import POSITION_COLUMN, FileReader
from table_core.table.read.state_plan import StatePlanner
from table_core.table.write.append_vectors import AppendVectors
from table_core.table.write.writer import TableWriter, refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.bound import Bound
    from table_core.scan.split import Split
    from table_core.table.commit_io.prepared import WriteResult
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = ["PreparedChange", "RowChanges", "change_part", "entries_of", "marks_rows", "take_back"]


_FileKey: TypeAlias = "tuple[bytes, int, str]"
"""Partition, bucket and name of a data file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedChange:
    """Rows that go and come, and the files written for that.  Picklable."""

    positions: Mapping[_FileKey, Any]
    """Rows that go, by file."""
    entries: Mapping[_FileKey, ManifestEntry]
    """Those files."""
    added: tuple[ManifestEntry, ...] = ()

    @property
    def gone(self) -> int:
        """How many rows go."""
        return sum(len(positions) for positions in self.positions.values())


@dataclass(slots=True)
class RowChanges:
    """The change of one append table, as of ``head``: rows that go, rows that come."""

    access: TableAccess
    head: Snapshot | None
    gone: int = field(init=False, default=0)
    """Rows that were taken out."""
    _entries: dict[_FileKey, ManifestEntry] = field(init=False, default_factory=dict)
    _positions: dict[_FileKey, list[Any]] = field(init=False)
    _added: list[ManifestEntry] = field(init=False, default_factory=list)
    _new: TableWriter = field(init=False)
    _factory: FileFactory = field(init=False)
    _vectors: AppendVectors = field(init=False)

    def __post_init__(self) -> None:
        refuse_unwritable(self.access)
        self._positions = defaultdict(list)
        access = self.access
        self._new = TableWriter(access, _never)
        self._factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
        self._vectors = AppendVectors(access, self.head)

    def rows(
        self, where: Bound | None = None, splits: Iterable[Split] | None = None
    ) -> Iterator[tuple[Bucket, str, pa.Table]]:
        """The rows that ``where`` holds for, with ``_POSITION``: bucket, file, rows.

        ``splits``: those alone, of a plan of ``head``.
        """
        if splits is None:
            splits = StatePlanner(access=self.access, where=where).plan(self.head).splits
        for split in splits:
            bucket = (split.partition, split.bucket)
            reader = self._reader(bucket, positions=True)
            self._entries.update(entries_of(split))
            for file in split.files:
                for batch in reader.read(file):
                    table = pa.Table.from_batches([batch])
                    if where is not None:
                        table = rows_that_meet(where, table)
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
        return change_part(self.access, self.head, [self.prepared()])

    def prepared(self, *, keeps: bool = True) -> PreparedChange:
        """Write the files of the rows that come, and where rows are not marked, of those that stay.

        Not the latter without ``keeps``: others change the same files.
        """
        with undone_by(self.abort):
            if keeps and not marks_rows(self.access):
                self._keep_the_others()
            result: WriteResult = self._new.prepare()
        self._added += [
            ManifestEntry(EntryKind.ADD, c.partition, c.bucket, c.total_buckets, file)
            for c in result.changes
            for file in c.added
        ]
        return PreparedChange(
            positions={key: np.concatenate(parts) for key, parts in self._positions.items()},
            entries={key: self._entries[key] for key in self._positions},
            added=tuple(self._added),
        )

    def rewritten(self, change: PreparedChange) -> PreparedChange:
        """Write what stays of the files of ``change``, which has all rows that go."""
        self._entries.update(change.entries)
        for key, positions in change.positions.items():
            self._positions[key].append(positions)
        return self.prepared()

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

    def _gone(self, key: _FileKey) -> Any:
        """Positions of the rows of a file that are gone after this, those before it too."""
        return _all_gone(self._vectors, key, np.concatenate(self._positions[key]))

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


def entries_of(split: Split) -> dict[_FileKey, ManifestEntry]:
    """The files of ``split`` as the manifests have them."""
    bucket = (split.partition, split.bucket)
    return {
        (*bucket, file.file_name): ManifestEntry(EntryKind.ADD, *bucket, split.total_buckets, file)
        for file in split.files
    }


def change_part(
    access: TableAccess, head: Snapshot | None, prepared: Sequence[PreparedChange]
) -> CommitPart | None:
    """What to commit for all of ``prepared``, None if nothing changes.

    A file may lose rows to one of them only, unless rows are marked.
    """
    vectors = AppendVectors(access, head)
    with undone_by(lambda: take_back(access, prepared)), undone_by(vectors.discard):
        entries = _taken_out(access, vectors, prepared)
        index_added, index_deleted = vectors.store()
    entries += [entry for change in prepared for entry in change.added]
    if not entries and not index_added:
        return None
    return CommitPart(
        kind=CommitKind.APPEND,
        entries=tuple(entries),
        index_added=index_added,
        index_deleted=index_deleted,
    )


def take_back(access: TableAccess, prepared: Iterable[PreparedChange]) -> None:
    """Delete the files that were written for ``prepared``, which is not committed."""
    access.storage.delete(
        layout.data_file_path(access.schema, entry.partition, entry.bucket, entry.file)
        for change in prepared
        for entry in change.added
    )


def _taken_out(
    access: TableAccess, vectors: AppendVectors, prepared: Sequence[PreparedChange]
) -> list[ManifestEntry]:
    """The files that go; rows of others are marked where the table marks rows."""
    entries = {key: entry for change in prepared for key, entry in change.entries.items()}
    positions: dict[_FileKey, list[Any]] = defaultdict(list)
    for change in prepared:
        for key, row_numbers in change.positions.items():
            positions[key].append(row_numbers)
    gone = []
    for key, parts in positions.items():
        entry, bucket = entries[key], key[:2]
        if marks_rows(access):
            all_gone = _all_gone(vectors, key, np.concatenate(parts))
            if len(all_gone) != entry.file.row_count:
                vectors.mark(bucket, key[2], all_gone)
                continue
        gone.append(entry.deleted())
        vectors.forget(bucket, key[2])
    return gone


def marks_rows(access: TableAccess) -> bool:
    """Whether rows that go are marked, instead of their files written anew."""
    return access.options.get(keys_write.DELETION_VECTORS_ENABLED)


def _all_gone(vectors: AppendVectors, key: _FileKey, positions: Any) -> Any:
    before = vectors.of(key[:2], key[2])
    return np.unique(positions if before is None else np.concatenate([positions, before]))


def _never(_: WriteResult) -> NoReturn:
    raise AssertionError("the statement commits")
