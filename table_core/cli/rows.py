"""Rows as people and other programs read them: terminal, JSON lines, CSV, Parquet.

In JSON and CSV decimals and moments are text, bytes are base64, maps are lists of pairs; what CSV
cannot hold in a cell is JSON there.  Nothing is lost: nanoseconds stay, NaN and infinities are text.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import math
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import pyarrow as pa
from rich.console import Console

from table_core.cli.grid import ANY_ROWS, Layout, show_grid
from table_core.errors import ArgumentError
from table_core.options.shown import shown, shown_in_json
from table_core.storage.stores.os_errors import table_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from table_core.table.read.scan import Scan

__all__ = ["asked_format", "show_changes", "show_records", "show_rows"]

_SHOWN_ROWS: Final = 200
_ENDINGS: Final = {".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}


def show_records(
    rows: Sequence[Mapping[str, Any]],
    *,
    as_json: bool,
    layout: Layout = ANY_ROWS,
    out: IO[str] | None = None,
) -> None:
    """Records with the same members each, on standard output unless ``out`` is another; times are of UTC."""
    out = out or sys.stdout
    if as_json:
        out.write(json.dumps(list(rows), default=_document) + "\n")
        return
    if not rows:
        out.write("nothing\n")
        return
    cells = [[_told(value) for value in row.values()] for row in rows]
    show_grid(list(rows[0]), cells, out, layout)


def _document(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return str(value)


def _told(value: object) -> str:
    """What people read: a second is enough of a time."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return "" if value is None else str(value)


def asked_format(format: str, *, as_json: bool) -> str:
    """The format that ``--format`` and ``--json`` ask for together.

    Raises:
        ArgumentError: they ask for two.
    """
    if as_json and format not in {"table", "json"}:
        raise ArgumentError(
            f"--json and --format {format} ask for two formats: give one of them",
            argument="format",
            value=format,
        )
    return "json" if as_json else format


def show_rows(scan: Scan, format: str, file: str | None) -> None:
    """Rows, to the terminal or into ``file``.

    Raises:
        ArgumentError: an unknown format, Parquet without a file, or a file in the format of a terminal.
    """
    if format == "table" and file is not None:
        format = _format_of(file)
    if format == "parquet":
        if file is None:
            raise ArgumentError("--format parquet needs -o FILE", argument="output")
        with _draft(Path(file)) as draft:
            _write_parquet(scan, draft)
    elif format in _LINES:
        with _opened(file) as out:
            _LINES[format](scan.schema, scan.to_batches(), out)
    elif format == "table":
        rows: list[dict[str, Any]] = []
        for batch in scan.to_batches():
            rows += _records(batch.slice(0, _SHOWN_ROWS + 1 - len(rows)))
            if len(rows) > _SHOWN_ROWS:
                break
        _print_table(scan.schema, rows[:_SHOWN_ROWS], sys.stdout)
        if len(rows) > _SHOWN_ROWS:
            Console(stderr=True).print(f"first {_SHOWN_ROWS} rows; --format csv gives all")
    else:
        raise ArgumentError(
            f"--format {format}: use table, json, csv or parquet", argument="format", value=format
        )


def show_changes(tables: Iterable[pa.Table], format: str, limit: int | None) -> None:
    """Tables as they come, each printed at once; ends after ``limit`` rows.

    Raises:
        ArgumentError: a format that is no text, or a negative limit.
    """
    if limit is not None and limit < 0:
        raise ArgumentError(f"--limit {limit} is negative", argument="limit", value=limit)
    if format not in {*_LINES, "table"}:
        raise ArgumentError(
            f"--format {format}: use table, json or csv", argument="format", value=format
        )
    left, header = limit, True
    if left == 0:
        return
    for table in tables:
        rows = table if left is None else table.slice(0, left)
        if format == "table":
            records = [r for batch in rows.to_batches() for r in _records(batch)]
            _print_table(rows.schema, records, sys.stdout)
        elif format == "csv":
            _write_csv(rows.schema, rows.to_batches(), sys.stdout, header=header)
        else:
            _write_json(rows.schema, rows.to_batches(), sys.stdout)
        sys.stdout.flush()
        header = False
        if left is not None:
            left -= rows.num_rows
            if left <= 0:
                return


@contextlib.contextmanager
def _opened(file: str | None) -> Iterator[IO[str]]:
    if file is None:
        yield sys.stdout
        return
    with _draft(Path(file)) as draft, draft.open("w", encoding="utf-8", newline="") as out:
        yield out


@contextlib.contextmanager
def _draft(file: Path) -> Iterator[Path]:
    """Where to write what becomes ``file`` when all of it is there; a pipe or device is written as it is.

    Raises:
        ArgumentError: there is no such folder, or ``file`` is one.
        StorageUnavailableError, AccessDeniedError: it cannot be written.
    """
    plain = file.is_file() or not file.exists()
    target = file.resolve() if plain else file
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp") if plain else target
    try:
        yield draft
        if plain:
            draft.replace(target)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EISDIR}:
            raise ArgumentError(
                f"cannot write {file}: {os.strerror(error.errno)}",
                argument="output",
                value=str(file),
            ) from error
        raise table_error(
            error, root=str(target.parent), path=target.name, action="write"
        ) from error
    finally:
        if plain:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)


def _format_of(file: str) -> str:
    """The format that the name of a file tells."""
    format_ = _ENDINGS.get(Path(file).suffix.lower())
    if format_ is None:
        raise ArgumentError(
            f"-o {file}: say what to write with --format csv, json or parquet; a table for a "
            f"terminal shows {_SHOWN_ROWS} rows at the most",
            argument="format",
            value="table",
        )
    return format_


def _print_table(schema: pa.Schema, rows: Sequence[Mapping[str, Any]], out: IO[str]) -> None:
    cells = [["" if value is None else _cell(value) for value in row.values()] for row in rows]
    show_grid(schema.names, cells, out)


def _write_parquet(scan: Scan, file: Path) -> None:
    import pyarrow.parquet as pq  # noqa: TID251 - a file of the user's, not of the table

    with pq.ParquetWriter(file, scan.schema) as writer:
        for batch in scan.to_batches():
            writer.write_batch(batch)


def _write_csv(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], out: IO[str], *, header: bool = True
) -> None:
    """NULL is nothing, an empty text is ``""``."""
    tell = _teller(out, shown)
    if header:
        tell(",".join(_quoted(name) for name in schema.names) + "\n")
    for batch in batches:
        for row in _records(batch):
            cells = ("" if v is None else _quoted(v) for v in row.values())
            tell(",".join(cells) + "\n")


def _quoted(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return _cell(value)
    return '"' + _cell(value).replace('"', '""') + '"'


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _write_json(schema: pa.Schema, batches: Iterable[pa.RecordBatch], out: IO[str]) -> None:  # noqa: ARG001 - as of CSV
    tell = _teller(out, shown_in_json)
    for batch in batches:
        for row in _records(batch):
            tell(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")


def _teller(out: IO[str], harmless: Callable[[str], str]) -> Callable[[str], object]:
    """Writes lines as they are into a file or a pipe; on a terminal no value steers it."""
    return (lambda line: out.write(harmless(line))) if out.isatty() else out.write


_LINES: Final = {"json": _write_json, "csv": _write_csv}


def _records(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    columns = [_values(column) for column in batch.columns]
    for cells in zip(*columns, strict=True):
        yield dict(zip(batch.schema.names, cells, strict=True))


def _values(array: pa.Array) -> list[Any]:
    """Values that JSON knows."""
    type_ = array.type
    if pa.types.is_dictionary(type_):
        return _values(array.dictionary_decode())
    if pa.types.is_struct(type_):
        members = [_values(part) for part in array.flatten()]
        names = [field.name for field in type_]
        rows = zip(*members, strict=True) if members else [()] * len(array)
        here = array.is_valid().to_pylist()
        return [
            dict(zip(names, row, strict=True)) if valid else None
            for row, valid in zip(rows, here, strict=True)
        ]
    if pa.types.is_map(type_) or pa.types.is_list(type_):
        return [None if not item.is_valid else _items(item) for item in array]
    if pa.types.is_floating(type_):
        return [v if v is None or math.isfinite(v) else _named(v) for v in array.to_pylist()]
    if pa.types.is_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return [None if v is None else base64.b64encode(v).decode() for v in array.to_pylist()]
    if pa.types.is_decimal(type_):
        return [None if v is None else format(v, "f") for v in array.to_pylist()]
    if pa.types.is_temporal(type_):
        return list(array.cast(pa.string()).to_pylist())
    return list(array.to_pylist())


def _items(item: Any) -> list[Any]:
    if pa.types.is_map(item.type):
        keys, values = (_values(item.values.field(at)) for at in (0, 1))
        return [list(pair) for pair in zip(keys, values, strict=True)]
    return _values(item.values)


def _named(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
