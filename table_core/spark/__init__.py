"""The same work on Spark: the only importer of pyspark.

    table_core.spark.read(spark, table, where="amount > 10")
    table_core.spark.write(df, table, mode="append")
    table_core.spark.merge_into(spark, table, df, on=["id"], when=[tc.MatchedUpsert()])
    table_core.spark.compact(spark, table)
    table_core.spark.sync(spark, catalog, "lake", tc.MySqlSource(…))
    table_core.spark.register(spark); spark.read.format("paimon").load(path)

Names are loaded when they are first used, so that a job without rows never imports pyspark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from table_core.spark._compat import without_pyspark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.scan.stream_offset import ReadLimit
    from table_core.spark.datasource import register
    from table_core.spark.reading.aggregate import aggregate
    from table_core.spark.reading.frames import changes, read
    from table_core.spark.reading.lookup import lookup_join
    from table_core.spark.streams.drain import drain
    from table_core.spark.streams.sink import merge_batch, write_batch
    from table_core.spark.verbs.maintenance import analyze, clone_table, remove_orphan_files
    from table_core.spark.verbs.merge_into import merge_into
    from table_core.spark.verbs.rescale import rescale
    from table_core.spark.verbs.sql import create_table_as, view
    from table_core.spark.verbs.statements import delete, update
    from table_core.spark.verbs.sync import sync
    from table_core.spark.writing.compaction import compact, compact_database
    from table_core.spark.writing.frames import write

__all__ = [
    "ReadLimit",
    "aggregate",
    "analyze",
    "changes",
    "clone_table",
    "compact",
    "compact_database",
    "create_table_as",
    "delete",
    "drain",
    "lookup_join",
    "merge_batch",
    "merge_into",
    "read",
    "register",
    "remove_orphan_files",
    "rescale",
    "sync",
    "update",
    "view",
    "write",
    "write_batch",
]

_HOMES: Final[Mapping[str, str]] = {
    "ReadLimit": "scan.stream_offset",
    "aggregate": "spark.reading.aggregate",
    "analyze": "spark.verbs.maintenance",
    "changes": "spark.reading.frames",
    "clone_table": "spark.verbs.maintenance",
    "compact": "spark.writing.compaction",
    "compact_database": "spark.writing.compaction",
    "create_table_as": "spark.verbs.sql",
    "delete": "spark.verbs.statements",
    "drain": "spark.streams.drain",
    "lookup_join": "spark.reading.lookup",
    "merge_batch": "spark.streams.sink",
    "merge_into": "spark.verbs.merge_into",
    "read": "spark.reading.frames",
    "register": "spark.datasource",
    "remove_orphan_files": "spark.verbs.maintenance",
    "rescale": "spark.verbs.rescale",
    "sync": "spark.verbs.sync",
    "update": "spark.verbs.statements",
    "view": "spark.verbs.sql",
    "write": "spark.writing.frames",
    "write_batch": "spark.streams.sink",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"table_core.{home}"), name)
    except ImportError as error:
        if (missing := without_pyspark(error)) is None:
            raise
        raise missing from error


def __dir__() -> list[str]:
    return list(__all__)
