"""Goal: rows that go through Spark are the rows that the embedded engine sees, and the other way.

Method: the same rows by both ways; the embedded engine, which its own tests judge, is the oracle.
"""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core import errors
from table_core.spark.writing.shuffle import by_bucket
from tests.tables import write_rows

KINDS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("dt", pa.string()),
        ("flag", pa.bool_()),
        ("small", pa.int8()),
        ("price", pa.decimal128(12, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("ms")),
        ("seen", pa.timestamp("us", "UTC")),
        ("raw", pa.binary()),
        ("ratio", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("attributes", pa.map_(pa.string(), pa.int32())),
        ("place", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
    ]
)
ROW: dict[str, Any] = {
    "id": 1,
    "dt": "2026-01-01",
    "flag": True,
    "small": -3,
    "price": Decimal("12.34"),
    "day": dt.date(1969, 12, 31),
    "at": dt.datetime(2026, 1, 1, 12, 30, 0, 5000),
    "seen": dt.datetime(2026, 1, 1, 12, 30, 0, 7, tzinfo=dt.UTC),
    "raw": b"\x00\xff",
    "ratio": float("-inf"),
    "tags": ["a", None],
    "attributes": [("k", 1), ("l", None)],
    "place": {"city": "Bonn", "zip": 53111},
}
ROWS = pa.Table.from_pylist(
    [ROW, {"id": 2, "dt": "2026-01-02"}, {**ROW, "id": 3, "dt": None}], schema=KINDS
)
LAYOUTS: dict[str, dict[str, Any]] = {
    "append": {"options": {"bucket": "-1"}},
    "append by partition": {"options": {"bucket": "-1"}, "partition_by": ("dt",)},
    "append by bucket": {"options": {"bucket": "2", "bucket-key": "id"}},
    "key": {"options": {"bucket": "3"}, "primary_key": ("id",)},
    "key, one bucket": {"options": {"bucket": "1"}, "primary_key": ("id",)},
}


def simple(catalog: tc.Catalog, name: str = "d.t", **options: str) -> tc.Table:
    """A key table of ``id, v``."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    return catalog.create_table(
        name, schema, primary_key=("id",), options={"bucket": "2", **options}
    )


def sorted_rows(rows: pa.Table) -> list[dict[str, Any]]:
    return rows.sort_by("id").to_pylist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_come_back_from_spark_as_they_were_written(
    spark: Any, catalog: tc.Catalog, layout: str
) -> None:
    table = catalog.create_table("d.t", KINDS, **LAYOUTS[layout])
    write_rows(table, ROWS)
    frame = tcs.read(spark, table)
    copy = catalog.create_table("d.copy", KINDS, **LAYOUTS[layout])
    done = tcs.write(frame, copy)
    assert done.rows_added == 3
    assert sorted_rows(copy.read().to_arrow()) == sorted_rows(ROWS)
    assert frame.where("id = 1").collect()[0]["seen"].isoformat() == "2026-01-01T12:30:00.000007"


@pytest.mark.parametrize("key", [pa.int64(), pa.decimal128(9, 2)])  # by Spark's hash, by ours
def test_buckets_are_those_of_the_embedded_engine(
    spark: Any, catalog: tc.Catalog, key: pa.DataType
) -> None:
    schema = pa.schema([pa.field("id", key, nullable=False), ("v", pa.string())])
    ids = pa.array(range(500)).cast(pa.decimal128(21, 2)).cast(key)
    rows = pa.table({"id": ids, "v": ["x"] * 500})
    one, other = (
        catalog.create_table(f"d.{name}", schema, primary_key=("id",), options={"bucket": "5"})
        for name in ("one", "other")
    )
    write_rows(one, rows)
    tcs.write(spark.createDataFrame(rows).repartition(4), other)

    def shape(table: tc.Table) -> list[tuple[int, int]]:
        entries = table.access.live_entries(table.latest_snapshot())
        return sorted((e.bucket, e.file.row_count) for e in entries)

    assert shape(one) == shape(other)
    assert len(shape(other)) == 5  # one file a bucket: no two tasks shared one


def test_where_columns_and_limit_are_those_of_the_table(spark: Any, catalog: tc.Catalog) -> None:
    table = simple(catalog)
    write_rows(table, pa.table({"id": range(10), "v": [str(i) for i in range(10)]}))
    frame = tcs.read(spark, table, columns=["v"], where="id >= 7", limit=2)
    assert frame.columns == ["v"]
    assert {row.v for row in frame.collect()} <= {"7", "8", "9"}
    assert frame.count() == 2


def test_a_frame_stays_at_its_snapshot(spark: Any, catalog: tc.Catalog) -> None:
    table = simple(catalog)
    tcs.write(spark.createDataFrame([(1, "a")], "id long, v string"), table)
    frame = tcs.read(spark, table)
    tcs.write(spark.createDataFrame([(2, "b")], "id long, v string"), table)
    assert frame.count() == 1
    assert tcs.read(spark, table).count() == 2
    assert tcs.read(spark, table, snapshot=1).count() == 1


def test_an_update_after_a_delete_survives_the_shuffle(spark: Any, catalog: tc.Catalog) -> None:
    table = simple(catalog)
    turns = ["+I", "-D", "+I", "-D", "+I"]
    kinds = [kind for kind in turns for _ in range(400)]
    ids = [*range(400)] * len(turns)
    rows = pa.table({"_ROW_KIND": kinds, "id": ids, "v": [str(i) for i in range(2000)]})
    frame = spark.createDataFrame(rows.slice(0, 800)).coalesce(1)
    later = spark.createDataFrame(rows.slice(800)).coalesce(1)
    tcs.write(frame.union(later), table)
    found = sorted_rows(table.read().to_arrow())
    assert [row["v"] for row in found] == [str(1600 + i) for i in range(400)]


def test_rows_with_kinds_are_sorted_after_the_shuffle(
    spark: Any, catalog: tc.Catalog, capsys: Any
) -> None:
    """A cluster fetches shuffled blocks in any order; one machine alone cannot show that."""
    schema = simple(catalog).definition
    two = [("+I", 1, "a"), ("+I", 2, "b")]  # of one row Spark knows that it is sorted
    rows = spark.createDataFrame(two, "_ROW_KIND string, id long, v string")
    by_bucket(rows, schema, 2).explain()
    assert "Sort [__paimon_spark_order" in capsys.readouterr().out
    by_bucket(rows.drop("_ROW_KIND"), schema, 2).explain()
    assert "Sort [" not in capsys.readouterr().out


def test_a_write_compacts_as_the_table_says(spark: Any, catalog: tc.Catalog) -> None:
    options = {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"}
    table = simple(catalog, **options)
    done = tcs.write(
        spark.createDataFrame([(1, "a"), (2, "b"), (3, "c")], "id long, v string"), table
    )
    assert len(done.snapshot_ids) == 2
    tcs.write(spark.createDataFrame([(1, "z")], "id long, v string"), table)
    changes = table.changes(after=2).to_arrow().to_pylist()
    assert [(c["_ROW_KIND"], c["id"], c["v"]) for c in changes] == [("-U", 1, "a"), ("+U", 1, "z")]


def test_overwrite_replaces_the_table_or_the_partitions_that_occur(
    spark: Any, catalog: tc.Catalog
) -> None:
    schema = pa.schema([("dt", pa.string()), ("v", pa.int64())])
    table = catalog.create_table("d.t", schema, partition_by=("dt",), options={"bucket": "-1"})

    def frame(*rows: tuple[str, int]) -> Any:
        return spark.createDataFrame(rows, "dt string, v long")

    def stored() -> set[tuple[str, int]]:
        return {(row["dt"], row["v"]) for row in table.read().to_arrow().to_pylist()}

    tcs.write(frame(("a", 1), ("b", 1)), table)
    tcs.write(frame(("a", 2)), table, mode="overwrite-partitions")
    assert stored() == {("a", 2), ("b", 1)}
    tcs.write(frame(("b", 3)), table, mode={"dt": "b"})
    assert stored() == {("a", 2), ("b", 3)}
    tcs.write(frame(("c", 4)), table, mode="overwrite")
    assert stored() == {("c", 4)}


def test_a_commit_that_has_landed_is_found_not_repeated(spark: Any, catalog: tc.Catalog) -> None:
    table = simple(catalog)
    frame = spark.createDataFrame([(1, "a")], "id long, v string")
    commit = tc.CommitAs(user="job", identifier=7)
    first = tcs.write(frame, table, commit=commit)
    never_run = frame.selectExpr("id / (id - 1) AS id", "v").selectExpr("CAST(id AS long) id", "v")
    again = tcs.write(never_run, table, commit=commit)
    assert (again.replayed, again.snapshot_ids) == (True, first.snapshot_ids)
    assert len(table.snapshots()) == len(first.snapshot_ids)


def test_a_lost_race_leaves_no_file(spark: Any, catalog: tc.Catalog, tmp_path: Any) -> None:
    table = simple(catalog, **{"write-only": "true"})
    frame = spark.createDataFrame([(1, "a")], "id long, v string")
    with pytest.raises(errors.CommitConflictError):
        tcs.write(frame, table, commit=tc.CommitAs(expect={"tc.position": "5"}))
    assert not list(tmp_path.glob("**/data-*"))
    assert table.latest_snapshot() is None


def test_a_value_that_does_not_fit_is_named_and_nothing_is_left(
    spark: Any, catalog: tc.Catalog, tmp_path: Any
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int8())])
    table = catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "1"})
    frame = spark.createDataFrame([(1, 1), (2, 300)], "id long, n int")
    with pytest.raises(errors.DataError, match="300") as caught:
        tcs.write(frame, table)
    assert caught.value.facts["column"] == "n"
    with pytest.raises(errors.DataError, match="no value"):
        tcs.write(spark.createDataFrame([(None, 1)], "id long, n int"), table)
    assert not list(tmp_path.glob("**/data-*"))


def test_a_column_that_never_fits_is_refused_before_a_job_runs(
    spark: Any, catalog: tc.Catalog
) -> None:
    table = simple(catalog)
    for columns in ("id long, w string", "id long, v timestamp"):
        frame = spark.createDataFrame([], columns)
        with pytest.raises(errors.DataError):
            tcs.write(frame, table)


def test_names_match_in_any_case_and_untyped_nulls_fit(spark: Any, catalog: tc.Catalog) -> None:
    table = simple(catalog)
    tcs.write(spark.sql("SELECT 1L AS ID, NULL AS V"), table)
    assert table.read().to_arrow().to_pylist() == [{"id": 1, "v": None}]


def test_a_worker_that_dies_commits_nothing(spark: Any, catalog: tc.Catalog) -> None:
    from pyspark.sql import functions as f

    table = simple(catalog)
    dies = f.udf(lambda value: os._exit(9) or value, "long")
    frame = spark.range(4).select(dies("id").alias("id"))
    with pytest.raises(errors.JobFailedError):
        tcs.write(frame, table)
    assert table.latest_snapshot() is None
    tcs.write(spark.range(4), table)  # the session is still good
    assert table.read().to_arrow().num_rows == 4


def test_nanoseconds_are_refused_by_name(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("ns"))])
    table = catalog.create_table("d.t", schema, options={"bucket": "-1"})
    with pytest.raises(errors.UnsupportedFeatureError, match=r"'at'.*TIMESTAMP\(9\)"):
        tcs.read(spark, table)
    assert tcs.read(spark, table, columns=["id"]).count() == 0


@pytest.mark.parametrize("primary_key", [(), ("id",)])
def test_compaction_by_tasks_gives_what_the_embedded_one_gives(
    spark: Any, catalog: tc.Catalog, primary_key: tuple[str, ...]
) -> None:
    key = {} if primary_key else {"bucket-key": "id"}
    tables = [
        catalog.create_table(
            f"d.t{i}",
            pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())]),
            primary_key=primary_key,
            options={"bucket": "3", "write-only": "true", **key},
        )
        for i in range(2)
    ]
    for table in tables:
        for turn in range(3):
            write_rows(table, pa.table({"id": range(30), "v": [str(turn)] * 30}))
    embedded = tables[0].compact().to_document()
    by_tasks = tcs.compact(spark, tables[1]).to_document()
    for name in ("files_before", "files_after", "files_deleted", "rows_written", "snapshot_after"):
        assert by_tasks[name] == embedded[name], name
    assert sorted_rows(tables[1].read().to_arrow().sort_by([("v", "ascending")])) == sorted_rows(
        tables[0].read().to_arrow().sort_by([("v", "ascending")])
    )
    assert tcs.compact(spark, tables[1]).files_deleted == 0
