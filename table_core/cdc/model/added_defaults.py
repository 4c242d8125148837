"""Defaults of columns that statements in a log added, kept for the run that sees the first row with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.cdc.model.embedded_schema import Declared
from table_core.cdc.model.source_schema import source_schema_text, source_schemas_from
from table_core.datatypes.kinds import STRING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.cdc.model.record import SourceTable

__all__ = ["added_defaults_text", "recall_added_defaults"]


def added_defaults_text(
    defaults: Mapping[SourceTable, Mapping[str, str | None]], tables: Iterable[SourceTable]
) -> str | None:
    """The defaults of some tables as text; None if there are none."""
    known = {
        table: {n: Declared(STRING, None, None, default=text) for n, text in columns.items()}
        for table in tables
        if (columns := defaults.get(table))
    }
    return source_schema_text(known) if known else None


def recall_added_defaults(
    defaults: dict[SourceTable, dict[str, str | None]], text: str | None
) -> None:
    """Take up what an earlier run kept; newer ones that are known already stay."""
    for table, columns in source_schemas_from(text).items():
        texts = {
            name: None if declared.default is None else str(declared.default)
            for name, declared in columns.items()
        }
        defaults[table] = {**texts, **defaults.get(table, {})}
