"""The engine inside the calling process: SQL by DuckDB, rows by Arrow.  For small tables.

SQL sees the tables that it is given and nothing else: no file, no address, no variable of this
process, no extension, no setting (docs/adr/0014-what-comes-from-outside.md).
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError
from table_core.options.parse import integer, size_bytes
from table_core.table.jobs.sql_parameters import named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from table_core.table.jobs.flow import View
    from table_core.table.results import Commit, CommitAs
    from table_core.table.table import Table

__all__ = ["EmbeddedEngine", "SqlLimits", "quiet", "view_rows"]

_CLOSED: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "python_enable_replacements": "false",
}
"""What a query could otherwise reach besides files: code of others, variables of this process."""
_LAST: Final = ("SET TimeZone = 'UTC'", "SET enable_external_access = false")


def quiet(_: str, **__: object) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlLimits:
    """What one query may take of the machine, beside the rows of its views."""

    memory: str = "1 gb"
    """Of DuckDB while it works, and of the rows that it finds."""
    disk: str = "16 gb"
    """Of a temporary folder, for what is larger than ``memory``."""
    threads: int = 4

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SqlLimits:
        """Read ``sql.memory-limit``, ``sql.disk-limit`` and ``sql.threads``.

        Raises:
            ArgumentError: one of them does not parse.
        """
        found: dict[str, Any] = {}
        for name, key, parse in (
            ("memory", "sql.memory-limit", size_bytes),
            ("disk", "sql.disk-limit", size_bytes),
            ("threads", "sql.threads", integer),
        ):
            if key in options:
                try:
                    number = parse(options[key])
                except ValueError as error:
                    raise ArgumentError(f"{key}: {error}", argument=key) from error
                if number < 1:
                    raise ArgumentError(f"{key}={options[key]}: too small", argument=key)
                found[name] = number if name == "threads" else options[key]
        return cls(**found)


class EmbeddedEngine:
    """Computes in this process; every view is in memory while its query runs.

    ``progress`` is told each stage as it begins; ``limits`` bound what SQL takes.
    """

    each = None
    records_by = None
    """Everything is done here."""

    def __init__(
        self, progress: Callable[..., None] = quiet, limits: SqlLimits | None = None
    ) -> None:
        self.progress = progress
        self.limits = limits or SqlLimits()

    def query(
        self, sql: str, views: Mapping[str, View], parameters: Mapping[str, Any] | None = None
    ) -> pa.Table:
        """Rows of ``sql`` over ``views``; ``parameters`` are the values of its ``$name``.

        Raises:
            ArgumentError: DuckDB refuses the SQL; its message says where.
        """
        tables = {name: view_rows(view) for name, view in views.items()}
        return self.query_tables(sql, tables, parameters)

    def query_tables(
        self, sql: str, tables: Mapping[str, pa.Table], parameters: Mapping[str, Any] | None = None
    ) -> pa.Table:
        """Rows of ``sql``, one SELECT, over Arrow tables; ``query`` over views ends here.

        Raises:
            ArgumentError: it is not one SELECT, it wants more than ``tables``, it finds more rows than
                the limits have memory for, or DuckDB refuses it.
        """
        import duckdb

        try:
            with _closed_in(duckdb, tables, self.limits) as connection:
                text, names = _one_select(duckdb, connection, sql)
                given = named(parameters, names)
                found = connection.sql(text, params=given) if given else connection.sql(text)
                if found is None:
                    raise ArgumentError("SQL is no query", argument="sql", value=sql)
                return _rows_within(found, sql, self.limits.memory)
        except duckdb.Error as error:
            raise ArgumentError(f"SQL failed: {error}", argument="sql", value=sql) from error

    def write(
        self, table: Table, rows: Any, commit: CommitAs, overwrite: str | Mapping[str, Any] | None
    ) -> Commit:
        """Write ``rows`` with one commit."""
        with table.write(commit=commit, overwrite=overwrite) as writer:
            writer.write(rows)
            return writer.commit()


@contextmanager
def _closed_in(duckdb: Any, tables: Mapping[str, pa.Table], limits: SqlLimits) -> Iterator[Any]:
    """A connection that reaches ``tables`` and nothing else, and whose settings stay so."""
    with tempfile.TemporaryDirectory(prefix="paimon-sql-", ignore_cleanup_errors=True) as folder:
        settings = {
            **_CLOSED,
            "temp_directory": folder,
            "memory_limit": f"{size_bytes(limits.memory)}B",
            "max_temp_directory_size": f"{size_bytes(limits.disk)}B",
            "threads": str(limits.threads),
        }
        with duckdb.connect(config=settings) as connection:
            for name, rows in tables.items():
                connection.register(name, rows)
            for setting in (*_LAST, "SET lock_configuration = true"):
                connection.execute(setting)
            yield connection


def _one_select(duckdb: Any, connection: Any, sql: str) -> tuple[str, set[str]]:
    """The text of the only statement of ``sql``, and the parameters that it names."""
    try:
        statements = connection.extract_statements(sql)
    except (TypeError, UnicodeEncodeError) as error:
        raise ArgumentError(f"SQL is no text: {error}", argument="sql") from error
    kinds = [str(statement.type).rpartition(".")[2] for statement in statements]
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        hint = "; give the values of PIVOT with IN (…)" if kinds == ["MULTI"] else ""
        raise ArgumentError(
            f"SQL must be one SELECT, without others before or after it; this is "
            f"{' and '.join(kinds) or 'empty'}{hint}.  Bind values that come from outside with "
            "$name and parameters",
            argument="sql",
            value=sql,
        )
    found: set[str] = set(statements[0].named_parameters)
    return str(statements[0].query), found


def _rows_within(found: Any, sql: str, most: str) -> pa.Table:
    """The rows of the query ``found``: they are no longer in the memory that DuckDB counts."""
    left, batches = size_bytes(most), []
    try:
        with pa.RecordBatchReader.from_stream(found) as reader:
            for batch in reader:
                left -= batch.nbytes
                if left < 0:
                    raise ArgumentError(
                        f"SQL finds more rows than {most} hold, which is sql.memory-limit: raise it, "
                        "or let Spark run the query",
                        argument="sql",
                        value=sql,
                    )
                batches.append(batch)
            return pa.Table.from_batches(batches, schema=reader.schema)
    except OSError as error:  # what DuckDB says of a later row comes by Arrow
        raise ArgumentError(f"SQL failed: {error}", argument="sql", value=sql) from error


def view_rows(view: View) -> pa.Table:
    """The rows of ``view``; no rows and the table's columns where there is no snapshot."""
    if view.after is not None:
        return view.table.changes(after=view.after, to=view.snapshot).to_arrow()
    rows = view.table.arrow_schema.empty_table()
    if view.snapshot is not None:
        rows = view.table.read(snapshot=view.snapshot).to_arrow()
    if not view.changes:
        return rows
    return rows.append_column(ROW_KIND_COLUMN, pa.repeat(pa.scalar("+I"), rows.num_rows))
