"""Writes the new files of a commit again, with larger sequence numbers.

That is what losing a race for a bucket costs, where another commit gave out the same numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.row_kind import SEQUENCE_COLUMN
from table_core.ondisk.data_file import EntryKind, FileSource
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.files.data_files import FileFactory
from table_core.table.files.file_reader import FileReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.commit.request import CommitPart
    from table_core.ondisk.data_file import ManifestEntry
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = ["renumbered"]


def renumbered(access: TableAccess, part: CommitPart, by: Mapping[Bucket, int]) -> CommitPart:
    """``part`` of a key table; its new rows in the buckets ``by`` have numbers larger by so much.

    Nothing else about the rows changes, and their order stays: a file has the schema that it was written
    with, which may be newer than that of ``access``.  The old files stay too.
    """
    factory = FileFactory(access.storage, access.schema, access.clock, access.ids)

    def again(entry: ManifestEntry, *, changelog: bool) -> Iterator[ManifestEntry]:
        more = by.get((entry.partition, entry.bucket))
        if more is None or entry.kind is EntryKind.DELETE:
            yield entry
        else:
            yield from _written(access, factory, entry, more, changelog=changelog)

    with undone_by(factory.discard):
        made = replace(
            part,
            entries=tuple(e for old in part.entries for e in again(old, changelog=False)),
            changelog=tuple(e for old in part.changelog for e in again(old, changelog=True)),
        )
        factory.sync()
    return made


def _written(
    access: TableAccess, factory: FileFactory, entry: ManifestEntry, more: int, *, changelog: bool
) -> Iterator[ManifestEntry]:
    own = access.with_schema(access.metadata.schema(entry.file.schema_id))
    reader = FileReader(
        access=own,
        partition=entry.partition,
        bucket=entry.bucket,
        fields=own.schema.fields,
        system=True,
    )
    writer = factory.in_schema(own.schema).rolling(
        entry.partition,
        entry.bucket,
        level=entry.file.level,
        source=entry.file.file_source or FileSource.APPEND,
        changelog=changelog,
        sync=False,
    )
    with writer:
        for batch in reader.read(entry.file):
            rows = pa.Table.from_batches([batch])
            at = rows.schema.get_field_index(SEQUENCE_COLUMN)
            numbers = pc.add(rows[SEQUENCE_COLUMN], pa.scalar(more, pa.int64()))
            writer.write(rows.set_column(at, rows.schema.field(at), numbers))
        files = writer.close()
    return (replace(entry, file=file) for file in files)
