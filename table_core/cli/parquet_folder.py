"""What lies in a folder of Parquet: schemas, and columns that tell rows apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.arrow import arrow_schema
from table_core.declaration.first import FileSchema, by_table, table_of
from table_core.storage.row_files import parquet_column, parquet_schema
from table_core.storage.stores.locate import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.ports import Storage
    from table_core.schema.table_schema import TableSchema

__all__ = ["tables_of_folder"]

_ROWS_MAX: Final = 5_000_000
_BYTES_MAX: Final = 256 << 20
"""So much is looked at for a key."""


def tables_of_folder(
    folder: str, database: str, *, keys: bool
) -> tuple[dict[str, TableSchema], dict[str, str]]:
    """The tables that Parquet below ``folder`` asks for, and what is to be told of each.

    ``keys`` looks for a column that tells rows apart, and proposes it.

    Raises:
        DataError: a file is no Parquet.
        SchemaError: files of one table disagree.
    """
    storage = open_storage(folder, {})
    paths = sorted(info.path for info in storage.walk("") if _is_parquet(info.path))
    files = [FileSchema(path=path, schema=parquet_schema(storage, path)) for path in paths]
    tables, told = {}, {}
    for name, of_table in by_table(files, storage.uri.rstrip("/").rpartition("/")[2]).items():
        full = f"{database}.{name}"
        tables[full] = table_of(full, of_table)
        if keys:
            key = _key(storage, of_table, arrow_schema(tables[full].fields))
            if key is not None:
                tables[full] = table_of(full, of_table, (key[0],))
            told[full] = "no column tells its rows apart" if key is None else key[1]
    return tables, told


def _is_parquet(path: str) -> bool:
    hidden = any(part.startswith(("_", ".")) for part in path.split("/"))
    return path.endswith(".parquet") and not hidden


def _key(storage: Storage, files: Sequence[FileSchema], table: pa.Schema) -> tuple[str, str] | None:
    """The first column of which no two rows have the same value, and none has NULL."""
    for column in files[0].schema:
        fits = pa.types.is_integer(column.type) or pa.types.is_string(column.type)
        if not fits or any(column.name not in file.schema.names for file in files):
            continue
        values, is_all = _unlike(storage, files, table.field(column.name))
        if values:
            which = "" if is_all else "the first "
            return (
                column.name,
                f"proposed: no two of {which}{values:,} rows have the same {column.name}",
            )
    return None


def _unlike(storage: Storage, files: Sequence[FileSchema], column: pa.Field) -> tuple[int, bool]:
    """How many rows of ``column`` were looked at that are all unlike, and whether these are all; 0: some are alike."""
    parts: list[pa.Array] = []
    size, is_all = 0, True
    for part in _parts(storage, files, column):
        if sum(map(len, parts)) >= _ROWS_MAX or size >= _BYTES_MAX:
            is_all = False
            break
        if not _differ(part):
            return 0, True
        parts.append(part)
        size += part.nbytes
    values = pa.chunked_array(parts, column.type)
    return (len(values) if _differ(values) else 0), is_all


def _parts(storage: Storage, files: Sequence[FileSchema], column: pa.Field) -> Iterator[pa.Array]:
    for file in files:
        for part in parquet_column(storage, file.path, column.name):
            yield part.cast(column.type)


def _differ(values: pa.Array | pa.ChunkedArray) -> bool:
    return not values.null_count and pc.count_distinct(values).as_py() == len(values)
