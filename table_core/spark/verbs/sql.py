"""Plain Spark SQL over tables: as views, and back into a table with one call."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import (
    AlreadyExistsError,
    ArgumentError,
    StorageUnavailableError,
    TableError,
)
from table_core.spark.reading.frames import read
from table_core.spark.session.failures import translated
from table_core.spark.session.schema_bridge import fields_of
from table_core.spark.writing.frames import write
from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog
from table_core.table.commit_io.committer import find_commit
from table_core.table.metadata.results import Commit, CommitAs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from table_core.table.api.table import Table

__all__ = ["WAREHOUSE", "create_table_as", "view"]

_log = logging.getLogger(__name__)
WAREHOUSE: Final = "spark.sql.paimon.warehouse"
"""The setting of a session that names the warehouse where a call does not."""
_FIRST: Final = ("error", "ignore")
"""Modes that write nothing into a table that is there."""
_MODES: Final = (*_FIRST, "append", "overwrite", "overwrite-partitions")


def view(
    spark: SparkSession,
    table: Table | str,
    name: str | None = None,
    catalog: Catalog | str | None = None,
    **how: Any,
) -> DataFrame:
    """Show one state of ``table``, pinned now, to Spark SQL as the view ``name``.

    ``table``: a handle, or ``database.table`` of ``catalog`` (a handle, a warehouse, or by default what
    ``spark.sql.paimon.warehouse`` says).  ``name`` is that of the table if it is not given.  ``how``
    goes to ``read``.
    """
    handle = _catalog(spark, catalog).table(table) if isinstance(table, str) else table
    frame = read(spark, handle, **how)
    shown = name or handle.name.rpartition(".")[2].replace("$", "_")
    with translated():
        frame.createOrReplaceTempView(f"`{shown.replace('`', '``')}`")
    return frame


def create_table_as(  # noqa: PLR0913 - what CREATE TABLE AS SELECT says
    spark: SparkSession,
    query: DataFrame | str,
    name: str,
    catalog: Catalog | str | None = None,
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    mode: str = "error",
    commit: CommitAs | None = None,
) -> Commit:
    """Write the rows of ``query`` into the table ``name``, which is created from their columns.

    ``mode`` says what becomes of a table that is there: ``error``, ``ignore`` (nothing happens), or as
    for ``write``.  A table that was made for rows which then could not be written is dropped.  A run with
    the same ``commit`` goes on where one that was killed has left a table without rows.

    Raises:
        AlreadyExistsError: the table is there, and ``mode`` is ``error``.
        TableError: as for ``write``.
    """
    if mode not in _MODES:
        raise ArgumentError(
            f"mode={mode!r}: use one of {', '.join(_MODES)}", argument="mode", value=mode
        )
    home = _catalog(spark, catalog)
    commit = (commit or CommitAs()).with_request("create-table-as", mode=mode)
    existed = _exists(home, name)
    if existed and (done := _left_alone(home.table(name), commit, mode)) is not None:
        return done
    with translated():
        frame = spark.sql(query) if isinstance(query, str) else query
        columns = tuple(f for f in fields_of(frame.schema) if f.name != ROW_KIND_COLUMN)
    made = None
    if not existed:
        with suppress(AlreadyExistsError):  # somebody was first: for us the table was there
            made = home.create_table(
                name,
                columns,
                primary_key=tuple(primary_key),
                partition_by=tuple(partition_by),
                options=dict(options or {}),
            )
    if made is None:
        table = home.table(name)
        if not existed and (done := _left_alone(table, commit, mode)) is not None:
            return done
        return write(frame, table, "append" if mode in _FIRST else mode, commit)
    try:
        return write(frame, made, "append", commit)
    except TableError:
        if made.latest_snapshot() is None:
            _drop(home, name)
        raise


def _exists(home: Catalog, name: str) -> bool:
    database, plain = home.split(name)
    return plain in home.tables(database)


def _left_alone(table: Table, commit: CommitAs, mode: str) -> Commit | None:
    """What is answered where ``table`` is there and nothing is to be written; None if rows are to be.

    A run that is repeated, and whose table has never had rows, died before it wrote them.

    Raises:
        AlreadyExistsError: ``mode`` is ``error``.
    """
    landed = find_commit(table.access, commit)
    if landed is not None:
        return landed
    if mode not in _FIRST or (commit.is_named and table.latest_snapshot() is None):
        return None
    if mode == "error":
        raise AlreadyExistsError(f"table {table.name!r} is there already", name=table.name)
    return Commit()


def _drop(home: Catalog, name: str) -> None:
    """Drop a table that has no rows, into which tasks of the failed job may still write."""
    try:
        home.drop_table(name, if_exists=True)
    except StorageUnavailableError as error:  # what the caller has to hear is why it has no rows
        _log.warning("%s: the empty table is left over: %s", name, error)


def _catalog(spark: SparkSession, catalog: Catalog | str | None) -> Catalog:
    if isinstance(catalog, Catalog):
        return catalog
    warehouse = catalog or spark.conf.get(WAREHOUSE, None)
    if not warehouse:
        raise ArgumentError(
            f"which warehouse? give catalog=…, or set {WAREHOUSE} in the session",
            argument="catalog",
        )
    return open_catalog(warehouse)
