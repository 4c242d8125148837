"""Whether newer rows of a key may be merged with each other before they meet the older ones.

A compaction of newer files alone does that. A partial update has (k, 5, NULL), then ``-D``, then
(k, NULL, x). All of it comes to (k, NULL, x). The last two alone come to (k, NULL, x) too, but as an add,
which leaves the 5 where it was.

With a ``sequence.field``, what was written later may be older: (k, 2, 5), then (k, 1, 4) and (k, 3, NULL),
each with its sequence in the middle. All of it comes to (k, 3, 5). The last two alone come to (k, 3, 4), and
3 is more than 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.merge.engines.engine import aggregators_of, order_of
from table_core.options import keys_merge

if TYPE_CHECKING:
    from table_core.merge.aggregators.value import Aggregator
    from table_core.schema.table_schema import TableSchema

__all__ = ["orders_in_parts", "takes_back_in_parts"]


def takes_back_in_parts(schema: TableSchema) -> bool:
    """Whether that holds for rows with retracts among them.

    A sum takes back from nothing: its result is negative, and the older rows make it right.
    """
    options = schema.options
    if _keeps_one_row(schema) or options.get(keys_merge.IGNORE_DELETE):
        return True
    if options.get(keys_merge.MERGE_ENGINE) != "aggregation":
        return False
    if options.get(keys_merge.AGGREGATION_REMOVE_RECORD_ON_DELETE):
        return False
    from table_core.merge.aggregators.numeric import Sum
    from table_core.merge.aggregators.value import IgnoreRetract, KeyColumn

    return all(isinstance(one, Sum | KeyColumn | IgnoreRetract) for one in _aggregators(schema))


def orders_in_parts(schema: TableSchema) -> bool:
    """Whether that holds for rows that come in another order than their ``sequence.field`` says."""
    if _keeps_one_row(schema) or not order_of(schema).sequence_fields:
        return True
    if schema.options.get(keys_merge.MERGE_ENGINE) != "aggregation":
        return False
    from table_core.merge.aggregators.numeric import Both, Either, Extreme, Sum
    from table_core.merge.aggregators.value import KeyColumn, LastValue

    in_any_order = Sum | Extreme | Both | Either | KeyColumn | LastValue
    return all(isinstance(one, in_any_order) for one in _aggregators(schema))


def _keeps_one_row(schema: TableSchema) -> bool:
    return schema.options.get(keys_merge.MERGE_ENGINE) in {"deduplicate", "first-row"}


def _aggregators(schema: TableSchema) -> list[Aggregator]:
    """Those of the columns that do not order."""
    order = order_of(schema)
    by_name = aggregators_of(schema, order, [field.name for field in schema.fields])
    return [one for name, one in by_name.items() if name not in order.sequence_fields]
