"""Columns to read, of which some are members of ROWs: ``"address.city"``.

A result has a member as a column of that name.  Readers take the columns that hold the members, with
no other members where nobody else asks for them (``held``), and pick the members last (``picked``).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.kinds import Field, Row, with_nullability
from table_core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from table_core.schema.table_schema import TableSchema

__all__ = ["held", "picked", "selected"]


def selected(schema: TableSchema, names: Iterable[str]) -> tuple[Field, ...]:
    """The columns and members called ``names``, in that order.  A column's whole name is found first.

    Raises:
        NotFoundError: there is none; facts list those there are.
    """
    columns = {field.name: field for field in schema.fields}
    return tuple(columns.get(name) or _selected(schema, name) for name in names)


def held(
    fields: Sequence[Field], asked: Iterable[Field], whole: Collection[str]
) -> tuple[Field, ...]:
    """The ``fields`` of a table that hold what is ``asked``, and those called ``whole`` as they are."""
    columns = {field.name: field for field in fields}
    asked_of: dict[int, list[tuple[Field, ...]]] = defaultdict(list)
    for one in asked:
        column = columns.get(one.name)
        path = _path(fields, one.name) if column is None else (column,)
        if path is not None:
            asked_of[path[0].id].append(path[1:])
    kept = []
    for field in fields:
        if field.name in whole:
            kept.append(field)
        elif field.id in asked_of:
            kept.append(_pruned(field, asked_of[field.id]))
    return tuple(kept)


def picked(rows: pa.Table | pa.RecordBatch, field: Field) -> Any:
    """The column of ``rows`` that ``field`` of the result asks for."""
    if rows.schema.get_field_index(field.name) >= 0:
        return rows.column(field.name)
    values, rest = _outer(rows, field.name)
    while rest:
        type_ = values.type
        step = next(m.name for m in type_ if rest == m.name or rest.startswith(f"{m.name}."))
        values, rest = pc.struct_field(values, [type_.get_field_index(step)]), rest[len(step) + 1 :]
    return values


def _outer(rows: Any, name: str) -> tuple[Any, str]:
    for column in rows.schema:
        if name.startswith(f"{column.name}.") and pa.types.is_struct(column.type):
            return rows.column(column.name), name[len(column.name) + 1 :]
    raise AssertionError(name)


def _selected(schema: TableSchema, name: str) -> Field:
    path = _path(schema.fields, name)
    if path is not None:
        nullable = any(field.type.nullable for field in path)
        return replace(path[-1], name=name, type=with_nullability(path[-1].type, nullable=nullable))
    outer = next((f for f in schema.fields if name.startswith(f"{f.name}.")), None)
    if outer is None:
        return schema.field(name)
    members = _paths(outer)
    told = (
        f"the members of {outer.name!r} are {members}" if members else f"{outer.name!r} is no ROW"
    )
    raise NotFoundError(f"no column {name!r}; {told}", name=name, available=members)


def _path(fields: Iterable[Field], name: str) -> tuple[Field, ...] | None:
    """The fields from a column to the one called ``name``; None if there is none."""
    nested = []
    for field in fields:
        if field.name == name:
            return (field,)
        if name.startswith(f"{field.name}.") and isinstance(field.type, Row):
            nested.append(field)
    for field in nested:
        assert isinstance(field.type, Row)
        below = _path(field.type.fields, name[len(field.name) + 1 :])
        if below is not None:
            return (field, *below)
    return None


def _paths(field: Field) -> list[str]:
    members = field.type.fields if isinstance(field.type, Row) else ()
    return [f"{field.name}.{member.name}" for member in members]


def _pruned(field: Field, below: list[tuple[Field, ...]]) -> Field:
    """``field`` with the members that paths ``below`` lead to; an empty path asks for all of it."""
    if not isinstance(field.type, Row) or not all(below):
        return field
    kept = []
    for member in field.type.fields:
        deeper = [path[1:] for path in below if path[0].id == member.id]
        if deeper:
            kept.append(_pruned(member, deeper))
    return replace(field, type=replace(field.type, fields=tuple(kept)))
