"""Options that speak of columns: ``fields.<column>.…``, sequence groups, aggregate functions.

Source: ``org.apache.paimon.schema.SchemaValidation``; format 8.5 and 8.6.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Array, Atomic, DataType, Map, Multiset, Root, Row, Vector
from table_core.options import keys_merge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.schema.table_schema import TableSchema

__all__ = ["COLUMN_OPTION", "field_option_problems"]

COLUMN_OPTION: Final = re.compile(
    r"""fields\.(?P<columns>.+?)\.(?P<suffix>aggregate-function|ignore-retract|distinct
    |list-agg-delimiter|nested-key-null-strategy|nested-key|count-limit|stats-mode|sequence-group
    |ts-field|nested-sequence-field|map\..+)""",
    re.VERBOSE,
)
"""An option of one column, or of several joined by commas."""

_NUMERIC: Final = frozenset(
    {
        Root.TINYINT,
        Root.SMALLINT,
        Root.INT,
        Root.BIGINT,
        Root.FLOAT,
        Root.DOUBLE,
        Root.DECIMAL,
    }
)
_COMPARABLE: Final = frozenset(Root) - {Root.VARIANT, Root.BLOB}
_TEXT: Final = frozenset({Root.CHAR, Root.VARCHAR})
_BYTES: Final = frozenset({Root.BINARY, Root.VARBINARY})
_ANY: Final = ("last_value", "last_non_null_value", "first_value", "first_non_null_value")
_ATOMIC_FUNCTIONS: Final[dict[str, frozenset[Root]]] = {
    "sum": _NUMERIC,
    "product": _NUMERIC,
    "max": _COMPARABLE,
    "min": _COMPARABLE,
    "listagg": _TEXT,
    "bool_and": frozenset({Root.BOOLEAN}),
    "bool_or": frozenset({Root.BOOLEAN}),
    "hll_sketch": _BYTES,
    "theta_sketch": _BYTES,
    "rbm32": _BYTES,
    "rbm64": _BYTES,
}
_NESTED_FUNCTIONS: Final = frozenset(
    {"collect", "merge_map", "merge_map_with_keytime", "nested_update", "nested_partial_update"}
)
_KNOWN: Final = frozenset(
    {*_ANY, "first_not_null_value", "primary-key", *_ATOMIC_FUNCTIONS, *_NESTED_FUNCTIONS}
)


def field_option_problems(schema: TableSchema) -> Iterator[str]:
    """Columns that do not exist, functions that do not fit, groups that overlap."""
    for key, value in schema.options.raw.items():
        if (match := COLUMN_OPTION.fullmatch(key)) is None:
            continue
        for name in match["columns"].split(","):
            if name.strip() not in schema.by_name:
                yield f"{key}: column {name.strip()!r} does not exist"
        if match["suffix"] == "aggregate-function" and match["columns"] in schema.by_name:
            yield from _function(schema, match["columns"], value)
    default = schema.options.get(keys_merge.FIELDS_DEFAULT_AGGREGATE_FUNCTION)
    if default is not None and default not in _KNOWN:
        yield f"fields.default-aggregate-function: no function is called {default!r}"
    yield from _groups(schema)


def _function(schema: TableSchema, column: str, function: str) -> Iterator[str]:
    where = f"fields.{column}.aggregate-function"
    if function not in _KNOWN:
        yield f"{where}: no function is called {function!r}; there are {sorted(_KNOWN)}"
    elif not _fits(function, schema.field(column).type):
        yield f"{where}: {function} does not take the type of {column!r}"
    if schema.options.get(keys_merge.MERGE_ENGINE) != "partial-update":
        return
    if function != "last_non_null_value" and column not in {
        name for names in _grouped(schema).values() for name in names
    }:
        yield f"{where}: with merge-engine partial-update {column!r} must be in a sequence group"


def _fits(function: str, type_: DataType) -> bool:
    if (roots := _ATOMIC_FUNCTIONS.get(function)) is not None:
        return isinstance(type_, Atomic) and type_.root in roots
    if function == "collect":
        return isinstance(type_, Array | Vector)
    if function == "merge_map":
        return isinstance(type_, Map | Multiset)
    if function == "merge_map_with_keytime":
        return isinstance(type_, Map) and isinstance(type_.value, Row)
    if function in {"nested_update", "nested_partial_update"}:
        return isinstance(type_, Array) and isinstance(type_.element, Row)
    return True


def _grouped(schema: TableSchema) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Sequence columns to the columns that they protect."""
    found = {}
    for key, value in schema.options.raw.items():
        match = COLUMN_OPTION.fullmatch(key)
        if match is not None and match["suffix"] == "sequence-group":
            found[_split(match["columns"])] = _split(value)
    return found


def _groups(schema: TableSchema) -> Iterator[str]:
    owner: dict[str, tuple[str, ...]] = {}
    for group, protected in _grouped(schema).items():
        where = f"fields.{','.join(group)}.sequence-group"
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
