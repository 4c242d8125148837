"""Rows of CSV files, in batches: the first line names the columns, the table gives the types.

An empty cell is NULL, and ``""`` is an empty text.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.csv as pc

from table_core.datatypes.plain_values import WrongValueError, column_of_texts
from table_core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BLOCK_BYTES", "csv_line", "csv_rows"]

BLOCK_BYTES: Final = 4 << 20


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

    first_row = 0
    try:
        with pc.open_csv(
            file,
            # in one thread: then a row that is cut short has a number
            read_options=pc.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
            parse_options=pc.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
            convert_options=pc.ConvertOptions(
                column_types={name: pa.string() for name in schema.names},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        ) as reader:
            _refuse_unknown(reader.schema.names, schema)
            for batch in reader:
                yield _typed(batch, schema, first_row)
                first_row += batch.num_rows
    except pa.ArrowInvalid as error:
        if not ragged:
            raise
        row = ragged[0]
        raise DataError(
            f"expected {row.expected_columns} cells and found {row.actual_columns}: {row.text!r}",
            row=None if row.number is None else row.number - 2,
        ) from error


def csv_line(file: Any, row: int) -> int:
    """The line on which ``row``, counted from 0, begins: a quoted cell may have many lines."""
    reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline=""))
    before, number = 0, -2
    for cells in reader:
        if cells:
            number += 1
        if number == row:
            return before + 1
        before = reader.line_num
    return before + 1


def _refuse_unknown(names: list[str], schema: pa.Schema) -> None:
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise DataError(
            f"the first line names {unknown[0]!r}, and the table has the columns "
            f"{', '.join(schema.names)}",
            column=unknown[0],
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
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
