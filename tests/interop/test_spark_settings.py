"""Goal: whatever a session is set to, Spark gives and takes the rows that the handle and Apache Paimon have.

Method: a random table, of each second one some columns with names that SQL takes for something else, written by Apache
Paimon and by us in turns; a session whose settings chance picks; random conditions, asked of the handle and by every
way out of Spark; then rows by one of its ways in, which a twin takes by the handle.  Apache Paimon reads both.
``SETTINGS_SEED`` and ``SETTINGS_TABLES`` choose others; a failure names its seed and what the session was set to.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from judge import Judge
from random_filters import condition, ours, sql
from random_names import rename_oddly
from random_tables import RandomTable
from ways_in import NAME, Taken, same, shown

import table_core as tc
import table_core.spark as tcs
from tests.interop.differential import build
from tests.lanes import SEED, budget

pytestmark = pytest.mark.interop

FIRST = int(os.environ.get("SETTINGS_SEED") or 1 + 1000 * SEED)
TABLES = budget("SETTINGS_TABLES", ci=1, nightly=300)
QUERIES = 4
ZONES = ("UTC", "Asia/Kathmandu", "America/New_York", "Pacific/Apia", "Europe/Dublin")
BOTH = ("true", "false")
CASE, ESCAPED = "spark.sql.caseSensitive", "spark.sql.parser.escapedStringLiterals"
SETTINGS: dict[str, tuple[str, ...]] = {
    "spark.sql.ansi.enabled": BOTH,
    "spark.sql.adaptive.enabled": BOTH,
    "spark.sql.session.timeZone": ZONES,
    CASE: BOTH,
    ESCAPED: BOTH,
    "spark.sql.parser.quotedRegexColumnNames": BOTH,
    "spark.sql.variable.substitute": BOTH,
    "spark.sql.ansi.doubleQuotedIdentifiers": BOTH,
    "spark.sql.ansi.enforceReservedKeywords": BOTH,
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": BOTH,
    "spark.sql.legacy.literal.pickMinimumPrecision": BOTH,
    "spark.sql.legacy.nullInEmptyListBehavior": BOTH,
    "spark.sql.legacy.disableMapKeyNormalization": BOTH,
    "spark.sql.datetime.java8API.enabled": BOTH,
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": ("1kb", "64mb"),
    "spark.sql.adaptive.coalescePartitions.enabled": BOTH,
    "spark.sql.adaptive.forceOptimizeSkewedJoin": BOTH,
    "spark.sql.cbo.enabled": BOTH,
    "spark.sql.codegen.factoryMode": ("FALLBACK", "NO_CODEGEN"),
    "spark.sql.sources.validatePartitionColumns": BOTH,
    "spark.sql.parquet.columnarReaderBatchSize": ("1", "4096"),
    "spark.sql.execution.arrow.maxBytesPerBatch": ("64", "64mb"),
    "spark.sql.execution.pyspark.binaryAsBytes": BOTH,
    "spark.sql.execution.pandas.structHandlingMode": ("legacy", "row", "dict"),
    "spark.sql.pyspark.inferNestedDictAsStruct.enabled": BOTH,
    "spark.sql.streaming.noDataMicroBatches.enabled": BOTH,
    "spark.sql.timestampType": ("TIMESTAMP_LTZ", "TIMESTAMP_NTZ"),
    "spark.sql.shuffle.partitions": ("1", "5"),
    "spark.sql.codegen.wholeStage": BOTH,
    "spark.sql.parquet.enableVectorizedReader": BOTH,
    "spark.sql.parquet.enableNestedColumnVectorizedReader": BOTH,
    "spark.sql.parquet.filterPushdown": BOTH,
    "spark.sql.parquet.recordLevelFilter.enabled": BOTH,
    "spark.sql.parquet.aggregatePushdown": BOTH,
    "spark.sql.parquet.binaryAsString": BOTH,
    "spark.sql.parquet.int96AsTimestamp": BOTH,
    "spark.sql.parquet.int96TimestampConversion": BOTH,
    "spark.sql.parquet.inferTimestampNTZ.enabled": BOTH,
    "spark.sql.parquet.mergeSchema": BOTH,
    "spark.sql.parquet.fieldId.read.enabled": BOTH,
    "spark.sql.parquet.fieldId.write.enabled": BOTH,
    "spark.sql.parquet.fieldId.read.ignoreMissing": BOTH,
    "spark.sql.parquet.writeLegacyFormat": BOTH,
    "spark.sql.parquet.outputTimestampType": ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"),
    "spark.sql.parquet.compression.codec": ("snappy", "gzip", "zstd", "none"),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("LEGACY", "CORRECTED", "EXCEPTION"),
    "spark.sql.parquet.datetimeRebaseModeInWrite": ("LEGACY", "CORRECTED", "EXCEPTION"),
    "spark.sql.parquet.int96RebaseModeInRead": ("LEGACY", "CORRECTED", "EXCEPTION"),
    "spark.sql.parquet.int96RebaseModeInWrite": ("LEGACY", "CORRECTED", "EXCEPTION"),
    "spark.sql.legacy.timeParserPolicy": ("LEGACY", "CORRECTED", "EXCEPTION"),
    "spark.sql.legacy.parquet.nanosAsLong": BOTH,
    "spark.sql.legacy.charVarcharAsString": BOTH,
    "spark.sql.readSideCharPadding": BOTH,
    "spark.sql.preserveCharVarcharTypeInfo": BOTH,
    "spark.sql.storeAssignmentPolicy": ("ANSI", "LEGACY", "STRICT"),
    "spark.sql.mapKeyDedupPolicy": ("EXCEPTION", "LAST_WIN"),
    "spark.sql.decimalOperations.allowPrecisionLoss": BOTH,
    "spark.sql.optimizer.nestedSchemaPruning.enabled": BOTH,
    "spark.sql.files.maxPartitionBytes": ("1kb", "128mb"),
    "spark.sql.files.maxRecordsPerFile": ("0", "3"),
    "spark.sql.files.ignoreCorruptFiles": BOTH,
    "spark.sql.files.ignoreMissingFiles": BOTH,
    "spark.sql.sources.partitionColumnTypeInference.enabled": BOTH,
    "spark.sql.sources.partitionOverwriteMode": ("static", "dynamic"),
    "spark.sql.sources.commitProtocolClass": (
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol",
    ),
    "spark.sql.python.filterPushdown.enabled": BOTH,
    "spark.sql.execution.arrow.maxRecordsPerBatch": ("1", "7", "10000"),
    "spark.sql.execution.arrow.useLargeVarTypes": BOTH,
    "spark.sql.execution.arrow.pyspark.enabled": BOTH,
    "spark.sql.execution.arrow.localRelationThreshold": ("0", "48MB"),
    "spark.sql.execution.arrow.compression.codec": ("none", "zstd"),
    "spark.sql.execution.pandas.convertToArrowArraySafely": BOTH,
    "spark.sql.execution.rangeExchange.sampleSizePerPartition": ("1", "100"),
    "spark.sql.autoBroadcastJoinThreshold": ("-1", "10MB"),
    "spark.sql.join.preferSortMergeJoin": BOTH,
    "spark.sql.constraintPropagation.enabled": BOTH,
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": BOTH,
    "spark.sql.orc.enableVectorizedReader": BOTH,
    "spark.sql.nameResolutionLog.enabled": BOTH,
    "parquet.filter.columnindex.enabled": BOTH,
    "parquet.filter.dictionary.enabled": BOTH,
}
"""Of a running session.  What a version of Spark does not know it takes all the same."""


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_the_rows_are_the_same_by_every_way_and_setting(
    seed: int, paimon: Judge, spark: Any, tmp_path: Path
) -> None:
    made, theirs = RandomTable(seed), paimon.table(tmp_path, NAME)
    if seed % 2:
        rename_oddly(made, random.Random(-seed))
    catalog = tc.open_catalog(tmp_path.as_uri())
    build(made, catalog, theirs)
    chance = random.Random(seed)
    chosen = {
        key: chance.choice(values) for key, values in SETTINGS.items() if chance.random() < 0.4
    }
    tcs.register(spark)
    with set_to(spark, chosen):
        try:
            Asked(spark, catalog, chance, chosen).alike(made)
            print("way in:", Taken(spark, catalog, chance).alike(made, paimon, tmp_path))
        except BaseException:
            print("session:", chosen)
            raise


@contextmanager
def set_to(spark: Any, settings: dict[str, str]) -> Iterator[None]:
    """Set a session, and take it back."""
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


class Asked:
    """Conditions, asked by every way out."""

    def __init__(
        self, spark: Any, catalog: tc.Catalog, chance: random.Random, chosen: dict[str, str]
    ) -> None:
        self.spark, self.table, self.chance = spark, catalog.table(NAME), chance
        self.in_utc = chosen.get("spark.sql.session.timeZone") in (None, "UTC")
        self.raw_texts = chosen.get(ESCAPED) == "true"
        names = [name.lower() for name in shown(self.table.arrow_schema)]
        self.twins = len(set(names)) < len(names) and chosen.get(CASE) != "true"

    def alike(self, made: RandomTable) -> None:
        columns = shown(self.table.arrow_schema)
        if not columns:
            return
        whole = self.table.read(columns=columns).to_arrow()
        for number in range(QUERIES):
            wish = None if number == 0 else condition(self.chance, whole, made.misread)
            expression = None if wish is None else ours(wish, whole.schema)
            text = "true" if wish is None else sql(wish, whole.schema)
            wanted = self.table.read(columns=columns, where=expression).to_arrow()
            for way in self.ways(columns, expression, text, whole.schema):
                rows = way().toArrow()
                same(rows, wanted, (way.__name__, columns, wish))

    def ways(
        self, columns: list[str], expression: Any, text: str | None, schema: pa.Schema
    ) -> Iterator[Callable[[], Any]]:
        """Each as what makes a DataFrame."""
        loaded = self.spark.read.format("paimon").option("columns", ",".join(columns))

        def where_of_read() -> Any:
            return tcs.read(self.spark, self.table, columns=columns, where=expression)

        def where_of_format() -> Any:
            return loaded.option("where", text).load(self.table.uri)

        def filter_of_frame() -> Any:
            return tcs.read(self.spark, self.table, columns=columns).where(text)

        def filter_of_view() -> Any:
            tcs.read(self.spark, self.table, columns=columns).createOrReplaceTempView("settings_t")
            return self.spark.sql(f"SELECT * FROM settings_t WHERE {text}")

        def filter_of_format() -> Any:
            return loaded.load(self.table.uri).where(text)

        yield where_of_read
        if text is None:
            return
        listed = not any("," in name or name != name.strip() for name in columns)
        if listed:
            yield where_of_format
        if self.twins or (self.raw_texts and set(text) & set("\\'")):
            return  # a name of two columns, or a text that is another one
        if self.in_utc or not any(pa.types.is_timestamp(f.type) for f in schema):
            yield filter_of_frame  # elsewhere a time in SQL without a zone is another one
            yield filter_of_view
            if listed:
                yield filter_of_format
