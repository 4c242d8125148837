"""A table follows the columns of rows that are to be written: ones that are new, types that are wider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.datatypes.kinds import with_nullability
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.schema.change import AddColumn, UpdateColumnType
from table_core.schema.nested import path_text
from table_core.schema.type_mapping import TypeMapping
from table_core.schema.wider import wider
from table_core.table.metadata.alter import alter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.datatypes.kinds import Field
    from table_core.schema.change import SchemaChange
    from table_core.table.metadata.access import TableAccess

__all__ = ["widened"]


def widened(access: TableAccess, fields: Iterable[Field]) -> TableAccess:
    """The table after it has got what rows of ``fields`` need.  Names are alike in any case.

    Columns of the key keep their type: it decides where rows are.

    Raises:
        SchemaError: a change is not allowed.
    """
    known = {field.name.lower(): field for field in access.schema.fields}
    fixed = {*access.schema.primary_keys, *access.schema.partition_keys}
    changes: list[SchemaChange] = []
    for field in fields:
        own = known.get(field.name.lower())
        if field.name == ROW_KIND_COLUMN:
            continue
        if own is None:
            anew = with_nullability(field.type, nullable=True)
            changes.append(AddColumn(path_text([field.name]), anew))
        elif own.name not in fixed:
            type_ = wider(own.type, field.type, TypeMapping())
            if type_ is not None:
                changes.append(UpdateColumnType(own.name, type_))
    if not changes:
        return access
    return access.with_schema(alter(access, tuple(changes)))
