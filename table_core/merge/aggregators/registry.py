"""Aggregate functions by name: which fold a column's options ask for.

What only some functions need is imported when one of them is asked for.

Source: ``org.apache.paimon.mergetree.compact.aggregate.factory``; format 8.6.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import MAX_LENGTH, Array, Atomic, DataType, Field, Map, Root, Row
from table_core.datatypes.text import type_to_json
from table_core.errors import OptionError
from table_core.merge.aggregators.value import (
    Aggregator,
    FirstNonNull,
    FirstValue,
    IgnoreRetract,
    LastNonNull,
    LastValue,
)
from table_core.options import keys_merge, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.merge.aggregators.nested import KeyNulls
    from table_core.options.table import TableOptions

__all__ = ["COUNT", "LAST_NON_NULL", "aggregator_of", "function_of"]

COUNT: Final = "count"
LAST_NON_NULL: Final = "last_non_null_value"
_NUMBERS: Final = frozenset(
    {Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.FLOAT, Root.DOUBLE, Root.DECIMAL}
)
_INTEGERS: Final = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})
_UNIONS: Final = ("theta_sketch", "hll_sketch", "rbm32", "rbm64")
_UNORDERED: Final = frozenset({Root.VARIANT, Root.BLOB})


def _anything(_: DataType) -> bool:
    return True


def _number(type_: DataType) -> bool:
    return isinstance(type_, Atomic) and type_.root in _NUMBERS


def _integer(type_: DataType) -> bool:
    return isinstance(type_, Atomic) and type_.root in _INTEGERS


def _ordered(type_: DataType) -> bool:
    return isinstance(type_, Atomic) and type_.root not in _UNORDERED


def _boolean(type_: DataType) -> bool:
    return isinstance(type_, Atomic) and type_.root is Root.BOOLEAN


def _unbounded_text(type_: DataType) -> bool:
    return isinstance(type_, Atomic) and type_.root is Root.VARCHAR and type_.length == MAX_LENGTH


def _array(type_: DataType) -> bool:
    return isinstance(type_, Array)


def _map(type_: DataType) -> bool:
    return isinstance(type_, Map)


def _map_of_rows(type_: DataType) -> bool:
    return isinstance(type_, Map) and isinstance(type_.value, Row) and len(type_.value.fields) > 1


def _array_of_rows(type_: DataType) -> bool:
    return isinstance(type_, Array) and isinstance(type_.element, Row)


def _bytes(type_: DataType) -> bool:
    return isinstance(type_, Atomic) and type_.root is Root.VARBINARY


def _sum(field: Field, _: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.numeric import Sum

    return Sum(field.name)


def _product(field: Field, _: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.product import Product

    return Product(field.name)


def _extreme(field: Field, _: TableOptions, *, greatest: bool) -> Aggregator:
    from table_core.merge.aggregators.numeric import Extreme

    return Extreme(field.name, greatest=greatest)


def _both(field: Field, _: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.numeric import Both

    return Both(field.name)


def _either(field: Field, _: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.numeric import Either

    return Either(field.name)


def _union(field: Field, _: TableOptions, *, function: str) -> Aggregator:
    from table_core.merge.aggregators.sketch import Union

    return Union(field.name, function)


def _list_agg(field: Field, options: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.text import ListAgg

    delimiter = options.for_column(field.name, "list-agg-delimiter")
    distinct = _flag(field.name, "distinct", options)
    if distinct and delimiter == "":
        raise _wrong(field, "list-agg-delimiter", delimiter, "distinct needs a delimiter")
    return ListAgg(field.name, "," if delimiter is None else delimiter, distinct)


def _collect(field: Field, options: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.nested import Collect

    return Collect(_flag(field.name, "distinct", options))


def _merge_map(_: Field, _options: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.nested import MergeMap

    return MergeMap()


def _merge_map_with_keytime(field: Field, options: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.nested import MergeMapWithKeyTime

    assert isinstance(field.type, Map)
    row = field.type.value
    assert isinstance(row, Row)
    members = {f.name: f for f in row.fields}
    given = options.for_column(field.name, "ts-field")
    time = members.get(row.fields[-1].name if given is None else given)
    if time is None:
        raise _wrong(field, "ts-field", given, f"there is none; there are {list(members)}")
    if not (isinstance(time.type, Atomic) and time.type.root in {Root.VARCHAR, Root.CHAR}):
        raise _wrong(field, "ts-field", time.name, "the time must be a STRING")
    return MergeMapWithKeyTime(field.name, time.name)


def _nested_update(field: Field, options: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.nested import NO_LIMIT, NestedUpdate

    sequence = _members(field, "nested-sequence-field", options)
    nulls = _key_nulls(field, options)
    if sequence and not nulls.key:
        text = ",".join(sequence)
        raise _wrong(field, "nested-sequence-field", text, "it needs a nested-key")
    limit = options.for_column(field.name, "count-limit")
    try:
        return NestedUpdate(nulls, sequence, NO_LIMIT if limit is None else parse.integer(limit))
    except ValueError as error:
        raise _wrong(field, "count-limit", limit, str(error)) from error


def _nested_partial_update(field: Field, options: TableOptions) -> Aggregator:
    from table_core.merge.aggregators.nested import NestedPartialUpdate

    nulls = _key_nulls(field, options)
    if not nulls.key:
        raise _wrong(field, "nested-key", None, "'nested_partial_update' needs it")
    return NestedPartialUpdate(nulls)


def _key_nulls(field: Field, options: TableOptions) -> KeyNulls:
    from table_core.merge.aggregators.nested import KeyNulls

    key = _members(field, "nested-key", options)
    strategy = options.for_column(field.name, "nested-key-null-strategy")
    if strategy is None:
        return KeyNulls(field.name, key)
    if strategy.lower() not in {"merge", "ignore", "error"}:
        raise _wrong(field, "nested-key-null-strategy", strategy, "use merge, ignore or error")
    if not key:
        raise _wrong(field, "nested-key-null-strategy", strategy, "it needs a nested-key")
    return KeyNulls(field.name, key, strategy.lower())


def _members(field: Field, suffix: str, options: TableOptions) -> tuple[str, ...]:
    """The members of the nested row that ``fields.<c>.<suffix>`` names."""
    assert isinstance(field.type, Array)
    row = field.type.element
    assert isinstance(row, Row)
    text = options.for_column(field.name, suffix)
    names = () if text is None else parse.column_list(text)
    known = [f.name for f in row.fields]
    for name in names:
        if name not in known:
            raise _wrong(field, suffix, text, f"there is no {name!r}; there are {known}")
    return names


def _wrong(field: Field, suffix: str, value: str | None, why: str) -> OptionError:
    option = f"fields.{field.name}.{suffix}"
    return OptionError(f"option {option!r} cannot be {value!r}: {why}", option=option, value=value)


_FOLDS: Final[
    Mapping[
        str, tuple[Callable[[DataType], bool], str, Callable[[Field, TableOptions], Aggregator]]
    ]
] = {
    "sum": (_number, "a number", _sum),
    "product": (_number, "a number", _product),
    COUNT: (_integer, "an integer", _sum),
    "max": (_ordered, "comparable", partial(_extreme, greatest=True)),
    "min": (_ordered, "comparable", partial(_extreme, greatest=False)),
    "last_value": (_anything, "", lambda _f, _o: LastValue()),
    LAST_NON_NULL: (_anything, "", lambda _f, _o: LastNonNull()),
    "first_value": (_anything, "", lambda f, _: FirstValue(f.name)),
    "first_non_null_value": (_anything, "", lambda f, _: FirstNonNull(f.name)),
    "first_not_null_value": (_anything, "", lambda f, _: FirstNonNull(f.name)),
    "bool_and": (_boolean, "BOOLEAN", _both),
    "bool_or": (_boolean, "BOOLEAN", _either),
    "listagg": (_unbounded_text, "STRING", _list_agg),
    "collect": (_array, "ARRAY", _collect),
    "merge_map": (_map, "MAP", _merge_map),
    "merge_map_with_keytime": (
        _map_of_rows,
        "MAP whose values are ROW of two members or more",
        _merge_map_with_keytime,
    ),
    "nested_update": (_array_of_rows, "ARRAY<ROW>", _nested_update),
    "nested_partial_update": (_array_of_rows, "ARRAY<ROW>", _nested_partial_update),
    **{name: (_bytes, "VARBINARY", partial(_union, function=name)) for name in _UNIONS},
}


def function_of(column: str, options: TableOptions) -> str | None:
    """The aggregate function that the options name for ``column``, or None."""
    own = options.for_column(column, "aggregate-function")
    return own or options.get(keys_merge.FIELDS_DEFAULT_AGGREGATE_FUNCTION)


def aggregator_of(field: Field, function: str, options: TableOptions) -> Aggregator:
    """The fold that ``function`` is for ``field``, with the options of that column.

    Raises:
        OptionError: no such function, it does not take the column's type, or an option of it
            is wrong.
    """
    option = f"fields.{field.name}.aggregate-function"
    found = _FOLDS.get(function)
    if found is None:
        raise OptionError(
            f"option {option!r}: there is no aggregate function {function!r}; "
            f"there are {', '.join(sorted(_FOLDS))}",
            option=option,
            value=function,
        )
    accepts, what, build = found
    if not accepts(field.type):
        raise OptionError(
            f"option {option!r}: {function!r} needs a column that is {what}, and "
            f"{field.name!r} is {type_to_json(field.type)}",
            option=option,
            value=function,
        )
    aggregator = build(field, options)
    if not _flag(field.name, "ignore-retract", options):
        return aggregator
    if options.get(keys_merge.AGGREGATION_REMOVE_RECORD_ON_DELETE):
        raise OptionError(
            f"'fields.{field.name}.ignore-retract' and 'aggregation.remove-record-on-delete' "
            "contradict each other; keep one",
            option=f"fields.{field.name}.ignore-retract",
            value="true",
        )
    return IgnoreRetract(aggregator)


def _flag(column: str, suffix: str, options: TableOptions) -> bool:
    text = options.for_column(column, suffix)
    if text is None:
        return False
    try:
        return parse.boolean(text)
    except ValueError as error:
        option = f"fields.{column}.{suffix}"
        raise OptionError(
            f"option {option!r} cannot be {text!r}: {error}", option=option, value=text
        ) from error
