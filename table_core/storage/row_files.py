"""Files of rows that are no data files of a table: Parquet, CSV or JSON lines, as somebody left them."""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from table_core.errors import ArgumentError, DataError
from table_core.options.row_options import DEFAULTS
from table_core.storage.columns.data_format import rows_within
from table_core.storage.csv_rows import BLOCK_BYTES, csv_line, csv_rows, csv_schema
from table_core.storage.decoded import require_decodable
from table_core.storage.guessed_types import GuessedType
from table_core.storage.json_rows import json_line, json_rows, json_schema
from table_core.storage.parquet.batch_sizes import batch_budget
from table_core.storage.parquet.footer import read_chunk_stats
from table_core.storage.parquet.page_room import require_pages_fit
from table_core.storage.parquet.row_room import leaves_to_read, require_rows_fit
from table_core.storage.parquet.watched import SmallerBatchesError, rows_allowed, watched

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from table_core.options.row_options import RowOptions
    from table_core.ports import Storage
    from table_core.storage.parquet.footer import ChunkStats

__all__ = [
    "FORMATS",
    "format_of",
    "guessed_columns",
    "parquet_column",
    "parquet_schema",
    "read_rows",
    "wrong_row",
]

_BATCH_ROWS: Final = 64 * 1024
_BATCH_BYTES: Final = 32 << 20
_ENDINGS: Final = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
_PACKED: Final = (".gz", ".zst")
_REFUSED: Final = {
    **dict.fromkeys(
        (".zip", ".7z", ".tar", ".tgz", ".tar.gz"), "it may hold several files: unpack it first"
    ),
    **dict.fromkeys((".bz2", ".xz", ".lz4"), "unpack it, or pack it by gzip (.gz) or zstd (.zst)"),
    **dict.fromkeys(
        (".xlsx", ".xls", ".ods"), "a workbook is no table: save the sheet as CSV UTF-8"
    ),
    ".orc": "rows are read from Parquet, CSV and JSON lines; Spark writes ORC as Parquet",
    ".avro": "rows are read from Parquet, CSV and JSON lines; Spark writes Avro as Parquet",
}
"""What people have too, and what to do with it."""
_NO_ROWS: Final = (pa.ArrowException, gzip.BadGzipFile, zlib.error, EOFError, UnicodeDecodeError)
"""What a file makes readers raise that is no rows."""
FORMATS: Final = ("parquet", "csv", "json")
"""What rows can be read from; JSON is one object a line."""


def parquet_schema(storage: Storage, path: str) -> pa.Schema:
    """The columns of the Parquet file ``path``, from its end.

    Raises:
        DataError: it is no Parquet; says which one.
    """
    with _no_rows(storage, path), storage.open_input(path) as file:
        return pq.read_schema(file)


def guessed_columns(
    storage: Storage, path: str, format: str, options: RowOptions = DEFAULTS
) -> list[GuessedType]:
    """The columns of the file ``path``: Parquet says them, the first rows of CSV and JSON let them be guessed.

    Raises:
        DataError: it does not decode; says which one.
    """
    options.require_for(format)
    if format == "parquet":
        schema = parquet_schema(storage, path)
        return [GuessedType(field.name, field.type, None) for field in schema]
    with _no_rows(storage, path):
        try:
            with _opened(storage, path, format) as (file, _):
                return (csv_schema if format == "csv" else json_schema)(file, options)
        except DataError as error:
            row = error.facts.get("row")
            raise _placed(error, storage, path, format, row, options) from error


def parquet_column(storage: Storage, path: str, column: str) -> Iterator[pa.Array]:
    """One column of the Parquet file ``path``, in parts that fit into memory.

    Raises:
        DataError: the file does not decode; says which one.
    """
    with _no_rows(storage, path), storage.open_input(path) as file:
        for batch, _ in _parquet_rows(file, (column,)):
            yield batch.column(column)


def read_rows(
    storage: Storage,
    path: str,
    schema: pa.Schema,
    format: str | None = None,
    taken: Callable[[float], None] | None = None,
    options: RowOptions = DEFAULTS,
) -> Iterator[pa.RecordBatch]:
    """Rows of the file ``path``, in batches; ``taken`` is told which part of it they were so far, 1.0 in the end.

    Parquet keeps the types of the file.  CSV and JSON have none: values are read as ``schema`` says, and
    a column that it does not name is an error.  ``format`` is one of ``FORMATS``; without it the name
    tells: ``.parquet``, ``.csv``, ``.jsonl``, ``.ndjson`` or ``.json``, the texts also with ``.gz`` or ``.zst``.

    Raises:
        DataError: the file does not decode, or holds a wrong value; says in which file, line and column.
        ArgumentError: the name tells no format, or an option means nothing for it.
    """
    format = format or format_of(path)
    options.require_for(format)
    with _no_rows(storage, path):
        try:
            with _opened(storage, path, format) as (file, raw):
                size = max(raw.seek(0, 2), 1)
                raw.seek(0)
                for number, (batch, part) in enumerate(
                    _BATCHES[format](file, schema, options), start=1
                ):
                    yield batch
                    if taken is not None:
                        # Arrow reads CSV some blocks ahead
                        read = min(raw.tell(), number * BLOCK_BYTES) / size
                        taken(read if part is None else part)
                if taken is not None:
                    taken(1.0)
        except DataError as error:
            row = error.facts.get("row")
            raise _placed(error, storage, path, format, row, options) from error


def wrong_row(
    error: DataError,
    storage: Storage,
    path: str,
    format: str | None,
    first_row: int,
    options: RowOptions = DEFAULTS,
) -> DataError:
    """``error`` about a row that ``read_rows`` gave, as one about a line of its file.

    ``first_row``: how many rows came before those of this file.
    """
    row = error.facts.get("row")
    row = row - first_row if isinstance(row, int) else None
    return _placed(error, storage, path, format or format_of(path), row, options)


def _placed(
    error: DataError, storage: Storage, path: str, format: str, row: object, options: RowOptions
) -> DataError:
    if error.facts.get("undecodable"):
        error = _undecodable(error, storage, path, format)
    facts: dict[str, object] = {**error.facts, "path": path}
    where, find = f"{storage.uri}/{path}", _LINES.get(format)
    if isinstance(row, int) and find is not None:
        with _opened(storage, path, format) as (file, _):
            facts["line"] = find(file, row, options)
    elif isinstance(row, int):
        where += f", row {row}"
    where += f", line {facts['line']}" if facts.get("line") else ""
    return DataError(f"{where}: {error}", **facts)


def _undecodable(error: DataError, storage: Storage, path: str, format: str) -> DataError:
    """``error`` about bytes that are no UTF-8, as one that says where they are."""
    with _opened(storage, path, format) as (file, _):
        try:
            require_decodable(file)
        except DataError as placed:
            return placed
    return error


@contextmanager
def _no_rows(storage: Storage, path: str) -> Iterator[None]:
    """What readers raise of a file that does not decode, as an error that names it."""
    try:
        yield
    except _NO_ROWS as error:
        raise DataError(f"{storage.uri}/{path}: {error}", path=path) from error
    except OSError as error:
        if error.errno is not None:
            raise
        # Arrow says so of pages that do not unpack; nothing has failed to be read.
        raise DataError(f"{storage.uri}/{path}: {error}", path=path) from error


@contextmanager
def _opened(storage: Storage, path: str, format: str) -> Iterator[tuple[Any, Any]]:
    """The bytes that a reader wants, and the file that they come from."""
    with storage.open_input(path) as raw:
        if format == "parquet" or not path.endswith(_PACKED):
            yield raw, raw
        elif path.endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as file:
                yield file, raw
        else:
            with pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd") as file:
                yield file, raw


def format_of(path: str) -> str:
    """The format that the name of a file tells.

    Raises:
        ArgumentError: it tells none.
    """
    name = path.lower()
    for ending, cure in _REFUSED.items():
        if name.endswith(ending):
            raise ArgumentError(f"{path}: {cure}", argument="rows_format", value=path)
    for packed in _PACKED:
        name = name.removesuffix(packed)
    for ending, format in _ENDINGS.items():
        if name.endswith(ending):
            return format
    raise ArgumentError(
        f"{path}: the name ends in none of {', '.join(_ENDINGS)}; say which format it is",
        argument="rows_format",
        value=path,
    )


def _parquet_rows(
    file: Any, columns: Sequence[str] | None = None
) -> Iterator[tuple[pa.RecordBatch, float | None]]:
    """Rows of ``columns``, which are all without that."""
    source, yielded = watched(file), 0
    parquet = pq.ParquetFile(source)
    groups, stored = range(parquet.num_row_groups), parquet.schema_arrow
    names = set(stored.names if columns is None else columns)
    chunks, most = _require_fits(source, parquet, names)
    types = {field.name: field.type for field in stored if field.name in names}
    budget = batch_budget(parquet, groups, types, chunks, _BATCH_ROWS, _BATCH_BYTES)
    allowed = partial(rows_allowed, source, most=most)
    while True:
        rows = 0
        try:
            for batch in parquet.iter_batches(allowed(budget.rows), columns=columns):
                before, rows = rows, rows + batch.num_rows
                if budget.later is not None:
                    size = rows_within(_BATCH_BYTES, batch.num_rows, batch.nbytes, budget.later)
                    parquet.reader.set_batch_size(allowed(size))
                if rows > yielded:
                    yield batch.slice(max(yielded - before, 0)), rows / parquet.metadata.num_rows
                    yielded = rows
        except SmallerBatchesError:
            continue
        break
    if rows != parquet.metadata.num_rows:  # Arrow ends where the first column does
        raise pa.ArrowInvalid(f"{rows} rows instead of {parquet.metadata.num_rows}")


def _require_fits(
    source: Any, parquet: pq.ParquetFile, names: Container[str]
) -> tuple[Callable[[], list[list[ChunkStats]]], int | None]:
    """What the footer says of the chunks, and how many rows of the columns ``names`` a batch may have.

    Raises:
        pa.ArrowInvalid: they become more than the budgets.
    """
    chunks, groups = cache(partial(read_chunk_stats, source)), range(parquet.num_row_groups)
    leaves = leaves_to_read(parquet.metadata, names)
    require_rows_fit(parquet.metadata, groups, leaves, chunks)
    return chunks, require_pages_fit(source, parquet.metadata, groups, leaves, chunks)


def _csv_rows(
    file: Any, schema: pa.Schema, options: RowOptions
) -> Iterator[tuple[pa.RecordBatch, float | None]]:
    return ((batch, None) for batch in csv_rows(file, schema, options))


def _json_rows(
    file: Any, schema: pa.Schema, options: RowOptions
) -> Iterator[tuple[pa.RecordBatch, float | None]]:
    return ((batch, None) for batch in json_rows(file, schema, options))


_BATCHES: Final = {
    "parquet": lambda file, *_: _parquet_rows(file),
    "csv": _csv_rows,
    "json": _json_rows,
}
_LINES: Final = {"csv": csv_line, "json": json_line}
