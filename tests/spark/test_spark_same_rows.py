"""Goal: what a session says of itself, and filters of a query's own, give what the handle gives.

Method: tables of values that Spark's own scan looks for wrongly; each condition by ``where``, over ``tcs.read`` and in
a view.  Overwrites under each setting of ``partitionOverwriteMode``.
"""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.spark.reading.frames import frame_of_arrow
from table_core.spark.session.create import open_session
from table_core.spark.session.tasks import groups_of, slots_unseen
from tests.lanes import sampled
from tests.tables import write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

MODE = "spark.sql.sources.partitionOverwriteMode"
FLOATS = [-0.0, 0.0, float("nan"), 1.5, None, -1.0]
DAYS = [dt.date(1582, 10, 3) + dt.timedelta(days=day) for day in range(26)]
NOON = dt.datetime(2024, 1, 1, 12)
INSTANTS = [NOON, NOON + dt.timedelta(milliseconds=1), None, dt.datetime(1582, 10, 10, 1)]
COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[str]]] = {
    "double": (
        pa.float64(),
        FLOATS,
        ["x = 0", "x <=> 0", "x IN (0, 7)", "x < 0", "x >= 0", "x <= -0.0D"],
    ),
    "float": (pa.float32(), FLOATS, ["x = 0", "x IN (0, 7)", "x > 0", "NOT x < 0"]),
    "millis": (
        pa.timestamp("ms", "UTC"),
        INSTANTS,
        [
            "x < TIMESTAMP '2024-01-01 12:00:00.0005Z'",
            "x >= TIMESTAMP '2024-01-01 12:00:00.0005Z'",
            "x = TIMESTAMP '1582-10-10 01:00:00Z'",
        ],
    ),
    "micros": (
        pa.timestamp("us", "UTC"),
        INSTANTS,
        ["x = TIMESTAMP '1582-10-10 01:00:00Z'", "x > TIMESTAMP '1582-10-09 01:00:00Z'"],
    ),
    "zoneless": (
        pa.timestamp("ms"),
        INSTANTS,
        [
            "x < TIMESTAMP_NTZ '2024-01-01 12:00:00.0005'",
            "x = TIMESTAMP_NTZ '1582-10-10 01:00:00'",
        ],
    ),
    "date": (pa.date32(), DAYS, [f"x {op} DATE '{day}'" for op in "=<>" for day in DAYS[1::4]]),
}


@pytest.mark.parametrize(
    ("kind", "nested"),
    sampled([(kind, nested) for kind in COLUMNS for nested in (False, True)], 12),
)
def test_a_filter_of_the_query_finds_what_a_condition_finds(
    spark: Any, catalog: tc.Catalog, kind: str, nested: bool
) -> None:
    type_, values, conditions = COLUMNS[kind]
    cells = pa.array(values, type_)
    if nested:
        cells = pa.StructArray.from_arrays([cells], names=["x.y"])
    table = catalog.create_table("d.t", pa.schema([("n", pa.int32()), ("c", cells.type)]))
    rows = pa.table({"n": pa.array(range(len(values)), pa.int32()), "c": cells})
    write_rows(table, rows)
    frame, plain = tcs.read(spark, table), frame_of_arrow(spark, rows)
    if hasattr(frame, "_jdf"):
        assert "FileScan" in frame._jdf.queryExecution().toString()
    frame.createOrReplaceTempView("same_rows")
    for text in conditions:
        asked = text.replace("x", "c.`x.y`" if nested else "c", 1)
        wanted = sorted(row.n for row in plain.where(asked).collect())
        assert sorted(row.n for row in frame.where(asked).collect()) == wanted, asked
        found = spark.sql(f"SELECT n FROM same_rows WHERE {asked}").collect()
        assert sorted(row.n for row in found) == wanted, asked
        if not nested:
            assert sorted(table.read(where=asked).to_arrow()["n"].to_pylist()) == wanted, asked
    back = frame.orderBy("n").toArrow()["c"].combine_chunks()
    assert repr(back.to_pylist()) == repr(plain.toArrow()["c"].to_pylist())
    spark.catalog.dropTempView("same_rows")


def test_columns_that_spark_looks_for_rightly_are_handed_over_bare(
    spark: Any, catalog: tc.Catalog
) -> None:
    """A filter of the query over them still prunes row groups."""
    schema = pa.schema([("day", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64())])
    table = catalog.create_table("d.t", schema)
    write_rows(table, pa.table([[NOON.date()], [NOON], [1]], schema=schema))
    if not hasattr(frame := tcs.read(spark, table), "_jdf"):
        pytest.skip("the plan is the server's")
    for name, value in (("day", "DATE '2024-01-01'"), ("at", "now()"), ("n", "0")):
        plan = frame.where(f"{name} > {value}")._jdf.queryExecution().executedPlan().toString()
        assert f"GreaterThan({name}," in plan, plan


@pytest.fixture
def dynamic(spark: Any) -> Iterator[None]:
    spark.conf.set(MODE, "dynamic")
    yield
    spark.conf.unset(MODE)


def parted(catalog: tc.Catalog, *partition_by: str) -> tc.Table:
    schema = pa.schema([("dt", pa.string()), ("n", pa.int64())])
    table = catalog.create_table("d.t", schema, partition_by=partition_by, options={"bucket": "-1"})
    write_rows(table, pa.table({"dt": ["a", "b"], "n": [1, 1]}))
    return table


@pytest.mark.parametrize(
    ("options", "wanted"),
    sampled(
        [
            ({}, [("a", 2), ("b", 1)]),
            ({"overwrite-mode": "table"}, [("a", 2)]),
            ({"overwrite-mode": "partitions"}, [("a", 2), ("b", 1)]),
            ({"partitionOverwriteMode": "static"}, [("a", 2)]),
        ],
        4,
    ),
)
def test_an_overwrite_in_a_dynamic_session_replaces_the_partitions_that_occur(
    spark: Any, catalog: tc.Catalog, dynamic: None, options: dict[str, str], wanted: list[Any]
) -> None:
    table = parted(catalog, "dt")
    tcs.register(spark, "paimon_same")
    rows = spark.sql("SELECT 'a' dt, 2L n").repartition(2)
    rows.write.format("paimon_same").mode("overwrite").options(**options).save(table.uri)
    found = table.read().to_arrow().to_pylist()
    assert sorted((row["dt"], row["n"]) for row in found) == wanted


def test_without_partitions_or_a_dynamic_session_all_rows_are_replaced(
    spark: Any, catalog: tc.Catalog
) -> None:
    tcs.register(spark, "paimon_same")
    rows = spark.sql("SELECT 'c' dt, 3L n")
    table = parted(catalog, "dt")
    saved = rows.write.format("paimon_same").mode("overwrite")
    saved.option("partitionOverwriteMode", "dynamic").save(table.uri)
    assert table.read().to_arrow().num_rows == 3
    rows.write.format("paimon_same").mode("overwrite").save(table.uri)
    assert table.read().to_arrow().to_pylist() == [{"dt": "c", "n": 3}]
    with pytest.raises(Exception, match="use 'static' or 'dynamic'"):
        saved.option("partitionOverwriteMode", "some").save(table.uri)
    catalog.drop_table("d.t")
    whole = parted(catalog)
    spark.conf.set(MODE, "dynamic")
    try:
        rows.write.format("paimon_same").mode("overwrite").save(whole.uri)
    finally:
        spark.conf.unset(MODE)
    assert whole.read().to_arrow().to_pylist() == [{"dt": "c", "n": 3}]


@pytest.mark.parametrize("by", sampled(["merge_batch", "merge_into", "write", "delete"], 4))
def test_a_batch_of_a_new_checkpoint_is_never_taken_for_one_that_has_landed(
    spark: Any, catalog: tc.Catalog, tmp_path: Any, by: str
) -> None:
    if not hasattr(spark, "_jsc"):
        pytest.skip("Connect does not say which query a batch belongs to")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    source = catalog.create_table("d.source", schema)
    target = catalog.create_table("d.target", schema, primary_key=("id",), options={"bucket": "1"})
    tcs.register(spark, "paimon_same")

    def put(*ids: int) -> None:
        write_rows(source, pa.table({"id": list(ids), "v": ["x"] * len(ids)}, schema=schema))

    def land(rows: Any, batch: int) -> None:
        when, commit = [tc.NotMatchedInsert()], tc.CommitAs(user="s", identifier=batch)
        if by == "merge_batch":
            tcs.merge_batch(rows, target, batch, "s", ["id"], when)
        elif by == "merge_into":
            tcs.merge_into(spark, target, rows, ["id"], when, commit)
        elif by == "write":
            tcs.write(rows, target, commit=commit)
        else:
            tcs.delete(rows.sparkSession, target, "id > 100", commit=commit)

    def stream(checkpoint: str) -> None:
        query = spark.readStream.format("paimon_same").load(source.uri).writeStream
        query = query.foreachBatch(land).option("checkpointLocation", str(tmp_path / checkpoint))
        query.trigger(availableNow=True).start().awaitTermination()

    write_rows(target, pa.table({"id": [200], "v": ["x"]}, schema=schema))
    put(1, 2, 3)
    stream("one")
    put(4)
    stream("one")
    kept = target.read().to_arrow().num_rows
    put(5)
    with pytest.raises(Exception, match=r"checkpoint|something else|query"):
        stream("two")
    assert target.read().to_arrow().num_rows == kept


def test_registering_the_format_changes_no_setting(spark: Any) -> None:
    key = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(key)
    spark.conf.set(key, "false")
    try:
        tcs.register(spark, "paimon_same")
        assert spark.conf.get(key) == "false"
    finally:
        spark.conf.set(key, before)


def test_a_table_of_sparks_own_catalog_is_refused_with_the_way_out(
    spark: Any, catalog: tc.Catalog
) -> None:
    table = parted(catalog, "dt")
    tcs.register(spark, "paimon_same")
    way_out, using = "CREATE TEMPORARY VIEW", f"USING paimon_same OPTIONS (path '{table.uri}')"
    with pytest.raises(Exception, match=way_out):
        spark.sql(f"CREATE TABLE same_made {using}")
    with pytest.raises(Exception, match=way_out):
        spark.sql(f"CREATE TABLE same_made USING paimon_same LOCATION '{table.uri}'")
    with pytest.raises(Exception, match=way_out):
        spark.sql("SELECT 'a' dt, 2L n").write.format("paimon_same").saveAsTable("same_made")
    assert not spark.catalog.tableExists("same_made")
    spark.sql(f"CREATE TEMPORARY VIEW same_view {using}")
    try:
        assert spark.table("same_view").count() == 2
    finally:
        spark.catalog.dropTempView("same_view")


def test_opening_a_session_beside_one_that_is_there_changes_what_was_asked_for_alone(
    spark: Any,
) -> None:
    own = {
        "spark.sql.session.timeZone": "Asia/Kathmandu",
        "spark.sql.python.filterPushdown.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "777",
        "spark.sql.shuffle.partitions": "3",
    }
    before = {key: spark.conf.get(key) for key in own}
    remote = None if hasattr(spark, "_jsc") else "sc://127.0.0.1"  # never asked: it joins
    for key, value in own.items():
        spark.conf.set(key, value)
    try:
        joined = open_session({"spark.sql.shuffle.partitions": "5"}, remote)
        now = {key: joined.conf.get(key) for key in own}
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
    assert now == {**own, "spark.sql.shuffle.partitions": "5"}


@pytest.mark.parametrize(("tebibytes", "tasks"), [(0.001, 16), (1, 4096), (100, 10_000)])
def test_tasks_follow_the_data_where_nobody_knows_the_cluster(tebibytes: float, tasks: int) -> None:
    pieces = [SimpleNamespace(size=64 << 20)] * int(tebibytes * 2**40 / (64 << 20))
    groups = groups_of(pieces, lambda piece: piece.size, slots_unseen(pieces))
    assert len(groups) == tasks
