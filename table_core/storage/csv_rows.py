"""Rows of CSV files, in batches: the first line names the columns, the table gives the types.

An empty cell is NULL, and ``""`` is an empty text.
"""

from __future__ import annotations

import csv
import io
import re
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.csv as pc

from table_core.datatypes.plain_values import WrongValueError, column_of_texts
from table_core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BLOCK_BYTES", "csv_line", "csv_rows", "csv_schema"]

BLOCK_BYTES: Final = 4 << 20
_COLUMNS_MAX: Final = 20_000
"""Of a file whose columns nobody named: Arrow ends the process where it has no memory for millions."""
_END_OF_LINE: Final = re.compile(rb"[\r\n]")
_SHOWN_BYTES: Final = 10_000
_CUT: Final = "straddles two block boundaries"
"""How Arrow says that a row is longer than a block."""


def csv_rows(file: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Batches of ``file``, whose columns have the types that ``schema`` gives to their names.

    Raises:
        DataError: a column that ``schema`` lacks; a value that is none of its type, with ``row`` and
            ``column`` in its facts; a row with too few or too many cells.
    """
    ragged: list[pc.InvalidRow] = []

    def refuse(row: pc.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    commas_max = len(schema) + sum(name.count(",") for name in schema.names)
    first_row = 0
    try:
        with (
            _source(file, commas_max, schema) as source,
            pc.open_csv(
                source,
                # in one thread: then a row that is cut short has a number
                read_options=pc.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
                parse_options=pc.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
                convert_options=pc.ConvertOptions(
                    column_types={name: pa.string() for name in schema.names},
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            ) as reader,
        ):
            _refuse_unknown(reader.schema.names, schema)
            for batch in reader:
                yield _typed(batch, schema, first_row)
                first_row += batch.num_rows
    except pa.ArrowInvalid as error:
        if ragged:
            row = ragged[0]
            raise DataError(
                f"expected {row.expected_columns} cells and found {row.actual_columns}: {row.text[:1000]!r}",
                row=None if row.number is None else row.number - 2,
            ) from error
        if _CUT in str(error):
            what = f"a row of more than {BLOCK_BYTES:,} bytes, or a quote that does not end"
            raise DataError(what) from error
        raise


def csv_schema(file: Any) -> pa.Schema:
    """The columns of ``file``, and types that its first rows have.

    Raises:
        DataError: it has more columns than a table can have.
        pa.ArrowException: it is no CSV.
    """
    with _source(file, _COLUMNS_MAX, None) as source, pc.open_csv(source) as reader:
        schema: pa.Schema = reader.schema
        return schema


class _Ending:
    """A file as Arrow reads it, in a thread of its own and ahead: once ended, it has no more bytes.

    Without an end, that thread would go on with a file that is closed, and with Python's own end.
    """

    closed = False

    def __init__(self, head: bytes, file: Any) -> None:
        self._head, self._file, self._lock = head, file, threading.Lock()

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``."""
        with self._lock:
            if self._head:
                part, self._head = self._head[:size], self._head[size:]
                return part
            return b"" if self._file is None else bytes(self._file.read(size))

    def readable(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Nothing is owned."""

    def end(self) -> None:
        """Wait for the read that is under way; there is none after it."""
        with self._lock:
            self._head, self._file = b"", None


@contextmanager
def _source(file: Any, commas_max: int, schema: pa.Schema | None) -> Iterator[_Ending]:
    """``file`` for Arrow, if its first line has no more than ``commas_max`` commas.

    Raises:
        DataError: it has.
    """
    head = bytes(file.read(BLOCK_BYTES))
    line = _END_OF_LINE.split(head, 1)[0]
    if line.count(b",") > commas_max:
        if schema is not None:
            shown = line[:_SHOWN_BYTES].decode(errors="replace")
            _refuse_unknown(next(csv.reader([shown]))[:-1], schema)
        raise DataError(f"the first line names more than {commas_max:,} columns")
    source = _Ending(head, file)
    try:
        yield source
    finally:
        source.end()


def csv_line(file: Any, row: int) -> int | None:
    """The line on which ``row``, counted from 0, begins: a quoted cell may have many lines.

    None where a cell is longer than Python reads.
    """
    reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline=""))
    before, number = 0, -2
    try:
        for cells in reader:
            if cells:
                number += 1
            if number == row:
                return before + 1
            before = reader.line_num
    except csv.Error:
        return None
    return before + 1


def _refuse_unknown(names: list[str], schema: pa.Schema) -> None:
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise DataError(
            f"the first line names {unknown[0]!r}, and the table has the columns "
            f"{', '.join(schema.names)}",
            column=unknown[0],
        )
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise DataError(f"the first line names {twice[0]!r} twice", column=twice[0])


def _typed(batch: pa.RecordBatch, schema: pa.Schema, first_row: int) -> pa.RecordBatch:
    columns = []
    for name, texts in zip(batch.schema.names, batch.columns, strict=True):
        try:
            columns.append(column_of_texts(texts, schema.field(name).type))
        except WrongValueError as error:
            raise DataError(
                f"column {name!r}: {error}",
                column=name,
                row=first_row + error.row,
                value=error.value,
            ) from error
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
