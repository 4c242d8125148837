"""What tells the tables of a PostgreSQL database from others of their names, and their rows from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.cdc.model.table_shape import TableShape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.cdc.apply.server import ServerConnection
    from table_core.cdc.model.source_table import CatalogTable

__all__ = ["is_empty", "shapes_of"]

_SHAPES: Final = """
SELECT n.nspname, c.relname, c.oid, c.relnatts,
       (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
       (SELECT array_agg(a.attnum::int ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
       (SELECT array_agg(a.xmin::text ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
       (SELECT array_agg(a.attname::text) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.atthasmissing),
       (SELECT array_agg(f.oid || ':' || f.relfilenode) FROM pg_class f
        WHERE f.relkind = 'r' AND f.oid IN (SELECT c.oid UNION SELECT relid FROM pg_partition_tree(c.oid))),
       (SELECT array_agg(i.inhrelid::text) FROM pg_inherits i
        JOIN pg_attribute a ON a.attrelid = i.inhrelid AND a.attnum = -1
        WHERE i.inhrelid IN (SELECT relid FROM pg_partition_tree(c.oid)) AND a.xmin <> i.xmin)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(%s::text[], %s::text[]) w(s, t) ON w.s = n.nspname AND w.t = c.relname
WHERE c.relkind IN ('r', 'p')
"""
"""``joined``: partitions that were tables before; those that are created as partitions begin empty."""


def shapes_of(
    connection: ServerConnection, tables: Iterable[CatalogTable]
) -> dict[tuple[str, str], TableShape]:
    """What tells each of ``tables`` from another one of its name, and its rows from others."""
    wanted = {(table.database, table.name): table for table in tables}
    shapes = {}
    for schema, name, id, last, names, numbers, stamps, filled, files, joined in connection.rows(
        _SHAPES, ([schema for schema, _ in wanted], [name for _, name in wanted])
    ):
        if (table := wanted.get((schema, name))) is not None:
            shapes[schema, name] = TableShape(
                key=table.key,
                id=str(id),
                columns=dict(zip(names or (), map(int, numbers or ()), strict=True)),
                last_column=int(last),
                stamps=dict(zip(names or (), stamps or (), strict=True)),
                filled=tuple(filled or ()),
                files=dict(one.split(":") for one in files or ()),
                joined=tuple(joined or ()),
            )
    return shapes


def is_empty(connection: ServerConnection, id: str) -> bool:
    """Whether a table, by its number, has no rows."""
    name = connection.rows("SELECT %s::oid::regclass::text", (id,))[0][0]
    return not connection.rows(f"SELECT 1 FROM ONLY {name} LIMIT 1")
