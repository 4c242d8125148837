"""Gives postponed rows (bucket -2) their buckets: what a compaction of such a table begins with.

Files are read in the order in which they were written, and written again as a writer of that many
fixed buckets would.  Everything is one COMPACT commit.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pyarrow as pa

from table_core.datatypes.row_kind import KIND_COLUMN, KIND_TEXTS, ROW_KIND_COLUMN, SEQUENCE_COLUMN
from table_core.merge.engines.parts import deciding_sequences, takes_back_in_parts
from table_core.ondisk import layout
from table_core.options import keys_identity
from table_core.table.commit_io.prepared import CompactChange
from table_core.table.compact.inline_compaction import InlineCompaction
from table_core.table.files.file_reader import FileReader
from table_core.table.write.writer import TableWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ondisk.data_file import DataFile
    from table_core.table.commit_io.prepared import WriteResult
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = ["spread_postponed"]

_KINDS: Final = pa.array(KIND_TEXTS)


def spread_postponed(
    access: TableAccess,
    buckets: Mapping[Bucket, Sequence[DataFile]],
    totals: Mapping[Bucket, int],
    *,
    full: bool,
) -> list[CompactChange]:
    """Write the postponed files among ``buckets`` to real buckets, and compact those; ``full``: fully.

    ``totals``: of how many buckets each of the table's real buckets is one.
    """
    existing = {b[0]: total for b, total in totals.items() if b[1] >= 0}
    changes: list[CompactChange] = []
    for bucket, files in buckets.items():
        if bucket[1] != layout.POSTPONE_BUCKET:
            continue
        count = existing.get(bucket[0]) or _count_for(access, files)
        changes.append(
            CompactChange(
                partition=bucket[0],
                bucket=bucket[1],
                total_buckets=layout.POSTPONE_BUCKET,
                before=tuple(files),
            )
        )
        changes += _written(access, bucket, files, count, full=full)
    return changes


def _count_for(access: TableAccess, files: Sequence[DataFile]) -> int:
    """How many buckets a new partition gets."""
    options = access.options
    rows = options.get(keys_identity.POSTPONE_TARGET_ROW_NUM_PER_BUCKET)
    if rows is not None and rows > 0:
        return max(1, -(-sum(file.row_count for file in files) // rows))
    asked = options.get(keys_identity.POSTPONE_DEFAULT_BUCKET_NUM)
    if asked is not None and asked > 0:
        return asked
    size = max(options.get(keys_identity.POSTPONE_TARGET_SIZE_PER_BUCKET), 1)
    return max(1, -(-sum(file.file_size for file in files) // size))


def _written(
    access: TableAccess, bucket: Bucket, files: Sequence[DataFile], count: int, *, full: bool
) -> list[CompactChange]:
    access = access.as_new_as(files)
    fixed = access.with_options({"bucket": str(count), "write-only": "false"}).for_whole_rows()
    reader = FileReader(
        access=access,
        partition=bucket[0],
        bucket=bucket[1],
        fields=access.schema.fields,
        system=True,
    )
    compaction = partial(InlineCompaction, fixed, full=full)
    takes_back, sequences = takes_back_in_parts(fixed.schema), deciding_sequences(fixed.schema)
    apart = False
    with TableWriter(fixed, _never, compaction=compaction) as writer:
        for file in sorted(files, key=_age):
            if apart:  # what follows must not be merged with it before it has met what is there
                writer.end_run()
            apart = bool(sequences) or (not takes_back and file.delete_row_count != 0)
            for batch in reader.read(file):
                rows = pa.Table.from_batches([batch]).drop_columns([SEQUENCE_COLUMN])
                kinds = _KINDS.take(rows[KIND_COLUMN].combine_chunks())
                rows = rows.drop_columns([KIND_COLUMN]).append_column(ROW_KIND_COLUMN, kinds)
                writer.write(rows)
        return _net(access, writer.prepare())


def _age(file: DataFile) -> tuple[Any, ...]:
    """By creation, which grows with each commit whatever the clocks say; files of one writer by number."""
    stem = file.file_name.rpartition(".")[0]
    writer, _, number = stem.rpartition("-")
    return (file.creation_time_ms or 0, writer, int(number) if number.isdigit() else 0)


def _net(access: TableAccess, result: WriteResult) -> list[CompactChange]:
    """What was written and compacted at once, without the files that came and went."""
    numbered = {(entry.partition, entry.bucket): entry for entry in result.basis.numbered}
    net: dict[Bucket, CompactChange] = {}
    stays: dict[Bucket, dict[str, DataFile]] = defaultdict(dict)
    for c in result.changes:
        bucket = (c.partition, c.bucket)
        net[bucket] = CompactChange(
            partition=c.partition,
            bucket=c.bucket,
            total_buckets=c.total_buckets,
            changelog=c.changelog,
            numbered=numbered.get(bucket),
        )
        stays[bucket] = {file.file_name: file for file in c.added}
    for done in result.compactions:
        bucket = (done.partition, done.bucket)
        own = stays[bucket]
        temporary = [file for file in done.before if file.file_name in own]
        for file in temporary:
            del own[file.file_name]
        names = {file.file_name for file in done.after}
        access.storage.delete(
            layout.data_file_path(access.schema, *bucket, file)
            for file in temporary
            if file.file_name not in names
        )
        known = net.get(bucket)
        net[bucket] = replace(
            done,
            before=tuple(file for file in done.before if file not in temporary),
            changelog=(*(known.changelog if known else ()), *done.changelog),
            numbered=numbered.get(bucket),
        )
    return [
        replace(change, after=(*change.after, *stays[bucket].values()))
        for bucket, change in net.items()
    ]


def _never(_: WriteResult) -> NoReturn:
    raise AssertionError("the compaction commits")
