"""Aggregate functions by name: which fold a column's options ask for.

Source: ``org.apache.paimon.mergetree.compact.aggregate.factory``; spec 8.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Atomic, DataType, Field, Root
from table_core.datatypes.text import type_to_json
from table_core.errors import OptionError
from table_core.merge.fold_numeric import Both, Either, Extreme, Sum
from table_core.merge.fold_value import (
    FirstNonNull,
    FirstValue,
    Fold,
    IgnoreRetract,
    LastNonNull,
    LastValue,
)
from table_core.options import keys_merge, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.options.table import TableOptions

__all__ = ["COUNT", "LAST_NON_NULL", "fold_of", "function_of"]

COUNT: Final = "count"
LAST_NON_NULL: Final = "last_non_null_value"
_NUMBERS: Final = frozenset(
    {Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.FLOAT, Root.DOUBLE, Root.DECIMAL}
)
_INTEGERS: Final = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})
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


_FOLDS: Final[
    Mapping[str, tuple[Callable[[DataType], bool], str, Callable[[Field, TableOptions], Fold]]]
] = {
    "sum": (_number, "a number", lambda f, _: Sum(f.name)),
    COUNT: (_integer, "an integer", lambda f, _: Sum(f.name)),
    "max": (_ordered, "comparable", lambda f, _: Extreme(f.name, greatest=True)),
    "min": (_ordered, "comparable", lambda f, _: Extreme(f.name, greatest=False)),
    "last_value": (_anything, "", lambda _f, _o: LastValue()),
    LAST_NON_NULL: (_anything, "", lambda _f, _o: LastNonNull()),
    "first_value": (_anything, "", lambda f, _: FirstValue(f.name)),
    "first_non_null_value": (_anything, "", lambda f, _: FirstNonNull(f.name)),
    "first_not_null_value": (_anything, "", lambda f, _: FirstNonNull(f.name)),
    "bool_and": (_boolean, "BOOLEAN", lambda f, _: Both(f.name)),
    "bool_or": (_boolean, "BOOLEAN", lambda f, _: Either(f.name)),
}


def function_of(column: str, options: TableOptions) -> str | None:
    """The aggregate function that the options name for ``column``, or None."""
    own = options.for_column(column, "aggregate-function")
    return own or options.get(keys_merge.FIELDS_DEFAULT_AGGREGATE_FUNCTION)


def fold_of(field: Field, function: str, options: TableOptions) -> Fold:
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
    fold = build(field, options)
    if not _flag(field.name, "ignore-retract", options):
        return fold
    if options.get(keys_merge.AGGREGATION_REMOVE_RECORD_ON_DELETE):
        raise OptionError(
            f"'fields.{field.name}.ignore-retract' and 'aggregation.remove-record-on-delete' "
            "contradict each other; keep one",
            option=f"fields.{field.name}.ignore-retract",
            value="true",
        )
    return IgnoreRetract(fold)


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
