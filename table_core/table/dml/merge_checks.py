"""What is asked of a merge before a row is looked at: its clauses, its columns, its expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import ArgumentError
from table_core.schema.column_names import column_names
from table_core.table.dml.expressions import refuse_wrong_condition, refuse_wrong_values
from table_core.table.dml.merge_clauses import deletes, needs_source, needs_target
from table_core.table.dml.row_deletes import refuse_deletes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from table_core.table.dml.merge_clauses import MergeClause
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "columns_of",
    "keys_move",
    "refuse_absent",
    "refuse_clauses",
    "refuse_wrong_expressions",
    "source_column",
]


def refuse_clauses(access: TableAccess, when: Sequence[MergeClause]) -> None:
    """Refuse a merge that cannot change anything, or deletes where a ``-D`` takes no row away.

    Raises:
        ArgumentError: no clause.
        NotFoundError: a clause sets a column that the table has not.
        UnsupportedFeatureError: a clause deletes, and the table does not.
    """
    if not when:
        raise ArgumentError("merge_into without a clause changes nothing", argument="when")
    for clause in when:
        access.schema.select(getattr(clause, "values", None) or ())  # refuses unknown columns
    if access.schema.is_key_table and any(map(deletes, when)):
        refuse_deletes(access.schema)


def refuse_wrong_expressions(
    access: TableAccess,
    source: pa.Schema,
    on: Mapping[str, str],
    when: Sequence[MergeClause],
) -> None:
    """Refuse expressions of clauses before a row is looked at, as an engine refuses them when it plans.

    Raises:
        ArgumentError: ``on`` names a column that the source has not.
        PredicateError: an expression does not parse, or names what is not there.
        DataError: a value has a type that its column cannot take.
    """
    refuse_absent({n: source_column(source.names, s) or s for n, s in on.items()}, source.names)
    both = {"target": arrow_schema(access.schema.fields), "source": source}
    for clause in when:
        what, sides = type(clause).__name__, _sides(clause, both)
        refuse_wrong_condition(what, clause.condition, sides)
        refuse_wrong_values(access.schema, getattr(clause, "values", None) or {}, sides)


def _sides(clause: MergeClause, both: Mapping[str, pa.Schema]) -> dict[str, pa.Schema]:
    """Of both sides those that have a row where the clause is asked."""
    has = {"target": needs_target(clause), "source": needs_source(clause)}
    return {prefix: side for prefix, side in both.items() if has[prefix]}


def refuse_absent(on: Mapping[str, str], source: Sequence[str]) -> None:
    """Refuse a merge on columns that the source has not."""
    missing = [name for name in on.values() if name not in source]
    if missing:
        raise ArgumentError(
            f"on: the source has no column {missing}; it has {source}",
            argument="on",
            value=missing,
        )


def source_column(source: Sequence[str], name: str) -> str | None:
    """The column of the source that is called ``name``, in any case if none is spelled so; None without.

    Raises:
        ArgumentError: several are.
    """
    if name in source:
        return name
    matches = [column for column in source if column.lower() == name.lower()]
    if len(matches) > 1:
        raise ArgumentError(
            f"the source has {matches}, so nobody can tell which of them is {name!r}; use its exact name",
            argument="source",
            value=matches,
        )
    return matches[0] if matches else None


def columns_of(access: TableAccess, on: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Target column to source column."""
    pairs = dict(on) if isinstance(on, Mapping) else {n: n for n in column_names("on", on)}
    if not pairs:
        raise ArgumentError("on: name the columns that must be equal", argument="on", value=on)
    access.schema.select(pairs)  # refuses unknown columns by name
    return pairs


def keys_move(
    access: TableAccess,
    source: Sequence[str],
    on: Mapping[str, str],
    when: Sequence[MergeClause],
) -> bool:
    """Whether a row could come to a key that it is not matched by.

    A row that is not matched by more than the key may have the key of one that is there, and so may a row
    whose key a default completes.  0.0 and -0.0 match, and are two keys.
    """
    key = access.schema.select(access.schema.primary_keys)
    floats = {Root.FLOAT, Root.DOUBLE}
    if any(isinstance(field.type, Atomic) and field.type.root in floats for field in key):
        return True
    narrower = not set(on) <= {field.name for field in key}
    completed = any(field.default is not None for field in key)
    return any(
        ((narrower or completed) and not needs_target(clause))
        or not _stays(clause, field.name, source, on)
        for clause in when
        if not deletes(clause)
        for field in key
    )


def _stays(clause: MergeClause, name: str, source: Sequence[str], on: Mapping[str, str]) -> bool:
    values: Mapping[str, str] | None = getattr(clause, "values", None)
    theirs = on.get(name)
    if values is not None:
        return (
            name not in values
            if needs_target(clause)
            else theirs is not None and values.get(name) == f"source.{theirs}"
        )
    brought = source_column(source, name)
    if brought is None:
        return needs_target(clause)
    return theirs is not None and source_column(source, theirs) == brought
