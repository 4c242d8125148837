"""A driver to be killed: brings what is new in one table into another, in small batches, and ends.

python stream_driver.py WAREHOUSE MASTER CHECKPOINT drain|query|foreachBatch|merge
"""

from __future__ import annotations

import sys
from typing import Any

import table_core as tc
import table_core.spark as tcs
from table_core.scan.stream_offset import ReadLimit
from table_core.spark import register
from table_core.spark.session.create import open_session
from tests.spark_servers import SMALL

CONF = {
    **SMALL,
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "4",
    "spark.speculation": "true",
    "spark.speculation.minTaskRuntime": "0ms",
}


def main(warehouse: str, master: str, checkpoint: str, how: str) -> None:
    spark = open_session({**CONF, "spark.master": master})
    print('"stage": "spark"', flush=True)
    register(spark)
    catalog = tc.open_catalog(warehouse)
    source, copy = catalog.table("d.s"), catalog.table("d.t")

    def merged(rows: Any, number: int) -> None:
        when = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
        tcs.merge_batch(rows, copy, number, "copier", ["id"], when)

    if how == "drain":
        tcs.drain(spark, source, copy, name="copier", limit=ReadLimit(rows=10_000))
    else:
        rows = spark.readStream.format("paimon").load(source.uri)
        query = rows.writeStream.option("checkpointLocation", checkpoint)
        if how == "query":
            query = query.format("paimon").option("path", copy.uri)
        elif how == "merge":
            query = query.foreachBatch(merged)
        else:
            query = query.foreachBatch(
                lambda rows, number: tcs.write_batch(rows, copy, number, name="copier")
            )
        assert query.trigger(availableNow=True).start().awaitTermination(600)
    print("done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
