"""Options that speak of columns: ``fields.<column>.…``, sequence groups, aggregate functions.

Source: ``org.apache.paimon.schema.SchemaValidation``; format 8.5 and 8.6.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Array, Row
from table_core.options import keys_merge
from table_core.options.aggregate_functions import AGGREGATE_FUNCTIONS, LAST_NON_NULL
from table_core.options.table import COLUMN_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.schema.table_schema import TableSchema

__all__ = ["COLUMN_OPTION", "field_option_problems"]

_NESTED: Final = ("nested-key", "nested-key-null-strategy", "nested-sequence-field")
_NAMING: Final = frozenset({"nested-key", "nested-sequence-field", "ts-field"})
"""Options that name members of nested rows."""
COLUMN_OPTION: Final = re.compile(rf"fields\.(?P<columns>.+?)\.(?P<suffix>{COLUMN_SUFFIX})")
"""An option of one column, or of several joined by commas."""


def field_option_problems(schema: TableSchema) -> Iterator[str]:
    """Columns that do not exist, functions that do not fit, groups that overlap."""
    for key, value in schema.options.raw.items():
        if (match := COLUMN_OPTION.fullmatch(key)) is None:
            continue
        for name in match["columns"].split(","):
            if name.strip() not in schema.by_name:
                yield f"{key}: column {name.strip()!r} does not exist{_inside(schema, name)}"
        if match["suffix"] == "aggregate-function" and match["columns"] in schema.by_name:
            yield from _function(schema, match["columns"], value)
    default = schema.options.get(keys_merge.FIELDS_DEFAULT_AGGREGATE_FUNCTION)
    if default is not None and default not in AGGREGATE_FUNCTIONS:
        yield f"fields.default-aggregate-function: no function is called {default!r}"
    yield from _groups(schema)
    yield from _ungrouped(schema, default)


def _inside(schema: TableSchema, name: str) -> str:
    """A hint where ``name`` is a path into a ROW."""
    parent, dot, _ = name.partition(".")
    if dot and parent in schema.by_name:
        return f"; an option is of a whole column, such as {parent!r}, not of a member"
    return ""


def _ungrouped(schema: TableSchema, default: str | None) -> Iterator[str]:
    """Columns of a partial update that a default function would fold outside any group."""
    engine = schema.options.get(keys_merge.MERGE_ENGINE)
    if engine != "partial-update" or default in {None, LAST_NON_NULL}:
        return
    groups = _grouped(schema)
    inside = {name for group, names in groups.items() for name in (*group, *names)}
    for field in schema.fields:
        if field.name in inside or field.name in schema.primary_keys:
            continue
        if schema.options.for_column(field.name, "aggregate-function") is None:
            yield (
                f"fields.default-aggregate-function {default!r}: with merge-engine partial-update "
                f"column {field.name!r} must be in a sequence group"
            )


def _function(schema: TableSchema, column: str, function: str) -> Iterator[str]:
    where = f"fields.{column}.aggregate-function"
    known = AGGREGATE_FUNCTIONS.get(function)
    if known is None:
        there = sorted(AGGREGATE_FUNCTIONS)
        yield f"{where}: no function is called {function!r}; there are {there}"
    elif not known.declared.include(schema.field(column).type):
        yield f"{where}: {function} does not take the type of {column!r}"
    else:
        yield from _members(schema, column, function)
    if schema.options.get(keys_merge.MERGE_ENGINE) != "partial-update":
        return
    if function != LAST_NON_NULL and column not in {
        name for names in _grouped(schema).values() for name in names
    }:
        yield f"{where}: with merge-engine partial-update {column!r} must be in a sequence group"


def _members(schema: TableSchema, column: str, function: str) -> Iterator[str]:
    """Members of nested rows that the options of ``function`` name, and which of these options need others."""
    type_ = schema.field(column).type
    row = type_.element if isinstance(type_, Array) else getattr(type_, "value", None)
    if not isinstance(row, Row):
        return
    there = [member.name for member in row.fields]
    options = {
        suffix: text
        for suffix in (*_NESTED, "ts-field")
        if (text := schema.options.for_column(column, suffix)) is not None
    }
    for suffix in _NAMING & options.keys():
        for name in _split(options[suffix]):
            if name not in there:
                yield f"fields.{column}.{suffix}: there is no member {name!r}; there are {there}"
    if "nested-key" in options:
        return
    if function == "nested_partial_update":
        yield f"fields.{column}.nested-key: {function} needs it"
    for suffix in options:
        if function == "nested_update" and suffix in _NESTED:
            yield f"fields.{column}.{suffix} needs fields.{column}.nested-key"


def _grouped(schema: TableSchema) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Sequence columns to the columns that they protect."""
    groups = {}
    for key, value in schema.options.raw.items():
        match = COLUMN_OPTION.fullmatch(key)
        if match is not None and match["suffix"] == "sequence-group":
            groups[_split(match["columns"])] = _split(value)
    return groups


def _groups(schema: TableSchema) -> Iterator[str]:
    owner: dict[str, tuple[str, ...]] = {}
    for group, protected in _grouped(schema).items():
        where = f"fields.{','.join(group)}.sequence-group"
        for name in group:
            if name in schema.primary_keys:
                yield f"{where}: primary key column {name!r} cannot order a group"
        for name in protected:
            if name not in schema.by_name:
                yield f"{where}: column {name!r} does not exist"
            if name in schema.primary_keys:
                yield f"{where}: primary key column {name!r} cannot be in a group"
            if name in owner:
                yield f"{where}: column {name!r} is in the group of {list(owner[name])} already"
            owner[name] = group
    option = keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP
    sequences = {name for group in _grouped(schema) for name in group}
    for name in schema.options.get(option):
        if name not in sequences:
            yield f"{option.key}: {name!r} is no sequence column of a group"


def _split(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
