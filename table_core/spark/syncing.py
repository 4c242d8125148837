"""Sync of tables with a source, its large first snapshots read by tasks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from table_core.spark.tasks import each
from table_core.table.cdc.sync import sync_database, sync_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from table_core.table.catalog import Catalog
    from table_core.table.cdc.readers import Source
    from table_core.table.results import ResultDocument

__all__ = ["sync"]


def sync(
    spark: SparkSession | Callable[[], SparkSession],
    catalog: Catalog,
    target: str,
    source: Source,
    **more: Any,
) -> ResultDocument:
    """``sync_table`` where ``target`` is ``database.table``, else ``sync_database``.

    Tasks read ranges of the keys of tables that are new to the sync, over connections of their own;
    the driver writes and commits, and reads the log.  No session is needed where all is small.
    """
    verb = sync_table if "." in target else sync_database
    return verb(catalog, target, source, each=partial(each, spark), **more)
