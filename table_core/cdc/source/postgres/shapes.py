"""What tells the tables of a PostgreSQL database from others of their names, and their rows from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.cdc.model.table_shape import TableShape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.cdc.model.source_table import CatalogTable
    from table_core.cdc.source.server import ServerConnection

__all__ = ["came_with_rows", "shapes_of"]

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
        JOIN pg_class f ON f.oid = i.inhrelid
        WHERE i.inhrelid IN (SELECT relid FROM pg_partition_tree(c.oid))
          AND (a.xmin <> i.xmin OR f.relfilenode NOT IN (0, f.oid))),
       (SELECT array_agg(i.inhrelid || ':' || i.xmin) FROM pg_inherits i
        WHERE c.relkind = 'p' AND i.inhrelid IN (SELECT relid FROM pg_partition_tree(c.oid))),
       (SELECT p.oid || '.' || p.xmin || coalesce(':' || r.oid || '.' || r.xmin, '')
        FROM pg_publication p LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = c.oid
        WHERE p.pubname = %s),
       (SELECT array_agg(e.oid || ':' || e.enumlabel) FROM pg_enum e WHERE e.enumtypid IN (
        SELECT unnest(ARRAY[t.oid, t.typelem, t.typbasetype]) FROM pg_attribute a
        JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = c.oid AND NOT a.attisdropped)),
       (SELECT array_agg(m.id || ':' || m.names) FROM (
        SELECT f.attrelid AS id, string_agg(f.attname, ',' ORDER BY f.attnum) AS names
        FROM pg_attribute f JOIN pg_type t ON t.typrelid = f.attrelid
        WHERE f.attnum > 0 AND t.oid IN (SELECT unnest(ARRAY[b.oid, b.typelem, b.typbasetype])
        FROM pg_attribute a JOIN pg_type b ON b.oid = a.atttypid WHERE a.attrelid = c.oid AND a.attnum > 0)
        GROUP BY f.attrelid) m)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(%s::text[], %s::text[]) w(s, t) ON w.s = n.nspname AND w.t = c.relname
WHERE c.relkind IN ('r', 'p')
"""
"""``joined``: partitions that were tables before, or were written again, e.g. because they were UNLOGGED."""
_EARLIER_ROWS: Final = """
SELECT 1 FROM ONLY {} r, pg_inherits i
WHERE i.inhrelid = %s::oid AND r.xmin = i.xmin AND r.cmin::text::bigint < i.cmin::text::bigint LIMIT 1
"""
"""Rows that the transaction which made a partition wrote before it was one."""


def shapes_of(
    connection: ServerConnection, publication: str, tables: Iterable[CatalogTable]
) -> dict[tuple[str, str], TableShape]:
    """What tells each of ``tables`` from another one of its name, and its rows from others."""
    wanted = {(table.database, table.name): table for table in tables}
    shapes = {}
    arguments = (publication, [schema for schema, _ in wanted], [name for _, name in wanted])
    for schema, name, id, last, names, numbers, stamps, filled, files, *more in connection.rows(
        _SHAPES, arguments
    ):
        joined, links, published, labels, members = more
        if (table := wanted.get((schema, name))) is not None:
            shapes[schema, name] = TableShape(
                key=table.key,
                id=str(id),
                columns=dict(zip(names or (), map(int, numbers or ()), strict=True)),
                last_column=int(last),
                stamps=dict(zip(names or (), stamps or (), strict=True)),
                filled=tuple(filled or ()),
                files=_pairs(files),
                joined=tuple(joined or ()),
                links=_pairs(links),
                published=str(published or ""),
                labels={**_pairs(labels), **_pairs(members)},
            )
    return shapes


def _pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """``number:text`` by number."""
    parts = (one.partition(":") for one in texts or ())
    return {number: text for number, _, text in parts}


def came_with_rows(connection: ServerConnection, shape: TableShape, id: str) -> bool:
    """Whether a partition of a table, by its number, had rows before it was one; the log has none of them."""
    name = connection.rows("SELECT %s::oid::regclass::text", (id,))[0][0]
    if id in shape.joined:
        return bool(connection.rows(f"SELECT 1 FROM {name} LIMIT 1"))
    is_leaf = id in shape.files
    return is_leaf and bool(connection.rows(_EARLIER_ROWS.format(name.replace("%", "%%")), (id,)))
