"""Rows of CSV files, in batches: the header names the columns, the table gives the types.

An empty cell is NULL, and ``""`` is an empty text, where the options say nothing else.
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
import pyarrow.compute as compute
import pyarrow.csv as pc

from table_core.datatypes.plain_values import WrongValueError
from table_core.errors import DataError
from table_core.options.nearest import meant
from table_core.shortened import shortened
from table_core.storage.decoded import NO_UTF8, Decoded
from table_core.storage.guessed_types import GuessedType, guessed_of_texts
from table_core.storage.text_columns import TextColumns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.options.row_options import RowOptions

__all__ = ["BLOCK_BYTES", "csv_line", "csv_rows", "csv_schema"]

BLOCK_BYTES: Final = 4 << 20
_COLUMNS_MAX: Final = 20_000
"""Of a file whose columns nobody named: Arrow ends the process where it has no memory for millions."""
_END_OF_LINE: Final = re.compile(rb"\r\n|\r|\n")
_HEADER_BYTES: Final = 1 << 20
_SHOWN_BYTES: Final = 10_000
_CUT: Final = "straddles two block boundaries"
"""How Arrow says that a row is longer than a block."""
_MARKS: Final = ",;\t|"
_NAME_SHOWN: Final = 80
_BY_PLACE: Final = ". Rename it there, or say rows_options header=False, skip_lines=1: then columns are those of the table, in its order"
_LAST: Final = 16
_UNNAMED: Final = ""
"""A column behind a delimiter that ends the header."""


def csv_rows(file: Any, schema: pa.Schema, options: RowOptions) -> Iterator[pa.RecordBatch]:
    """Batches of ``file``, whose columns have the types that ``schema`` gives to their names.

    Raises:
        DataError: a column that ``schema`` lacks; a value that is none of its type, with ``row`` and
            ``column`` in its facts; a row with too few or too many cells; bytes of another encoding.
    """
    reads, first_row = TextColumns(options), 0
    source = Decoded(file, options.encoding)
    head = _filled(source)
    if not head and not options.header and not options.skip_lines:
        return
    with _opened(source, head, schema, options, single=True) as (reader, ending):
        batch = None
        for batch in reader:
            yield _typed(batch, schema, first_row, reads)
            first_row += batch.num_rows
        if batch is not None:
            _require_end_of_quotes(batch, ending, first_row - 1, options)


def csv_schema(file: Any, options: RowOptions) -> list[GuessedType]:
    """The columns of ``file``, and types that its first rows have.

    Raises:
        DataError: it has more columns than a table can have.
        pa.ArrowException: it is no CSV.
    """
    source = Decoded(file, options.encoding)
    with _opened(source, _filled(source), None, options, single=False) as (reader, _):
        batch = next(iter(reader), None)
        names = [name for name in reader.schema.names if name != _UNNAMED]
    if batch is None:
        return [GuessedType(name, pa.string(), None) for name in names]
    return [guessed_of_texts(name, batch.column(name), options) for name in names]


@contextmanager
def _opened(
    file: Decoded, head: bytes, schema: pa.Schema | None, options: RowOptions, *, single: bool
) -> Iterator[tuple[Any, _Ending]]:
    """Arrow's reader of ``head`` and the rest of ``file``, every cell as text, and what it reads from."""
    ragged: list[pc.InvalidRow] = []

    def refuse(row: pc.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    try:
        with (
            _source(file, head, schema, options) as (source, names),
            pc.open_csv(
                source,
                # in one thread: then a row that is cut short has a number
                read_options=pc.ReadOptions(
                    block_size=BLOCK_BYTES,
                    use_threads=not single,
                    skip_rows=options.skip_lines,
                    column_names=None if options.header else names,
                ),
                parse_options=pc.ParseOptions(
                    delimiter=options.delimiter,
                    quote_char=options.quote or False,
                    escape_char=options.escape or False,
                    newlines_in_values=True,
                    invalid_row_handler=refuse,
                ),
                convert_options=pc.ConvertOptions(
                    column_types=dict.fromkeys([*names, _UNNAMED], pa.string()),
                    null_values=list(options.null_values),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            ) as reader,
        ):
            if schema is not None:
                _refuse_unknown(reader.schema.names, schema, options)
            yield reader, source
    except pa.ArrowInvalid as error:
        if ragged:
            raise _ragged(ragged[0], options) from error
        if _CUT in str(error):
            what = f"a row of more than {BLOCK_BYTES:,} bytes, or a quote that does not end"
            raise DataError(what) from error
        if NO_UTF8 in str(error):
            raise DataError(NO_UTF8, undecodable=True) from error
        raise
    except UnicodeDecodeError as error:  # in the header
        raise DataError(NO_UTF8, undecodable=True) from error


class _Ending:
    """A file as Arrow reads it, in a thread of its own and ahead: once ended, it has no more bytes.

    Without an end, that thread would go on with a file that is closed, and with Python's own end.
    """

    closed = False

    def __init__(self, head: bytes, file: Any) -> None:
        self._head, self._file, self._lock = head, file, threading.Lock()
        self.last = b""
        """The last bytes that were read."""

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``."""
        with self._lock:
            if self._head:
                part, self._head = self._head[:size], self._head[size:]
            else:
                part = b"" if self._file is None else bytes(self._file.read(size))
            self.last = (self.last + part[-_LAST:])[-_LAST:]
            return part

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
def _source(
    file: Decoded, head: bytes, schema: pa.Schema | None, options: RowOptions
) -> Iterator[tuple[_Ending, list[str]]]:
    """``head`` and the rest of ``file`` for Arrow, and the names of its columns as far as they are known.

    Raises:
        DataError: it has no line where the header should be, or one with more columns than can be.
    """
    if not head.strip() and (options.header or schema is None):
        what = "no line names the columns: the file is empty"
        raise DataError(what)
    rest = head
    for number in range(options.skip_lines):
        parts = _END_OF_LINE.split(rest, 1)
        if len(parts) == 1:
            raise DataError(
                f"skip_lines={options.skip_lines}, and the file has {number + bool(rest)} lines"
            )
        rest = parts[1]
    names = _names_of(rest.lstrip(b"\r\n"), schema, options)
    if len(head) < BLOCK_BYTES and not head.endswith((b"\n", b"\r")):
        head += b"\n"  # without one a header alone is none for Arrow
    source = _Ending(head, file)
    try:
        yield source, names
    finally:
        source.end()


def _filled(file: Decoded) -> bytes:
    """The first block: a file that is packed or decoded comes in smaller pieces."""
    pieces, size = [], 0
    while size < BLOCK_BYTES and (piece := file.read(BLOCK_BYTES - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _names_of(head: bytes, schema: pa.Schema | None, options: RowOptions) -> list[str]:
    """The columns that the first line of ``head`` names, or that ``schema`` has."""
    line, mark = _END_OF_LINE.split(head, 1)[0], options.delimiter.encode()
    columns = line.count(mark) + 1
    if b"\0" in line and options.header:
        cure = "If the file is UTF-16, say rows_options encoding='utf-16-le'"
        raise DataError(f"the first line has zero bytes. {cure}")
    if schema is not None:
        most = len(schema) + sum(name.count(options.delimiter) for name in schema.names)
        if (
            options.header and columns > most + 1
        ):  # the last may be behind the delimiter that ends the line
            _refuse_unknown(_cells(line[:_SHOWN_BYTES], options)[:-1], schema, options)
        if options.header and columns > most + 1:
            raise DataError(
                f"the first line names {columns:,} columns, and the table has {len(schema)}"
            )
        return list(schema.names)
    if columns > _COLUMNS_MAX:
        raise DataError(f"the first line names more than {_COLUMNS_MAX:,} columns")
    if not options.header:
        return [f"column{number}" for number in range(1, len(_cells(line, options)) + 1)]
    cells = _cells(head[:_HEADER_BYTES], options)
    if cure := _cure_of_marks(cells, options):
        raise DataError(f"the first line is {shortened(cells[0], _NAME_SHOWN)!r}: {cure}")
    _refuse_twice(cells)
    return cells


def _cells(head: bytes, options: RowOptions) -> list[str]:
    """The first cells of ``head``."""
    text = io.StringIO(head.decode(errors="replace"), newline="")
    try:
        return next(csv.reader(text, **_dialect(options)), [])
    except csv.Error as error:
        raise DataError(f"the first line is no CSV: {error}") from error


def _dialect(options: RowOptions) -> dict[str, Any]:
    return {
        "delimiter": options.delimiter,
        "quotechar": options.quote or None,
        "quoting": csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE,
        "escapechar": options.escape or None,
    }


class _Raw(io.RawIOBase):
    """Decoded bytes as Python's own readers want them."""

    def __init__(self, text: Decoded) -> None:
        self._text = text

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        part = self._text.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)


def csv_line(file: Any, row: int, options: RowOptions) -> int | None:
    """The line on which ``row``, counted from 0, begins: a quoted cell may have many lines.

    None where a cell is longer than Python reads.
    """
    text = io.TextIOWrapper(
        io.BufferedReader(_Raw(Decoded(file, options.encoding))), "utf-8", "replace", newline=""
    )
    for _ in range(options.skip_lines):
        text.readline()
    skipped = options.skip_lines
    reader = csv.reader(text, **_dialect(options))
    before, number = 0, -1 - options.header
    try:
        for cells in reader:
            if cells:
                number += 1
            if number == row:
                return skipped + before + 1
            before = reader.line_num
    except csv.Error:
        return None
    return skipped + before + 1


def _refuse_unknown(names: list[str], schema: pa.Schema, options: RowOptions) -> None:
    if cure := _cure_of_marks(names, options):
        shown = shortened(names[0], _NAME_SHOWN)
        raise DataError(f"the first line is {shown!r}: {cure}", column=names[0])
    unknown = [name for name in names[:-1] if name not in schema.names]
    if names and names[-1] not in (*schema.names, _UNNAMED):
        unknown.append(names[-1])
    if unknown:
        if len(unknown) == len(names) and len(names) == len(schema):
            cure = ": say rows_options header=False if it is a row and names no column"
        else:
            cure = meant(unknown[0], [name for name in schema.names if name not in names])
        raise DataError(
            f"the first line names {unknown[0]!r}, and the table has the columns "
            f"{', '.join(schema.names)}{cure or _BY_PLACE}",
            column=unknown[0],
        )
    _refuse_twice(names)


def _refuse_twice(names: list[str]) -> None:
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise DataError(f"the first line names {twice[0]!r} twice{_BY_PLACE}", column=twice[0])


def _cure_of_marks(names: list[str], options: RowOptions) -> str:
    """What to say where the first line is of another dialect; '' where it is not known to be."""
    if not names:
        return ""
    first = names[0]
    if (match := re.fullmatch(r"sep=(.?)", first)) and options.header:
        mark = match[1] or options.delimiter
        return f"that is for Excel. Say rows_options skip_lines=1, delimiter={mark!r}"
    marks = [mark for mark in _MARKS if mark != options.delimiter and mark in first]
    if len(names) == 1 and marks:
        mark = max(marks, key=first.count)
        return f"it has no {options.delimiter!r}, and {mark!r}. Say rows_options delimiter={mark!r}"
    return ""


def _require_end_of_quotes(
    batch: pa.RecordBatch, source: _Ending, row: int, options: RowOptions
) -> None:
    """Refuse a file that ends within quotes: Arrow takes all that is left as the last cell.

    A cell with a line end was quoted, so what comes last in such a file is a quote.

    Raises:
        DataError: names the line on which the last row begins.
    """
    cell = batch.column(batch.num_columns - 1)[-1].as_py() if batch.num_rows else None
    if cell is None or not _END_OF_LINE.search(cell.encode()) or not options.quote:
        return
    if not source.last.rstrip(b"\r\n").endswith(options.quote.encode()):
        raise DataError("a quote begins a cell here and none ends it", row=row)


def _ragged(row: pc.InvalidRow, options: RowOptions) -> DataError:
    cure = ""
    if row.actual_columns == row.expected_columns + 1 and row.text.endswith(options.delimiter):
        cure = ". Rows end with a delimiter and the header does not: add one to the header"
    elif row.actual_columns > row.expected_columns:
        cure = (
            f". A {options.delimiter!r} within a cell needs quotes around the cell"
            if options.quote
            else ""
        )
    elif row.actual_columns == 1 and options.delimiter not in row.text:
        cure = ". If the file ends with a remark or a sum, take that line away"
    else:
        cure = ". A cell that is empty still needs its delimiter"
    before = 1 + options.header + options.skip_lines
    return DataError(
        f"expected {row.expected_columns} cells and found {row.actual_columns}: {row.text[:1000]!r}{cure}",
        row=None if row.number is None else row.number - before,
    )


def _typed(
    batch: pa.RecordBatch, schema: pa.Schema, first_row: int, reads: TextColumns
) -> pa.RecordBatch:
    columns, names = [], []
    for name, texts in zip(batch.schema.names, batch.columns, strict=True):
        if name == _UNNAMED and name not in schema.names:
            _require_empty(texts, first_row)
            continue
        names.append(name)
        try:
            columns.append(reads.column(texts, schema.field(name).type))
        except WrongValueError as error:
            raise DataError(
                f"column {name!r}: {error}",
                column=name,
                row=first_row + error.row,
                value=error.value,
            ) from error
    return pa.RecordBatch.from_arrays(columns, names=names)


def _require_empty(texts: pa.Array, first_row: int) -> None:
    """Nothing stands behind the delimiter that ends the header.

    Raises:
        DataError: something does, and nobody knows which column it is of.
    """
    filled = compute.fill_null(compute.not_equal(texts, ""), False)
    if (row := compute.index(filled, True).as_py()) >= 0:
        raise DataError(
            f"{texts[row].as_py()!r} is in a column without a name: the first line ends with a delimiter. Name the "
            "column there",
            row=first_row + row,
        )
