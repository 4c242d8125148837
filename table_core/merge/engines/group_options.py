"""Sequence groups as a schema's options describe them.

Source: ``org.apache.paimon.mergetree.compact.PartialUpdateMergeFunction.Factory``; format 8.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import OptionError
from table_core.merge.aggregators.registry import aggregator_of, function_of
from table_core.options import keys_merge, parse
from table_core.options.aggregate_functions import LAST_NON_NULL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.merge.aggregators.value import Aggregator
    from table_core.merge.engines.sequence_group import SequenceGroup
    from table_core.schema.table_schema import TableSchema

__all__ = ["groups_of"]

_PREFIX: Final = "fields."
_SUFFIX: Final = ".sequence-group"


def groups_of(schema: TableSchema) -> tuple[SequenceGroup, ...]:
    """The sequence groups of a partial-update table, with their aggregate functions.

    Raises:
        OptionError: a group names a key column, no column, or one that another group has; an
            aggregate function outside a group; options that contradict each other.
    """
    declared = {
        key: (parse.column_list(key[len(_PREFIX) : -len(_SUFFIX)]), parse.column_list(text))
        for key, text in sorted(schema.options.raw.items())
        if key.startswith(_PREFIX) and key.endswith(_SUFFIX)
    }
    _refuse_shared(schema, declared)
    removing = _removing(schema, declared)
    protected = {name for _, names in declared.values() for name in names}
    sequences = {name for names, _ in declared.values() for name in names}
    aggregators: dict[str, Aggregator] = {}
    for field in schema.fields:
        if field.name in sequences or field.name in schema.primary_keys:
            continue
        function = function_of(field.name, schema.options)
        if function is None:
            continue
        if field.name not in protected and function != LAST_NON_NULL:
            raise OptionError(
                f"'fields.{field.name}.aggregate-function' is {function!r}, and {field.name!r} is "
                "in no sequence group; put it in one",
                option=f"fields.{field.name}.aggregate-function",
                value=function,
            )
        aggregators[field.name] = aggregator_of(field, function, schema.options)
    if not declared:
        return ()
    from table_core.merge.engines.sequence_group import SequenceGroup

    return tuple(
        SequenceGroup(
            fields,
            names,
            bool(removing.intersection(fields)),
            {name: aggregators[name] for name in names if name in aggregators},
        )
        for fields, names in declared.values()
    )


def _refuse_shared(
    schema: TableSchema, declared: Mapping[str, tuple[Sequence[str], Sequence[str]]]
) -> None:
    seen: dict[str, str] = {}
    for option, (fields, protected) in declared.items():
        for name in (*fields, *protected):
            why = None
            if name not in schema.by_name:
                why = f"there is no column {name!r}; there are {list(schema.by_name)}"
            elif name in schema.primary_keys:
                why = f"{name!r} is in the primary key"
            elif name in seen:
                why = f"{name!r} is in {seen[name]!r} already"
            if why is not None:
                text = schema.options.raw[option]
                raise OptionError(f"option {option!r}: {why}", option=option, value=text)
            seen[name] = option


def _removing(
    schema: TableSchema, declared: Mapping[str, tuple[Sequence[str], Sequence[str]]]
) -> frozenset[str]:
    """The sequence fields whose group removes the record; refuses what contradicts it."""
    options = schema.options
    on_delete = options.get(keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE)
    on_group = options.get(keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP)
    ignore = options.get(keys_merge.IGNORE_DELETE)
    group_option = keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.key
    delete_option = keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE.key
    for wrong, first, second in (
        (ignore and on_delete, "ignore-delete", delete_option),
        (ignore and on_group, "ignore-delete", group_option),
        (on_delete and declared, delete_option, next(iter(declared), "")),
    ):
        if wrong:
            raise OptionError(
                f"{first!r} and {second!r} contradict each other; keep one",
                option=second,
                value=options.raw.get(second),
            )
    for name in on_group:
        if not any(name in fields for fields, _ in declared.values()):
            raise OptionError(
                f"{group_option!r} names {name!r}, which is no field of a sequence group",
                option=group_option,
                value=name,
            )
    return frozenset(on_group)
