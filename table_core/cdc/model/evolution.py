"""How a table follows the columns of its source.

Columns are added and widened, never dropped, renamed or narrowed: a renamed column is a new one.

Source: ``org.apache.paimon.flink.sink.cdc.UpdatedDataFieldsProcessFunctionBase``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.infer import missing_columns
from table_core.datatypes.kinds import MAX_LENGTH, Atomic, DataType, Field, Root
from table_core.schema.change import (
    AddColumn,
    UpdateColumnComment,
    UpdateColumnNullability,
    UpdateColumnType,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.schema.change import SchemaChange
    from table_core.schema.type_mapping import TypeMapping

__all__ = ["evolved", "schema_changes", "wider"]

_INTEGERS: Final = (Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT)
_DIGITS: Final = {Root.TINYINT: 3, Root.SMALLINT: 5, Root.INT: 10, Root.BIGINT: 19}
_FLOATS: Final = (Root.FLOAT, Root.DOUBLE)
_TEXTS: Final = (Root.CHAR, Root.VARCHAR)
_BYTES: Final = (Root.BINARY, Root.VARBINARY)
_TIMES: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ, Root.TIME})
_DECIMAL_DIGITS_MAX: Final = 38


def schema_changes(
    changes: Sequence[Changes], fields: Sequence[Field], key: Sequence[str], mapping: TypeMapping
) -> tuple[SchemaChange, ...]:
    """What has to change so that the rows of ``changes`` fit into a table of ``fields``."""
    found: list[SchemaChange] = [
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
                found.append(UpdateColumnType(name, room))
            if declared.comment and field.description != declared.comment:
                by_name[name] = replace(field, description=declared.comment)
                found.append(UpdateColumnComment(name, declared.comment))
    found += [
        UpdateColumnNullability(name, nullable=True) for name in _lacked(changes, fields, key)
    ]
    return tuple(found)


def evolved(fields: Iterable[Field], changes: Iterable[SchemaChange]) -> tuple[Field, ...]:
    """``fields`` as ``changes`` leave them; new ones without an id."""
    found = {field.name: field for field in fields}
    for change in changes:
        match change:
            case AddColumn(name, type_):
                assert not isinstance(type_, str), "schema_changes gives types of the tree"
                found[name] = Field(-1, name, type_)
            case UpdateColumnType(name, type_):
                assert isinstance(type_, Atomic), "schema_changes widens atoms only"
                kept = replace(type_, nullable=found[name].type.nullable)
                found[name] = replace(found[name], type=kept)
            case UpdateColumnNullability(name, nullable):
                old = found[name]
                found[name] = replace(old, type=replace(old.type, nullable=nullable))
    return tuple(found.values())


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


def wider(table: DataType, source: DataType, mapping: TypeMapping) -> Atomic | None:
    """The type that the column of the table should get; None if it can stay as it is."""
    if not isinstance(table, Atomic) or not isinstance(source, Atomic):
        return None
    if table.root is source.root:
        return _longer(table, source, mapping)
    for family in (_INTEGERS, _FLOATS):
        if table.root in family and source.root in family:
            return source if family.index(source.root) > family.index(table.root) else None
    if table.root in _INTEGERS and source.root in _FLOATS:
        return Atomic(Root.DOUBLE)
    if table.root is Root.DATE and source.root is Root.TIMESTAMP:
        return source
    if table.root in _TEXTS and source.root in _TEXTS:
        longest = max(table.length, source.length)
        return (
            None
            if table.root is Root.VARCHAR and longest == table.length
            else Atomic(Root.VARCHAR, length=longest)
        )
    if table.root in _BYTES and source.root in _BYTES:
        longest = max(table.length, source.length)
        return (
            None
            if table.root is Root.VARBINARY and longest == table.length
            else Atomic(Root.VARBINARY, length=longest)
        )
    if table.root in _INTEGERS and source.root is Root.DECIMAL and not mapping.decimal_no_change:
        return _decimal(_DIGITS[table.root], 0, source)
    if mapping.allow_non_string_to_string and source.root in _TEXTS:
        return Atomic(Root.VARCHAR, length=MAX_LENGTH)
    return None


def _longer(table: Atomic, source: Atomic, mapping: TypeMapping) -> Atomic | None:
    if table.root in _TEXTS or table.root in _BYTES:
        return source if source.length > table.length else None
    if table.root is Root.DECIMAL and not mapping.decimal_no_change:
        return _decimal(table.precision - table.scale, table.scale, source, table)
    if table.root in _TIMES:
        return source if source.precision > table.precision else None
    return None


def _decimal(whole: int, scale: int, source: Atomic, table: Atomic | None = None) -> Atomic | None:
    """Room for the digits of both, if there is so much."""
    digits = max(whole, source.precision - source.scale)
    scale = max(scale, source.scale)
    if digits + scale > _DECIMAL_DIGITS_MAX:
        return None
    wanted = Atomic(Root.DECIMAL, precision=digits + scale, scale=scale)
    same = table is not None and (table.precision, table.scale) == (wanted.precision, scale)
    return None if same else wanted
