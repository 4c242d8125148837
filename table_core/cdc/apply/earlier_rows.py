"""Rows of a table as they were: for values that a source did not send again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.predicate.expression import And, col

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from table_core.table.api.table import Table

__all__ = ["earlier_values", "rows_of_keys"]

_SNAPSHOTS_BACK: Final = 100
_KEYS_AT_ONCE: Final = 2000

Key = tuple[Any, ...]


def earlier_values(
    table: Table, keys: Sequence[Key], columns: Sequence[str]
) -> dict[Key, list[Any]]:
    """Values of ``columns`` by key, from the newest snapshot that has the key.

    A key that was deleted is looked for in older snapshots: after a change of the primary key the
    old row may be gone already.
    """
    values: dict[Key, list[Any]] = {}
    left = set(keys)
    snapshots = [snapshot.id for snapshot in table.snapshots()][-_SNAPSHOTS_BACK:]
    for id in reversed(snapshots):
        if not left:
            break
        wanted = [name for name in columns if name in _columns_at(table, id)]
        for row in rows_of_keys(table, sorted(left, key=repr), wanted, id):
            key = tuple(row[name] for name in table.primary_key)
            if key in left:
                left.discard(key)
                values[key] = [row.get(name) for name in columns]
    return values


def _columns_at(table: Table, snapshot: int) -> set[str]:
    schema = table.access.metadata.schema(table.snapshot(snapshot).schema_id)
    return {field.name for field in schema.fields}


def rows_of_keys(
    table: Table, keys: Sequence[Key], columns: Sequence[str], snapshot: int | None = None
) -> list[Mapping[str, Any]]:
    """Rows with one of ``keys``, and others whose members are those of several: keys and ``columns``."""
    rows: list[Mapping[str, Any]] = []
    names = list(dict.fromkeys([*table.primary_key, *columns]))
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        batch = keys[start : start + _KEYS_AT_ONCE]
        parts = [
            col(name).isin(list(dict.fromkeys(key[n] for key in batch)))
            for n, name in enumerate(table.primary_key)
        ]
        where = parts[0] if len(parts) == 1 else And(tuple(parts))
        read: pa.Table = table.read(columns=names, where=where, snapshot=snapshot).to_arrow()
        rows += read.to_pylist()
    return rows
