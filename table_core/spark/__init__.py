"""The same work on Spark: the only importer of pyspark.

    table_core.spark.read(spark, table, where="amount > 10")
    table_core.spark.write(df, table, mode="append")
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

    from table_core.spark.compaction import compact
    from table_core.spark.datasource import register
    from table_core.spark.reading import read
    from table_core.spark.syncing import sync
    from table_core.spark.writing import write

__all__ = ["compact", "read", "register", "sync", "write"]

_HOMES: Final[Mapping[str, str]] = {
    "compact": "compaction",
    "read": "reading",
    "register": "datasource",
    "sync": "syncing",
    "write": "writing",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"table_core.spark.{home}"), name)


def __dir__() -> list[str]:
    return list(__all__)
