"""Changes of columns, top level and nested, each with its refusals.

Source: ``org.apache.paimon.schema.SchemaManager``; format 2.4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from table_core.datatypes.arrow import from_arrow
from table_core.datatypes.castable import is_castable
from table_core.datatypes.kinds import (
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Multiset,
    Root,
    Row,
    Vector,
    with_nullability,
)
from table_core.datatypes.text import parse_type, type_to_json
from table_core.errors import SchemaError, UnsupportedFeatureError
from table_core.options import keys_retention
from table_core.schema.change import (
    AddColumn,
    DropColumn,
    RenameColumn,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
)
from table_core.schema.nested import edit_at, numbered, split_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.schema.table_schema import TableSchema

__all__ = ["ColumnChange", "as_type", "change_column", "refused"]

ColumnChange: TypeAlias = (
    AddColumn
    | DropColumn
    | RenameColumn
    | UpdateColumnComment
    | UpdateColumnDefault
    | UpdateColumnNullability
    | UpdateColumnPosition
    | UpdateColumnType
)
Siblings: TypeAlias = tuple[Field, ...]


def refused(what: str) -> SchemaError:
    """The error of one change that breaks a rule; ``evolve`` joins these into one."""
    return SchemaError(what, problems=[what])


def as_type(type_: str | DataType | Any) -> DataType:
    """The type that a user gave: text, a Paimon type or an Arrow type."""
    if isinstance(type_, str):
        return parse_type(type_)
    if isinstance(type_, Atomic | Array | Map | Multiset | Row | Vector):
        return type_
    import pyarrow as pa

    if not isinstance(type_, pa.DataType):
        raise refused(
            f"not a type: {type_!r}; write it as SQL, such as 'INT', or as an Arrow type, such as pa.int32()"
        )
    try:
        return from_arrow(type_)
    except UnsupportedFeatureError as error:
        raise refused(str(error)) from error


def change_column(schema: TableSchema, change: ColumnChange) -> TableSchema:
    """``schema`` after ``change``.

    Raises:
        SchemaError: says which rule it breaks.
    """
    path = split_path(schema.fields, change.name)
    name = path[0]
    match change:
        case AddColumn():
            return _added(schema, path, change)
        case DropColumn():
            _refuse_key(schema, path, "dropped", schema.partition_keys + schema.primary_keys)
            return _edited(schema, path, _dropped)
        case RenameColumn(_, new_name):
            _refuse_key(schema, path, "renamed", schema.partition_keys)
            result = _edited(schema, path, lambda fields, at: _renamed(fields, at, new_name))
            if len(path) > 1:
                return result
            keys = tuple(new_name if k == name else k for k in schema.primary_keys)
            return replace(result, primary_keys=keys)
        case UpdateColumnType():
            _refuse_key(
                schema, path, "given another type", schema.partition_keys + schema.primary_keys
            )
            return _retyped(schema, path, change)
        case UpdateColumnNullability(_, nullable):
            return _nullability(schema, path, nullable=nullable)
        case UpdateColumnComment(_, comment):
            return _edited(schema, path, lambda fields, at: _with(fields, at, description=comment))
        case UpdateColumnDefault(_, default):
            return _edited(schema, path, lambda fields, at: _with(fields, at, default=default))
        case UpdateColumnPosition():
            return _edited(schema, path, lambda fields, at: _moved(fields, at, change))
        case _:
            assert_never(change)


def _refuse_key(
    schema: TableSchema, path: tuple[str, ...], what: str, keys: tuple[str, ...]
) -> None:
    if len(path) == 1 and path[0] in keys:
        kind = "partition" if path[0] in schema.partition_keys else "primary-key"
        raise refused(f"{kind} column {path[0]!r} cannot be {what}")


def _edited(
    schema: TableSchema, path: tuple[str, ...], edit: Callable[[Siblings, int], Siblings]
) -> TableSchema:
    """Apply ``edit`` to the column at ``path``, given its siblings and its place among them."""

    def inside(type_: DataType) -> DataType:
        type_ = _as_row(type_, path)
        return replace(type_, fields=edit(type_.fields, _place(type_.fields, path[-1])))

    return _with_row(schema, path, inside)


def _with_row(
    schema: TableSchema, path: tuple[str, ...], inside: Callable[[DataType], DataType]
) -> TableSchema:
    try:
        row = edit_at(Row(schema.fields), path[:-1], inside)
    except LookupError as error:
        raise _absent(path, error.args[0]) from error
    assert isinstance(row, Row)
    return replace(schema, fields=row.fields)


def _absent(path: tuple[str, ...], step: str) -> SchemaError:
    hint = "; a name that has a dot stands in backquotes" if len(path) > 1 else ""
    return refused(f"no column {'.'.join(path)!r}: {step!r} is missing{hint}")


def _as_row(type_: DataType, path: tuple[str, ...]) -> Row:
    if isinstance(type_, Row):
        return type_
    raise LookupError(path[-1])


def _place(fields: Siblings, name: str) -> int:
    for at, field in enumerate(fields):
        if field.name == name:
            return at
    raise LookupError(name)


def _added(schema: TableSchema, path: tuple[str, ...], change: AddColumn) -> TableSchema:
    type_ = as_type(change.type)
    if not type_.nullable:
        raise refused(f"column {change.name!r} must be nullable: old rows have no value for it")
    id_ = schema.highest_field_id + 1
    type_, highest = numbered(type_, id_)
    field = Field(id_, path[-1], type_, change.comment, change.default)

    def inside(row: DataType) -> DataType:
        row = _as_row(row, path)
        if any(f.name == field.name for f in row.fields):
            raise refused(f"column {change.name!r} exists already")
        at = _target(row.fields, change)
        if at is None and len(path) == 1:
            at = _before_partition(schema)
        at = len(row.fields) if at is None else at
        return replace(row, fields=(*row.fields[:at], field, *row.fields[at:]))

    return replace(_with_row(schema, path, inside), highest_field_id=highest)


def _before_partition(schema: TableSchema) -> int | None:
    if not schema.options.get(keys_retention.ADD_COLUMN_BEFORE_PARTITION):
        return None
    indices = [at for at, f in enumerate(schema.fields) if f.name in schema.partition_keys]
    return min(indices, default=None)


def _target(fields: Siblings, change: AddColumn | UpdateColumnPosition) -> int | None:
    """Where among ``fields`` the column goes; None means last or not said."""
    before = change.before if isinstance(change, UpdateColumnPosition) else None
    if sum([change.first, change.after is not None, before is not None]) > 1:
        raise refused(f"column {change.name!r} is sent to more than one place")
    if change.first:
        return 0
    sibling = change.after if before is None else before
    if sibling is None:
        return None
    if all(f.name != sibling for f in fields):
        raise refused(f"there is no column {sibling!r} to put {change.name!r} next to")
    return _place(fields, sibling) + (before is None)


def _dropped(fields: Siblings, at: int) -> Siblings:
    if len(fields) == 1:
        raise refused(f"{fields[at].name!r} is the only column")
    return (*fields[:at], *fields[at + 1 :])


def _renamed(fields: Siblings, at: int, new_name: str) -> Siblings:
    if any(f.name == new_name for f in fields):
        raise refused(f"column {new_name!r} exists already")
    if isinstance(fields[at].type, Atomic) and fields[at].type == Atomic(Root.BLOB):
        raise refused(f"BLOB column {fields[at].name!r} cannot be renamed")
    return _with(fields, at, name=new_name)


def _with(fields: Siblings, at: int, **members: Any) -> Siblings:
    return (*fields[:at], replace(fields[at], **members), *fields[at + 1 :])


def _moved(fields: Siblings, at: int, change: UpdateColumnPosition) -> Siblings:
    name = fields[at].name
    if name in {change.after, change.before}:
        raise refused(f"column {name!r} cannot be put next to itself")
    rest = (*fields[:at], *fields[at + 1 :])
    target = _target(rest, change)
    if target is None:
        if not change.last:
            raise refused(f"say where column {name!r} goes: after, before, first or last")
        target = len(rest)
    return (*rest[:target], fields[at], *rest[target:])


def _retyped(schema: TableSchema, path: tuple[str, ...], change: UpdateColumnType) -> TableSchema:
    target = as_type(change.type)
    explicit = not schema.options.get(keys_retention.DISABLE_EXPLICIT_TYPE_CASTING)
    allow_not_null = not schema.options.get(keys_retention.ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED)

    says = isinstance(change.type, str) and not target.nullable  # NOT NULL in words is meant
    keeps = change.keep_nullability and not says

    def retype(old: DataType) -> DataType:
        new = with_nullability(target, nullable=old.nullable) if keeps else target
        if old.nullable and not new.nullable and not allow_not_null:
            raise refused(f"nullable column {change.name!r} cannot become NOT NULL")
        if not is_castable(old, new, explicit=explicit):
            hint = "" if isinstance(new, Atomic) else "; change its members one by one"
            raise refused(
                f"column {change.name!r} cannot go from {type_to_json(old)} to "
                f"{type_to_json(new)}{hint}"
            )
        return old if not isinstance(new, Atomic) else new

    return _with_type(schema, path, retype)


def _with_type(
    schema: TableSchema, path: tuple[str, ...], edit: Callable[[DataType], DataType]
) -> TableSchema:
    try:
        row = edit_at(Row(schema.fields), path, edit)
    except LookupError as error:
        raise _absent(path, error.args[0]) from error
    assert isinstance(row, Row)
    return replace(schema, fields=row.fields)


def _nullability(schema: TableSchema, path: tuple[str, ...], *, nullable: bool) -> TableSchema:
    if nullable and len(path) == 1 and path[0] in schema.primary_keys:
        raise refused(f"primary-key column {path[0]!r} cannot become nullable")
    disabled = schema.options.get(keys_retention.ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED)

    def edit(old: DataType) -> DataType:
        if disabled and old.nullable and not nullable:
            raise refused(
                f"nullable column {'.'.join(path)!r} cannot become NOT NULL; set "
                "alter-column-null-to-not-null.disabled to false if no row has NULL there"
            )
        return with_nullability(old, nullable=nullable)

    return _with_type(schema, path, edit)
