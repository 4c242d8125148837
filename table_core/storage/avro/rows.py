"""Avro data files to and from Arrow: row by row, as the format is.

Used where Paimon uses it: small files of the lowest level and of postponed buckets.  Rows are
Python objects only between fastavro and Arrow, a batch at a time.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import fastavro
import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.pieces import pieces
from table_core.errors import CorruptFileError
from table_core.ondisk.avro import (
    block_records,
    container_blocks,
    container_head,
    open_blocks,
)
from table_core.ondisk.avro_codecs import codec_named
from table_core.storage.avro.types import arrow_values, avro_schema, avro_values
from table_core.storage.columns.conform import misfit, missing_columns, written_table
from table_core.storage.columns.data_format import (
    ALL,
    check_rows,
    close_quietly,
    decoding,
    encoding,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ports import Storage
    from table_core.storage.columns.data_format import FileWriter, Wanted, WriterSettings

__all__ = ["AvroFormat"]

_ROWS_AT_ONCE: Final = 8192
_BYTES_AT_ONCE: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """Avro."""

    name: str = "avro"

    def open_writer(
        self, storage: Storage, path: str, fields: Sequence[Field], settings: WriterSettings
    ) -> FileWriter:
        """A writer of ``path``."""
        return _AvroFileWriter(storage, path, fields, settings)

    def columns(self, storage: Storage, path: str, file_size: int) -> list[str]:
        """Names of the top-level columns of ``path``."""
        with storage.open_input(path, file_size) as source, decoding(storage, path):
            return _names(open_blocks(source, path=path).schema)

    def read(
        self,
        storage: Storage,
        path: str,
        row_count: int | None,
        fields: Sequence[Field],
        *,
        batch_rows: int,
        batch_bytes: int | None = None,
        file_size: int | None = None,
        wanted: Wanted = ALL,
    ) -> Iterator[pa.RecordBatch]:
        """Rows of ``path``; see ``DataFormat.read``.  There are no statistics, and no parts.

        A file that was cut between two blocks looks whole, so its rows are counted.
        """
        if wanted.part.number > 0:
            return
        with storage.open_input(path, file_size) as source, decoding(storage, path):
            rows_read = 0
            for batch in _batches(source, path, fields, batch_rows, batch_bytes):
                rows_read += batch.num_rows
                yield batch
            check_rows(storage, path, rows_read, row_count)


def _batches(
    source: Any, path: str, fields: Sequence[Field], batch_rows: int, batch_bytes: int | None
) -> Iterator[pa.RecordBatch]:
    """Rows of ``source``; no more of it is in memory than a block and a batch."""
    opened = open_blocks(source, path=path)
    missing_columns(_names(opened.schema), fields, path=path)
    schema = arrow_schema(fields)
    most = min(batch_rows, _ROWS_AT_ONCE)
    records: list[dict[str, Any]] = []
    held = 0
    for count, payload in opened.blocks:
        held += len(payload)
        for record in block_records(opened.plain, count, payload, path=path):
            records.append(record)
            if len(records) == most:
                yield _batch(records, fields, schema, path)
                records, held = [], 0
        if records and batch_bytes is not None and held >= batch_bytes:
            yield _batch(records, fields, schema, path)
            records, held = [], 0
    if records:
        yield _batch(records, fields, schema, path)


def _batch(
    records: Sequence[Mapping[str, Any]], fields: Sequence[Field], schema: pa.Schema, path: str
) -> pa.RecordBatch:
    if not fields:
        return pa.RecordBatch.from_struct_array(pa.nulls(len(records), pa.struct([])))
    columns = [_column(records, field, path) for field in fields]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _names(schema: Mapping[str, Any]) -> list[str]:
    return [member["name"] for member in schema["fields"]]


def _column(rows: Iterable[Mapping[str, Any]], field: Field, path: str) -> Any:
    try:
        return arrow_values([row[field.name] for row in rows], field.type)
    except pa.ArrowException as error:
        raise misfit(field, error, path=path) from error
    except (AttributeError, KeyError, TypeError) as error:
        what = f"{field.name}: not stored as its type: {error!r}"
        raise CorruptFileError(f"{path}: {what}", path=path, problems=[what]) from error


class _AvroFileWriter:
    """One Avro file in the making; nothing waits but the block at hand."""

    def __init__(
        self, storage: Storage, path: str, fields: Sequence[Field], settings: WriterSettings
    ) -> None:
        self._storage, self._path, self._fields = storage, path, tuple(fields)
        self._schema = avro_schema(fields)
        self._parsed = fastavro.parse_schema(self._schema)
        self._compression = codec_named(settings.compression)
        self._sync = uuid.uuid4().bytes
        self._sink = storage.open_output(path)
        self._size = 0
        self._put(container_head(self._schema, compression=self._compression, sync=self._sync))

    def write(self, table: pa.Table) -> None:
        """Add rows."""
        rows = written_table(table, self._fields)
        few = (
            batch
            for piece in pieces(rows, _BYTES_AT_ONCE)
            for batch in piece.to_batches(max_chunksize=_ROWS_AT_ONCE)
        )
        for batch in few:
            for block in container_blocks(
                self._parsed, self._records(batch), compression=self._compression, sync=self._sync
            ):
                self._put(block)

    def suits(self, table: pa.Table) -> bool:  # noqa: ARG002 - the form of all formats
        """Any rows do."""
        return True

    def size_estimate(self) -> int:
        """Bytes written."""
        return self._size

    def close(self) -> int:
        """Close the file; it is whole after each block."""
        with encoding(self._storage, self._path):
            self._sink.close()
        return self._size

    def abort(self) -> None:
        """Close and delete the file."""
        close_quietly(self._sink)
        self._storage.delete([self._path])

    def _put(self, data: bytes) -> None:
        with encoding(self._storage, self._path):
            self._sink.write(data)
        self._size += len(data)

    def _records(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        columns = [
            avro_values(column, field.type)
            for column, field in zip(batch.columns, self._fields, strict=True)
        ]
        names = batch.schema.names
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))
