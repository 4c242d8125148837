"""Runs schema changes: read the newest schema, evolve it, create the next one if absent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import GaveUpError
from table_core.ondisk import layout
from table_core.schema.document import schema_to_json
from table_core.schema.evolve import evolve

if TYPE_CHECKING:
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema
    from table_core.table.access import TableAccess

__all__ = ["alter"]

_ATTEMPTS_MAX: Final = 20


def alter(access: TableAccess, changes: tuple[SchemaChange, ...]) -> TableSchema:
    """Apply ``changes`` to the newest schema; the schema that holds them.

    Raises:
        SchemaError: a change is not allowed; nothing was changed.
        GaveUpError: other writers kept changing the schema.
    """
    metadata = access.metadata
    for _ in range(_ATTEMPTS_MAX):
        newest = metadata.latest_schema()
        evolved = evolve(
            newest,
            changes,
            has_snapshots=metadata.head_id() is not None,
            now_ms=access.clock.now_ms(),
        )
        path = layout.schema_path(evolved.id, access.branch)
        if evolved == newest or access.storage.create(path, schema_to_json(evolved)):
            return evolved
    raise GaveUpError(
        f"{access.name}: the schema changed {_ATTEMPTS_MAX} times meanwhile; try again",
        user=None,
        attempts=_ATTEMPTS_MAX,
    )
