"""Records of Kafka topics by Spark's own source: each task decodes one window.

Rows go from the JVM to the task's Python once, and to the driver as columns that are decoded.  The
source is a jar (``org.apache.spark:spark-sql-kafka-0-10_2.13``) that the session has or has not.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.functions import broadcast, expr

from table_core.spark.session.create import started
from table_core.spark.session.failures import carried, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

    from table_core.cdc.model.parallel_batches import (
        DecodeWindow,
        ParallelBatches,
        ReadParallel,
        Topics,
    )

__all__ = ["records_by"]

_RANGE: Final = "topic string, partition int, first long"
_RESULT: Final = "window int, result binary"


def records_by(
    spark: SparkSession | Callable[[], SparkSession], source: Topics
) -> ReadParallel | None:
    """What reads many records of ``source`` by tasks; None without the jar or options for Java's client."""
    if source.options and not source.java_options:
        return None
    session = started(spark)
    try:
        _ = _reader(session, source, "{}", "{}", "{}").schema
    except AnalysisException:
        return None
    return partial(_read, session, source)


def _reader(session: SparkSession, source: Topics, assign: str, start: str, end: str) -> Any:
    options = {
        "kafka.bootstrap.servers": source.servers,
        "kafka.isolation.level": "read_committed",
        **{f"kafka.{name}": value for name, value in source.java_options.items()},
        "assign": assign,
        "startingOffsets": start,
        "endingOffsets": end,
        "includeHeaders": "true",
        "failOnDataLoss": "true",
    }
    return session.read.format("kafka").options(**options).load()


def _read(
    session: SparkSession, source: Topics, batches: ParallelBatches, work: DecodeWindow
) -> Iterator[bytes]:
    assign: dict[str, list[int]] = {}
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for (topic, partition), (first, end) in batches.ranges.items():
        assign.setdefault(topic, []).append(partition)
        starts.setdefault(topic, {})[str(partition)] = first
        ends.setdefault(topic, {})[str(partition)] = end
    documents = (json.dumps(part) for part in (assign, starts, ends))
    ranges = [(*at, first) for at, (first, _) in batches.ranges.items()]

    def run(records: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            rows = iter(records)
            first = next((batch for batch in rows if batch.num_rows), None)
            if first is None:
                return
            number = first.column("window")[0].as_py()
            result = work(_chained(first, rows))
            yield pa.record_batch({"window": pa.array([number], pa.int32()), "result": [result]})

    with translated():
        where = broadcast(session.createDataFrame(ranges, _RANGE))
        window = expr(f"int((offset - first) div {batches.step})")
        frame = (
            _reader(session, source, *documents)
            .join(where, ["topic", "partition"])
            .select(
                "topic", "partition", "offset", "headers", "key", "value", window.alias("window")
            )
            .repartitionById(batches.windows, "window")
            .mapInArrow(run, _RESULT)
        )
        bodies = sorted((row[0], bytes(row[1])) for row in frame.collect())
    for _, body in bodies:
        yield body


def _chained(first: pa.RecordBatch, rest: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest
