"""Goal: no verb on Spark starts a job, a stage or a Python worker that has nothing to do.

Method: each verb in a job group of its own; Spark's status tracker says what ran.  The numbers are those
of the work: a shuffle is a job of its own with adaptive execution, and so is its result.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.spark.writing.few_rows import few_rows
from tests.spark.job_counts import counting

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("SPARK_TESTS_ON") == "connect", reason="a client has no status tracker"
    ),
    pytest.mark.usefixtures("adaptive"),
]
KEYED = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
PLAIN = pa.schema([("id", pa.int64()), ("n", pa.int64())])
SHUFFLED = {"jobs": 2, "stages": 2}


def keyed(catalog: tc.Catalog, **options: str) -> tc.Table:
    named = {key.replace("_", "-"): value for key, value in options.items()}
    return catalog.create_table("d.k", KEYED, primary_key=("id",), options={"bucket": "2"} | named)


def plain(catalog: tc.Catalog) -> tc.Table:
    return catalog.create_table("d.p", PLAIN, options={"bucket": "-1"})


def rows(spark: Any, first: int = 0, count: int = 100) -> Any:
    """By a plan that does not say how many rows there are."""
    ids = spark.range(first, first + count, 1, 2).selectExpr("explode(array(id)) AS id")
    return ids.selectExpr("id", "id * 2 AS n")


def ran(spark: Any, verb: Any) -> dict[str, int]:
    with counting(spark) as found:
        verb()
    return {"jobs": found.jobs, "stages": found.stages}


def kinds(table: tc.Table) -> list[str]:
    return [snapshot.commit_kind.value for snapshot in table.snapshots()]


def test_a_write_is_its_shuffle_and_its_files_until_a_compaction_is_due(
    spark: Any, catalog: tc.Catalog
) -> None:
    table = keyed(catalog)
    for _ in range(4):
        assert ran(spark, lambda: tcs.write(rows(spark), table)) == SHUFFLED
    assert kinds(table) == ["APPEND"] * 4
    assert ran(spark, lambda: tcs.write(rows(spark), table)) == {"jobs": 3, "stages": 3}
    assert kinds(table) == ["APPEND"] * 5 + ["COMPACT"]


def test_few_rows_are_written_without_a_shuffle(spark: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog)
    few = spark.range(0, 20_000, 1, 2).selectExpr("id % 50 AS id", "id AS n")
    assert ran(spark, lambda: tcs.write(few, table)) == {"jobs": 1, "stages": 1}
    values = spark.sql("SELECT * FROM VALUES (7L, -1L), (70L, -2L) AS v(id, n)")
    assert ran(spark, lambda: tcs.write(values, table)) == {"jobs": 1, "stages": 1}
    found = {row["id"]: row["n"] for row in table.read().to_arrow().to_pylist()}
    assert found == {n: 19_950 + n for n in range(50)} | {7: -1, 70: -2}
    one_more = spark.range(0, 20_001, 1, 2).selectExpr("id % 50 AS id", "id AS n")
    assert ran(spark, lambda: tcs.write(one_more, table)) == SHUFFLED
    large = pa.schema([pa.field("id", pa.int64(), nullable=False), ("b", pa.binary())])
    blobs = catalog.create_table("d.b", large, primary_key=("id",), options={"bucket": "2"})
    images = spark.range(0, 9, 1, 2).selectExpr("id", "X'00' AS b")
    assert ran(spark, lambda: tcs.write(images, blobs)) == SHUFFLED


def test_texts_that_are_long_for_the_driver_are_written_by_tasks(
    spark: Any, catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 rows each may have 1,000 bytes here, of which the two columns take 32."""
    monkeypatch.setattr("table_core.spark.writing.few_rows._BYTES", 100_000)
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a.`b", pa.string())])
    table = catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "2"})

    def texts(letters: int) -> Any:
        ids = spark.range(0, 100, 1, 2)
        return ids.selectExpr("id", f"IF(id < 9, NULL, repeat('é', {letters})) AS `a.``b`")

    assert ran(spark, lambda: tcs.write(texts(484), table)) == {"jobs": 1, "stages": 1}
    assert table.read(where="id > 8").to_arrow()["a.`b"].to_pylist() == ["é" * 484] * 91
    assert ran(spark, lambda: tcs.write(texts(485), table)) == {"jobs": 3, "stages": 3}
    assert table.read(where="id > 8").to_arrow()["a.`b"].to_pylist() == ["é" * 485] * 91
    assert table.read(where="id < 9").to_arrow()["a.`b"].to_pylist() == [None] * 9
    wide = ", ".join(f"id AS c{number}" for number in range(70))
    numbers = spark.range(0, 100, 1, 2).selectExpr(*wide.split(", "))
    assert few_rows(numbers, table.access.options) is None
    assert few_rows(numbers.select("c0"), table.access.options).num_rows == 100


@pytest.mark.parametrize("bucket", ["3", "-1", "-2"])
@pytest.mark.parametrize("partition_keys", [(), ("p",)])
def test_rows_of_one_small_partition_are_written_without_a_shuffle(
    spark: Any, catalog: tc.Catalog, tmp_path: Path, bucket: str, partition_keys: tuple[str, ...]
) -> None:
    """Their order stays: a row that is deleted and comes again is there."""
    schema = pa.schema([*KEYED, pa.field("p", pa.string(), nullable=False)])
    ids = [*range(100), *range(50), 0]
    source = {
        "id": pa.array(ids, pa.int64()),
        "n": pa.array(range(len(ids)), pa.int64()),
        "p": [f"{id_ % 3}" for id_ in ids],
        ROW_KIND_COLUMN: ["+I"] * 100 + ["-D"] * 50 + ["+I"],
    }
    pq.write_table(pa.table(source), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    once = {"jobs": 1, "stages": 1}
    ways = {
        "driver": (frame, "64 mb", "4 mb", once),
        "one": (frame, "64 mb", "0 b", once),
        "large": (frame, "1 b", "4 mb", SHUFFLED),
        "off": (frame, "0 b", "4 mb", SHUFFLED),
    }
    for name, (rows_, most, of_driver, wanted) in ways.items():
        table = catalog.create_table(
            f"d.{name}",
            schema,
            primary_key=("id", *partition_keys),
            partition_by=partition_keys,
            options={
                "bucket": bucket,
                "write.one-task.max-size": most,
                "write.by-driver.max-size": of_driver,
                "write-only": "true",
            },
        )
        assert (few_rows(rows_, table.access.options) is not None) == (name == "driver")
        did = ran(spark, lambda table=table, rows_=rows_: tcs.write(rows_, table))
        assert did == wanted, name
        if bucket == "-2":
            tcs.compact(spark, table)
        found = {row["id"]: row["n"] for row in table.read().to_arrow().to_pylist()}
        assert found == {0: 150} | {id_: id_ for id_ in range(50, 100)}, name


def test_a_small_file_is_taken_by_the_driver_if_its_rows_are_few_and_short(
    spark: Any, catalog: tc.Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 rows each may have 1,000 bytes here, of which the two columns take 32."""
    monkeypatch.setattr("table_core.spark.writing.few_rows._BYTES", 100_000)
    monkeypatch.setattr("table_core.spark.writing.few_rows._ROWS_OF_A_FILE", 100)
    options = keyed(catalog).access.options

    def read(rows_: int, letters: int) -> Any:
        path = tmp_path / f"{rows_}-{letters}.parquet"
        texts = ["é" * letters] * rows_
        pq.write_table(pa.table({"id": pa.array(range(rows_), pa.int64()), "s": texts}), path)
        return spark.read.parquet(str(path))

    taken = few_rows(read(100, 484), options)
    assert taken.to_pydict() == {"id": list(range(100)), "s": ["é" * 484] * 100}
    assert few_rows(read(101, 1), options) is None, "too many"
    assert few_rows(read(100, 485), options) is None, "too long"
    few = read(100, 1)
    assert few_rows(few.where("id % 2 = 0").selectExpr("id + 1 AS n"), options).num_rows == 50
    several = few.selectExpr("id", "explode(array(1, 2)) AS n")
    assert few_rows(several, options) is None, "more rows than were read"
    by_code = few.select("id").mapInArrow(lambda batches: batches, "id bigint")
    assert few_rows(by_code, options) is None, "a user's code runs once"
    assert few_rows(few.union(few), options) is None, "two partitions"


def test_rows_that_one_task_brings_together_are_written_by_it(
    spark: Any, catalog: tc.Catalog
) -> None:
    table = keyed(catalog)
    once = {"jobs": 1, "stages": 1}
    assert ran(spark, lambda: tcs.write(rows(spark).coalesce(1), table)) == once
    assert table.read().to_arrow().num_rows == 100
    joined = rows(spark).repartition(2).coalesce(1)
    assert ran(spark, lambda: tcs.write(joined, table))["stages"] > 1, "is planned anew"
    spread = tc.open_table(table.uri, options={"sink.parallelism": "2"})
    assert ran(spark, lambda: tcs.write(rows(spark).coalesce(1), spread)) == SHUFFLED


def test_a_write_with_lookup_compacts_by_one_job_more(spark: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog, changelog_producer="lookup")
    assert ran(spark, lambda: tcs.write(rows(spark), table)) == {"jobs": 3, "stages": 3}


def test_files_that_only_rise_need_no_job(spark: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog)
    tcs.write(rows(spark), table)
    started: list[str] = []
    done = tcs.compact(lambda: started.append("session"), table)  # type: ignore[arg-type, return-value]
    assert (started, done.details["buckets"], kinds(table)) == ([], 2, ["APPEND", "COMPACT"])
    files = table.system("files").to_arrow().to_pylist()
    assert {(file["level"], file["file_source"]) for file in files} == {(5, "APPEND")}
    assert table.read().to_arrow().num_rows == 100


def test_a_compaction_with_nothing_due_starts_nothing(spark: Any, catalog: tc.Catalog) -> None:
    table, other = keyed(catalog), plain(catalog)
    tcs.write(rows(spark), table)
    tcs.write(rows(spark), other)
    for each in (table, other):
        assert ran(spark, lambda each=each: tcs.compact(spark, each, "minor"))["jobs"] == 0
        assert kinds(each) == ["APPEND"]


def test_a_compaction_that_reads_is_one_job(spark: Any, catalog: tc.Catalog) -> None:
    table, other = keyed(catalog), plain(catalog)
    for each in (table, other):
        for _ in range(2):
            tcs.write(rows(spark), each)
        assert ran(spark, lambda each=each: tcs.compact(spark, each)) == {"jobs": 1, "stages": 1}


@pytest.mark.parametrize("make", [keyed, plain])
def test_statements_are_one_job_and_none_where_nothing_can_match(
    spark: Any, catalog: tc.Catalog, make: Any
) -> None:
    table = make(catalog)
    tcs.write(rows(spark), table)
    one, none = {"jobs": 1, "stages": 1}, {"jobs": 0, "stages": 0}
    assert ran(spark, lambda: tcs.delete(spark, table, "id = 7")) == one
    assert ran(spark, lambda: tcs.update(spark, table, {"n": "n + 1"}, "id = 8")) == one
    assert ran(spark, lambda: tcs.delete(spark, table, "id = 70000")) == none
    assert ran(spark, lambda: tcs.update(spark, table, {"n": "1"}, "id < 0")) == none


def test_upkeep_of_small_tables_and_repeated_commits_start_nothing(
    spark: Any, catalog: tc.Catalog
) -> None:
    table = keyed(catalog)
    named = tc.CommitAs(user="run", identifier=1)
    tcs.write(rows(spark), table, commit=named)
    nothing = {"jobs": 0, "stages": 0}
    assert ran(spark, lambda: tcs.write(rows(spark), table, commit=named)) == nothing
    assert ran(spark, lambda: tcs.analyze(lambda: spark, table)) == nothing
    assert ran(spark, lambda: tcs.remove_orphan_files(lambda: spark, table)) == nothing
    assert ran(spark, lambda: tcs.rescale(spark, table, 2)) == nothing
    assert ran(spark, lambda: tcs.read(spark, table).schema) == nothing
