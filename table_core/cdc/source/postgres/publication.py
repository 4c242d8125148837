"""The publication of a PostgreSQL database: which tables it has, and that it tells all of their changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from table_core.cdc.model.source_table import CatalogTable
    from table_core.cdc.source.server import ServerConnection

__all__ = ["VIA_ROOT", "check_publication", "is_of_others", "publish", "quoted", "refused"]

VIA_ROOT: Final = "WITH (publish_via_partition_root = true)"
"""Rows of partitions are told as those of their table."""
_OURS: Final = "made by a sync, which adds the tables that it reads"
"""Comment of a publication that we made."""


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def is_of_others(connection: ServerConnection, publication: str) -> bool:
    """Whether there is one that we did not make, and leave as it is."""
    made = connection.rows(
        "SELECT obj_description(oid, 'pg_publication') FROM pg_publication WHERE pubname = %s",
        (publication,),
    )
    return bool(made) and made[0][0] != _OURS


def publish(connection: ServerConnection, publication: str, tables: Iterable[CatalogTable]) -> None:
    """Make the publication of ``tables`` if it is not there; add those that it lacks to one made so.

    One that somebody else made stays as it is.

    Raises:
        ArgumentError: the user may not, or a table would refuse updates once it is published.
    """
    name = quoted(publication)
    if is_of_others(connection, publication):
        return
    existing = connection.rows("SELECT 1 FROM pg_publication WHERE pubname = %s", (publication,))
    published = connection.rows(
        "SELECT n.nspname, c.relname FROM pg_publication p "
        "JOIN pg_publication_rel r ON r.prpubid = p.oid JOIN pg_class c ON c.oid = r.prrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = %s",
        (publication,),
    )
    lacking = [
        table
        for table in tables
        if (table.database, table.name) not in published and not table.is_unlogged
    ]  # fmt: skip
    for table in lacking:
        if (unfit := refused(table)) is not None:
            raise unfit
    listed = ", ".join(f"{quoted(t.database)}.{quoted(t.name)}" for t in lacking)
    if not existing:
        of = f" FOR TABLE {listed}" if listed else ""
        connection.rows(f"CREATE PUBLICATION {name}{of} {VIA_ROOT}")
        connection.rows(f"COMMENT ON PUBLICATION {name} IS '{_OURS}'")
    elif listed:
        connection.rows(f"ALTER PUBLICATION {name} ADD TABLE {listed}")


def refused(table: CatalogTable) -> ArgumentError | None:
    """Why a table cannot be published as it is: the server would refuse updates of it, or its log has none."""
    where = f"{quoted(table.database)}.{quoted(table.name)}"
    mend = ""
    if table.is_unlogged and table.is_partitioned:
        mend = (
            "has a partition that is UNLOGGED or a foreign table, whose changes are in no log: run ALTER "
            "TABLE … SET LOGGED, or detach it"
        )
    elif table.is_unlogged:
        mend = f"is UNLOGGED, so its changes are in no log: run ALTER TABLE {where} SET LOGGED"
    elif not table.key and table.identity not in {"f", "i"}:
        mend = (
            "has no primary key, so the server would refuse to update and delete its rows once it is "
            f"published: run ALTER TABLE {where} REPLICA IDENTITY FULL"
        )
    if not mend:
        return None
    return ArgumentError(f"{where} {mend}, or leave the table out", argument="tables", value=where)


def check_publication(
    connection: ServerConnection, publication: str, tables: Iterable[CatalogTable]
) -> None:
    """Refuse a publication that does not tell all changes of ``tables``.

    Raises:
        ArgumentError: names the statement that mends it.
    """
    name = publication
    published = connection.rows(
        "SELECT schemaname, tablename, to_jsonb(t)->>'rowfilter', to_jsonb(t)->'attnames' "
        "FROM pg_publication_tables t WHERE pubname = %s",
        (name,),
    )
    columns_of = {(schema, table): (rows, columns) for schema, table, rows, columns in published}
    for table in tables:
        where = f"{quoted(table.database)}.{quoted(table.name)}"
        rows, columns = columns_of.get((table.database, table.name), (None, []))
        mend = f"run ALTER PUBLICATION {name} ADD TABLE {where}"
        if table.is_unlogged and (unfit := refused(table)) is not None:
            raise unfit
        if table.is_partitioned:
            mend = f"run ALTER PUBLICATION {name} SET (publish_via_partition_root = true)"
        if rows is not None or (columns and not set(table.names) <= set(columns)):
            mend = f"give publication {name} the table without row filter and column list"
        elif columns != []:
            continue
        raise ArgumentError(
            f"publication {name!r} does not publish all changes of {where}: {mend}, or leave the "
            "table out; if it was read before, drop it here, and it is read again",
            argument="publication",
            value=name,
        )
