"""Columns of source tables as text: events without schema need them in later runs too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from table_core.cdc.model.embedded_schema import Declared
from table_core.cdc.model.encoding import Encoding
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.schema_change_event import number_default
from table_core.datatypes.text import parse_type, type_text
from table_core.validation_errors import stored

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["source_schema_text", "source_schemas_from"]


def source_schema_text(schemas: Mapping[SourceTable, Mapping[str, Declared]]) -> str:
    """Compact JSON: name, type, meaning, whether it may be null, default, comment."""
    tables = [
        [
            table.database,
            table.name,
            [
                [
                    name,
                    type_text(d.type),
                    None
                    if d.encoding is None
                    else f"{d.encoding.logical_type.name}:{d.encoding.scale}",
                    d.nullable,
                    None if d.default is None else str(d.default),
                    d.comment,
                ]
                for name, d in columns.items()
            ],
        ]
        for table, columns in sorted(schemas.items())
    ]
    return json.dumps(tables, separators=(",", ":"), ensure_ascii=False)


def source_schemas_from(text: str | None) -> dict[SourceTable, dict[str, Declared]]:
    """Read what ``source_schema_text`` wrote.

    Raises:
        CorruptFileError: somebody else wrote it.
    """
    with stored("columns of source tables", text):
        return _schemas(json.loads(text or "[]"))


def _schemas(document: Any) -> dict[SourceTable, dict[str, Declared]]:
    return {
        SourceTable(database, table): {
            name: Declared(
                parse_type(type_),
                encoding := _encoding(logical_type),
                None,
                nullable=nullable,
                default=number_default(default, encoding),
                comment=comment,
            )
            for name, type_, logical_type, nullable, default, comment in columns
        }
        for database, table, columns in document
    }


def _encoding(text: str | None) -> Encoding | None:
    if text is None:
        return None
    name, _, scale = text.partition(":")
    return Encoding(LogicalType[name], int(scale or 0))
