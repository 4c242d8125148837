"""KV rows for tests of merging, and the slow way back to Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.datatypes.arrow import arrow_field
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.schema.table_schema import KIND_FIELD, SEQUENCE_FIELD, TableSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KINDS = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}
TEXTS = {byte: text for text, byte in KINDS.items()}


def schema_of(
    columns: Mapping[str, str | Any], key: Sequence[str] = ("k",), **options: str
) -> TableSchema:
    fields = tuple(
        Field(i, name, parse_type(type_) if isinstance(type_, str) else type_)
        for i, (name, type_) in enumerate(columns.items())
    )
    raw = {name.replace("__", "."): text for name, text in options.items()}
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=len(fields),
        primary_keys=tuple(key),
        raw_options=raw,
    )


def with_options(schema: TableSchema, options: Mapping[str, str]) -> TableSchema:
    return TableSchema(
        id=0,
        fields=schema.fields,
        highest_field_id=schema.highest_field_id,
        primary_keys=schema.primary_keys,
        raw_options={**schema.raw_options, **options},
    )


def kv(schema: TableSchema, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """Rows ``(kind text, value, …)``; numbered as they stand."""
    return numbered(schema, [(i, *row) for i, row in enumerate(rows)])


def numbered(schema: TableSchema, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """Rows ``(sequence number, kind text, value, …)``."""
    shape = pa.schema([arrow_field(f) for f in (SEQUENCE_FIELD, KIND_FIELD, *schema.fields)])
    turned = [(number, KINDS[kind], *values) for number, kind, *values in rows]
    columns = list(zip(*turned, strict=True)) if turned else [()] * len(shape)
    return pa.table(
        [pa.array(list(c), f.type) for c, f in zip(columns, shape, strict=True)], schema=shape
    )


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows ``(kind text, value, …)``, without numbers."""
    rows = table.to_pydict()
    names = [n for n in table.column_names if n not in {"_SEQUENCE_NUMBER", "_VALUE_KIND"}]
    kinds = [TEXTS[byte] for byte in rows["_VALUE_KIND"]]
    return list(zip(kinds, *[rows[n] for n in names], strict=True))
