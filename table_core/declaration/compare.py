"""What would have to change in a warehouse for it to be as declared, and what would be refused.

Compared is what things mean: options by their values and not by their names or spelling, columns by
their types.  What holds more than declared stays; what would take something away needs a word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from table_core.datatypes.text import type_text
from table_core.declaration.difference import (
    Difference,
    Safety,
    column_differences,
    option_differences,
    order_difference,
    stored_with,
)
from table_core.declaration.model import older_names
from table_core.declaration.table_schema import schema_of
from table_core.errors import TableError
from table_core.options import keys_identity, keys_merge
from table_core.options.table import TableOptions
from table_core.schema import change
from table_core.schema.evolve import evolve
from table_core.schema.nested import path_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.declaration.model import TableDeclaration
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema

__all__ = ["Action", "CurrentTable", "TablePlan", "plan_of"]

_NOT_ALTERED: Final = "clone the table into a new one that is as declared, and give it the old name"


class Action(StrEnum):
    """What a plan does to a table."""

    CREATE = "create"
    ALTER = "alter"
    NONE = "none"
    REFUSED = "refused"
    """It differs in what no change can mend, or in what is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentTable:
    """A table as it is in the warehouse."""

    schema: TableSchema
    has_snapshots: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """What is to be done to one table."""

    table: str
    action: Action
    wanted: TableDeclaration
    schema: int | None = None
    """The id of the schema that was looked at; None where there was no table."""
    changes: tuple[SchemaChange, ...] = ()
    told: tuple[str, ...] = ()
    """The changes as people read them."""
    refused: tuple[str, ...] = ()
    """What is not done and why, also what needs a word; then nothing is."""
    kept: tuple[str, ...] = ()
    """What the table has and the declaration does not say: it stays."""
    fixed: tuple[str, ...] = ()
    """Of a table to be made: what can never be changed."""
    renamed_from: str | None = None
    """The table that is to get this name first."""
    differences: tuple[Difference, ...] = ()
    """All of that, each with its class."""
    allow: frozenset[str] = frozenset()
    """The words that it was made with, beside those of the table."""
    synced: bool = False
    """Whether a source of changes fills the table."""

    @property
    def drift(self) -> tuple[str, ...]:
        """What is not as declared and not the work of a sync that the declaration has."""
        return tuple(one.description for one in self.differences if one.by_hand)

    def to_document(self) -> dict[str, object]:
        """JSON-safe members."""
        renamed = {} if self.renamed_from is None else {"renamed_from": self.renamed_from}
        return {
            "table": self.table,
            "action": self.action.value,
            "changes": list(self.told),
            "refused": list(self.refused),
            "kept": list(self.kept),
            "fixed": list(self.fixed),
            "schema": self.schema,
            "differences": [one.to_document() for one in self.differences],
            **renamed,
        }


def plan_of(
    name: str,
    wanted: TableDeclaration,
    current: CurrentTable | None,
    *,
    allow: frozenset[str] = frozenset(),
    synced: bool = False,
) -> TablePlan:
    """What is to be done to ``name`` so that it is as ``wanted``.

    Args:
        name: the table.
        wanted: what is declared.
        current: what there is; None where there is no such table.
        allow: words for what takes something away, beside those of ``wanted``.
        synced: whether a source of changes fills the table.
    """
    try:
        goal = schema_of(wanted)
    except TableError as error:
        return TablePlan(table=name, action=Action.REFUSED, wanted=wanted, refused=(str(error),))
    if current is None:
        return replace(_creation(name, wanted, goal), allow=allow, synced=synced)
    allowed = allow | frozenset(wanted.allow)
    schema, renames = _renamed(current.schema, wanted)
    declared = frozenset(TableOptions.parse(dict(wanted.options)).raw)
    proposed = [
        *renames,
        *_unalterable(goal, schema),
        *(_with_computed(one, wanted) for one in column_differences(goal, schema, synced=synced)),
        *option_differences(goal, schema, declared=declared, has_snapshots=current.has_snapshots),
    ]
    dropped = "drop" in allowed
    gone = {field.name for field in schema.fields if field.name not in goal.by_name and dropped}
    moved = order_difference(goal, schema, gone)
    if moved is not None:
        proposed.append(moved)
    made = _planned(name, wanted, current, _decided(current, proposed, allowed))
    return replace(made, allow=allow, synced=synced)


def _creation(name: str, wanted: TableDeclaration, goal: TableSchema) -> TablePlan:
    options = goal.options
    bucket = options.get(keys_identity.BUCKET)
    fixed = [
        f"primary key {', '.join(goal.primary_keys)}" if goal.primary_keys else "no primary key",
        f"partitioned by {', '.join(goal.partition_keys)}" if goal.partition_keys else "",
        f"bucket {bucket}" + (f" by {', '.join(goal.bucket_keys)}" if bucket > 0 else ""),
        f"merge engine {options.get(keys_merge.MERGE_ENGINE)}" if goal.primary_keys else "",
    ]
    told = (
        *(
            f"+ {field.name} {type_text(field.type)}{_computed(field.name, wanted)}{stored_with(field)}"
            for field in goal.fields
        ),
        *(f"+ option {key} = {value}" for key, value in wanted.options.items()),
        *([f"+ comment {wanted.comment!r}"] if wanted.comment else []),
    )
    creation = Difference(safety=Safety.SAFE, description="no such table")
    return TablePlan(
        table=name,
        action=Action.CREATE,
        wanted=wanted,
        told=told,
        fixed=tuple(filter(None, fixed)),
        differences=(creation,),
    )


def _computed(column: str, wanted: TableDeclaration) -> str:
    """How a column is computed, behind its type."""
    return f" = {wanted.computed[column]}" if column in wanted.computed else ""


def _with_computed(difference: Difference, wanted: TableDeclaration) -> Difference:
    """With how the column is computed that it adds."""
    columns = {path_text([column]): column for column in wanted.computed}
    for addition in difference.changes:
        if isinstance(addition, change.AddColumn) and addition.name in columns:
            more = "; NULL in rows that are there"
            return replace(
                difference,
                description=f"{difference.description}{_computed(columns[addition.name], wanted)}{more}",
            )
    return difference


def _renamed(schema: TableSchema, wanted: TableDeclaration) -> tuple[TableSchema, list[Difference]]:
    """``schema`` with the columns that ``moved`` names renamed, and what does it."""
    differences = []
    for new in wanted.moved.values():
        old = next((one for one in older_names(wanted.moved, new) if one in schema.by_name), None)
        if old is None or new in schema.by_name or new in wanted.moved:
            continue  # it was renamed before; a source may have brought the old name again
        rename = change.RenameColumn(old, new)
        description = f"~ rename column {old} to {new}"
        try:
            schema = evolve(schema, [rename], has_snapshots=True, now_ms=0)
        except TableError as error:
            description = f"{description}: {error}"
            differences.append(Difference(safety=Safety.REFUSED, description=description))
        else:
            differences.append(
                Difference(safety=Safety.SAFE, description=description, changes=(rename,))
            )
    return schema, differences


def _unalterable(goal: TableSchema, current: TableSchema) -> list[Difference]:
    pairs: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (
        ("primary key", current.primary_keys, goal.primary_keys),
        ("partition columns", current.partition_keys, goal.partition_keys),
    )
    return [
        Difference(
            safety=Safety.REFUSED,
            description=f"{member} {list(has)} cannot become {list(wants)}: {_NOT_ALTERED}",
        )
        for member, has, wants in pairs
        if tuple(has) != tuple(wants)
    ]


def _decided(
    current: CurrentTable, proposed: Iterable[Difference], allowed: frozenset[str]
) -> list[Difference]:
    """Each difference as it comes out: what may be done and can be is safe."""
    decided: list[Difference] = []
    doable: list[Difference] = []
    for difference in proposed:
        if difference.word in allowed:
            doable.append(_allowed(difference))
        elif difference.safety is Safety.SAFE:
            doable.append(difference)
        elif difference.safety is Safety.GUARDED:
            decided.append(
                replace(
                    difference,
                    description=f"{difference.description}: needs allow: [{difference.word}]",
                )
            )
        else:
            decided.append(difference)
    return [*_possible(current, doable), *decided]


def _allowed(difference: Difference) -> Difference:
    """``difference`` as one that is safe, because a word allows it."""
    if difference.safety is Safety.GUARDED:
        verb = ""
    else:
        verb = "~ " if difference.word == "narrow" else "- "
    description = difference.done_as or f"{verb}{difference.description}"
    return replace(difference, safety=Safety.SAFE, description=description)


def _possible(current: CurrentTable, doable: Sequence[Difference]) -> list[Difference]:
    """``doable``, together if that works; else each that works beside those before it."""
    if _refusal(current, _changes_of(doable)) is None:
        return list(doable)
    accepted: list[Difference] = []
    left = list(doable)
    while True:
        changes = _changes_of(accepted)
        fits = next((o for o in left if _refusal(current, [*changes, *o.changes]) is None), None)
        if fits is None:
            break
        accepted.append(fits)
        left.remove(fits)
    changes = _changes_of(accepted)
    refused = [
        replace(
            difference,
            safety=Safety.REFUSED,
            description=f"{difference.description}: {_refusal(current, [*changes, *difference.changes])}",
        )
        for difference in left
    ]
    return [*accepted, *refused]


def _changes_of(differences: Iterable[Difference]) -> list[SchemaChange]:
    return [change for difference in differences for change in difference.changes]


def _refusal(current: CurrentTable, changes: Sequence[SchemaChange]) -> str | None:
    if not changes:
        return None
    try:
        evolve(current.schema, changes, has_snapshots=current.has_snapshots, now_ms=0)
    except TableError as error:
        return str(error)
    return None


def _planned(
    name: str, wanted: TableDeclaration, current: CurrentTable, differences: Sequence[Difference]
) -> TablePlan:
    done = [difference for difference in differences if difference.safety is Safety.SAFE]
    refused = [
        difference
        for difference in differences
        if difference.safety in {Safety.GUARDED, Safety.REFUSED}
    ]
    changes = tuple(_changes_of(done))
    action = Action.REFUSED if refused else Action.ALTER if changes else Action.NONE
    return TablePlan(
        table=name,
        action=action,
        wanted=wanted,
        schema=current.schema.id,
        changes=changes,
        told=tuple(difference.description for difference in done),
        refused=tuple(difference.description for difference in refused),
        kept=tuple(
            difference.description for difference in differences if difference.safety is Safety.KEPT
        ),
        differences=tuple(differences),
    )
