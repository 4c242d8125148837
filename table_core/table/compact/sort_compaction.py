"""Sort compaction: the files of an append table's partition written anew with their rows in order.

Rows stream through the local disk in sorted runs, so that memory is bounded by the write buffer.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_core.datatypes.pieces import wide_bytes
from table_core.errors import UnsupportedFeatureError
from table_core.merge.engines.sort_only import SortOnly
from table_core.merge.sort import runs_of
from table_core.ondisk.data_file import FileSource
from table_core.options import keys_identity, keys_write
from table_core.storage.spill import Spill
from table_core.table.commit_io.prepared import CompactChange
from table_core.table.compact.compaction import with_index
from table_core.table.files.file_reader import FileReader
from table_core.table.files.merging import (
    COPIES_SORTED,
    fitting_bytes,
    merge_in_passes,
    refuse_wide_row,
)
from table_core.table.write.append_vectors import AppendVectors
from table_core.table.write.buffering import BufferLimits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.merge.clustering import Clustering
    from table_core.ondisk.data_file import DataFile
    from table_core.storage.spill import SpilledRows
    from table_core.table.files.data_files import FileFactory
    from table_core.table.metadata.access import Bucket, TableAccess

_RUNS_MAX: Final = 64
__all__ = ["refuse_unsortable", "sort_bucket"]


def refuse_unsortable(access: TableAccess) -> None:
    """Refuse tables in which the order of rows is not free.

    Raises:
        UnsupportedFeatureError: a key table, whose files are sorted by key, or fixed buckets.
    """
    if access.schema.is_key_table or access.schema.bucket >= 0:
        raise UnsupportedFeatureError(
            f"{access.name}: order_by sorts append tables with bucket=-1 only; the rows of a "
            "primary-key table are in the order of the key, those of fixed buckets in the order "
            "in which they came",
            feature="sort compaction",
        )


def sort_bucket(
    access: TableAccess,
    factory: FileFactory,
    bucket: Bucket,
    files: Sequence[DataFile],
    clustering: Clustering,
) -> CompactChange:
    """Write all rows of ``files`` in the order of ``clustering``."""
    access = access.as_new_as(files)
    factory = factory.in_schema(access.schema)
    vectors = AppendVectors(access, access.head())
    limits = BufferLimits.of(access.options)
    reader = FileReader(
        access=access,
        partition=bucket[0],
        bucket=bucket[1],
        fields=access.schema.fields,
        deletions=vectors.within(bucket),
        refuse_wide=partial(
            refuse_wide_row, limit=limits.granted, option=limits.option, copies=COPIES_SORTED
        ),
    )
    ordered = sorted(files, key=lambda f: (f.min_sequence_number, f.creation_time_ms or 0))
    first = min(f.min_sequence_number for f in ordered)
    writer = factory.rolling(*bucket, source=FileSource.COMPACT, first_sequence=first)
    batches = (batch for file in ordered for batch in reader.read(file))
    with writer:
        for rows in _sorted(access, batches, clustering):
            writer.write(clustering.plain(rows))
        after = writer.close()
    for file in ordered:
        vectors.forget(bucket, file.file_name)
    done = CompactChange(
        partition=bucket[0],
        bucket=bucket[1],
        total_buckets=access.options.get(keys_identity.BUCKET),
        before=tuple(ordered),
        after=tuple(after),
    )
    return with_index([done], vectors)[0]


def _sorted(
    access: TableAccess, batches: Iterable[pa.RecordBatch], clustering: Clustering
) -> Iterator[pa.Table]:
    """All rows in order: in memory if they fit, else from runs on the local disk."""
    limits, options = BufferLimits.of(access.options), access.options
    spill = Spill(
        compression=options.get(keys_write.SPILL_COMPRESSION),
        zstd_level=options.get(keys_write.SPILL_COMPRESSION_ZSTD_LEVEL),
    )
    with closing(spill):
        runs: list[SpilledRows] = []
        buffer: list[pa.Table] = []
        held = count = 0
        for batch in batches:
            wide = wide_bytes(batch, fitting_bytes(limits.granted, COPIES_SORTED))
            refuse_wide_row(wide, limits.granted, limits.option, COPIES_SORTED)
            rows = clustering.placed(pa.Table.from_batches([batch]), count)
            count += rows.num_rows
            held += rows.nbytes
            buffer.append(rows)
            if held >= limits.buffer_bytes:
                runs.append(spill.put(_in_order(buffer, clustering)))
                held = 0
        if not runs:
            if buffer:
                yield _in_order(buffer, clustering)
            return
        if buffer:
            runs.append(spill.put(_in_order(buffer, clustering)))
        memory = limits.buffer_bytes // 2
        widest = max(run.batch_bytes for run in runs)
        yield from merge_in_passes(
            [run.batches() for run in runs],
            SortOnly(clustering.order),
            at_once=max(2, min(_RUNS_MAX, memory // max(widest, 1))),
            memory=memory,
        )


def _in_order(buffer: list[pa.Table], clustering: Clustering) -> pa.Table:
    """The tables of ``buffer``, which is emptied, as one in order."""
    rows = pa.concat_tables(buffer).combine_chunks()
    buffer.clear()
    return SortOnly(clustering.order).merge_runs(rows, runs_of(rows, clustering.order))
