"""PostgreSQL: a first snapshot, then a replication slot that is peeked at and moved on later."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.source_table import CatalogColumn, CatalogTable, catalog_tables
from table_core.cdc.model.table_pattern import TablePattern
from table_core.cdc.source.postgres.driver_connection import driver_connection
from table_core.cdc.source.postgres.lsn import lsn_number
from table_core.cdc.source.postgres.parameters import connection_parameters, require_parameters
from table_core.cdc.source.postgres.publication import VIA_ROOT, quoted
from table_core.cdc.source.server import ServerConnection, driver_of
from table_core.errors import (
    ArgumentError,
    EventError,
    StorageUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["PostgresConnection", "PostgresSource"]

_DENIED: Final = frozenset({"42501", "28000", "28P01"})
_MISSING_OBJECT: Final = "42704"
_PREREQUISITE: Final = "55000"
_LOCKED: Final = "55P03"
REWRITTEN: Final = "rewritten"
"""Instead of a code of the server: it tells none."""
_AWAY: Final = ("08", "53300", "55006", "57P01", "57P02", "57P03")
"""The server ends or begins, has no room for one more, or has not noticed that a reader of the slot is gone."""
_FETCHED: Final = 20_000
_FETCHED_BYTES: Final = 32 << 20
"""Changes that are held at once; the last one may be longer."""
_CHUNK: Final = 16
"""Rows that the driver takes at once: few, because an answer is bounded by what comes at once."""
_TLS: Final = re.compile(r"\bssl\b|certificate|no encryption", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PostgresSource:
    """The tables of one database.

    Args:
        host: of the server.
        database: to read.
        user: needs REPLICATION and SELECT on the tables.
        password: never logged, stored or shown.
        port: of the server.
        schemas: regular expression for the schemas to read.
        tables: regular expression for the tables to read, for ``sync_table``.
        slot: name of the replication slot; created if it does not exist.
        publication: name of the publication; created for the tables that are read if it does not exist.
            Tables that are new are added to one made so.
        chunk_rows: rows of one step of the first snapshot.
        batch_changes: changes of one step, after which every table is committed.
        options: further parameters of the connection, e.g. ``{"sslrootcert": "/etc/ca.pem"}``.
            ``sslmode`` is ``verify-full`` by default, or ``prefer`` for a server on this machine.
        lock_wait_s: seconds to wait for a table that somebody has locked.
    """

    host: str
    database: str
    user: str
    password: str = field(default="", repr=False)
    port: int = 5432
    schemas: str = ".*"
    tables: str | None = None
    slot: str = "table_core"
    publication: str = "table_core"
    chunk_rows: int = 50_000
    batch_changes: int = 50_000
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    lock_wait_s: int = 300

    def __post_init__(self) -> None:
        TablePattern("schemas", self.schemas)
        require_parameters(self.options)

    def connect(self, *, replication: bool = False) -> PostgresConnection:
        """Open a connection.

        Raises:
            StorageUnavailableError: the server cannot be reached.
            ArgumentError: it refuses the user.
        """
        more = {"replication": "database"} if replication else {}
        with _with_our_errors(self):
            raw = driver_connection().connect(
                host=self.host,
                port=self.port,
                dbname=self.database,
                user=self.user,
                password=self.password or None,
                autocommit=True,
                options="-c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=iso_8601 "
                "-c extra_float_digits=3 -c bytea_output=hex -c row_security=off "
                f"-c lock_timeout={int(self.lock_wait_s)}s",
                **{**connection_parameters(self.host, self.options), **more},
            )
        return PostgresConnection(self, raw)


class PostgresConnection(ServerConnection):
    """One connection; every method says what the server refuses and how to mend it."""

    def __init__(self, source: PostgresSource, raw: Any) -> None:
        super().__init__(raw)
        self._source = source

    def rows(self, sql: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with _with_our_errors(self._source, sql), self._raw.cursor() as cursor:
            cursor.execute(sql, arguments or None)
            return list(cursor.fetchall()) if cursor.description else []

    def check(self) -> None:
        """Refuse a server that does not decode its log.

        Raises:
            ArgumentError: names the setting and the statement that mends it.
        """
        level = self.rows("SHOW wal_level")[0][0]
        if level != "logical":
            raise ArgumentError(
                f"{self._source.host}: wal_level is {level}, but must be logical: run ALTER "
                "SYSTEM SET wal_level = 'logical' and restart the server",
                argument="wal_level",
                value=level,
            )

    def prepare(self, *, expected: bool) -> None:
        """Make the slot if it is not there.

        Args:
            expected: whether an earlier run used the slot, so that it has to be there.

        Raises:
            EventError: the slot is gone or the server dropped its log.
        """
        source = self._source
        slots = self.rows(
            "SELECT plugin, wal_status FROM pg_replication_slots WHERE slot_name = %s",
            (source.slot,),
        )
        if not slots and expected:
            raise EventError(
                f"replication slot {source.slot!r} is gone, and with it the changes since the last "
                "run; drop the tables, and they are read again (the next run creates the "
                f"slot again, or run SELECT pg_create_logical_replication_slot('{source.slot}', "
                "'pgoutput'))",
                slot=source.slot,
            )
        if slots and slots[0][1] == "lost":
            raise EventError(
                f"the server dropped the log that replication slot {source.slot!r} needs; run "
                f"SELECT pg_drop_replication_slot('{source.slot}'), drop the tables, and they "
                "are read again; raise max_slot_wal_keep_size",
                slot=source.slot,
            )
        if slots and slots[0][0] != "pgoutput":
            raise ArgumentError(
                f"replication slot {source.slot!r} is of plugin {slots[0][0]!r}, not 'pgoutput'",
                argument="slot",
                value=source.slot,
            )
        if not slots:
            self.rows("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (source.slot,))

    def export_snapshot(self) -> tuple[int, str]:
        """On a replication connection: a position and the name of a snapshot taken there."""
        name = f"{self._source.slot}_snapshot_{self._raw.info.backend_pid}"
        command = (
            f"CREATE_REPLICATION_SLOT {quoted(name)} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT"
        )
        try:
            with self._raw.cursor() as cursor:
                _, point, snapshot, _ = cursor.execute(command).fetchone()
        except _driver().Error as error:
            text = str(error).strip()
            user = self._source.user
            raise ArgumentError(
                f"{self._source.host}: {text}; run ALTER ROLE {user} REPLICATION, or raise "
                "max_replication_slots and max_wal_senders",
                argument="user",
                value=user,
            ) from None
        return lsn_number(point), snapshot

    def read_at(self, snapshot: str) -> None:
        """Read from here on what the snapshot saw."""
        self.rows("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self.rows(f"SET TRANSACTION SNAPSHOT '{snapshot}'")

    def tables(self) -> list[CatalogTable]:
        """Every table but for those of the server itself."""
        catalog = self.rows(_COLUMNS)
        columns = (
            (schema, table, CatalogColumn(name, type_, not required, default, comment))
            for schema, table, name, type_, required, default, comment, *_ in catalog
        )
        keys = sorted((f[0], f[1], f[7], f[2]) for f in catalog if f[7] is not None)
        rows = {(f[0], f[1]): int(f[8]) if f[8] >= 0 else None for f in catalog}
        more = {(f[0], f[1]): f[9:] for f in catalog}
        tables = catalog_tables(columns, ((s, t, name) for s, t, _, name in keys), rows)
        return [
            replace(
                t,
                readable=readable,
                is_partitioned=partitioned,
                is_unlogged=unlogged,
                identity=identity,
                is_deferrable=deferrable,
            )
            for t in tables
            for readable, partitioned, unlogged, identity, deferrable in [more[t.database, t.name]]
        ]

    def type_names(self, types: Sequence[tuple[int, int]]) -> list[str]:
        """Types by number and modifier, as text."""
        signed = [(n, m - (1 << 32) if m >> 31 else m) for n, m in types]
        return [self.rows("SELECT format_type(%s, %s)", pair)[0][0] for pair in signed]

    def chunk(
        self,
        table: CatalogTable,
        after: Sequence[str] | None,
        limit: int | None,
        until: int | None = None,
        where: str | None = None,
    ) -> Iterator[tuple[str | None, ...]]:
        """See ``ServerConnection``; values are text."""
        names = ", ".join(quoted(column.name) for column in table.columns)
        sql = f"SELECT {names} FROM {self.relation(table)}" + (f" WHERE ({where})" if where else "")
        key = ", ".join(map(quoted, table.key))
        if table.key and after is not None:
            values = [
                f"{_literal(value)}::{table.types[name]}"
                for name, value in zip(table.key, after, strict=True)
            ]
            sql += f" WHERE ({key}) > ({', '.join(values)})"
        sql = self.cut(sql, key, until, limit)
        with (
            _with_our_errors(self._source, sql),
            self._raw.cursor() as cursor,
            cursor.copy(f"COPY ({sql}) TO STDOUT") as copy,
        ):
            yield from copy.rows()

    @staticmethod
    def quoted(name: str) -> str:
        """See ``ServerConnection``."""
        return quoted(name)

    def relation(self, table: CatalogTable) -> str:
        """See ``ServerConnection``; the rows of heirs are theirs in the log."""
        only = "" if table.is_partitioned else "ONLY "
        return f"{only}{ServerConnection.relation(self, table)}"

    def hold(self, table: CatalogTable) -> None:
        """See ``ServerConnection``: a snapshot sees no rows of a table that was rewritten after it."""
        relation = self.relation(table)
        self.rows(f"LOCK TABLE {relation} IN ACCESS SHARE MODE")
        name = _literal(relation.removeprefix("ONLY "))
        changed = self.rows(
            f"SELECT c.relname FROM pg_class c WHERE (c.oid = {name}::regclass OR c.oid IN "
            f"(SELECT relid FROM pg_partition_tree({name}::regclass))) AND c.relkind = 'r' "
            "AND c.relfilenode IS DISTINCT FROM pg_relation_filenode(c.oid)"
        )
        if changed:
            raise EventError(
                f"{relation} was truncated or rewritten meanwhile",
                host=self._source.host,
                code=REWRITTEN,
            )

    def peek(self, until: str | None = None) -> Iterator[list[bytes]]:
        """Changes that the slot holds, whole transactions, a part at a time; they stay there.

        The server keeps them for a cursor, so a large transaction is nowhere in memory at once.  ``until``
        is a place in the log, behind which none is taken.
        """
        source = self._source
        sql = (
            "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s, %s, "
            "'proto_version', '1', 'publication_names', %s)"
        )
        arguments = (source.slot, until, source.batch_changes, source.publication)
        with (
            _with_our_errors(source, sql),
            self._raw.transaction(),
            self._raw.cursor("changes", scrollable=True) as cursor,
        ):
            cursor.execute(sql, arguments)
            count, done = _FETCHED, 0
            while changes := self._fetched(count, done):
                done += len(changes)
                yield changes
                is_cut = sum(map(len, changes)) >= _FETCHED_BYTES
                count = len(changes) if is_cut else min(2 * count, _FETCHED)

    def _fetched(self, count: int, done: int) -> list[bytes]:
        """The next changes of the cursor, ``count`` at most, behind the ``done`` ones.

        The cursor is put back behind those that fit.
        """
        changes: list[bytes] = []
        came = size = 0
        chunk = _CHUNK if _driver().capabilities.has_stream_chunked() else 1
        with self._raw.cursor() as cursor:
            rows = cursor.stream(f"FETCH {count} FROM changes", binary=True, size=chunk)
            for came, (change,) in enumerate(rows, 1):
                if came > count:
                    raise _driver().OperationalError(
                        f"more than the {count:,} changes that were wanted"
                    )
                if size < _FETCHED_BYTES:
                    changes.append(bytes(change))
                    size += len(change)
            if came > len(changes):
                cursor.execute(f"MOVE ABSOLUTE {done + len(changes)} FROM changes")
        return changes

    def advance(self, lsn: str) -> None:
        """Let the server forget what comes before."""
        self.rows("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", (self._source.slot, lsn))

    def end_of_kept_log(self) -> int:
        """Up to where the log is on disk now: what the slot has was decoded at least up to here."""
        return lsn_number(str(self.rows("SELECT pg_current_wal_flush_lsn()")[0][0]))

    def end_of_log(self) -> int:
        """Where the log ends now."""
        return lsn_number(str(self.rows("SELECT pg_current_wal_lsn()")[0][0]))


_COLUMNS: Final = """
SELECT n.nspname, c.relname, a.attname,
       format_type(a.atttypid, a.atttypmod) || repeat('[]', greatest(a.attndims - 1, 0)), a.attnotnull,
       CASE WHEN a.atthasmissing THEN a.attmissingval::text WHEN c.relkind = 'p' THEN (
         SELECT m.attmissingval::text FROM pg_partition_tree(c.oid) t JOIN pg_inherits l ON l.inhrelid = t.relid
         JOIN pg_attribute m ON m.attrelid = t.relid AND m.attname = a.attname AND m.atthasmissing
         ORDER BY age(l.xmin) DESC LIMIT 1) END, col_description(c.oid, a.attnum),
       array_position(i.indkey::int2[], a.attnum), c.reltuples,
       has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),
       c.relkind = 'p',
       CASE c.relkind WHEN 'p' THEN EXISTS (
         SELECT 1 FROM pg_partition_tree(c.oid) t JOIN pg_class f ON f.oid = t.relid
         WHERE f.relpersistence = 'u' OR f.relkind = 'f')
       ELSE c.relpersistence = 'u' END, c.relreplident::text, NOT coalesce(i.indimmediate, true)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_'
  AND a.attgenerated = ''
ORDER BY n.nspname, c.relname, a.attnum
"""
"""A partitioned table has no rows of its own: what older rows have of a column stands with its oldest partition."""


def _literal(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _driver() -> Any:
    return driver_of("psycopg", "PostgresSource", "postgres")


@contextmanager
def _with_our_errors(source: PostgresSource, doing: str = "connect") -> Iterator[None]:
    """Errors of the driver as ours, with the statement that mends them and without secrets."""
    driver = _driver()
    try:
        yield
    except driver.Error as error:
        text = str(error).strip().partition("\n")[0]
        if source.password:
            text = text.replace(source.password, "***")
        raise _error(source, doing, str(error.sqlstate or ""), text) from None


def _error(
    source: PostgresSource, doing: str, state: str, text: str
) -> ArgumentError | EventError | StorageUnavailableError:
    where = f"{source.host}:{source.port}/{source.database}"
    if "row-level security" in text:
        return ArgumentError(
            f"{where} does not show user {source.user!r} all rows: {text}; run ALTER ROLE "
            f"{source.user} BYPASSRLS, or leave the table out",
            argument="user",
            value=source.user,
        )
    if state in _DENIED or "password authentication" in text:
        mend = f"GRANT SELECT ON ALL TABLES IN SCHEMA … TO {source.user}"
        if "replication" in text.lower() or "slot" in doing:
            mend = f"ALTER ROLE {source.user} REPLICATION"
        elif "PUBLICATION" in doing or "superuser" in text:
            mend = (
                f"as owner of the tables: {doing.removesuffix(VIA_ROOT).strip()} "
                f"{VIA_ROOT if doing.startswith('CREATE') else ''}"
            ).strip()
        return ArgumentError(
            f"{where} refuses user {source.user!r}: {text}; run {mend}",
            argument="user",
            value=source.user,
        )
    if _TLS.search(text):
        return ArgumentError(
            f"{where}: {text}; set the TLS mode, e.g. options={{'sslmode': 'verify-full', "
            "'sslrootcert': '/path/ca.pem'}}, or options={{'sslmode': 'disable'}} to use none, or switch TLS on in the server: ALTER SYSTEM SET ssl = on",
            argument="options",
            value="sslmode",
        )
    if state == _LOCKED:
        return StorageUnavailableError(
            f"{where}: a table was locked for more than {source.lock_wait_s} s ({text}); run the sync "
            "again once pg_locks shows nobody who holds it, or raise lock_wait_s",
            path=where,
            reason=text,
        )
    if doing == "connect" or not state or state.startswith(_AWAY):
        return StorageUnavailableError(
            f"{where} cannot be reached: {text}", path=where, reason=text
        )
    if state == _MISSING_OBJECT and "publication" in text:
        text += (
            "; it was dropped for a while, and the log cannot be decoded across that: run SELECT "
            f"pg_drop_replication_slot('{source.slot}') and reset the tables with table-core position reset "
            "… tc.source.positions; the next sync reads them anew"
        )
    elif state in {_MISSING_OBJECT, _PREREQUISITE}:
        text += f"; slot {source.slot!r}, publication {source.publication!r}"
    return EventError(f"{where}: {text}", host=where, code=state)
