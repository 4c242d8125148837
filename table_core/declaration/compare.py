"""What would have to change in a warehouse for it to be as declared, and what would be refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from table_core.datatypes.text import type_text
from table_core.declaration.document import schema_of
from table_core.errors import TableError
from table_core.schema import change
from table_core.schema.evolve import evolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.declaration.model import Declaration, TableDeclaration
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema

__all__ = ["Action", "TablePlan", "compare"]


class Action(StrEnum):
    """What a plan does to a table."""

    CREATE = "create"
    ALTER = "alter"
    NONE = "none"
    REFUSED = "refused"
    """It differs in what no change can mend, or in what is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """What is to be done to one table."""

    table: str
    action: Action
    wanted: TableDeclaration
    changes: tuple[SchemaChange, ...] = ()
    told: tuple[str, ...] = ()
    """The changes as people read them."""
    refused: tuple[str, ...] = ()
    """What cannot be done, and why."""
    kept: tuple[str, ...] = ()
    """What the table has and the declaration does not say: it stays."""

    def to_document(self) -> dict[str, object]:
        """JSON-safe members."""
        return {
            "table": self.table,
            "action": self.action.value,
            "changes": list(self.told),
            "refused": list(self.refused),
            "kept": list(self.kept),
        }


def compare(declaration: Declaration, current: Mapping[str, TableSchema | None]) -> list[TablePlan]:
    """A plan for each declared table, in their order; ``current`` has None where there is none.

    Nothing is ever dropped: columns and options that only the table has are ``kept``.
    """
    return [_plan(name, table, current.get(name)) for name, table in declaration.tables.items()]


def _plan(name: str, wanted: TableDeclaration, found: TableSchema | None) -> TablePlan:
    try:
        goal = schema_of(wanted)
    except TableError as error:
        return TablePlan(table=name, action=Action.REFUSED, wanted=wanted, refused=(str(error),))
    if found is None:
        return TablePlan(table=name, action=Action.CREATE, wanted=wanted, told=_columns(goal))
    refused = _unalterable(goal, found)
    proposed = [*_column_changes(goal, found), *_option_changes(wanted, goal, found)]
    accepted: list[SchemaChange] = []
    told: list[str] = []
    for one, text in proposed:
        try:
            evolve(found, [*accepted, one], has_snapshots=True, now_ms=0)
        except TableError as error:
            refused.append(f"{text}: {error}")
        else:
            accepted.append(one)
            told.append(text)
    action = Action.ALTER if accepted else Action.NONE
    return TablePlan(
        table=name,
        action=Action.REFUSED if refused else action,
        wanted=wanted,
        changes=tuple(accepted),
        told=tuple(told),
        refused=tuple(refused),
        kept=_kept(goal, found),
    )


def _columns(goal: TableSchema) -> tuple[str, ...]:
    return tuple(f"+ {field.name} {type_text(field.type)}" for field in goal.fields)


def _unalterable(goal: TableSchema, found: TableSchema) -> list[str]:
    pairs: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (
        ("primary key", found.primary_keys, goal.primary_keys),
        ("partition columns", found.partition_keys, goal.partition_keys),
    )
    return [
        f"{what} {list(has)} cannot become {list(wants)}: clone the table into a new one"
        for what, has, wants in pairs
        if tuple(has) != tuple(wants)
    ]


def _column_changes(goal: TableSchema, found: TableSchema) -> list[tuple[SchemaChange, str]]:
    changes: list[tuple[SchemaChange, str]] = []
    for field in goal.fields:
        wants = type_text(field.type)
        there = found.by_name.get(field.name)
        if there is None:
            add = change.AddColumn(field.name, field.type)
            changes.append((add, f"+ {field.name} {wants}"))
            continue
        has = type_text(there.type)
        if has == wants:
            continue
        text = f"~ {field.name}: {has} -> {wants}"
        if has.removesuffix(" NOT NULL") != wants.removesuffix(" NOT NULL"):
            changes.append((change.UpdateColumnType(field.name, field.type), text))
        if there.type.nullable != field.type.nullable:
            nullable = change.UpdateColumnNullability(field.name, field.type.nullable)
            changes.append((nullable, text))
    return changes


def _option_changes(
    wanted: TableDeclaration, goal: TableSchema, found: TableSchema
) -> list[tuple[SchemaChange, str]]:
    changes: list[tuple[SchemaChange, str]] = []
    for key, value in goal.raw_options.items():
        has = found.raw_options.get(key)
        if has != value:
            sign = "+" if has is None else "~"
            was = "" if has is None else f"{has!r} -> "
            more = "; then rescale what is there" if key == "bucket" else ""
            text = f"{sign} option {key} = {was}{value!r}{more}"
            changes.append((change.SetOption(key, value), text))
    if wanted.comment is not None and wanted.comment != found.comment:
        changes.append((change.UpdateComment(wanted.comment), f"~ comment = {wanted.comment!r}"))
    return changes


def _kept(goal: TableSchema, found: TableSchema) -> tuple[str, ...]:
    columns = [f.name for f in found.fields if f.name not in goal.by_name]
    options = [key for key in found.raw_options if key not in goal.raw_options]
    return (*(f"column {name}" for name in columns), *(f"option {key}" for key in options))
