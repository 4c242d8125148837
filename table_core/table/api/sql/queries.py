"""Queries: tables opened and read as far as needed, then computed by DuckDB in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.datatypes.arrow import fields_from_arrow
from table_core.errors import MissingPackageError, NotFoundError
from table_core.sql.plan import plan_of
from table_core.sql.text import near_of
from table_core.table.api.sql.sql_process import rows_of
from table_core.table.api.system_table import SystemTable
from table_core.table.read.scan import MemoryScan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.datatypes.kinds import Field
    from table_core.sql.plan import Plan, ScanNeeds
    from table_core.sql.query import Query, View
    from table_core.table.api.sql.context import Context
    from table_core.table.api.table import Table
    from table_core.table.read.scan import Scan

__all__ = ["explained", "inexact_columns", "result_of"]


@dataclass(frozen=True, slots=True)
class _Source:
    """A table as a query reads it."""

    table: Table
    at: dict[str, Any]
    """Which state."""
    fields: tuple[Field, ...]

    def scan(self, needs: ScanNeeds, columns: Sequence[str] | None = None) -> Scan:
        """What is needed of it."""
        where = " AND ".join(f"({condition})" for condition in needs.where) or None
        return self.table.read(
            columns=columns or needs.columns, where=where, limit=needs.limit, **self.at
        )


def result_of(query: Query, context: Context) -> Scan:
    """The rows of ``query``: as a stream where no more than a scan is needed, else in memory.

    Raises:
        SqlError: it names what is not there.
        UnsupportedFeatureError: a part of it may mean something else to Spark.
        ArgumentError: it takes more memory, disk or time than it may.
        MissingPackageError: DuckDB is not installed.
    """
    sources, plan = _planned(query, context)
    if plan.output is not None:
        (view,) = query.views
        return sources[view.name].scan(plan.needs[view.name], plan.output)
    _require_duckdb()
    readers = {name: source.scan(plan.needs[name]).to_reader() for name, source in sources.items()}
    return MemoryScan(rows_of(plan.sql, readers, plan.parameters, context.limits))


def inexact_columns(query: Query, context: Context) -> tuple[str, ...]:
    """Columns of the result whose type Spark may see otherwise, if they are decimals."""
    return _planned(query, context)[1].inexact


def explained(query: Query, context: Context) -> Scan:
    """What ``query`` would read of each table, and what is left to DuckDB."""
    sources, plan = _planned(query, context)
    rows = []
    for view in query.views:
        needs, source = plan.needs[view.name], sources[view.name]
        scan = source.scan(needs)
        seen = scan.explain()
        splits = scan.splits()
        size = sum(file.file_size for split in splits for file in split.files)
        rows.append(
            {
                "table": source.table.name,
                "view": view.name,
                "columns": ", ".join(needs.columns),
                "where": " AND ".join(needs.where),
                "limit": needs.limit,
                "files": seen.files,
                "files_read": seen.files_read,
                "bytes_read": size,
                "then": "" if plan.output is not None else plan.sql,
            }
        )
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("table", "view", "columns", "where")),
            *((name, pa.int64()) for name in ("limit", "files", "files_read", "bytes_read")),
            ("then", pa.string()),
        ]
    )
    return MemoryScan(pa.Table.from_pylist(rows, schema=schema))


def _planned(query: Query, context: Context) -> tuple[dict[str, _Source], Plan]:
    sources = {view.name: _source(query, view, context) for view in query.views}
    columns = {name: source.fields for name, source in sources.items()}
    return sources, plan_of(query, columns, context.parameters)


def _source(query: Query, view: View, context: Context) -> _Source:
    reference, text = view.reference, query.words.text
    name = context.full_name(reference.parts, text, reference.start)
    try:
        table = context.catalog.table(name, options=dict(reference.options) or None)
        at = _state(table, reference.version)
        scan = table.read(**at)
    except NotFoundError as error:
        place = near_of(text, reference.start)
        error.add_note(f"line {place['line']}, column {place['column']}: {place['near']}")
        raise
    if isinstance(scan, MemoryScan) or isinstance(table, SystemTable):
        return _Source(table, at, fields_from_arrow(scan.schema))
    return _Source(table, at, tuple(scan.reader.fields))


def _state(table: Table, version: int | str | None) -> dict[str, Any]:
    """The arguments of ``read`` for VERSION AS OF: a tag of that name, or else a snapshot."""
    if version is None:
        return {}
    name = str(version)
    is_tag = not isinstance(table, SystemTable) and name in table.tags
    if is_tag or not name.isdigit():
        return {"tag": name}
    return {"snapshot": int(name)}


def _require_duckdb() -> None:
    try:
        import duckdb  # noqa: F401 - the child imports it, and could not say what to install
    except ImportError as error:
        raise MissingPackageError.of("SQL in this process", "duckdb", error) from error
