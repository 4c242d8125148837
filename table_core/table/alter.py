"""Runs schema changes: read the newest schema, evolve it, create the next one if absent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.errors import GaveUpError
from table_core.ondisk import layout
from table_core.schema.evolve import evolve
from table_core.table.new_schema import new_schema

if TYPE_CHECKING:
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema
    from table_core.table.access import TableAccess
    from table_core.table.results import CommitAs

__all__ = ["alter"]

_ATTEMPTS_MAX: Final = 20
_COMMIT: Final = "tc.commit"
"""Member of a schema document that names the commit it came by; others ignore it."""


def alter(
    access: TableAccess, changes: tuple[SchemaChange, ...], commit: CommitAs | None = None
) -> TableSchema:
    """Apply ``changes`` to the newest schema; the schema that holds them.

    With a user, the schema names who made it, so that a second call under that name finds it and
    changes nothing.

    Raises:
        SchemaError: a change is not allowed; nothing was changed.
        GaveUpError: other writers kept changing the schema.
    """
    metadata = access.metadata
    name = None if commit is None or commit.user is None else _name(commit)
    if name is not None:
        for id in reversed(metadata.schema_ids()):
            if metadata.schema(id).extra.get(_COMMIT) == name:
                return metadata.latest_schema()
    for _ in range(_ATTEMPTS_MAX):
        newest = metadata.latest_schema()
        evolved = evolve(
            newest,
            changes,
            has_snapshots=metadata.head_id() is not None,
            now_ms=access.clock.now_ms(),
        )
        if evolved != newest:
            extra = {k: v for k, v in evolved.extra.items() if k != _COMMIT}
            evolved = replace(evolved, extra=extra if name is None else {**extra, _COMMIT: name})
        path = layout.schema_path(evolved.id, access.branch)
        if evolved == newest or access.storage.create(path, new_schema(evolved)):
            return evolved
    raise GaveUpError(
        f"{access.name}: the schema changed {_ATTEMPTS_MAX} times meanwhile; try again",
        user=None,
        attempts=_ATTEMPTS_MAX,
    )


def _name(commit: CommitAs) -> str:
    return f"{commit.user}:{commit.identifier or 0}"
