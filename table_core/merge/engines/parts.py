"""Whether newer rows of a key may be merged with each other before they meet the older ones.

A compaction of newer files alone does that. A partial update has (k, 5, NULL), then ``-D``, then
(k, NULL, x). All of it comes to (k, NULL, x). The last two alone come to (k, NULL, x) too, but as an add,
which leaves the 5 where it was.

With a ``sequence.field``, what was written later may be older: (k, 2, 5), then (k, 1, 4) and (k, 3, NULL),
each with its sequence in the middle. All of it comes to (k, 3, 5). The last two alone come to (k, 3, 4), and
3 is more than 2. In a sequence group that is so for functions that look at the order, such as ``first_value``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.merge.engines.engine import aggregators_of, order_of
from table_core.options import keys_merge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.merge.aggregators.value import Aggregator
    from table_core.schema.table_schema import TableSchema

__all__ = ["deciding_sequences", "takes_back_in_parts"]


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


def deciding_sequences(schema: TableSchema) -> tuple[tuple[str, ...], ...]:
    """The sequences by which rows must come in order, so that it holds; none: it holds in any order."""
    engine = schema.options.get(keys_merge.MERGE_ENGINE)
    if engine not in {"aggregation", "partial-update"}:
        return ()
    of_rows = order_of(schema).sequence_fields
    if engine == "aggregation":
        matters = of_rows and not _in_any_order(_aggregators(schema))
        return (of_rows,) if matters else ()
    from table_core.merge.engines.group_options import groups_of

    groups = groups_of(schema)
    deciding = [group.fields for group in groups if not _in_any_order(group.aggregators.values())]
    return (*([of_rows] if of_rows else []), *deciding)


def _in_any_order(aggregators: Iterable[Aggregator]) -> bool:
    from table_core.merge.aggregators.numeric import Both, Either, Extreme, Sum
    from table_core.merge.aggregators.value import KeyColumn, LastValue

    order_free = Sum | Extreme | Both | Either | KeyColumn | LastValue
    return all(isinstance(one, order_free) for one in aggregators)


def _keeps_one_row(schema: TableSchema) -> bool:
    return schema.options.get(keys_merge.MERGE_ENGINE) in {"deduplicate", "first-row"}


def _aggregators(schema: TableSchema) -> list[Aggregator]:
    """Those of the columns that do not order."""
    order = order_of(schema)
    by_name = aggregators_of(schema, order, [field.name for field in schema.fields])
    return [one for name, one in by_name.items() if name not in order.sequence_fields]
