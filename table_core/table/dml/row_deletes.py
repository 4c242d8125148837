"""How a row of a key table is deleted, and whether it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import UnsupportedFeatureError
from table_core.options import keys_merge

if TYPE_CHECKING:
    from table_core.schema.table_schema import TableSchema

__all__ = ["refuse_deletes"]

_REMOVES: Final = {
    "aggregation": keys_merge.AGGREGATION_REMOVE_RECORD_ON_DELETE,
    "partial-update": keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE,
}


def refuse_deletes(schema: TableSchema) -> None:
    """Refuse tables in which a ``-D`` does not take the row away.

    Raises:
        UnsupportedFeatureError: the merge engine does not delete, or deletes are ignored.
    """
    options = schema.options
    engine = options.get(keys_merge.MERGE_ENGINE)
    needed = _REMOVES.get(engine)
    if options.get(keys_merge.IGNORE_DELETE):
        why = "'ignore-delete' is true"
    elif engine == "first-row":
        why = "merge-engine 'first-row' keeps the first row of a key"
    elif engine == "partial-update" and any(k.endswith(".sequence-group") for k in options.raw):
        group = keys_merge.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP
        if options.get(group):
            return  # the engine is asked of each row, whose sequence may be NULL
        why = (
            "merge-engine 'partial-update' with sequence groups deletes rows only with a group in "
            f"{group.key!r}"
        )
    elif needed is not None and not options.get(needed):
        why = f"merge-engine {engine!r} deletes rows only with {needed.key!r} = 'true'"
    else:
        return
    raise UnsupportedFeatureError(f"rows cannot be deleted: {why}", feature=f"delete, {why}")
