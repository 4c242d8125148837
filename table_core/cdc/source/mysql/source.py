"""MySQL and MariaDB: a first snapshot in chunks, then the binary log."""

from __future__ import annotations

import importlib
import re
import struct
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.source_table import CatalogColumn, CatalogTable, catalog_tables
from table_core.cdc.model.table_pattern import TablePattern
from table_core.cdc.source.mysql.key_order import key_mark, numbered, ordered, quoted, selected
from table_core.cdc.source.server import ServerConnection, driver_of
from table_core.errors import (
    ArgumentError,
    EventError,
    StorageUnavailableError,
)
from table_core.options.tls import mysql_source_tls
from table_core.storage.stores.mysql_connection import mysql_connection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["MySqlConnection", "MySqlSource"]

_COM_BINLOG_DUMP: Final = b"\x12"
_NON_BLOCKING: Final = 1
_FORMAT: Final = 15
"""The event that says how the others are written, and whether they end with a checksum."""
_CHECKSUM_BYTES: Final = 4
_SMALLEST: Final = 19
"""Bytes of an event that is a header and nothing else."""
_DENIED: Final = frozenset({1044, 1045, 1142, 1143, 1227, 1370})
_NO_ACCESS: Final = 1045
_LOCKED: Final = 1205
_PURGED: Final = 1236
_LOST: Final = 2013
_AWAY: Final = frozenset({1040, 1053, 1077, 1079, 1152, *range(1156, 1162), 1184, 1927, 3169})
"""The server ends, has no room for one more, or cut the connection."""
_TLS: Final = re.compile(r"\bSSL\b|certificate|insecure transport", re.IGNORECASE)
_FIRST_CODE_OF_CLIENT: Final = 2000
_FIRST_CODE_BEHIND_CLIENT: Final = 3000
SETTINGS: Final = {
    "log_bin": ("ON", "start the server with --log-bin"),
    "binlog_format": ("ROW", "SET GLOBAL binlog_format = 'ROW'"),
    "binlog_row_image": ("FULL", "SET GLOBAL binlog_row_image = 'FULL'"),
    "binlog_row_metadata": ("FULL", "SET GLOBAL binlog_row_metadata = 'FULL'"),
}
_CONNECT: Final = "binlog"
_FETCHED_ROWS: Final = 1000
_TRANSACTIONAL: Final = frozenset({"INNODB", "ROCKSDB", "TOKUDB", "NDB", "NDBCLUSTER"})


@dataclass(frozen=True, slots=True)
class MySqlSource:
    """The tables of one server.

    Args:
        host: of the server.
        user: needs SELECT, REPLICATION SLAVE and, on MariaDB, BINLOG MONITOR.
        password: never logged, stored or shown.
        port: of the server.
        databases: regular expression for the databases to read.
        tables: regular expression for the tables to read, for ``sync_table``.
        server_id: of this reader; each reader of one server needs its own.
        use_gtid: continue by MariaDB's global transaction id, which survives a change of the
            primary server.
        chunk_rows: rows of one step of the first snapshot.
        ssl: ``mode`` (``disable``, ``prefer``, ``require``, ``verify-ca``, ``verify-full``),
            ``ca``, ``capath``, ``cert``, ``key``, ``password``, ``cipher``. The default mode is
            ``verify-full``, or ``prefer`` for a server on this machine if nothing is given.
        lock_wait_s: seconds to wait for a table that somebody has locked.
    """

    host: str
    user: str
    password: str = field(default="", repr=False)
    port: int = 3306
    databases: str = ".*"
    tables: str | None = None
    server_id: int = 55_500
    use_gtid: bool = False
    chunk_rows: int = 50_000
    ssl: Mapping[str, Any] | None = field(default=None, repr=False)
    lock_wait_s: int = 300

    def __post_init__(self) -> None:
        TablePattern("databases", self.databases)

    def connect(self) -> MySqlConnection:
        """Open a connection.

        Raises:
            StorageUnavailableError: the server cannot be reached.
            ArgumentError: it refuses the user.
        """
        return MySqlConnection(self, self._raw())

    def _raw(self) -> Any:
        _driver()
        with _with_our_errors(self):
            return mysql_connection()(
                host=self.host,
                port=self.port,
                user=self.user,
                password=self.password,
                charset="utf8mb4",
                conv={},
                autocommit=True,
                **mysql_source_tls(self.ssl, self.host),
                init_command="SET time_zone = '+00:00', sql_mode = '', sql_quote_show_create = 1, "
                f"lock_wait_timeout = {int(self.lock_wait_s)}",
            )


class MySqlConnection(ServerConnection):
    """One connection; every method says what the server refuses and how to mend it."""

    def __init__(self, source: MySqlSource, raw: Any) -> None:
        super().__init__(raw)
        self._source = source

    def rows(self, sql: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query, values as text."""
        with _with_our_errors(self._source, sql), self._raw.cursor() as cursor:
            cursor.execute(sql, arguments or None)
            return list(cursor.fetchall())

    def wait_at_most(self, seconds: float) -> None:
        """A server that takes longer for an answer is away."""
        self._raw._read_timeout = seconds  # noqa: SLF001 - the driver takes it at its start only

    @cached_property
    def is_mariadb(self) -> bool:
        """Whether it is MariaDB."""
        return "mariadb" in str(self.rows("SELECT VERSION()")[0][0]).lower()

    def check(self) -> None:
        """Refuse a server whose log would lack something, and a user who sees no table.

        Raises:
            ArgumentError: names the setting and the statement that mends it.
        """
        names = ",".join(f"'{name}'" for name in SETTINGS)
        variables = dict(self.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"))
        for name, (wanted, mend) in SETTINGS.items():
            value = str(variables.get(name, "")).upper()
            if value != wanted and not (wanted == "ON" and value == "1"):
                raise ArgumentError(
                    f"{self._source.host}: {name} is {value or 'not set'}, but must be {wanted}: "
                    f"run {mend}",
                    argument=name,
                    value=value,
                )
        grants = " ".join(str(row[0]).upper() for row in self.rows("SHOW GRANTS"))
        if not re.search(r"\bSELECT\b|\bALL PRIVILEGES\b|GRANT `", grants):
            raise _denied(self._source, "it may read no table")

    def end_of_log(self) -> tuple[str, int, str]:
        """File, position and global id of the newest transaction."""
        try:
            status = self.rows("SHOW MASTER STATUS")
        except (ArgumentError, EventError) as error:
            if "BINLOG MONITOR" in str(error):
                raise
            status = self.rows("SHOW BINARY LOG STATUS")
        if not status:
            raise ArgumentError(
                f"{self._source.host} writes no binary log: start it with --log-bin",
                argument="log_bin",
                value="OFF",
            )
        gtid = self.rows("SELECT @@gtid_binlog_pos")[0][0] if self.is_mariadb else ""
        return str(status[0][0]), int(status[0][1]), str(gtid or "")

    def begin_snapshot(self) -> tuple[str, int, str]:
        """Begin a consistent read without locks; where in the log it stands."""
        mariadb = self.is_mariadb
        before = self.end_of_log()
        self.rows("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        if not mariadb:
            return before
        variables = dict(self.rows("SHOW STATUS LIKE 'binlog_snapshot_%'"))
        status = {str(name).lower(): value for name, value in variables.items()}
        file = status.get("binlog_snapshot_file")
        if not file:
            return before
        position = int(status["binlog_snapshot_position"])
        gtid = self.rows("SELECT BINLOG_GTID_POS(%s, %s)", (str(file), str(position)))[0][0]
        return str(file), position, str(gtid or "")

    def tables(self) -> list[CatalogTable]:
        """Every table that the user may read, but for those of the server itself."""
        columns = self.rows(
            "SELECT c.table_schema, c.table_name, column_name, column_type, is_nullable, "
            "column_default, column_comment, table_rows, table_type, engine "
            "FROM information_schema.columns c "
            "JOIN information_schema.tables t ON t.table_schema = c.table_schema AND "
            "t.table_name = c.table_name AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') "
            "WHERE c.table_schema NOT IN "
            "('information_schema', 'mysql', 'performance_schema', 'sys') "
            "ORDER BY c.table_schema, c.table_name, ordinal_position"
        )
        keys = self.rows(
            "SELECT table_schema, table_name, column_name FROM information_schema.key_column_usage "
            "WHERE constraint_name = 'PRIMARY' ORDER BY table_schema, table_name, ordinal_position"
        )
        described = (
            (
                database,
                table,
                CatalogColumn(name, type_, nullable == "YES", default, comment or None),
            )
            for database, table, name, type_, nullable, default, comment, *_ in columns
        )
        rows = {(c[0], c[1]): None if c[-3] is None else int(c[-3]) for c in columns}
        versioned = {(c[0], c[1]) for c in columns if c[-2] == "SYSTEM VERSIONED"}
        lasting = {(c[0], c[1]) for c in columns if str(c[-1]).upper() not in _TRANSACTIONAL}
        tables = catalog_tables(described, ((d, t, name) for d, t, name in keys), rows)
        return [
            replace(
                t,
                is_versioned=(t.database, t.name) in versioned,
                is_transactional=(t.database, t.name) not in lasting,
            )
            for t in tables
        ]

    def collations(self) -> dict[int, str]:
        """Character set by number of the collation."""
        charsets = self.rows(
            "SELECT id, character_set_name FROM information_schema.collations "
            "WHERE id IS NOT NULL AND character_set_name IS NOT NULL"
        )
        return {int(id): str(name) for id, name in charsets}

    def chunk(
        self,
        table: CatalogTable,
        after: Sequence[Any] | None,
        limit: int | None,
        until: int | None = None,
        where: str | None = None,
    ) -> Iterator[tuple[Any, ...]]:
        """See ``ServerConnection``."""
        names = ", ".join(
            [
                *(selected(c.name, c.type) for c in table.columns),
                *(ordered(name, table) for name in numbered(table)),
            ]
        )
        qualified_name = self.relation(table)
        key, first = ", ".join(map(quoted, table.key)), "".join(map(quoted, table.key[:1]))
        arguments: list[Any] = []
        if table.key and after is not None:  # what the driver fills in begins with '%'
            names, qualified_name, key, first = (
                part.replace("%", "%%") for part in (names, qualified_name, key, first)
            )
        sql = f"SELECT {names} FROM {qualified_name}" + (f" WHERE ({where})" if where else "")
        if table.key and after is not None:
            marks, texts = [], []
            for name, value in zip(table.key, after, strict=True):
                mark, text = key_mark(value, table.types[name])
                marks.append(mark)
                texts.append(text)
            arguments = [text for text in texts if text is not None]
            compared = ", ".join(ordered(name, table) for name in table.key).replace("%", "%%")
            sql += f" WHERE ({compared}) > ({', '.join(marks)})"
            if len(marks) > 1:  # lets the server begin at the first column of the index
                sql += f" AND {first} >= {marks[0]}"
                arguments += [texts[0]] if texts[0] is not None else []
        sql = self.cut(sql, key, until, limit)
        unbuffered = importlib.import_module("pymysql.cursors").SSCursor
        with _with_our_errors(self._source, sql), self._raw.cursor(unbuffered) as cursor:
            cursor.execute(sql, arguments or None)
            while rows := cursor.fetchmany(_FETCHED_ROWS):
                yield from rows

    def mark(self, table: CatalogTable, row: Sequence[Any]) -> list[Any]:
        """See ``ServerConnection``."""
        numbers = dict(zip(numbered(table), row[len(table.columns) :], strict=True))
        plain = ServerConnection.mark(self, table, row)
        return [numbers.get(name, value) for name, value in zip(table.key, plain, strict=True)]

    @staticmethod
    def quoted(name: str) -> str:
        """See ``ServerConnection``."""
        return quoted(name)

    def stream(self, file: str, position: int, gtid: str | None) -> Iterator[tuple[bytes, int]]:
        """Events from a position until the end of the log, without checksums.

        Raises:
            EventError: the log was purged; says what to do.
        """
        with _with_our_errors(self._source, _CONNECT):
            status = self.rows("SELECT @@global.binlog_checksum")[0][0]
            self.rows("SET @master_binlog_checksum = @@global.binlog_checksum")
            checksum = 0 if str(status).upper() == "NONE" else _CHECKSUM_BYTES
            self.rows("SET @mariadb_slave_capability = 4")
            if gtid is not None:
                self.rows("SET @slave_connect_state = %s", (gtid,))
                file, position = "", 4
            body = struct.pack("<IHI", position, _NON_BLOCKING, self._source.server_id)
            packet = _COM_BINLOG_DUMP + body + file.encode()
            raw = self._raw
            raw._write_bytes(struct.pack("<I", len(packet)) + packet)  # noqa: SLF001 - no public way
            raw._next_seq_id = 1  # noqa: SLF001 - as pymysql does it itself
            while True:
                response = raw._read_packet()  # noqa: SLF001 - as mysql-replication does it
                if response.is_eof_packet():
                    return
                event = response.get_all_data()[1:]
                if len(event) < _SMALLEST:
                    raise EventError(
                        f"the server sent an event of {len(event)} bytes", position=file
                    )
                if event[4] == _FORMAT:
                    checksum = _CHECKSUM_BYTES if event[-5] == 1 else 0
                end = struct.unpack_from("<I", event, 13)[0]
                yield event[: len(event) - checksum], end


def _driver() -> Any:
    return driver_of("pymysql", "MySqlSource", "mysql")


@contextmanager
def _with_our_errors(source: MySqlSource, doing: str = "connect") -> Iterator[None]:
    """Errors of the driver as ours, with the statement that mends them and without secrets."""
    errors = importlib.import_module("pymysql.err")
    try:
        yield
    except errors.MySQLError as error:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        if isinstance(error, errors.InterfaceError) and not code:
            code = _LOST  # what is asked of a connection that is closed
        text = str(error.args[1]) if len(error.args) > 1 else type(error).__name__
        raise _error(source, doing, code, text) from None


def _denied(source: MySqlSource, text: str) -> ArgumentError:
    user = source.user
    return ArgumentError(
        f"{source.host}:{source.port} refuses user {user!r}: {text}; run GRANT SELECT, REPLICATION "
        f"SLAVE, BINLOG MONITOR ON *.* TO {user!r}@… (MySQL: REPLICATION CLIENT, not BINLOG MONITOR)",
        argument="user",
        value=user,
    )


def _error(
    source: MySqlSource, doing: str, code: int, text: str
) -> ArgumentError | EventError | StorageUnavailableError:
    where, user = f"{source.host}:{source.port}", source.user
    if code == _PURGED:
        return EventError(
            f"{where}: the server no longer has the binary log that comes next ({text}); drop the "
            "tables, and they are read again; keep logs longer: SET GLOBAL "
            "binlog_expire_logs_seconds = 604800",
            host=where,
            code=code,
        )
    if _TLS.search(text):
        return ArgumentError(
            f"{where}: {text}; set the TLS mode, e.g. ssl={{'ca': '/path/ca.pem'}}, or "
            f"ssl={{'mode': 'disable'}} to use none, if the server allows it: ALTER USER {user!r}@… "
            "REQUIRE NONE",
            argument="ssl",
            value=code,
        )
    if code == _NO_ACCESS:
        mend = (
            f"check the password, CREATE USER {user!r}@… IDENTIFIED BY … makes the user; and give "
            "ssl={'ca': …} if it is to REQUIRE SSL"
        )
        return ArgumentError(
            f"{where} refuses user {user!r}: {text}; {mend}", argument="user", value=user
        )
    if code in _DENIED:
        return _denied(source, text)
    if code == _LOCKED:
        return StorageUnavailableError(
            f"{where}: a table was locked for more than {source.lock_wait_s} s ({text}); run the sync "
            "again once SHOW PROCESSLIST shows nobody who holds it, or raise lock_wait_s",
            path=where,
            reason=text,
        )
    is_away = code in _AWAY or _FIRST_CODE_OF_CLIENT <= code < _FIRST_CODE_BEHIND_CLIENT
    if is_away or doing == "connect":
        return StorageUnavailableError(
            f"{where} cannot be reached: {text}", path=where, reason=text
        )
    return EventError(f"{where}: {text} (code {code})", host=where, code=code)
