"""The engine inside the calling process: SQL by DuckDB, rows by Arrow.  For small tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from table_core.table.jobs.flow import View
    from table_core.table.results import Commit, CommitAs
    from table_core.table.table import Table

__all__ = ["EmbeddedEngine", "quiet", "view_rows"]


def quiet(_: str, **__: object) -> None:
    """Tell nobody."""


class EmbeddedEngine:
    """Computes in this process; every view is in memory while its query runs.

    ``progress`` is told each stage as it begins.
    """

    each = None
    records_by = None
    """Everything is done here."""

    def __init__(self, progress: Callable[..., None] = quiet) -> None:
        self.progress = progress

    def query(self, sql: str, views: Mapping[str, View]) -> pa.Table:
        """Rows of ``sql`` over ``views``.

        Raises:
            UnsupportedFeatureError: DuckDB is not installed.
            ArgumentError: DuckDB refuses the SQL; its message says where.
        """
        return self.query_tables(sql, {name: view_rows(view) for name, view in views.items()})

    def query_tables(self, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Rows of ``sql`` over Arrow tables; ``query`` over views ends here.

        Raises:
            UnsupportedFeatureError: DuckDB is not installed.
            ArgumentError: DuckDB refuses the SQL; its message says where.
        """
        try:
            import duckdb
        except ImportError as error:
            raise UnsupportedFeatureError(
                "SQL in the embedded engine needs DuckDB: pip install duckdb, or use Spark",
                feature="sql in engine 'local'",
            ) from error
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            for name, rows in tables.items():
                connection.register(name, rows)
            try:
                found = connection.sql(sql)
                if found is None:
                    raise ArgumentError("SQL is no query", argument="sql", value=sql)
                return found.to_arrow_table()
            except duckdb.Error as error:
                raise ArgumentError(f"SQL failed: {error}", argument="sql", value=sql) from error

    def write(
        self, table: Table, rows: Any, commit: CommitAs, overwrite: str | Mapping[str, Any] | None
    ) -> Commit:
        """Write ``rows`` with one commit."""
        with table.write(commit=commit, overwrite=overwrite) as writer:
            writer.write(rows)
            return writer.commit()


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
