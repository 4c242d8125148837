"""The merge engine protocol, and choosing one from a table's options.

What only some engines need is imported when one of them is made: a reader of another table starts
without it.

Source: ``org.apache.paimon.table.PrimaryKeyTableUtils``; format 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from table_core.errors import OptionError
from table_core.merge.engines.deduplicate import Deduplicate
from table_core.merge.engines.first_row import FirstRow
from table_core.merge.sort import KeyOrder, is_retract
from table_core.options import keys_merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from table_core.merge.aggregators.value import Aggregator
    from table_core.merge.runs import Runs
    from table_core.schema.table_schema import TableSchema

__all__ = ["MergeEngine", "aggregators_of", "engine_for", "merges_in_parts", "order_of"]


class MergeEngine(Protocol):
    """Many versions of a key to one row.

    Rows are KV rows: ``_SEQUENCE_NUMBER``, ``_VALUE_KIND``, then value columns.
    """

    @property
    def order(self) -> KeyOrder:
        """What orders the versions."""
        ...

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        """Value columns that must be read so that ``projected`` come out right."""
        ...

    def merge(self, rows: pa.Table) -> pa.Table:
        """One row a key, retracts kept, of ``rows`` that are in order.

        A key with one version passes through unchanged (format 7.5).

        Shape: ``rows[n]`` to ``result[r]``, same columns.
        """
        ...

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:
        """``merge`` for rows in any order, whose ``runs`` are known; never sorts the values."""
        ...


def engine_for(schema: TableSchema, columns: Sequence[str] | None = None) -> MergeEngine:
    """The engine that ``schema``'s options ask for, over value ``columns`` (default: all).

    Raises:
        OptionError: options that contradict each other or the columns, or an unknown function.
    """
    options = schema.options
    order = order_of(schema)
    ignore_delete = options.get(keys_merge.IGNORE_DELETE)
    names = [f.name for f in schema.fields] if columns is None else list(columns)
    match options.get(keys_merge.MERGE_ENGINE):
        case "first-row":
            if order.sequence_fields:
                raise OptionError(
                    "'sequence.field' has no meaning with merge-engine 'first-row'; remove it",
                    option="sequence.field",
                    value=",".join(order.sequence_fields),
                )
            return FirstRow(order, ignore_delete)
        case "aggregation":
            from table_core.merge.engines.aggregate import Aggregation

            remove = options.get(keys_merge.AGGREGATION_REMOVE_RECORD_ON_DELETE)
            return Aggregation(order, aggregators_of(schema, order, names), remove)
        case "deduplicate":
            return Deduplicate(order, ignore_delete)
        case other:
            assert other == "partial-update", other
            from table_core.merge.engines.group_options import groups_of
            from table_core.merge.engines.partial_update import PartialUpdate

            return PartialUpdate(
                order,
                groups_of(schema),
                ignore_delete,
                options.get(keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE),
            )


def merges_in_parts(engine: MergeEngine, rows: pa.Table) -> bool:
    """Whether merging these ``rows`` before others of their keys gives what merging all does."""
    if isinstance(engine, Deduplicate | FirstRow):
        return True
    return not engine.order.sequence_fields and not bool(is_retract(rows).any())


def order_of(schema: TableSchema) -> KeyOrder:
    """What orders the versions of a key.

    Raises:
        OptionError: ``sequence.field`` names no column, or one that is aggregated.
    """
    sequence_fields = schema.options.get(keys_merge.SEQUENCE_FIELD)
    for name in sequence_fields:
        if name not in schema.by_name:
            raise OptionError(
                f"'sequence.field' names {name!r}, and there is no such column; there are "
                f"{[f.name for f in schema.fields]}",
                option="sequence.field",
                value=name,
            )
        own = schema.options.for_column(name, "aggregate-function")
        if own is not None:
            raise OptionError(
                f"'fields.{name}.aggregate-function' is {own!r}, and {name!r} is a sequence "
                "field, which is never aggregated; remove the option",
                option=f"fields.{name}.aggregate-function",
                value=own,
            )
    descending = schema.options.get(keys_merge.SEQUENCE_FIELD_SORT_ORDER) == "descending"
    return KeyOrder(schema.trimmed_primary_keys, sequence_fields, descending)


def aggregators_of(
    schema: TableSchema, order: KeyOrder, names: Sequence[str]
) -> Mapping[str, Aggregator]:
    """The aggregator of each column in ``names``, and of those that order versions."""
    from table_core.merge.aggregators.registry import aggregator_of, function_of
    from table_core.merge.aggregators.value import KeyColumn, LastValue
    from table_core.options.aggregate_functions import LAST_NON_NULL

    aggregators: dict[str, Aggregator] = {}
    same = {*schema.primary_keys, *schema.partition_keys}  # in all that is merged
    for name in dict.fromkeys((*names, *order.key, *order.sequence_fields)):
        if name in order.sequence_fields:
            aggregators[name] = LastValue()
        elif name in same:
            aggregators[name] = KeyColumn()
        else:
            function = function_of(name, schema.options) or LAST_NON_NULL
            aggregators[name] = aggregator_of(schema.field(name), function, schema.options)
    return aggregators
