"""Looks at a PostgreSQL database before a sync reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.cdc.model.finding import Finding, Level
from table_core.cdc.model.record import SourceTable
from table_core.cdc.source.postgres.publication import is_of_others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.cdc.source.postgres.source import PostgresConnection, PostgresSource

__all__ = ["findings"]

_MANY_BYTES: Final = 1 << 30


def findings(
    connection: PostgresConnection, source: PostgresSource, wants: Callable[[SourceTable], bool]
) -> Iterator[Finding]:
    """What was looked at, bad or good."""
    level = str(connection.rows("SHOW wal_level")[0][0])
    if level == "logical":
        yield Finding(Level.OK, "wal_level", level)
    else:
        yield Finding(
            Level.ERROR, "wal_level", level, "the log cannot be decoded",
            "run ALTER SYSTEM SET wal_level = 'logical' and restart the server",
        )  # fmt: skip
    yield from _rights(connection, source.user)
    yield from _tables(connection, source, wants)
    yield from _slot(connection, source)


def _rights(connection: PostgresConnection, user: str) -> Iterator[Finding]:
    ((is_super, replicates),) = connection.rows(
        "SELECT rolsuper, rolreplication FROM pg_roles WHERE rolname = current_user"
    )
    if is_super or replicates:
        yield Finding(Level.OK, "REPLICATION", "granted")
    else:
        yield Finding(
            Level.ERROR, "REPLICATION", "not granted", "the slot cannot be made or read",
            f"run ALTER ROLE {user} REPLICATION",
        )  # fmt: skip


def _tables(
    connection: PostgresConnection, source: PostgresSource, wants: Callable[[SourceTable], bool]
) -> Iterator[Finding]:
    user, of_others = source.user, is_of_others(connection, source.publication)
    facts = {
        SourceTable(schema, name): (secured, inherits)
        for schema, name, secured, inherits in connection.rows(
            "SELECT n.nspname, c.relname, row_security_active(c.oid), "
            "EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhparent = c.oid) AND c.relkind = 'r' "
            "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind IN ('r', 'p')"
        )
    }
    for info in connection.tables():
        table = SourceTable(info.database, info.name)
        if not wants(table):
            continue
        secured, inherits = facts.get(table, (False, False))
        if not info.readable:
            yield Finding(
                Level.ERROR, str(table), "no right to SELECT", "its rows cannot be read",
                f"run GRANT SELECT ON {table} TO {user}",
            )  # fmt: skip
        if secured:
            yield Finding(
                Level.ERROR, str(table), "a policy hides rows", "its rows cannot be read whole",
                f"run ALTER ROLE {user} BYPASSRLS",
            )  # fmt: skip
        if info.is_unlogged:
            remedy = f"run ALTER TABLE {table} SET LOGGED"
            if info.is_partitioned:
                remedy = "run ALTER TABLE … SET LOGGED for the partition, or detach it if it is a foreign table"
            yield Finding(
                Level.ERROR, str(table), "UNLOGGED", "its changes are in no log", remedy
            )  # fmt: skip
        if info.identity == "n" or (not info.key and info.identity == "d"):
            level = (
                Level.WARNING if of_others else Level.ERROR
            )  # a publication of others stays as it is
            yield Finding(
                level, str(table), "nothing identifies its rows",
                "once it is published the server refuses to update and delete its rows",
                f"run ALTER TABLE {table} REPLICA IDENTITY FULL",
            )  # fmt: skip
        if inherits:
            yield Finding(
                Level.WARNING, str(table), "tables inherit from it",
                "its rows alone are read, without those of its heirs, as its log has them",
                "sync the heirs too",
            )  # fmt: skip


def _slot(connection: PostgresConnection, source: PostgresSource) -> Iterator[Finding]:
    publications = connection.rows(
        "SELECT puballtables FROM pg_publication WHERE pubname = %s", (source.publication,)
    )
    what = f"publication {source.publication}"
    if publications and publications[0][0]:
        yield Finding(
            Level.WARNING, what, "FOR ALL TABLES",
            "the server refuses updates of every table without primary key and replica identity",
            "make it FOR TABLE the tables that are synced",
        )  # fmt: skip
    else:
        yield Finding(Level.OK, what, "there" if publications else "made by the first sync")
    slots = connection.rows(
        "SELECT wal_status, pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint "
        "FROM pg_replication_slots WHERE slot_name = %s",
        (source.slot,),
    )
    what = f"slot {source.slot}"
    if not slots:
        yield Finding(Level.OK, what, "made by the first sync")
        return
    status, behind = str(slots[0][0]), int(slots[0][1] or 0)
    if status == "lost":
        yield Finding(
            Level.ERROR, what, "lost", "the server dropped the log that comes next",
            "drop the slot and the tables here, raise max_slot_wal_keep_size",
        )  # fmt: skip
    elif behind > _MANY_BYTES or status == "unreserved":
        yield Finding(
            Level.WARNING, what, f"{behind} bytes behind, {status}",
            "the server keeps the log, and may run out of disk or drop it", "run the sync more often",
        )  # fmt: skip
    else:
        yield Finding(Level.OK, what, f"{behind} bytes behind")
