"""One Parquet data file in the making."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.pieces import pieces_apart
from table_core.errors import OptionError
from table_core.options import codecs, parse
from table_core.storage.columns.conform import without_hidden_nulls, written_table
from table_core.storage.columns.data_format import (
    ALONE_BYTES,
    close_quietly,
    encoding,
    own_option,
)
from table_core.storage.columns.stored_schema import PARQUET_ID, leaf_paths, schema_with_ids
from table_core.storage.parquet.encoding import choose_encodings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ports import Storage
    from table_core.storage.columns.data_format import WriterSettings

__all__ = ["ParquetFileWriter"]

_GROUP_BYTES: Final = 32 * 2**20
_GROUP_ROWS_MAX: Final = 2**20
_TELLING_ROWS: Final = 4096
"""From as many rows on, the encodings of one file serve the next of its writer."""
_PAGE_BYTES: Final = 1 << 20
_VALUES_MAX: Final = 32
"""So often at least Arrow looks whether a page is full, and not each 1,024 values, which may be all of a group."""
_FIRST_GUESS: Final = 0.4
"""Bytes in the file per byte in memory, until a row group tells."""


class ParquetFileWriter:
    """Collects rows to row groups and writes them.  See ``FileWriter``.

    Holds at most one row group (``file.block-size``, 32 MB by default, as Arrow memory) beside
    what the caller gave last.
    """

    def __init__(
        self, storage: Storage, path: str, fields: Sequence[Field], settings: WriterSettings
    ) -> None:
        self._storage, self._path, self._fields = storage, path, tuple(fields)
        self._options = _writer_options(settings)
        self._group_bytes = settings.block_size or own_option(
            settings,
            "parquet.block.size",
            parse.size_bytes,
            min(_GROUP_BYTES, settings.memory or _GROUP_BYTES),
            least=1,
        )
        self._encodings = settings.encodings
        self._default, self._forced = _dictionary_options(settings)
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = self._waiting_rows = self._written_bytes = 0
        self._writer: Any = None
        self._wide: frozenset[str] = frozenset()
        """Columns without bounds, because there are long values in them."""
        self._sink = storage.open_output(path)

    def write(self, table: pa.Table) -> None:
        """Add rows."""
        rows = written_table(table, self._fields)
        for part in pieces_apart(rows, ALONE_BYTES):
            is_wide = _is_alone(part)
            if is_wide:
                self._flush()
            self._waiting.append(part)
            self._waiting_rows += part.num_rows
            self._waiting_bytes += part.nbytes
            full = self._waiting_bytes >= self._group_bytes
            if is_wide or full or self._waiting_rows >= _GROUP_ROWS_MAX:
                self._flush()

    def suits(self, table: pa.Table) -> bool:
        """Whether no bounds would be made of values of ``table`` that are too long for them."""
        begins = self._writer is None and not self._waiting
        return begins or not _is_alone(table) or _wide_columns(table) <= self._wide

    def size_estimate(self) -> int:
        """Bytes written, and a guess of those that wait."""
        with encoding(self._storage, self._path):
            done: int = self._sink.tell()
        ratio = done / self._written_bytes if self._written_bytes else _FIRST_GUESS
        return done + int(self._waiting_bytes * ratio)

    def close(self) -> int:
        """Write what waits and the footer."""
        self._flush()
        with encoding(self._storage, self._path):
            if self._writer is None:
                self._writer = self._opened(arrow_schema(self._fields).empty_table())
            self._writer.close()
            size: int = self._sink.tell()
            self._sink.close()
        return size

    def abort(self) -> None:
        """Close and delete the file."""
        self._waiting.clear()
        close_quietly(self._sink)
        self._storage.delete([self._path])

    def _flush(self) -> None:
        if not self._waiting:
            return
        table = pa.concat_tables(self._waiting)
        groups = max(
            1, round(self._waiting_bytes / self._group_bytes), -(-table.num_rows // _GROUP_ROWS_MAX)
        )
        with encoding(self._storage, self._path):
            if self._writer is None:
                self._writer = self._opened(table)
            self._writer.write_table(
                pa.Table.from_arrays(
                    [without_hidden_nulls(column) for column in table.columns],
                    schema=self._writer.schema,
                ),
                row_group_size=-(-table.num_rows // groups),  # no small one at the end
            )
        self._written_bytes += self._waiting_bytes
        self._waiting.clear()
        self._waiting_bytes = self._waiting_rows = 0

    def _opened(self, first: pa.Table) -> Any:
        chosen = self._encodings.get(self._fields)
        if chosen is None:
            chosen = choose_encodings(first, self._forced, default=self._default)
            if first.num_rows >= _TELLING_ROWS:
                self._encodings[self._fields] = chosen
        self._wide = _wide_columns(first)
        return pq.ParquetWriter(
            self._sink,
            schema_with_ids(self._fields, PARQUET_ID),
            use_dictionary=list(chosen.dictionary),
            write_statistics=_bounded(first.schema, self._wide),
            column_encoding=dict(chosen.other) or None,
            store_schema=False,
            store_decimal_as_integer=True,
            write_time_adjusted_to_utc=True,
            write_page_checksum=True,
            write_batch_size=_values_at_once(first),
            **self._options,
        )


def _values_at_once(rows: pa.Table) -> int:
    """How many values of a column to encode before the size of the page is looked at again.

    Whoever reads a column holds a page of it.
    """
    widest = max((_width(column) for column in rows.columns), default=0)
    return max(1, min(_VALUES_MAX, _PAGE_BYTES // max(widest, 1)))


def _width(column: Any) -> int:
    """Bytes of a value."""
    width: int = column.nbytes // max(len(column), 1)
    return width


def _is_alone(rows: pa.Table) -> bool:
    """Whether this is a row that has a group of its own."""
    return bool(rows.num_rows == 1 and rows.nbytes > ALONE_BYTES)


def _wide_columns(rows: pa.Table) -> frozenset[str]:
    """Those with values that fill a page."""
    return frozenset(name for name in rows.column_names if _width(rows[name]) >= _PAGE_BYTES)


def _bounded(schema: pa.Schema, wide: frozenset[str]) -> list[str]:
    """Parquet columns with bounds: Java takes those of floats, which leave NaN out, at their word.

    ``wide`` ones have none: Arrow leaves bounds of more than 4 kB out, but first copies each value six times.
    """
    without = {f.name for f in schema if pa.types.is_floating(f.type)} | wide
    others = (field for field in schema if field.name not in without)
    paths = (path for field in others for path in leaf_paths(field.name, field.type))
    return [path for path in paths if path not in without]  # also the field d of c beside "c.d"


def _writer_options(settings: WriterSettings) -> dict[str, Any]:
    codec = codecs.PARQUET.get(settings.compression)
    if codec is None:
        raise OptionError(
            f"file.compression={settings.compression!r} cannot be written to Parquet; "
            f"use one of {sorted(codecs.PARQUET)}",
            option="file.compression",
            value=settings.compression,
        )
    options: dict[str, Any] = {"compression": codec}
    if codec == "zstd":
        options["compression_level"] = own_option(
            settings, "parquet.compression.codec.zstd.level", parse.integer, settings.zstd_level
        )
    if (
        page := own_option(settings, "parquet.page.size", parse.size_bytes, None, least=1)
    ) is not None:
        options["data_page_size"] = page
    if (
        limit := own_option(
            settings, "parquet.dictionary.page.size", parse.size_bytes, None, least=1
        )
    ) is not None:
        options["dictionary_pagesize_limit"] = limit
    return options


def _dictionary_options(settings: WriterSettings) -> tuple[bool | None, Mapping[str, bool]]:
    """What ``parquet.enable.dictionary`` says of all columns and, after a ``#``, of single ones."""
    prefix = "parquet.enable.dictionary#"
    forced = {
        key.removeprefix(prefix): bool(own_option(settings, key, parse.boolean, None))
        for key in settings.options
        if key.startswith(prefix)
    }
    return own_option(settings, "parquet.enable.dictionary", parse.boolean, None), forced
