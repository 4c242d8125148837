"""Data files of an append table that another writer made, taken in as if they were ours.

Their footers say what a manifest needs to know: rows, NULLs and bounds, and of a partitioned table the
partition, which all rows of a file share.  No row is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import CorruptFileError
from table_core.ondisk.binary_row import encode_row
from table_core.ondisk.data_file import EMPTY_ROW, EMPTY_STATS, DataFile, FileSource
from table_core.ondisk.stats import StatsBuilder, modes_for
from table_core.options import keys_files
from table_core.storage.parquet.format import ParquetFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.ondisk.binary_row import Value
    from table_core.ondisk.data_file import SimpleStats
    from table_core.ports import Storage
    from table_core.schema.table_schema import TableSchema
    from table_core.storage.columns.data_format import RangeStats
    from table_core.table.files.data_files import FileFactory

__all__ = ["Adopted", "Described", "adopted", "described"]

_LEVEL: Final = 0


@dataclass(frozen=True, slots=True)
class Described:
    """What a manifest says of a file that is not yet ours: as short as there, whatever its footer holds."""

    size: int
    rows: int
    partition: bytes
    stats: SimpleStats
    covered: tuple[str, ...] | None
    """The columns of ``stats``; None: all."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """A file to take in: where it is, which partition it belongs to, and its description."""

    path: str
    partition: bytes
    file: DataFile


def described(schema: TableSchema, storage: Storage, path: str, size: int) -> Described | None:
    """The Parquet file at ``path``, of ``size`` bytes, by its footer; None where it has no rows.

    Raises:
        CorruptFileError: it does not decode, or its rows are not all of one partition.
    """
    groups = [group for group in ParquetFormat().counted(storage, path, size) if group[0]]
    if not groups:
        return None
    options = schema.options
    default = options.get(keys_files.METADATA_STATS_MODE_PER_LEVEL).get(_LEVEL)
    modes = modes_for(options, [field.name for field in schema.fields], default=default)
    dense = options.get(keys_files.METADATA_STATS_DENSE_STORE)
    stats = StatsBuilder(schema.fields, modes, dense=dense)
    for _, columns in groups:
        stats.add_counted(columns)
    value_stats, covered = stats.finish()
    rows = sum(count for count, _ in groups)
    return Described(size, rows, _partition(schema, path, groups), value_stats, covered)


def adopted(factory: FileFactory, path: str, stored: Described) -> Adopted:
    """The file at ``path`` under a name of ``factory``, as the manifest says it."""
    file = DataFile(
        file_name=factory.name(level=_LEVEL, changelog=False),
        file_size=stored.size,
        row_count=stored.rows,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=EMPTY_STATS,
        value_stats=stored.stats,
        min_sequence_number=0,
        max_sequence_number=stored.rows - 1,
        schema_id=factory.schema.id,
        level=_LEVEL,
        creation_time_ms=factory.now_local_ms(),
        delete_row_count=0,
        file_source=FileSource.APPEND,
        value_stats_cols=stored.covered,
    )
    return Adopted(path, stored.partition, file)


def _partition(
    schema: TableSchema, path: str, groups: Sequence[tuple[int, Mapping[str, RangeStats]]]
) -> bytes:
    """The partition of all rows, by the bounds of its columns."""
    fields = schema.partition_fields
    if not fields:
        return EMPTY_ROW
    partitions: set[tuple[Value, ...]] = set()
    for rows, columns in groups:
        lows: list[Value] = []
        for field in fields:
            counted = columns[field.name]
            single = counted.null_count == 0 and counted.min == counted.max
            if not (counted.null_count == rows or (single and counted.min is not None)):
                raise _mixed(schema, path)
            lows.append(None if counted.null_count == rows else counted.min)
        partitions.add(tuple(lows))
    if len(partitions) != 1:
        raise _mixed(schema, path)
    return encode_row([field.type for field in fields], list(partitions.pop()))


def _mixed(schema: TableSchema, path: str) -> CorruptFileError:
    keys: Sequence[str] = schema.partition_keys
    what = f"its footer does not say that all rows have one value of {', '.join(keys)}"
    return CorruptFileError(f"{path}: {what}", path=path, problems=[what])
