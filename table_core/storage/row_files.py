"""Files of rows that are no data files of a table: Parquet or JSON lines, as somebody left them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from table_core.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.ports import FileInfo, Storage

__all__ = [
    "list_files",
    "parquet_column",
    "parquet_schema",
    "read_rows",
    "split_glob",
]

_BATCH_ROWS: Final = 64 * 1024
_JSON: Final = (".jsonl", ".ndjson", ".json")


def split_glob(uri: str) -> tuple[str, str]:
    """The folder that ``uri`` is sure of, and the pattern below it.

    ``file:///in/*/part-*.parquet`` is ``file:///in`` and ``*/part-*.parquet``.
    """
    scheme, mark, path = uri.rpartition("://")
    parts = path.split("/")
    fixed = next((n for n, part in enumerate(parts) if re.search(r"[*?]", part)), len(parts) - 1)
    return f"{scheme}{mark}{'/'.join(parts[:fixed])}", "/".join(parts[fixed:])


def list_files(storage: Storage, pattern: str) -> list[FileInfo]:
    """The files that ``pattern`` matches, sorted by path.  ``*`` and ``?`` stay within a folder."""
    wanted = re.compile("".join({"*": "[^/]*", "?": "[^/]"}.get(c, re.escape(c)) for c in pattern))
    matches = (info for info in storage.walk("") if wanted.fullmatch(info.path))
    return sorted(matches, key=lambda info: info.path)


def parquet_schema(storage: Storage, path: str) -> pa.Schema:
    """The columns of the Parquet file ``path``, from its end.

    Raises:
        DataError: it is no Parquet; says which one.
    """
    try:
        with storage.open_input(path) as file:
            return pq.read_schema(file)
    except pa.ArrowException as error:
        raise DataError(f"{storage.uri}/{path}: {error}", path=path) from error


def parquet_column(storage: Storage, path: str, column: str) -> pa.ChunkedArray:
    """One column of the Parquet file ``path``.

    Raises:
        DataError: the file does not decode; says which one.
    """
    try:
        with storage.open_input(path) as file:
            return pq.ParquetFile(file).read(columns=[column]).column(0)
    except pa.ArrowException as error:
        raise DataError(f"{storage.uri}/{path}: {error}", path=path) from error


def read_rows(storage: Storage, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows of the file ``path``, in batches.

    Parquet keeps the types of the file.  JSON has none: values are read as ``schema`` says, and a
    member that it does not name is an error.

    Raises:
        DataError: the file does not decode; says which one.
        ArgumentError: the name ends in none of ``.parquet``, ``.jsonl``, ``.ndjson``, ``.json``.
    """
    try:
        with storage.open_input(path) as file:
            if path.endswith(".parquet"):
                yield from pq.ParquetFile(file).iter_batches(_BATCH_ROWS)
            elif path.endswith(_JSON):
                yield from _json_rows(file, schema)
            else:
                raise ArgumentError(
                    f"{path}: expected .parquet, .jsonl, .ndjson or .json",
                    argument="rows_uri",
                    value=path,
                )
    except pa.ArrowException as error:
        raise DataError(f"{storage.uri}/{path}: {error}", path=path) from error


def _json_rows(file: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    yield from pj.open_json(file, parse_options=options)
