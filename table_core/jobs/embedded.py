"""The engine beside the calling process: SQL by DuckDB, rows by Arrow.  For small tables.

SQL sees the tables that it is given and nothing else: no file, no address, no variable of this
process, no extension, no setting (docs/adr/0014-what-comes-from-outside.md).  It runs in a process of
its own, which is bounded in memory, disk and time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.apply.progress import quiet
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError, MissingPackageError
from table_core.options.budgets import require_bounded, take_budgets
from table_core.sql.sql_parameters import named
from table_core.table.api.sql.sql_child import CLOSED
from table_core.table.api.sql.sql_process import SqlLimits, SqlProcesses, rows_of
from table_core.table.dml.overwrite import open_writer
from table_core.table.metadata.sharing import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.cdc.model.generated import ComputedRows
    from table_core.jobs.flow import View
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import Commit, CommitAs, ResultDocument
    from table_core.table.metadata.sharing import Share

__all__ = ["EmbeddedEngine", "SqlLimits", "one_select", "view_rows"]

_KIND: Final = pa.field(ROW_KIND_COLUMN, pa.string())


class EmbeddedEngine:
    """Computes in this process; views of a query pass by, to the process that runs it.

    ``progress`` is told each stage as it begins; ``limits`` bound what SQL takes.  The process of a query
    waits for the next one of this engine, so an engine is of one task of one user.
    """

    map_pieces = None
    records_by = None
    """Everything is done here."""

    def __init__(
        self, progress: Callable[..., None] = quiet, limits: SqlLimits | None = None
    ) -> None:
        self.progress = progress
        self.limits = limits or SqlLimits()
        self._processes = SqlProcesses()

    def expect_sql(self) -> None:
        """Have the process of the first query begun, while the query is prepared."""
        self._processes.start(self.limits)

    def close(self) -> None:
        """End the processes that wait for queries; by itself that happens with this engine."""
        self._processes.close()

    def query(
        self, sql: str, views: Mapping[str, View], parameters: Mapping[str, Any] | None = None
    ) -> pa.Table:
        """Rows of ``sql`` over ``views``; ``parameters`` are the values of its ``$name``.

        Raises:
            ArgumentError: DuckDB refuses the SQL; its message says where.
            MissingPackageError: DuckDB is not installed.
        """
        readers = {name: view_rows(view) for name, view in views.items()}
        return self.query_readers(sql, readers, parameters)

    def query_tables(
        self, sql: str, tables: Mapping[str, pa.Table], parameters: Mapping[str, Any] | None = None
    ) -> pa.Table:
        """Rows of ``sql``, one SELECT, over Arrow tables.

        Raises:
            ArgumentError: see ``query_readers``.
        """
        readers = {name: rows.to_reader() for name, rows in tables.items()}
        return self.query_readers(sql, readers, parameters)

    def query_readers(
        self,
        sql: str,
        readers: Mapping[str, pa.RecordBatchReader],
        parameters: Mapping[str, Any] | None = None,
    ) -> pa.Table:
        """Rows of ``sql``, one SELECT, over rows that are read once; every query ends here.

        Raises:
            ArgumentError: it is not one SELECT, it wants more than ``readers``, it finds more rows than
                the limits have memory for, or DuckDB refuses it.
        """
        text, names = one_select(sql)
        return rows_of(text, readers, named(parameters, names), self.limits, self._processes)

    def sharing(self, action: str, target: str) -> Share:  # noqa: ARG002
        """Nobody to share with."""
        return alone

    def verb(self, name: str, handle: Table | Catalog) -> Callable[..., ResultDocument]:
        """The method of ``handle``."""
        method: Callable[..., ResultDocument] = getattr(handle, name)
        return method

    def with_computed(self, _: Table, rows: pa.Table, computed: ComputedRows) -> pa.Table:
        """``rows`` with the computed columns."""
        return computed.added(rows)

    def write(
        self,
        table: Table,
        rows: Any,
        commit: CommitAs,
        overwrite: str | Mapping[str, Any] | None,
        *,
        is_new: bool = False,
    ) -> Commit:
        """Write ``rows`` with one commit."""
        with open_writer(table.access, commit, overwrite, is_new=is_new) as writer:
            writer.write(rows)
            return writer.commit()


def one_select(sql: str) -> tuple[str, set[str]]:
    """The text of the only statement of ``sql``, and the parameters that it names.

    Raises:
        ArgumentError: DuckDB does not parse it, or it is not one SELECT.
        MissingPackageError: DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingPackageError.of("SQL in this process", "duckdb", error) from error
    if isinstance(sql, str):
        take_budgets(os.environ)
        require_bounded(sql)
    try:
        with duckdb.connect(config=dict(CLOSED)) as connection:
            statements = connection.extract_statements(sql)
    except (TypeError, UnicodeEncodeError) as error:
        raise ArgumentError(f"SQL is no text: {error}", argument="sql") from error
    except duckdb.Error as error:
        raise ArgumentError(f"SQL failed: {error}", argument="sql", value=sql) from error
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
    parameters: set[str] = set(statements[0].named_parameters)
    return str(statements[0].query), parameters


def view_rows(view: View) -> pa.RecordBatchReader:
    """The rows of ``view``; no rows and the table's columns where there is no snapshot."""
    scan = view.scan()
    if scan is not None:
        return scan.to_reader()
    rows = view.table.arrow_schema.empty_table()
    return (
        rows.add_column(0, _KIND, pa.array([], _KIND.type)) if view.changes else rows
    ).to_reader()
