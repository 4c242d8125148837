"""Columns of a table, held against those that are declared: also members of ROWs, at any depth."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from table_core.datatypes.kinds import Array, Map, Multiset, Row, Vector, with_nullability
from table_core.datatypes.text import type_text
from table_core.datatypes.widths import Width, union, width
from table_core.declaration.difference import Difference, Safety
from table_core.schema import change
from table_core.schema.nested import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.datatypes.kinds import DataType, Field
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema

__all__ = ["column_differences", "order_difference", "stored_with"]


def column_differences(
    goal: TableSchema, current: TableSchema, *, synced: bool
) -> Iterator[Difference]:
    """What the columns of ``current`` are not as in ``goal``.

    ``synced``: a source of changes fills the table, and adds, widens and comments columns.
    """
    yield from _of_fields((), goal.fields, current.fields, current, synced=synced)


def order_difference(goal: TableSchema, current: TableSchema, gone: set[str]) -> Difference | None:
    """The declared columns stand in another order; None if they do not."""
    wanted = [field.name for field in goal.fields]
    there = [field.name for field in current.fields if field.name not in gone]
    both = [name for name in there if name in goal.by_name]
    if both == [name for name in wanted if name in current.by_name]:
        return None
    moves: list[SchemaChange] = [change.UpdateColumnPosition(path_text(wanted[:1]), first=True)]
    for before, name in pairwise(wanted):
        moves.append(change.UpdateColumnPosition(path_text([name]), after=before))
    return Difference(
        safety=Safety.KEPT,
        description=f"order of columns {', '.join(both)}",
        changes=tuple(moves),
        word="reorder",
    )


def _of_fields(
    path: tuple[str, ...],
    declared: Sequence[Field],
    there: Sequence[Field],
    table: TableSchema,
    *,
    synced: bool,
) -> Iterator[Difference]:
    known = {field.name: field for field in there}
    folded = {field.name.casefold(): field.name for field in there}
    wanted = {field.name for field in declared}
    before: str | None = None
    for field in declared:
        name = path_text((*path, field.name))
        if field.name in known:
            yield from _of_field(path, field, known[field.name], table, synced=synced)
        elif (other := folded.get(field.name.casefold())) is not None and other not in wanted:
            yield Difference(
                safety=Safety.REFUSED,
                description=f"{name}: the table has {other!r}, which differs in case alone: write it so, "
                f"or rename it with moved: [{{from: {other}, to: {field.name}}}]",
            )
        else:
            yield _added(name, field, before, there)
        before = field.name
    for name in known:
        if name not in wanted and name.casefold() not in {w.casefold() for w in wanted}:
            full_name = path_text((*path, name))
            yield Difference(
                safety=Safety.KEPT,
                description=f"column {full_name}",
                changes=(change.DropColumn(full_name),),
                word="drop",
                by_hand=not synced,
            )


def _added(name: str, field: Field, before: str | None, there: Sequence[Field]) -> Difference:
    """A column that is to stand where it is declared; at the end the table's options say where."""
    at_end = bool(there) and before == there[-1].name
    add = change.AddColumn(
        name,
        field.type,
        comment=field.description,
        after=None if at_end else before,
        first=before is None,
        default=field.default,
    )
    return Difference(
        safety=Safety.SAFE,
        description=f"+ {name} {type_text(field.type)}{stored_with(field)}",
        changes=(add,),
    )


def stored_with(field: Field) -> str:
    """What is stored with a new column, behind its type: its default and its comment."""
    default = "" if field.default is None else f", default {field.default!r}"
    return f"{default}, comment {field.description!r}" if field.description else default


def _of_field(
    path: tuple[str, ...], field: Field, there: Field, table: TableSchema, *, synced: bool
) -> Iterator[Difference]:
    steps = (*path, field.name)
    yield from _of_type(steps, field.type, there.type, table, synced=synced)
    name = path_text(steps)
    if field.description is not None and field.description != there.description:
        yield Difference(
            safety=Safety.SAFE,
            description=f"~ comment of {name} = {field.description!r}",
            changes=(change.UpdateColumnComment(name, field.description),),
            by_hand=not synced,
        )
    elif field.description is None and there.description:
        yield Difference(
            safety=Safety.KEPT,
            description=f"comment of {name}",
            changes=(change.UpdateColumnComment(name, None),),
            word="unset",
            by_hand=not synced,
        )
    if field.default is not None and field.default != there.default:
        yield Difference(
            safety=Safety.SAFE,
            description=f"~ default of {name} = {field.default!r}",
            changes=(change.UpdateColumnDefault(name, field.default),),
        )
    elif field.default is None and there.default is not None:
        yield Difference(
            safety=Safety.KEPT,
            description=f"default of {name}",
            changes=(change.UpdateColumnDefault(name, None),),
            word="unset",
        )


def _of_type(
    steps: tuple[str, ...],
    declared: DataType,
    there: DataType,
    table: TableSchema,
    *,
    synced: bool,
) -> Iterator[Difference]:
    yield from _of_nullability(steps, declared, there, synced=synced)
    match declared, there:
        case Row(wants), Row(has):
            yield from _of_fields(steps, wants, has, table, synced=synced)
        case (Array(wants), Array(has)) | (Multiset(wants), Multiset(has)):
            yield from _of_type((*steps, "element"), wants, has, table, synced=synced)
        case Vector(wants, length), Vector(has, other) if length == other:
            yield from _of_type((*steps, "element"), wants, has, table, synced=synced)
        case Map(key, value), Map(other_key, other_value):
            key = with_nullability(
                key, nullable=other_key.nullable
            )  # no key is NULL, whatever it says
            if type_text(key) != type_text(other_key):
                yield _rekeyed(steps, declared, there)
            yield from _of_type((*steps, "value"), value, other_value, table, synced=synced)
        case _:
            difference = _retyped(steps, declared, there, table, synced=synced)
            if difference is not None:
                yield difference


def _rekeyed(steps: tuple[str, ...], declared: DataType, there: DataType) -> Difference:
    """Keys of a map keep their type: files of another one are not read by those who read this table."""
    name = path_text(steps)
    return Difference(
        safety=Safety.REFUSED,
        description=f"{name}: {type_text(there)} -> {type_text(declared)}: keys of a map keep their type: "
        "declare a column of another name and fill it",
    )


def _of_nullability(
    steps: tuple[str, ...], declared: DataType, there: DataType, *, synced: bool
) -> Iterator[Difference]:
    if declared.nullable == there.nullable:
        return
    name = path_text(steps)
    changes = (change.UpdateColumnNullability(name, declared.nullable),)
    if declared.nullable:
        description = f"~ {name}: {type_text(there)} -> NULL allowed"
        yield Difference(safety=Safety.SAFE, description=description, changes=changes)
    else:
        description = f"{name}: NULL is allowed, declared NOT NULL"
        yield Difference(
            safety=Safety.KEPT,
            description=description,
            changes=changes,
            word="narrow",
            by_hand=not synced,
        )


def _retyped(
    steps: tuple[str, ...],
    declared: DataType,
    there: DataType,
    table: TableSchema,
    *,
    synced: bool,
) -> Difference | None:
    name = path_text(steps)
    has, wants = type_text(there), type_text(declared)
    changes = (change.UpdateColumnType(name, declared),)
    match width(there, declared):
        case Width.SAME:
            return None
        case Width.NARROWER if _is_hashed(steps, declared, there, table):
            return Difference(
                safety=Safety.REFUSED,
                description=f"{name}: {has} -> {wants}: rows find their bucket by this column, and would be "
                "looked for in another one: clone the table into a new one",
            )
        case Width.NARROWER:
            return Difference(
                safety=Safety.SAFE, description=f"~ {name}: {has} -> {wants}", changes=changes
            )
        case Width.WIDER:
            return Difference(
                safety=Safety.KEPT,
                description=f"{name}: {has}, wider than {wants} as declared",
                done_as=f"~ {name}: {has} -> {wants}",
                changes=changes,
                word="narrow",
                by_hand=not synced,
            )
    both = union(there, declared)
    hint = "" if both is None else f"; declare {type_text(both)}, which holds both"
    return Difference(
        safety=Safety.GUARDED,
        description=f"~ {name}: {has} -> {wants}{hint}",
        changes=changes,
        word="narrow",
    )


def _is_hashed(
    steps: tuple[str, ...], declared: DataType, there: DataType, table: TableSchema
) -> bool:
    """Whether another type gives rows another bucket: lengths of texts do not."""
    if table.bucket == -1 and not table.is_key_table:
        return False
    same_root = getattr(declared, "root", None) is getattr(there, "root", None)
    texts = same_root and getattr(declared, "length", 0) > 0
    return len(steps) == 1 and steps[0] in table.bucket_keys and not texts
