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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.spark.compaction import compact, compact_database
    from table_core.spark.datasource import register
    from table_core.spark.merging import merge_into
    from table_core.spark.reading import changes, read
    from table_core.spark.rescaling import rescale
    from table_core.spark.sql import create_table_as, view
    from table_core.spark.statements import delete, update
    from table_core.spark.syncing import sync
    from table_core.spark.writing import write

__all__ = [
    "changes",
    "compact",
    "compact_database",
    "create_table_as",
    "delete",
    "merge_into",
    "read",
    "register",
    "rescale",
    "sync",
    "update",
    "view",
    "write",
]

_HOMES: Final[Mapping[str, str]] = {
    "changes": "reading",
    "compact": "compaction",
    "compact_database": "compaction",
    "create_table_as": "sql",
    "delete": "statements",
    "merge_into": "merging",
    "read": "reading",
    "register": "datasource",
    "rescale": "rescaling",
    "sync": "syncing",
    "update": "statements",
    "view": "sql",
    "write": "writing",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"table_core.spark.{home}"), name)


def __dir__() -> list[str]:
    return list(__all__)
