"""Rows of JSON lines, in batches: one object a line, the table gives the types.

Arrow reads a block of lines at once.  What it cannot read, a map or NaN as text, and a block with a
wrong value is read line by line: then the line and the column of the fault are known.
"""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from table_core.datatypes.plain_values import WrongValueError, column_of_values
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import DataError
from table_core.options.budgets import LINE_BYTES
from table_core.options.nearest import meant
from table_core.options.row_options import DEFAULTS
from table_core.shortened import shortened
from table_core.storage.decoded import NO_UTF8, Decoded
from table_core.storage.guessed_types import GuessedType, type_of_texts
from table_core.storage.text_columns import TextColumns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.options.row_options import RowOptions

__all__ = ["json_line", "json_rows", "json_schema"]

_BLOCK_BYTES: Final = 4 << 20
_DEPTH_MAX: Final = 500
_EXAMPLE_MAX: Final = 80
_DECIMAL_DIGITS: Final = 38
_NO_OBJECT: Final = "write one object a line: this is none"
_OBJECT, _END_OF_LINE = b"{\n"
_NESTING: Final = re.compile(rb"[\[\]{}]")
_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_ROW_KIND: Final = ROW_KIND_COLUMN.encode()


def json_rows(
    file: Any, schema: pa.Schema, options: RowOptions = DEFAULTS
) -> Iterator[pa.RecordBatch]:
    """Batches of ``file`` with the columns of ``schema``; a member that it does not name is an error.

    Raises:
        DataError: a line is no object, or a value is none of its type; ``row`` and ``column`` are in
            the facts.
    """
    first_row, reads = 0, TextColumns(options)
    for block in _blocks(Decoded(file, options.encoding)):
        _require_utf8(block)
        batch = _by_arrow(block, schema, reads)
        if batch is None:
            batch = _by_line(block, schema, first_row, reads)
        first_row += batch.num_rows
        if batch.num_rows:
            yield batch


def json_schema(file: Any, options: RowOptions) -> list[GuessedType]:
    """The columns of ``file``, and types that its first megabytes have.

    Raises:
        DataError: a line is nested so deep that Arrow would end the process.
        pa.ArrowException: it is no JSON.
    """
    block = next(_blocks(Decoded(file, options.encoding)), b"")
    _require_utf8(block)
    if not block.strip():
        raise DataError("no line holds an object: the file is empty")
    for row, line in enumerate(block.split(b"\n")):
        if line.strip() and not line.lstrip().startswith(b"{"):  # of null Arrow's reader dies
            raise DataError(_no_object(line), row=row)
        if line.count(b"[") + line.count(b"{") > _DEPTH_MAX and _depth(line) > _DEPTH_MAX:
            raise DataError("no JSON of ours: it is nested too deep", row=row)
    first = _read(block, None)
    # Arrow takes moments with a zone for local ones, so they are looked at as texts
    texts = pa.schema([(field.name, _with_moments_as_texts(field.type)) for field in first.schema])
    rows = _read(block, texts)
    return [_guessed(name, _one(rows[name]), block, options) for name in rows.schema.names]


def _read(block: bytes, schema: pa.Schema | None) -> pa.Table:
    return pj.read_json(
        io.BytesIO(block),
        read_options=pj.ReadOptions(block_size=len(block) + 1),
        parse_options=pj.ParseOptions(explicit_schema=schema),
    )


def _with_moments_as_texts(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.string()
    if pa.types.is_list(type_):
        return pa.list_(_with_moments_as_texts(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([(one.name, _with_moments_as_texts(one.type)) for one in type_])
    return type_


def _guessed(name: str, values: pa.Array, block: bytes, options: RowOptions) -> GuessedType:
    filled = values.drop_null()
    example = json.dumps(filled[0].as_py(), default=str) if len(filled) else None
    type_ = _type_of(values, options)
    if pa.types.is_floating(type_) and (whole := _whole_type(name, block)) is not None:
        type_ = whole
    return GuessedType(name, type_, None if example is None else shortened(example, _EXAMPLE_MAX))


def _type_of(values: pa.Array, options: RowOptions) -> pa.DataType:
    """The type of a column, and of what its values are made of."""
    if pa.types.is_null(values.type):  # nothing but NULL says nothing
        return pa.string()
    if pa.types.is_string(values.type):
        return type_of_texts(values.drop_null(), options, numbers=False)
    if pa.types.is_list(values.type):
        return pa.list_(_type_of(values.flatten(), options))
    if pa.types.is_struct(values.type):
        parts = zip(values.type, values.flatten(), strict=True)
        return pa.struct([(one.name, _type_of(part, options)) for one, part in parts])
    return values.type


def _whole_type(name: str, block: bytes) -> pa.DataType | None:
    """DECIMAL for whole numbers that are longer than BIGINT, of which Arrow makes DOUBLE; None for others."""
    values = [json.loads(line).get(name) for line in block.split(b"\n") if line.strip()]
    numbers = [value for value in values if value is not None]
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in numbers):
        return None
    longest = max((abs(value) for value in numbers), default=0)
    return pa.decimal128(_DECIMAL_DIGITS, 0) if longest < 10**_DECIMAL_DIGITS else pa.string()


def _depth(line: bytes) -> int:
    depth = deepest = 0
    for mark in _NESTING.finditer(_TEXT.sub(b"", line)):
        depth += 1 if mark[0] in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def json_line(file: Any, row: int, options: RowOptions) -> int:
    """The line of ``row``, counted from 0; empty lines are no rows."""
    number, line = -1, 0
    for block in _blocks(Decoded(file, options.encoding)):
        for text in block.split(b"\n"):
            line += 1
            number += bool(text.strip())
            if number == row:
                return line
    return line


def _blocks(file: Any) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time."""
    rest: list[bytes] = []
    size, most = 0, LINE_BYTES.most
    while part := file.read(_BLOCK_BYTES):
        whole, mark, tail = part.rpartition(b"\n")
        size += len(whole if mark else tail)
        if size > most + _BLOCK_BYTES:  # a line of ``most`` bytes may be followed by others
            raise DataError(LINE_BYTES.told("a line that does not end"))
        if mark:
            yield b"".join([*rest, whole])
            rest, size = [], len(tail)
        rest.append(tail)
    last = b"".join(rest)
    if last.strip():
        yield last


def _require_utf8(block: bytes) -> None:
    """Arrow takes any bytes of JSON for text."""
    try:
        block.decode()
    except UnicodeDecodeError as error:
        raise DataError(NO_UTF8, undecodable=True) from error


def _by_arrow(block: bytes, schema: pa.Schema, reads: TextColumns) -> pa.RecordBatch | None:
    """None where a value is wrong, or in a form that Arrow does not read."""
    if _ROW_KIND in block or any(_is_odd(field.type, top=True) for field in schema):
        return None
    objects = _count_of_objects(block)
    if objects is None:
        return None
    wanted = pa.schema(
        [
            (field.name, pa.string() if reads.reads(field.type) else _read_type(field.type))
            for field in schema
        ]
    )
    try:
        table = pj.read_json(
            io.BytesIO(block),
            read_options=pj.ReadOptions(block_size=max(len(block), 1) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=wanted, unexpected_field_behavior="error"
            ),
        ).combine_chunks()
        if table.num_rows != objects:
            return None
        columns = [
            reads.column(_one(table[field.name]), field.type)
            if pa.types.is_string(wanted.field(field.name).type)
            else _one(table[field.name])
            for field in schema
        ]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, WrongValueError):
        return None
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def _count_of_objects(block: bytes) -> int | None:
    r"""How many lines begin with ``{``; None where one begins otherwise: of ``null`` Arrow's reader dies.

    >>> _count_of_objects(b'{"a": 1}\n\n{}'), _count_of_objects(b'{}\nnull')
    (2, None)
    """
    letters = np.frombuffer(b"\n" + block, np.uint8)
    first = letters[1:][letters[:-1] == _END_OF_LINE]
    count = int(np.count_nonzero(first == _OBJECT))
    return count if count + np.count_nonzero(first == _END_OF_LINE) == len(first) else None


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _read_type(type_: pa.DataType) -> pa.DataType:
    """What Arrow reads of JSON for a column of ``type_``: some it has as text only."""
    as_text = (
        pa.types.is_date(type_)
        or pa.types.is_time(type_)
        or pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
    )
    return pa.string() if as_text else type_


def _is_odd(type_: pa.DataType, *, top: bool = False) -> bool:
    """Whether Arrow reads ``type_`` of no JSON, or as something else: a map, bytes in a list."""
    if pa.types.is_map(type_):
        return True
    if pa.types.is_struct(type_):
        return any(_is_odd(field.type) for field in type_)
    if pa.types.is_nested(type_):
        return _is_odd(type_.value_type)
    return not top and _read_type(type_) != type_


def _by_line(block: bytes, schema: pa.Schema, first_row: int, reads: TextColumns) -> pa.RecordBatch:
    """As Arrow would, one line after the other.

    Raises:
        DataError: the first line or value that is wrong.
    """
    rows: list[dict[str, Any]] = []
    for line in block.split(b"\n"):
        if line.strip():
            rows.append(_object(line, schema, first_row + len(rows)))
    columns, names = [], list(schema.names)
    if any(ROW_KIND_COLUMN in row for row in rows):
        schema = schema.append(pa.field(ROW_KIND_COLUMN, pa.string()))
        names.append(ROW_KIND_COLUMN)
    for field in schema:
        try:
            columns.append(_column([row.get(field.name) for row in rows], field.type, reads))
        except WrongValueError as error:
            raise DataError(
                f"column {field.name!r}: {error}",
                column=field.name,
                row=first_row + error.row,
                value=error.value,
            ) from error
    return pa.RecordBatch.from_arrays(columns, names=names)


def _column(values: list[Any], type_: pa.DataType, reads: TextColumns) -> pa.Array:
    if not reads.reads(type_) or not all(isinstance(one, str | None) for one in values):
        return column_of_values(values, type_)
    return reads.column(pa.array(values, pa.string()), type_)


def _no_object(line: bytes) -> str:
    if line.lstrip().startswith(b"["):
        return f"{_NO_OBJECT} but an array. jq -c '.[]' writes its objects line by line"
    return f"{_NO_OBJECT}; rows that have no names are CSV"


def _object(line: bytes, schema: pa.Schema, row: int) -> dict[str, Any]:
    try:
        members = json.loads(line, parse_float=str, object_pairs_hook=_members)
    except RecursionError as error:
        raise DataError("no JSON of ours: it is nested too deep", row=row) from error
    except ValueError as error:
        raise DataError(f"no JSON: {error}", row=row) from error
    if not isinstance(members, dict):
        raise DataError(_no_object(line), row=row)
    for name in members:
        if name not in schema.names and name != ROW_KIND_COLUMN:
            raise DataError(
                f"there is no column {name!r}{meant(name, schema.names)}; the table has "
                f"{', '.join(schema.names)}",
                row=row,
                column=name,
            )
    return members


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is there twice")
    return members
