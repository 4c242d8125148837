"""Whose log a MySQL or MariaDB server writes, and what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.cdc.source.mysql.binlog import FORMAT, MAGIC, file_mark
from table_core.errors import EventError

if TYPE_CHECKING:
    from table_core.cdc.source.mysql.source import MySqlConnection, MySqlSource

__all__ = ["end_of_log", "first_log", "gtids", "gtids_at", "mark_of", "replicated", "server_named"]

_NO_SUCH_LOG: Final = 1236
_NAMES: Final = ("server_uuid", "server_uid", "server_id")


def end_of_log(connection: MySqlConnection) -> tuple[str, int, str]:
    """File, position and global id of the newest transaction."""
    return connection.end_of_log()


def first_log(connection: MySqlConnection) -> str:
    """The oldest file of the log that is there."""
    return str(connection.rows("SHOW BINARY LOGS")[0][0])


def server_named(connection: MySqlConnection) -> str:
    """What tells the server from others."""
    asked = ",".join(f"'{name}'" for name in _NAMES)
    variables = dict(connection.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({asked})"))
    return next((f"{name} {variables[name]}" for name in _NAMES if variables.get(name)), "")


def gtids(connection: MySqlConnection) -> str:
    """The transactions that are in its log or were, where it counts them."""
    asked = "@@gtid_binlog_pos" if connection.is_mariadb else "@@global.gtid_executed"
    return str(connection.rows(f"SELECT {asked}")[0][0] or "")


def gtids_at(connection: MySqlConnection, file: str, position: int) -> str:
    """MariaDB: the newest transactions before a place in its log; '' if it has no such place."""
    rows = connection.rows("SELECT BINLOG_GTID_POS(%s, %s)", (file, str(position)))
    return str(rows[0][0] or "")


def replicated(connection: MySqlConnection) -> str:
    """MariaDB: the newest transactions that the server took from another one."""
    return str(connection.rows("SELECT @@gtid_slave_pos")[0][0] or "")


def mark_of(source: MySqlSource, file: str) -> str:
    """What tells a file of the server's log from another one of its name; '' if there is none.

    Raises:
        EventError: the server does not send its log.
    """
    connection = source.connect()
    try:
        for event, _ in connection.stream(file, len(MAGIC), None):
            if event[4] == FORMAT:
                return file_mark(event)
    except EventError as error:
        if error.facts.get("code") != _NO_SUCH_LOG:
            raise
    finally:
        connection.close()
    return ""
