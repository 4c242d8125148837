"""Goal: what tasks of Spark wrote, deleted, merged and compacted Apache Paimon reads as it was meant.

Method: tables of several shapes; each step is applied to a list of rows as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from judge import Judge, agree, agree_rows, judged
from shapes import SHAPES, Model, Shape, batch

import table_core as tc
import table_core.spark as tcs
from table_core.spark.writing.native_fit import reason_against

pytestmark = pytest.mark.interop

NAME = "default.t"
NAMES = ("append-partitioned", "dedup-partitioned", "dynamic")
CHOSEN = [shape for shape in SHAPES if shape.name in NAMES]
QTY = 3  # cell of a judged row


@pytest.mark.parametrize("shape", CHOSEN, ids=lambda s: s.name)
def test_paimon_reads_what_spark_left(
    shape: Shape, paimon: Judge, spark: Any, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    table, theirs, model = shape.create(catalog, NAME), paimon.table(tmp_path, NAME), Model(shape)
    for seed in range(2):
        rows = batch(shape, seed)
        model.take(rows)
        tcs.write(spark.createDataFrame(rows), table)
    want: list[list[Any]] = model.state()
    agree_rows(want, theirs.read())
    tcs.delete(spark, table, "qty < 0 AND region <> 'north'")
    want = [r for r in want if not (r[QTY] is not None and r[QTY] < 0 and r[2] != "north")]
    agree_rows(want, theirs.read())
    tcs.view(spark, table, "rows")
    source = "SELECT DISTINCT region, 'seen' note, 50 least FROM rows"
    some = tc.MatchedUpsert(values={"note": "source.note"}, condition="target.qty > source.least")
    tcs.merge_into(spark, table, source, ["region"], [some])
    want = [[*r[:9], "seen", r[10]] if r[QTY] is not None and r[QTY] > 50 else r for r in want]
    agree_rows(want, [["+I", *cells] for _, *cells in theirs.read()])  # Paimon shows +U as stored
    tcs.compact(spark, table)
    agree_rows(want, [["+I", *cells] for _, *cells in theirs.read()])


HELD = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("part", pa.string()),
        *[("tiny", pa.int8()), ("small", pa.int16()), ("int", pa.int32()), ("yes", pa.bool_())],
        *[("real", pa.float32()), ("double", pa.float64()), ("day", pa.date32())],
        *[
            ("low", pa.decimal128(9, 2)),
            ("mid", pa.decimal128(18, 4)),
            ("big", pa.decimal128(38, 9)),
        ],
        *[("at", pa.timestamp("us")), ("instant", pa.timestamp("us", "UTC"))],
        *[("text", pa.string()), ("bytes", pa.binary())],
    ]
)
VALUES = """
    SELECT id, IF(id % 3 = 0, NULL, IF(id % 3 = 1, '', 'a/b')) part,
    CAST(id - 50 AS TINYINT) tiny, CAST(id * -300 AS SMALLINT) small, CAST(id * 20000000 AS INT) int,
    IF(id % 7 = 0, NULL, id % 2 = 0) yes,
    CAST(ELT(id % 4 + 1, 'NaN', '-0.0', '1.5', 'Infinity') AS FLOAT) real,
    CAST(ELT(id % 5 + 1, '0.0', '-0.0', 'NaN', '-1.25', NULL) AS DOUBLE) double,
    DATE_ADD(DATE '1500-01-01', CAST(id * 2000 AS INT)) day,
    CAST(id * -77777.77 AS DECIMAL(9, 2)) low, CAST(id * 1234567.8912 AS DECIMAL(18, 4)) mid,
    CAST(CONCAT(id, '2345678901234567890.123456789') AS DECIMAL(38, 9)) big,
    TIMESTAMP_NTZ '1400-01-01 00:00:00.000001' + MAKE_DT_INTERVAL(CAST(id * 3000 AS INT)) at,
    TIMESTAMP_MICROS(id * 98765432109876 - 4000000000000000) instant,
    IF(id % 6 = 0, NULL, REPEAT(CHR(97 + id % 20), CAST(id * 60 AS INT))) text,
    IF(id % 5 = 0, NULL, CAST(REPEAT('z', CAST(id AS INT)) AS BINARY)) bytes
    FROM RANGE(0, 100, 1, 3)
"""


@pytest.mark.parametrize("keys", [(), ("part",), ("day",)])
def test_paimon_reads_the_files_that_spark_itself_wrote(
    keys: tuple[str, ...], paimon: Judge, spark: Any, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("default", if_not_exists=True)
    options = {"bucket": "-1", "compaction.min.file-num": "2"}
    table = catalog.create_table(NAME, HELD, partition_by=keys, options=options)
    theirs = paimon.table(tmp_path, NAME)
    rows = spark.sql(VALUES)
    assert reason_against(table.access, rows.schema, spark) is None
    tcs.write(rows, table)
    tcs.write(rows.where("id <> 42"), table)
    agree(table.read().to_arrow(), theirs.read())
    assert len(theirs.read()) == 199
    wish = {"op": "equal", "column": "id", "values": [42]}
    assert [row[1] for row in theirs.read(where=wish)] == [42]
    before = table.read().to_arrow()
    theirs.compact()
    assert table.latest_snapshot().commit_kind.value == "COMPACT"  # type: ignore[union-attr]
    agree_rows(judged(before), judged(table.read().to_arrow()))
