"""Columns of source tables as text: events without schema need them in later runs too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from table_core.cdc.model.embedded_schema import Declared
from table_core.cdc.model.encoding import Meaning, Wire
from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.schema_change_event import number_default
from table_core.datatypes.text import parse_type, type_text
from table_core.problems import stored

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["told_from", "told_text"]


def told_text(told: Mapping[SourceTable, Mapping[str, Declared]]) -> str:
    """Compact JSON: name, type, meaning, whether it may be null, default, comment."""
    found = [
        [
            table.database,
            table.name,
            [
                [
                    name,
                    type_text(d.type),
                    None if d.wire is None else f"{d.wire.meaning.name}:{d.wire.scale}",
                    d.nullable,
                    None if d.default is None else str(d.default),
                    d.comment,
                ]
                for name, d in columns.items()
            ],
        ]
        for table, columns in sorted(told.items())
    ]
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def told_from(text: str | None) -> dict[SourceTable, dict[str, Declared]]:
    """Read what ``told_text`` wrote.

    Raises:
        CorruptFileError: somebody else wrote it.
    """
    with stored("columns of source tables", text):
        return _told(json.loads(text or "[]"))


def _told(document: Any) -> dict[SourceTable, dict[str, Declared]]:
    return {
        SourceTable(database, table): {
            name: Declared(
                parse_type(type_),
                wire := _wire(meaning),
                None,
                nullable=nullable,
                default=number_default(default, wire),
                comment=comment,
            )
            for name, type_, meaning, nullable, default, comment in columns
        }
        for database, table, columns in document
    }


def _wire(text: str | None) -> Wire | None:
    if text is None:
        return None
    name, _, scale = text.partition(":")
    return Wire(Meaning[name], int(scale or 0))
