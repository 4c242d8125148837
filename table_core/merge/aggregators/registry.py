"""Aggregators by the function that a column's options name.

What only some functions need is imported when one of them is asked for.

Source: ``org.apache.paimon.mergetree.compact.aggregate.factory``; format 8.6.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from table_core.datatypes.text import type_to_json
from table_core.errors import OptionError
from table_core.merge.aggregators.column import FunctionColumn
from table_core.merge.aggregators.value import Aggregator, IgnoreRetract
from table_core.options import keys_merge
from table_core.options.aggregate_functions import AGGREGATE_FUNCTIONS

if TYPE_CHECKING:
    from table_core.datatypes.kinds import Field
    from table_core.options.table import TableOptions

__all__ = ["aggregator_of", "function_of"]


def function_of(column: str, options: TableOptions) -> str | None:
    """The aggregate function that the options name for ``column``, or None."""
    own = options.for_column(column, "aggregate-function")
    return own or options.get(keys_merge.FIELDS_DEFAULT_AGGREGATE_FUNCTION)


def aggregator_of(field: Field, function: str, options: TableOptions) -> Aggregator:
    """The aggregator that ``function`` is for ``field``, with the options of that column.

    Raises:
        OptionError: no such function, it does not take the column's type, or an option of it
            is wrong.
    """
    option = f"fields.{field.name}.aggregate-function"
    known = AGGREGATE_FUNCTIONS.get(function)
    if known is None or known.aggregator is None:
        merged_by = sorted(name for name, f in AGGREGATE_FUNCTIONS.items() if f.aggregator)
        raise OptionError(
            f"option {option!r}: there is no aggregate function {function!r}; "
            f"there are {', '.join(merged_by)}",
            option=option,
            value=function,
        )
    if not known.merged.include(field.type):
        raise OptionError(
            f"option {option!r}: {function!r} needs a column that is {known.merged.words}, and "
            f"{field.name!r} is {type_to_json(field.type)}",
            option=option,
            value=function,
        )
    column = FunctionColumn(field, function, options)
    aggregator = _aggregator(known.aggregator, column)
    if not column.flag("ignore-retract"):
        return aggregator
    if options.get(keys_merge.AGGREGATION_REMOVE_RECORD_ON_DELETE):
        raise OptionError(
            f"'fields.{field.name}.ignore-retract' and 'aggregation.remove-record-on-delete' "
            "contradict each other; keep one",
            option=f"fields.{field.name}.ignore-retract",
            value="true",
        )
    return IgnoreRetract(aggregator)


def _aggregator(home: str, column: FunctionColumn) -> Aggregator:
    module, _, name = home.partition(":")
    made: Aggregator = getattr(import_module(f"{__package__}.{module}"), name).of(column)
    return made
