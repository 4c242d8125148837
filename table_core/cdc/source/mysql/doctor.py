"""Looks at a MySQL or MariaDB server before a sync reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.cdc.model.finding import Finding, Level
from table_core.cdc.model.record import SourceTable
from table_core.cdc.source.mysql.side_effects import cascades_of
from table_core.cdc.source.mysql.source import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from table_core.cdc.source.mysql.source import MySqlConnection

__all__ = ["findings"]

_RIGHTS: Final = {
    "SELECT": (Level.ERROR, "tables cannot be read"),
    "REPLICATION SLAVE": (Level.ERROR, "the log cannot be read"),
    "BINLOG MONITOR": (Level.ERROR, "the end of the log is not known"),
    "TRIGGER": (
        Level.WARNING,
        "triggers cannot be seen: if a session writes any table in statement format, all tables are "
        "read again",
    ),
}
_OLD_NAMES: Final = {"BINLOG MONITOR": "REPLICATION CLIENT"}
_DAY_S: Final = 86_400


def findings(
    connection: MySqlConnection, user: str, wants: Callable[[SourceTable], bool]
) -> Iterator[Finding]:
    """What was looked at, bad or good."""
    yield from _settings(connection)
    yield from _rights(connection, user)
    yield from _tables(connection, wants)
    yield from _log(connection)


def _settings(connection: MySqlConnection) -> Iterator[Finding]:
    variables = dict(connection.rows("SHOW GLOBAL VARIABLES LIKE '%bin%'"))
    for name, (wanted, mend) in SETTINGS.items():
        value = str(variables.get(name, "not set")).upper()
        if value == wanted:
            yield Finding(Level.OK, name, value)
        else:
            yield Finding(Level.ERROR, name, value, "the log lacks rows or names", f"run {mend}")


def _rights(connection: MySqlConnection, user: str) -> Iterator[Finding]:
    grants = " ".join(str(row[0]).upper() for row in connection.rows("SHOW GRANTS"))
    everything = "ALL PRIVILEGES ON *.*" in grants
    for right, (level, effect) in _RIGHTS.items():
        names = rf"\b({right}|{_OLD_NAMES.get(right, right)})\b"
        if everything or re.search(names, grants):
            yield Finding(Level.OK, right, "granted")
        else:
            remedy = f"run GRANT {right} ON *.* TO {user!r}@…"
            yield Finding(level, right, "not granted", effect, remedy)


def _tables(connection: MySqlConnection, wants: Callable[[SourceTable], bool]) -> Iterator[Finding]:
    by_table = {SourceTable(info.database, info.name): info for info in connection.tables()}
    wanted = {table: info for table, info in by_table.items() if wants(table)}
    if not wanted:
        yield Finding(
            Level.WARNING, "tables", "none is wanted", "nothing is read", "look at the expressions"
        )
    for table, info in wanted.items():
        if info.is_versioned:
            yield Finding(
                Level.ERROR, str(table), "WITH SYSTEM VERSIONING", "its log tells no deletes",
                "leave it out",
            )  # fmt: skip
        if not info.key:
            yield Finding(
                Level.WARNING, str(table), "no primary key", "each delete writes the table anew",
                f"run ALTER TABLE {table} ADD PRIMARY KEY (…)",
            )  # fmt: skip
    for parent, cascades in cascades_of(connection).items():
        for cascade in cascades:
            if cascade.child in wanted:
                yield Finding(
                    Level.WARNING, str(cascade.child), f"a foreign key follows {parent}",
                    "the log does not tell what it changes: a delete there reads this table again",
                    "run ALTER TABLE … ON DELETE RESTRICT, or let the application delete the rows",
                )  # fmt: skip


def _log(connection: MySqlConnection) -> Iterator[Finding]:
    kept = connection.rows("SELECT @@global.binlog_expire_logs_seconds")[0][0]
    seconds = int(float(kept))
    if 0 < seconds < _DAY_S:
        yield Finding(
            Level.WARNING, "binlog_expire_logs_seconds", str(seconds),
            "a sync that does not run for so long has to read all tables again",
            "run SET GLOBAL binlog_expire_logs_seconds = 604800",
        )  # fmt: skip
    else:
        yield Finding(Level.OK, "binlog_expire_logs_seconds", str(seconds))
    prepared = connection.rows("XA RECOVER")
    if prepared:
        yield Finding(
            Level.WARNING, "XA RECOVER", f"{len(prepared)} prepared transactions",
            "once they are committed, tables are read again that were read before",
            "commit them or roll them back before the first sync",
        )  # fmt: skip
    else:
        yield Finding(Level.OK, "XA RECOVER", "no prepared transactions")
