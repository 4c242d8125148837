"""Sync of tables with a source, its first snapshots and topics read by tasks where they are large."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from table_core.cdc.sync.sync import sync_database, sync_table
from table_core.spark.session.tasks import map_pieces
from table_core.spark.verbs.topics import records_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from table_core.cdc.sync.readers import Source
    from table_core.table.api.catalog import Catalog
    from table_core.table.metadata.results import ResultDocument

__all__ = ["sync"]


def sync(
    spark: SparkSession | Callable[[], SparkSession],
    catalog: Catalog,
    target: str,
    source: Source,
    **more: Any,
) -> ResultDocument:
    """``sync_table`` where ``target`` is ``database.table``, else ``sync_database``.

    Tasks read ranges of the keys of tables that are new to the sync, over connections of their own,
    and many records of topics by Spark's source, if the session has its jar; the driver writes and
    commits, and reads the log of a server.  No session is needed where all is small.
    """
    verb = sync_table if "." in target else sync_database
    by_tasks: Any = {
        "map_pieces": partial(map_pieces, spark),
        "records_by": partial(records_by, spark),
    }
    return verb(catalog, target, source, **by_tasks, **more)
