"""Goal: an append table that Spark's own writer wrote is the one that our tasks would have written.

Method: the same rows by both ways, on random columns, values and partitions; what the manifests say of a
file is counted again from its rows.  Then one test for each thing that Parquet or Spark does otherwise.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Observation
from pyspark.sql.functions import expr

import table_core as tc
import table_core.spark as tcs
from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.kinds import MAX_LENGTH, Atomic, Field, Root, with_nullability
from table_core.errors import DataError, JobFailedError, TableError
from table_core.ondisk import layout
from table_core.ondisk.stats import StatsBuilder, decode_stats, modes_for
from table_core.spark.session.schema_bridge import spark_schema
from table_core.spark.writing import native
from table_core.spark.writing.native_fit import reason_against
from table_core.testing.arrow_values import arrow_tables
from tests.lanes import budget
from tests.spark.job_counts import counting

pytestmark = pytest.mark.skipif(
    os.environ.get("SPARK_TESTS_ON") == "connect", reason="over Connect tasks in Python write"
)
HELD = [
    *(Atomic(root) for root in (Root.BOOLEAN, Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT)),
    *(Atomic(root) for root in (Root.FLOAT, Root.DOUBLE, Root.DATE)),
    Atomic(Root.VARCHAR, length=MAX_LENGTH),
    Atomic(Root.VARBINARY, length=MAX_LENGTH),
    Atomic(Root.TIMESTAMP, precision=6),
    Atomic(Root.TIMESTAMP_LTZ, precision=6),
    *(Atomic(Root.DECIMAL, precision=p, scale=s) for p, s in ((5, 2), (18, 0), (38, 10))),
]
PARTITIONS = [HELD[0], HELD[3], HELD[7], HELD[8]]
PLAIN = pa.schema([("id", pa.int64()), ("v", pa.string())])
FLOATS = [
    with_nullability(Atomic(r), nullable=n)
    for r in (Root.FLOAT, Root.DOUBLE)
    for n in (True, False)
]


def create(catalog: tc.Catalog, name: str, schema: pa.Schema, **how: Any) -> tc.Table:
    options = {"bucket": "-1"} | how.pop("options", {})
    return catalog.create_table(f"d.{name}", schema, options=options, **how)


def by_tasks(table: tc.Table) -> tc.Table:
    return tc.open_table(table.uri, options={"write.by-spark": "false"})


def cells(rows: pa.Table) -> list[str]:
    """Rows as text, in an order; times as numbers, which Python has for all of them."""
    whole = [
        pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())
        if pa.types.is_timestamp(column.type)
        else column.cast(pa.int32())
        if pa.types.is_date(column.type)
        else column
        for column in rows.columns
    ]
    return sorted(map(repr, zip(*(column.to_pylist() for column in whole), strict=True)))


def files_of(table: tc.Table) -> Iterator[tuple[Any, str]]:
    access = table.access
    for entry in access.live_entries(table.latest_snapshot()):
        path = layout.data_file_path(access.schema, entry.partition, entry.bucket, entry.file)
        yield entry.file, f"{table.uri.removeprefix('file://')}/{path}"


def is_native(path: str) -> bool:
    return b"org.apache.spark.version" in (pq.ParquetFile(path).metadata.metadata or {})


def check_descriptions(table: tc.Table) -> None:
    """What manifests say of each file is what its rows say, and its columns have their ids."""
    fields, options = table.access.schema.fields, table.access.options
    for file, path in files_of(table):
        rows = pq.read_table(path, partitioning=None)
        assert (file.row_count, file.file_size) == (rows.num_rows, Path(path).stat().st_size)
        stored = pq.ParquetFile(path).schema_arrow
        ids = {each.name: each.metadata[b"PARQUET:field_id"].decode() for each in stored}
        assert ids == {each.name: str(each.id) for each in fields}
        counted = StatsBuilder(fields, modes_for(options, [each.name for each in fields]))
        counted.add(rows.cast(arrow_schema(fields)))
        truth = decode_stats(counted.finish()[0], fields)
        for each, (low, high, nulls) in decode_stats(file.value_stats, fields).items():
            floats = next(f.type for f in fields if f.name == each) in FLOATS
            assert nulls == truth[each][2]
            assert (low, high) == ((None, None) if floats else truth[each][:2]), each


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[Field, ...], list[str], pa.Table]:
    """Columns, those of the partitions, and rows; NULL may come where none is allowed."""
    types = draw(st.lists(st.sampled_from(HELD), min_size=1, max_size=4))
    keys = draw(st.lists(st.sampled_from(PARTITIONS), max_size=2))
    names = [f"c{i}" for i in range(len(types))] + [f"p{i}" for i in range(len(keys))]
    fields = tuple(
        Field(i, name, type_)
        for i, (name, type_) in enumerate(zip(names, types + keys, strict=True))
    )
    rows = draw(arrow_tables(fields))
    strict = draw(st.integers(0, 9))  # one column of ten takes no NULL
    fields = tuple(
        Field(f.id, f.name, with_nullability(f.type, nullable=f.id != strict)) for f in fields
    )
    return fields, names[len(types) :], rows


@settings(
    max_examples=budget("NATIVE_WRITES", ci=3, nightly=100),
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # an example takes too long to look for a smaller one
    suppress_health_check=list(HealthCheck),
)
@given(drawn=tables())
def test_both_ways_give_one_table(spark: Any, catalog: tc.Catalog, drawn: Any) -> None:
    fields, keys, rows = drawn
    names = [f"t{len(catalog.tables('d')) + more}" for more in range(2)]
    schema = arrow_schema(fields)
    first, second = (create(catalog, n, schema, partition_by=keys) for n in names)
    frame = spark.createDataFrame(rows, spark_schema(fields)).repartition(2)
    assert reason_against(first.access, frame.schema, spark) is None

    def outcome(table: tc.Table) -> Any:
        try:
            tcs.write(frame, table)
        except TableError as error:
            return type(error), error.facts["column"], error.facts["value"]
        return cells(table.read().to_arrow())

    found = outcome(first)
    assert found == outcome(by_tasks(second))
    if isinstance(found, list):
        assert found == cells(rows)
        assert cells(tcs.read(spark, first).toArrow().cast(schema)) == found
    check_descriptions(first)
    assert all(is_native(path) for _, path in files_of(first))
    left = {entry.name for entry in Path(first.uri.removeprefix("file://")).iterdir()}
    assert not any(name.startswith(".") for name in left), left


def test_an_append_is_one_job_and_no_python(spark: Any, catalog: tc.Catalog) -> None:
    table = create(catalog, "t", PLAIN)
    with counting(spark) as found:
        tcs.write(spark.range(0, 100, 1, 2).selectExpr("id", "'x' AS v"), table)
    assert (found.jobs, found.stages, found.tasks) == (1, 1, 2)
    assert table.read().to_arrow().num_rows == 100


@pytest.mark.parametrize(
    ("columns", "rows", "error"),
    [
        ("id bigint not null, v string", "SELECT IF(id = 7, NULL, id) id, 'x' v", ("id", 7, None)),
        ("id tinyint, v string", "SELECT id * 10 id, 'x' v", ("id", 13, "130")),
        ("id int, v string not null", "SELECT CAST(id AS INT) id", ("v", 0, None)),
    ],
)
def test_a_value_that_does_not_fit_is_the_same_error(
    spark: Any, catalog: tc.Catalog, columns: str, rows: str, error: tuple[Any, ...]
) -> None:
    from table_core.spark.session.schema_bridge import fields_of

    shape = spark.createDataFrame([], columns).schema
    fields = [
        Field(f.id, f.name, with_nullability(f.type, nullable=given.nullable))
        for f, given in zip(fields_of(shape), shape, strict=True)
    ]
    table = create(catalog, "t", arrow_schema(fields))
    found = []
    for one in (table, by_tasks(table)):
        with pytest.raises(DataError) as raised:
            tcs.write(spark.sql(f"{rows} FROM range(0, 20, 1, 1)"), one)
        facts = raised.value.facts
        assert (facts["column"], facts["row"], facts["value"]) == error
        found.append(str(raised.value))
    assert found[0] == found[1]
    assert not table.snapshots()
    assert {path.name for path in Path(table.uri.removeprefix("file://")).iterdir()} == {"schema"}


@pytest.mark.parametrize("limit", ["", " LIMIT 20"])
@pytest.mark.parametrize("nullable", [True, False])
def test_text_that_is_no_utf8_is_refused(
    spark: Any, catalog: tc.Catalog, limit: str, nullable: bool
) -> None:
    table = create(catalog, "t", pa.schema([pa.field("v", pa.string(), nullable=nullable)]))
    frame = spark.sql(
        f"SELECT CAST(IF(id = 7, X'61FF80', X'C3A9') AS STRING) v FROM range(0, 20, 1, 1){limit}"
    )
    for one, row, value in ((table, None, None), (by_tasks(table), 7, "0x61FF80")):
        with pytest.raises(DataError, match="is no string: text is UTF-8") as raised:
            tcs.write(frame, one)
        facts = raised.value.facts
        assert (facts["column"], facts["row"], facts["value"]) == ("v", row, value)
    assert not table.snapshots()
    tcs.write(frame.where("is_valid_utf8(v)"), table)
    assert set(table.read().to_arrow()["v"].to_pylist()) == {"é"}


def test_narrower_numbers_are_widened_and_wide_ones_checked(
    spark: Any, catalog: tc.Catalog
) -> None:
    schema = pa.schema(
        [("a", pa.int64()), ("b", pa.int8()), ("c", pa.decimal128(12, 2)), ("d", pa.string())]
    )
    table = create(catalog, "t", schema)
    frame = spark.sql(
        "SELECT 1S A, -128L b, 1.25BD c, NULL d UNION ALL SELECT 2S, 127L, NULL, NULL"
    )
    assert reason_against(table.access, frame.toDF("a", "b", "c", "d").schema, spark) is None
    tcs.write(frame, table)
    rows = sorted(tuple(row.values()) for row in table.read().to_arrow().to_pylist())
    assert [row[:2] for row in rows] == [(1, -128), (2, 127)]
    check_descriptions(table)


def test_floats_have_no_bounds_and_are_found(spark: Any, catalog: tc.Catalog) -> None:
    table = create(catalog, "t", pa.schema([("x", pa.float64())]))
    tcs.write(spark.sql("SELECT explode(array(double('nan'), -0.0D, 1.0D, NULL)) x"), table)
    check_descriptions(table)
    for where, count in (("x = 0", 1), ("x > 5", 1), ("x < 2", 2), ("x IS NULL", 1)):
        assert table.read(where=where).to_arrow().num_rows == count, where
        assert tcs.read(spark, table, where=where).count() == count, where


def test_long_texts_have_no_bounds_and_are_found(spark: Any, catalog: tc.Catalog) -> None:
    table = create(catalog, "t", PLAIN)
    tcs.write(spark.sql("SELECT id, repeat(chr(97 + id), 5000) v FROM range(3)"), table)
    (file, _), *_ = files_of(table)
    assert decode_stats(file.value_stats, table.access.schema.fields)["v"] == (None,) * 3
    assert table.read(where=f"v = '{'b' * 5000}'").to_arrow()["id"].to_pylist() == [1]


def test_instants_are_stored_as_ours_whatever_the_session_says(
    spark: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    table = create(catalog, "t", pa.schema([("at", pa.timestamp("us", "UTC")), ("d", pa.date32())]))
    own = {
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.sql.parquet.writeLegacyFormat": "true",
    }
    own["spark.sql.parquet.datetimeRebaseModeInWrite"] = "LEGACY"
    before = {key: spark.conf.get(key) for key in own}
    for key, value in own.items():
        spark.conf.set(key, value)
    try:
        frame = spark.sql("SELECT TIMESTAMP '1500-02-03 04:05:06.000007' at, DATE '1500-02-03' d")
        tcs.write(frame, table)
        assert {key: spark.conf.get(key) for key in own} == own
        frame.write.parquet(str(tmp_path / "plain"))
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
    (_, path), *_ = files_of(table)
    assert is_native(path)
    assert pq.ParquetFile(path).schema.column(0).physical_type == "INT64"
    plain = next((tmp_path / "plain").glob("part-*.parquet"))
    assert pq.ParquetFile(plain).schema.column(0).physical_type == "INT96"
    row = table.read().to_arrow().to_pylist()[0]
    assert (str(row["at"]), str(row["d"])) == ("1500-02-03 04:05:06.000007+00:00", "1500-02-03")
    check_descriptions(table)


def test_partitions_are_told_apart_by_value(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("dt", pa.string()), ("n", pa.int32())])
    table = create(catalog, "t", schema, partition_by=("dt", "n"))
    texts = ["", " ", "a/b=c", "=", "__HIVE_DEFAULT_PARTITION__", "é", "%25", None]
    values = [(i, text, n) for i, text in enumerate(texts) for n in (None, -1)]
    frame = spark.createDataFrame(values, "id long, dt string, n int")
    tcs.write(frame, table)
    rows = [tuple(row.values()) for row in table.read().to_arrow().to_pylist()]
    assert sorted(rows, key=repr) == sorted(values, key=repr)
    assert len({file.file_name for file, _ in files_of(table)}) == len(values)
    assert all(is_native(path) for _, path in files_of(table))
    check_descriptions(table)
    tcs.write(frame.where("id < 2"), table, mode="overwrite-partitions")
    assert table.read().to_arrow().num_rows == len(values)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parquet.column.statistics.enabled", "false"),
        ("parquet.column.statistics.enabled#id", "false"),
        ("parquet.column.statistics.enabled#dt", "false"),
        ("parquet.statistics.truncate.length", "2"),
        ("mapreduce.output.basename", "rows"),
    ],
)
def test_footers_tell_everything_whatever_the_session_says(
    spark: Any, catalog: tc.Catalog, key: str, value: str
) -> None:
    schema = pa.schema([("id", pa.int64()), ("dt", pa.string()), ("v", pa.string())])
    table = create(catalog, "t", schema, partition_by=("dt",))
    frame = spark.range(4).selectExpr("id", "concat('day', id % 2) dt", "concat('text', id) v")
    spark.conf.set(key, value)
    try:
        tcs.write(frame, table)
    finally:
        spark.conf.unset(key)
    assert sorted(table.read(where="dt = 'day1'").to_arrow()["id"].to_pylist()) == [1, 3]
    assert all(is_native(path) for _, path in files_of(table))
    check_descriptions(table)


def test_files_are_taken_whatever_they_are_called(
    spark: Any, catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(native._COMMITTER, "mapreduce.output.basename", "rows")
    table = create(catalog, "t", PLAIN)
    tcs.write(spark.sql("SELECT id, 'x' v FROM range(10)"), table)
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == list(range(10))


def test_a_frame_is_evaluated_once(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([pa.field("a", pa.int32(), nullable=False), ("b", pa.float64())])
    table = create(catalog, "t", schema)
    rows_seen = spark.sparkContext.accumulator(0)

    def seen(batches: Any) -> Any:
        for batch in batches:
            rows_seen.add(batch.num_rows)
            yield batch

    rows = spark.range(0, 500, 1, 2).mapInArrow(seen, "id long")
    rows = rows.selectExpr("rand() AS r").selectExpr("CAST(r * 100 AS BIGINT) AS a", "r AS b")
    tcs.write(rows, table)
    assert rows_seen.value == 500
    found = table.read().to_arrow().to_pylist()
    assert len({row["b"] for row in found}) == 500
    assert all(row["a"] == int(row["b"] * 100) for row in found)


def test_what_a_frame_observes_is_told(spark: Any, catalog: tc.Catalog) -> None:
    table, seen = create(catalog, "t", PLAIN), Observation("seen")
    frame = spark.range(10).selectExpr("id", "'x' v")
    tcs.write(frame.observe(seen, expr("count(1) AS rows")), table)
    assert all(is_native(path) for _, path in files_of(table))
    assert seen.get == {"rows": 10}


def test_files_roll_and_an_empty_frame_leaves_none(spark: Any, catalog: tc.Catalog) -> None:
    table = create(catalog, "t", PLAIN, options={"target-file-row-num": "10"})
    tcs.write(spark.range(0, 25, 1, 1).selectExpr("id", "'x' v"), table)
    assert sorted(file.row_count for file, _ in files_of(table)) == [5, 10, 10]
    tcs.write(spark.range(0).selectExpr("id", "'x' v"), table)
    assert len(list(files_of(table))) == 3
    assert all(is_native(path) for _, path in files_of(table))


def test_many_footers_are_read_by_tasks(spark: Any, catalog: tc.Catalog) -> None:
    table = create(catalog, "t", PLAIN, options={"target-file-row-num": "2"})
    with counting(spark) as found:
        tcs.write(spark.range(0, 80, 1, 2).selectExpr("id", "'x' v"), table)
    assert found.jobs == 2
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == list(range(80))
    check_descriptions(table)


def test_tasks_that_read_footers_tell_what_a_manifest_says(
    spark: Any, catalog: tc.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A footer holds texts whole: here 20 kB a file, which the driver does not need."""
    sizes: list[int] = []
    results_of = native.unpacked

    def measured(frame: Any) -> list[Any]:
        results = results_of(frame)
        sizes.extend(len(pickle.dumps(result)) for result in results)
        return results

    monkeypatch.setattr(native, "unpacked", measured)
    texts = [f"c{number}" for number in range(10)]
    table = create(
        catalog, "t", pa.schema([("id", pa.int64()), *((one, pa.string()) for one in texts)])
    )
    long = (f"repeat(CAST(id % 7 AS STRING), 1000) {one}" for one in texts)
    tcs.write(spark.range(0, 80, 1, 40).selectExpr("id", *long), table)
    files = [path for _, path in files_of(table)]
    assert len(files) == 40
    assert all(map(is_native, files))
    assert len(sizes) == 2
    assert sum(sizes) < 1024 * len(files)
    check_descriptions(table)


def test_options_of_the_table_reach_the_files(spark: Any, catalog: tc.Catalog) -> None:
    options = {"file.compression": "snappy", "parquet.enable.dictionary": "false"}
    table = create(catalog, "t", PLAIN, options=options)
    tcs.write(spark.sql("SELECT id, 'x' v FROM range(1000)"), table)
    for _, path in files_of(table):
        chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
        assert (chunk.compression, chunk.has_dictionary_page) == ("SNAPPY", False)
        assert is_native(path)


@pytest.mark.parametrize(
    ("column", "how", "reason"),
    [
        (pa.int64(), {"options": {"file.format": "orc"}}, "its files are orc"),
        (pa.int64(), {"options": {"bucket": "2", "bucket-key": "c"}}, "its rows are numbered"),
        (pa.int64(), {"options": {"write.by-spark": "false"}}, "write.by-spark is off"),
        (pa.int64(), {"options": {"row-tracking.enabled": "true"}}, "row-tracking.enabled is set"),
        (pa.int64(), {"options": {"target-file-size": "1 mb"}}, "target-file-size is set"),
        (pa.int64(), {"options": {"file.compression": "brotli"}}, "does not compress with brotli"),
        (
            pa.int64(),
            {"options": {"file-index.bloom-filter.columns": "c"}},
            "its files have indexes",
        ),
        (pa.timestamp("ns"), {}, "column c is TIMESTAMP(9)"),
        (pa.timestamp("ms"), {}, "column c is TIMESTAMP(3)"),
        (pa.list_(pa.int64()), {}, "column c is ARRAY"),
        (pa.struct([("a", pa.int64())]), {}, "column c is ROW"),
        (pa.float64(), {"partition_by": ("c",)}, "partitions by DOUBLE"),
    ],
)
def test_what_spark_cannot_write_alike_says_why(
    spark: Any, catalog: tc.Catalog, column: Any, how: Any, reason: str
) -> None:
    table = create(catalog, "t", pa.schema([("c", column), ("x", pa.int32())]), **how)
    fields = table.definition.fields
    given = spark_schema(fields[1:])
    found = reason_against(table.access, given, spark)
    assert found is not None
    assert reason in found


def test_the_reason_is_told(spark: Any, catalog: tc.Catalog, caplog: Any) -> None:
    table = create(catalog, "t", pa.schema([("c", pa.int64())]))
    with caplog.at_level(logging.INFO):
        tcs.write(spark.sql("SELECT 7.0D c"), table)
    assert (
        "Python writes the rows, not Spark: column c is BIGINT and is given as double"
        in caplog.text
    )
    assert table.read().to_arrow().to_pylist() == [{"c": 7}]


def test_a_failure_of_the_writer_says_its_cause(spark: Any, catalog: tc.Catalog) -> None:
    table = create(catalog, "t", PLAIN)
    spark.conf.set("parquet.page.row.count.limit", "0")
    try:
        with pytest.raises(JobFailedError, match="row count limit"):
            tcs.write(spark.sql("SELECT id, 'x' v FROM range(3)"), table)
    finally:
        spark.conf.unset("parquet.page.row.count.limit")
    assert not table.snapshots()
