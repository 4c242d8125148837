"""A driver to be killed: copies one table into another until somebody does.

python stream_driver.py SOURCE SINK CHECKPOINT forever|once
"""

from __future__ import annotations

import sys

from table_core.spark import register
from table_core.spark.session.create import open_session


def main(source: str, sink: str, checkpoint: str, how: str) -> None:
    spark = open_session({"spark.master": "local[2]"})
    spark.sparkContext.setLogLevel("OFF")
    register(spark)
    rows = spark.readStream.format("paimon").load(source)
    query = rows.writeStream.format("paimon").option("checkpointLocation", checkpoint)
    if how == "once":
        query = query.trigger(availableNow=True)
    query.start(sink).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
