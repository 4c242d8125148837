"""The aggregate functions: which columns take each, its options, and the class that does it.

One row a function.  What a table may declare, what merges it and which options of a column are
known all come from here.  The list is that of Apache Paimon 2.0.0, which has no ``count``: a
``sum`` over a column of ones counts.

Source: ``org.apache.paimon.mergetree.compact.aggregate.factory``; format 8.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.kinds import (
    MAX_LENGTH,
    Array,
    Atomic,
    DataType,
    Map,
    Multiset,
    Root,
    Row,
    Vector,
)
from table_core.options import fits, parse
from table_core.options.option import Option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["AGGREGATE_FUNCTIONS", "FUNCTION_OPTIONS", "LAST_NON_NULL", "AggregateFunction", "Types"]

LAST_NON_NULL: Final = "last_non_null_value"


@dataclass(frozen=True, slots=True)
class Types:
    """Some types of columns: how a message calls them, and which they are."""

    words: str
    include: Callable[[DataType], bool]


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One aggregate function.

    ``declared`` is wider than ``merged`` for some: what Paimon lets a table say is read, though we
    refuse to merge such a column.
    """

    name: str
    aggregator: str | None
    """``module:Class`` in ``merge/aggregators``; ``Class.of`` makes it.  None: we do not merge by it."""
    merged: Types
    """Columns that the aggregator takes."""
    wider: Types | None = None
    options: tuple[Option[Any], ...] = ()
    """What ``fields.<column>.<key>`` says to it."""

    @property
    def declared(self) -> Types:
        """Columns that a table may declare it for."""
        return self.wider or self.merged


def _atomic(*roots: Root) -> Callable[[DataType], bool]:
    return lambda type_: isinstance(type_, Atomic) and type_.root in roots


def _unbounded_text(type_: DataType) -> bool:
    return isinstance(type_, Atomic) and type_.root is Root.VARCHAR and type_.length == MAX_LENGTH


def _map_of_rows(type_: DataType) -> bool:
    return isinstance(type_, Map) and isinstance(type_.value, Row)


def _map_of_long_rows(type_: DataType) -> bool:
    return isinstance(type_, Map) and isinstance(type_.value, Row) and len(type_.value.fields) > 1


def _array_of_rows(type_: DataType) -> bool:
    return isinstance(type_, Array) and isinstance(type_.element, Row)


_ANY: Final = Types("", lambda _: True)
_NUMBER: Final = Types(
    "a number",
    _atomic(
        *(Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT),
        *(Root.FLOAT, Root.DOUBLE, Root.DECIMAL),
    ),
)
_COMPARABLE: Final = Types(
    "comparable", _atomic(*frozenset(Root) - {Root.BOOLEAN, Root.VARIANT, Root.BLOB})
)
_BOOLEAN: Final = Types("BOOLEAN", _atomic(Root.BOOLEAN))
_STRING: Final = Types("STRING", _unbounded_text)
_TEXT: Final = Types("a text", _atomic(Root.CHAR, Root.VARCHAR))
_VARBINARY: Final = Types("VARBINARY", _atomic(Root.VARBINARY))
_BYTES: Final = Types("bytes", _atomic(Root.BINARY, Root.VARBINARY))
_ARRAY: Final = Types("ARRAY", lambda type_: isinstance(type_, Array))
_LIST: Final = Types("ARRAY or VECTOR", lambda type_: isinstance(type_, Array | Vector))
_ARRAY_OF_ROWS: Final = Types("ARRAY<ROW>", _array_of_rows)
_MAP: Final = Types("MAP", lambda type_: isinstance(type_, Map))
_MAP_OR_SET: Final = Types("MAP or MULTISET", lambda type_: isinstance(type_, Map | Multiset))
_MAP_OF_ROWS: Final = Types("MAP whose values are ROW", _map_of_rows)
_TIMED_MAP: Final = Types("MAP whose values are ROW of two members or more", _map_of_long_rows)

_DISTINCT: Final = Option("distinct", parse.boolean, False, "equal ones once")
_DELIMITER: Final = Option("list-agg-delimiter", str, ",", "between texts")
_TIME: Final = Option("ts-field", str, None, "member that holds the time; the last one")
_KEY: Final = Option("nested-key", str, None, "members that are the key of a nested row")
_KEY_NULLS: Final = Option(
    "nested-key-null-strategy",
    str,
    "merge",
    "what becomes of a key with NULL",
    fits=fits.one_of("merge", "ignore", "error"),
)
_SEQUENCE: Final = Option("nested-sequence-field", str, None, "members that order nested rows")
_LIMIT: Final = Option(
    "count-limit", parse.integer, 2**31 - 1, "most nested rows", fits=fits.at_least(1)
)

AGGREGATE_FUNCTIONS: Final[Mapping[str, AggregateFunction]] = {
    function.name: function
    for function in (
        AggregateFunction("sum", "numeric:Sum", _NUMBER),
        AggregateFunction("product", "product:Product", _NUMBER),
        AggregateFunction("max", "numeric:Extreme", _COMPARABLE),
        AggregateFunction("min", "numeric:Extreme", _COMPARABLE),
        AggregateFunction("last_value", "value:LastValue", _ANY),
        AggregateFunction(LAST_NON_NULL, "value:LastNonNull", _ANY),
        AggregateFunction("first_value", "value:FirstValue", _ANY),
        AggregateFunction("first_non_null_value", "value:FirstNonNull", _ANY),
        AggregateFunction("first_not_null_value", "value:FirstNonNull", _ANY),
        AggregateFunction("bool_and", "numeric:Both", _BOOLEAN),
        AggregateFunction("bool_or", "numeric:Either", _BOOLEAN),
        AggregateFunction("listagg", "text:ListAgg", _STRING, _TEXT, (_DELIMITER, _DISTINCT)),
        AggregateFunction("collect", "nested:Collect", _ARRAY, _LIST, (_DISTINCT,)),
        AggregateFunction("merge_map", "nested:MergeMap", _MAP, _MAP_OR_SET),
        AggregateFunction(
            "merge_map_with_keytime",
            "nested:MergeMapWithKeyTime",
            _TIMED_MAP,
            _MAP_OF_ROWS,
            (_TIME,),
        ),
        AggregateFunction(
            "nested_update",
            "nested:NestedUpdate",
            _ARRAY_OF_ROWS,
            options=(_KEY, _KEY_NULLS, _SEQUENCE, _LIMIT),
        ),
        AggregateFunction(
            "nested_partial_update",
            "nested:NestedPartialUpdate",
            _ARRAY_OF_ROWS,
            options=(_KEY, _KEY_NULLS),
        ),
        AggregateFunction("hll_sketch", "sketch:Union", _VARBINARY, _BYTES),
        AggregateFunction("theta_sketch", "sketch:Union", _VARBINARY, _BYTES),
        AggregateFunction("rbm32", "sketch:Union", _VARBINARY, _BYTES),
        AggregateFunction("rbm64", "sketch:Union", _VARBINARY, _BYTES),
        AggregateFunction("primary-key", None, _ANY),  # Paimon's own, of key columns
    )
}
"""By name."""
FUNCTION_OPTIONS: Final[Mapping[str, Option[Any]]] = {
    option.key: option for function in AGGREGATE_FUNCTIONS.values() for option in function.options
}
"""By what follows ``fields.<column>.``: the options of functions."""
