"""How a table follows the columns of its source.

Columns are added and widened, never dropped, renamed or narrowed: a renamed column is a new one.

Source: ``org.apache.paimon.flink.sink.cdc.UpdatedDataFieldsProcessFunctionBase``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.infer import missing_columns
from table_core.datatypes.kinds import Atomic, Field, Root
from table_core.schema.change import (
    AddColumn,
    UpdateColumnComment,
    UpdateColumnNullability,
    UpdateColumnType,
)
from table_core.schema.wider import wider

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.schema.change import SchemaChange
    from table_core.schema.type_mapping import TypeMapping

__all__ = ["evolved", "schema_changes"]

_TEXTS: Final = (Root.CHAR, Root.VARCHAR)


def schema_changes(
    changes: Sequence[Changes], fields: Sequence[Field], key: Sequence[str], mapping: TypeMapping
) -> tuple[SchemaChange, ...]:
    """What has to change so that the rows of ``changes`` fit into a table of ``fields``."""
    alterations: list[SchemaChange] = [
        replace(added, type=mapping.applied(added.type))
        if isinstance(added.type, Atomic)
        else added
        for added in missing_columns(changes, fields)
    ]
    by_name = {field.name: field for field in fields}
    for one in changes:
        for name, declared in (one.declared or {}).items():
            field = by_name.get(name)
            if field is None:
                continue
            room = None if mapping.no_change else wider(field.type, declared.type, mapping)
            if name in key and not (isinstance(room, Atomic) and room.root in _TEXTS):
                room = None  # other types of a key decide where its rows are
            if room is not None:
                by_name[name] = field = replace(field, type=room)
                alterations.append(UpdateColumnType(name, room))
            if declared.comment and field.description != declared.comment:
                by_name[name] = replace(field, description=declared.comment)
                alterations.append(UpdateColumnComment(name, declared.comment))
    alterations += [
        UpdateColumnNullability(name, nullable=True) for name in _lacked(changes, fields, key)
    ]
    return tuple(alterations)


def evolved(fields: Iterable[Field], changes: Iterable[SchemaChange]) -> tuple[Field, ...]:
    """``fields`` as ``changes`` leave them; new ones without an id."""
    columns = {field.name: field for field in fields}
    for change in changes:
        match change:
            case AddColumn(name, type_):
                assert not isinstance(type_, str), "schema_changes gives types of the tree"
                columns[name] = Field(-1, name, type_)
            case UpdateColumnType(name, type_):
                assert isinstance(type_, Atomic), "schema_changes widens atoms only"
                kept = replace(type_, nullable=columns[name].type.nullable)
                columns[name] = replace(columns[name], type=kept)
            case UpdateColumnNullability(name, nullable):
                old = columns[name]
                columns[name] = replace(old, type=replace(old.type, nullable=nullable))
    return tuple(columns.values())


def _lacked(
    changes: Sequence[Changes], fields: Sequence[Field], key: Sequence[str]
) -> Iterable[str]:
    """Columns of the table that must not be null and that rows no longer have or leave empty."""
    for field in fields:
        if field.type.nullable or field.name in key:
            continue
        for one in changes:
            column = one.after.columns.get(field.name)
            rows = one.after.there
            if column is None or (column.null_count and _null_in_rows(column, rows)):
                if rows.true_count:
                    yield field.name
                break


def _null_in_rows(column: object, rows: object) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.and_(pc.is_null(column), rows)).as_py())
