"""The schema that a declared table would be created with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type

if TYPE_CHECKING:
    from table_core.declaration.model import TableDeclaration
    from table_core.schema.table_schema import TableSchema

__all__ = ["fields_of", "schema_of"]


def schema_of(table: TableDeclaration) -> TableSchema:
    """The schema of a new table that is as declared.

    Raises:
        SchemaError: rules are broken; facts list all of them.
        OptionError: an option is unknown, or its value does not parse.
        UnsupportedFeatureError: a feature that this release refuses by name.
    """
    from table_core.schema.evolve import create  # Arrow: only where tables are looked into

    return create(
        fields_of(table),
        primary_key=table.primary_key,
        partition_by=table.partition_by,
        options=table.options,
        comment=table.comment,
        now_ms=0,
    )


def fields_of(table: TableDeclaration) -> list[Field]:
    """The columns of a new table that is as declared; ids are given out when it is made."""
    comments, defaults = table.column_comments, table.column_defaults
    return [
        Field(0, name, parse_type(kind), comments.get(name), defaults.get(name))
        for name, kind in table.columns.items()
    ]
