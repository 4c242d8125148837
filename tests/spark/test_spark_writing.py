"""Goal: every mode of writing from Spark does to a table what it says, from any distribution.

Method: the embedded engine reads what came of it.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core import errors
from table_core.spark.verbs import sql
from table_core.spark.writing.frames import compacted_along, written
from tests.tables import rows_of, write_rows


def frame(spark: Any, *rows: tuple[Any, ...], columns: str = "id long, v string") -> Any:
    return spark.createDataFrame(rows, columns)


def keyed(catalog: tc.Catalog, **options: str) -> tc.Table:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    return catalog.create_table(
        "d.t", schema, primary_key=("id",), options={"bucket": "2", **options}
    )


def test_error_and_ignore_write_into_empty_tables_only(spark: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog)
    commit = tc.CommitAs(user="job", identifier=1)
    first = tcs.write(frame(spark, (1, "a")), table, mode="error", commit=commit)
    assert tcs.write(frame(spark, (2, "b")), table, mode="ignore").snapshot_ids == ()
    with pytest.raises(errors.AlreadyExistsError):
        tcs.write(frame(spark, (2, "b")), table, mode="error")
    again = tcs.write(frame(spark, (1, "a")), table, mode="error", commit=commit)
    assert (again.replayed, again.snapshot_ids) == (True, first.snapshot_ids)
    assert rows_of(table) == [(1, "a")]


def test_merge_schema_adds_and_widens(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([pa.field("id", pa.int32(), nullable=False), ("n", pa.int32())])
    table = catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "1"})
    rows = frame(spark, (1, 1 << 40, "x"), columns="ID int, n long, note string")
    with pytest.raises(errors.DataError):
        tcs.write(rows, table)
    tcs.write(rows, table, merge_schema=True)
    table = catalog.table("d.t")
    assert rows_of(table) == [(1, 1 << 40, "x")]
    tcs.write(spark.sql("SELECT 2 id, 3 n, NULL note"), table, merge_schema=True)
    assert table.definition.id == catalog.table("d.t").definition.id  # nothing was too narrow


def test_a_table_is_made_from_a_query(spark: Any, catalog: tc.Catalog) -> None:
    query = "SELECT id, CAST(id % 3 AS STRING) dt, id * 2 n FROM range(9)"
    how = {"catalog": catalog, "primary_key": ("id", "dt"), "partition_by": ("dt",)}
    made = tcs.create_table_as(spark, query, "d.made", options={"bucket": "1"}, **how)
    assert made.rows_added == 9
    assert catalog.table("d.made").partition_by == ("dt",)
    with pytest.raises(errors.AlreadyExistsError):
        tcs.create_table_as(spark, query, "d.made", **how)
    assert tcs.create_table_as(spark, query, "d.made", mode="ignore", **how).snapshot_ids == ()
    tcs.create_table_as(spark, f"{query} WHERE id < 2", "d.made", mode="overwrite", **how)
    assert [row[0] for row in rows_of(catalog.table("d.made"))] == [0, 1]
    kinds = "SELECT '+I' AS _ROW_KIND, 1L id"
    tcs.create_table_as(spark, kinds, "d.kinds", catalog=catalog, primary_key=("id",))
    assert rows_of(catalog.table("d.kinds")) == [(1,)]
    bad = "SELECT id, id / (id - 3) v FROM range(6)"
    with pytest.raises(errors.DataError, match="DIVIDE_BY_ZERO"):
        tcs.create_table_as(spark, bad, "d.bad", catalog=catalog)
    assert "bad" not in catalog.tables("d")


@pytest.mark.parametrize("mode", ["error", "ignore", "append", "overwrite"])
def test_a_query_that_is_repeated_makes_its_table_once(
    spark: Any, catalog: tc.Catalog, mode: str
) -> None:
    query, commit = "SELECT 1L id, 'a' v", tc.CommitAs(user="job", identifier=1)
    catalog.create_table("d.t", pa.schema([("id", pa.int64()), ("v", pa.string())]))
    how = {"catalog": catalog, "mode": mode, "commit": commit}
    tcs.create_table_as(spark, query, "d.t", **how)  # the first run died before it wrote
    assert rows_of(catalog.table("d.t")) == [(1, "a")]
    catalog.drop_table("d.t")
    made = tcs.create_table_as(spark, query, "d.t", **how)
    again = tcs.create_table_as(spark, query, "d.t", **how)
    assert (again.replayed, again.snapshot_ids) == (True, made.snapshot_ids)
    assert rows_of(catalog.table("d.t")) == [(1, "a")]


@pytest.mark.parametrize(
    ("mode", "rows"), [("ignore", [7]), ("append", [1, 7]), ("overwrite", [1]), ("error", [7])]
)
def test_a_table_that_somebody_else_makes_first_was_there(
    spark: Any, catalog: tc.Catalog, monkeypatch: Any, mode: str, rows: list[int]
) -> None:
    tcs.create_table_as(spark, "SELECT 7L id", "d.t", catalog=catalog)
    monkeypatch.setattr(sql, "_exists", lambda *_: False)  # it came after we had looked
    with pytest.raises(errors.AlreadyExistsError) if mode == "error" else nullcontext():
        tcs.create_table_as(spark, "SELECT 1L id", "d.t", catalog=catalog, mode=mode)
    assert [row[0] for row in rows_of(catalog.table("d.t"))] == rows


@pytest.mark.parametrize(
    ("primary_key", "partition_by", "options"),
    [
        ((), ("p",), {"bucket": "-1"}),
        ((), ("p",), {"bucket": "-1", "write.by-spark": "false"}),
        ((), ("p",), {"bucket": "2", "bucket-key": "id"}),
        ((), (), {"bucket": "2", "bucket-key": "p"}),
        (("id",), ("p",), {"bucket": "-1"}),
    ],
)
def test_a_column_that_rows_lack_is_null_where_it_says_their_place(
    spark: Any, catalog: tc.Catalog, primary_key: Any, partition_by: Any, options: Any
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string())])
    how = {"primary_key": primary_key, "partition_by": partition_by, "options": options}
    table = catalog.create_table("d.t", schema, **how)
    tcs.write(spark.createDataFrame([(id,) for id in range(9)], "id long"), table)
    assert rows_of(table) == [(id, None) for id in range(9)]
    assert table.read(where="p IS NULL AND id = 7").to_arrow().num_rows == 1


def test_a_key_that_rows_lack_is_named(spark: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog)
    with pytest.raises(errors.DataError, match="'id' is NOT NULL"):
        tcs.write(spark.createDataFrame([("a",), ("b",)], "v string"), table)


@pytest.mark.parametrize("bucket", ["-1", "3"])
def test_a_key_that_a_default_completes_is_one_key(
    spark: Any, catalog: tc.Catalog, bucket: str
) -> None:
    """The row with NULL and the row with 5 have one key, and so belong to one task."""
    columns = [pa.field(name, pa.int64(), nullable=False) for name in "ab"]
    options = {"bucket": bucket, "sink.parallelism": "3"}
    catalog.create_table("d.t", pa.schema(columns), primary_key=("a", "b"), options=options)
    catalog.alter_table("d.t", [tc.UpdateColumnDefault("a", "5")])
    table = catalog.table("d.t")
    rows = [(a, b) for b in range(20) for a in (None, 5)]
    tcs.write(spark.createDataFrame(rows, "a long, b long"), table)
    assert rows_of(table) == [(5, b) for b in range(20)]
    numbers = [
        (each.bucket, number)
        for each in table.access.live_entries(table.latest_snapshot())
        for number in range(each.file.min_sequence_number, each.file.max_sequence_number + 1)
    ]
    assert bucket == "-1" or len(numbers) == len(set(numbers))


@pytest.mark.parametrize("tasks", ["1", "3"])
def test_dynamic_buckets_are_dealt_out_by_several_tasks(
    spark: Any, catalog: tc.Catalog, tasks: str
) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "40", "write-only": "true"}
    table = keyed(catalog, **options)
    handle = catalog.table("d.t", options={"sink.parallelism": tasks})
    for turn in range(3):
        rows = spark.range(turn * 50, turn * 50 + 150).selectExpr("id", f"'{turn}' AS v")
        tcs.write(rows.repartition(4), handle)
    with table.write() as writer:  # the embedded writer goes on with the same index
        writer.write(pa.table({"id": range(10), "v": ["embedded"] * 10}))
        writer.commit()
    found = {row["id"]: row["v"] for row in table.read().to_arrow().to_pylist()}
    expected = {id: str(min(id // 50, 2)) for id in range(250)}
    assert found == expected | dict.fromkeys(range(10), "embedded")
    live = table.access.live_entries(table.latest_snapshot())
    assert len({entry.bucket for entry in live}) >= 250 // 40
    homes: dict[int, set[int]] = {}
    for split in table.read().splits():
        for id in pa.Table.from_batches(table.read(columns=["id"]).read_split(split))[
            0
        ].to_pylist():
            homes.setdefault(id, set()).add(split.bucket)
    assert {len(buckets) for buckets in homes.values()} == {1}  # a key never has two homes


def test_several_tasks_move_keys_between_partitions(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("dt", pa.string()), ("n", pa.int64())]
    )
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "40", "write-only": "true"}
    how: dict[str, Any] = {"primary_key": ("id",), "partition_by": ("dt",), "options": options}
    table = catalog.create_table("d.t", schema, **how)
    handle = catalog.table("d.t", options={"sink.parallelism": "3"})
    expected: dict[int, tuple[str, int]] = {}
    for turn in range(3):
        rows = spark.range(turn * 50, turn * 50 + 150).selectExpr(
            "id", f"concat('d', (id + {turn}) % 2) AS dt", f"{turn}L AS n"
        )
        tcs.write(rows.repartition(4), handle)
        expected |= {id: (f"d{(id + turn) % 2}", turn) for id in range(turn * 50, turn * 50 + 150)}
        assert rows_of(table) == sorted((id, *rest) for id, rest in expected.items())
    live = table.access.live_entries(table.latest_snapshot())
    assert len({entry.bucket % 3 for entry in live}) == 3  # each task had buckets of its own
    write_rows(table, pa.table({"id": range(10), "dt": ["d9"] * 10, "n": range(10)}))
    expected |= {id: ("d9", id) for id in range(10)}
    assert rows_of(table) == sorted((id, *rest) for id, rest in expected.items())


def test_a_skewed_bucket_and_empty_partitions_lose_no_row(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("n", pa.int64())])
    options = {"bucket": "4", "bucket-key": "k"}
    table = catalog.create_table("d.t", schema, options=options)
    rows = spark.range(2000).selectExpr("IF(id % 10 = 0, id, 7) AS k", "id AS n")
    tcs.write(rows.repartition(8).where("n >= 0"), table)
    tcs.write(rows.where("n < 0"), table)
    read = tcs.read(spark, table)
    assert read.count() == 2000
    assert read.where("k = 7").selectExpr("sum(n)").first()[0] == sum(
        n for n in range(2000) if n % 10
    )
    live = table.access.live_entries(table.latest_snapshot())
    assert len(live) == len({entry.bucket for entry in live})  # one file a bucket


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_does_not_fit_is_refused_in_any_mode(
    spark: Any, catalog: tc.Catalog, ansi: str
) -> None:
    schema = pa.schema([("id", pa.int64()), ("n", pa.int8()), ("price", pa.decimal128(5, 2))])
    table = catalog.create_table("d.t", schema, options={"bucket": "-1"})
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for bad in ("300 n, CAST(1 AS DECIMAL(5,2)) price", "1 n, 12.345BD price"):
            with pytest.raises(errors.DataError):
                tcs.write(spark.sql(f"SELECT 1L id, {bad}"), table)
        tcs.write(spark.sql("SELECT 1L id, 100 n, 1.50BD price"), table)
        assert tcs.read(spark, table, where="n + 100 > 0").count() == 1
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_limits_of_numbers_and_times_and_huge_rows_survive(spark: Any, catalog: tc.Catalog) -> None:
    nines = "9" * 38
    rows = spark.sql(
        f"SELECT * FROM VALUES (1L, {nines}BD, TIMESTAMP_NTZ'0001-01-01 00:00:00.000001', 1),"
        f" (2L, -{nines}BD, TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', 8000000),"
        " (3L, NULL, TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', 9000000) AS t(id, n, at, size)"
    ).selectExpr("id", "n", "at", "repeat('é', size) text")
    table = catalog.create_table(
        "d.t",
        pa.schema(
            [
                pa.field("id", pa.int64(), nullable=False),
                ("n", pa.decimal128(38, 0)),
                ("at", pa.timestamp("us")),
                ("text", pa.string()),
            ]
        ),
        primary_key=("id",),
        options={"bucket": "2"},
    )
    tcs.write(rows, table)
    tcs.write(rows.where("id = 3"), table)  # a bucket whose rows are merged
    expected = [tuple(row) for row in rows.orderBy("id").collect()]
    assert rows_of(table) == expected
    assert [tuple(row) for row in tcs.read(spark, table).orderBy("id").collect()] == expected
    coarse = catalog.create_table("d.coarse", pa.schema([("at", pa.timestamp("ms"))]))
    with pytest.raises(errors.DataError, match="at"):
        tcs.write(rows.select("at"), coarse)
    assert coarse.latest_snapshot() is None


@pytest.mark.parametrize("key", [(), ("id",)])
def test_the_furthest_times_survive_in_any_zone(
    spark: Any, catalog: tc.Catalog, key: tuple[str, ...]
) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("seen", pa.timestamp("us", "UTC")),
            ("day", pa.date32()),
        ]
    )
    options = {"bucket": "1", "bucket-key": "id"}
    table = catalog.create_table("d.t", schema, primary_key=key, options=options)
    most, days = 2**63 - 1, 2**31 - 1
    rows = [(1, most, days), (2, -most, -days), (3, 1_762_063_200_000_001, 0), (4, -1, -1)]
    columns = "id long, micros long, days int"
    made = spark.createDataFrame(rows, columns)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = made.selectExpr(
            "id", "timestamp_micros(micros) seen", "date_from_unix_date(days) day"
        )
        tcs.write(frame, table)
        tcs.register(spark)
        read = spark.read.format("paimon").load(table.uri)
        for found in (tcs.read(spark, table), read):
            numbers = found.selectExpr("id", "unix_micros(seen)", "unix_date(day)").collect()
            assert sorted(map(tuple, numbers)) == rows
        some = tcs.read(spark, table, where="seen > TIMESTAMP '2025-11-02 06:00:00 UTC'")
        assert {row.id for row in some.select("id").collect()} == {1, 3}
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    fine = catalog.create_table("d.fine", pa.schema([("seen", pa.timestamp("ns", "UTC"))]))
    with pytest.raises(errors.DataError, match=str(most)):
        tcs.write(frame.where("id = 1").select("seen"), fine)
    tcs.write(frame.where("id = 3").select("seen"), fine)
    assert fine.latest_snapshot().id == 1


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_the_later_commit_wins_although_tasks_wrote_its_rows_first(
    spark: Any, catalog: tc.Catalog, producer: str
) -> None:
    table = keyed(catalog, **{"changelog-producer": producer, "merge-engine": "partial-update"})
    tcs.write(frame(spark, *((n, "first") for n in range(20))), table)
    results = written(
        frame(spark, *((n, "last") for n in range(5, 25))), table.access, replaces=False
    )
    results.append(compacted_along(spark, table.access, results))
    write_rows(table, pa.table({"id": range(10), "v": ["between"] * 10}, schema=table.arrow_schema))
    done = table.commit(results)
    assert bool(done.compact_conflicts) is (producer == "lookup")
    expected = [(n, "between" if n < 5 else "last") for n in range(25)]
    assert rows_of(table) == expected
    table.compact()
    assert rows_of(table) == expected


def test_batches_whose_lists_are_all_empty_are_written(spark: Any, catalog: tc.Catalog) -> None:
    """Of lists in lists that are all empty Java sends no offsets, and pyarrow read what lay there."""
    tcs.register(spark)
    texts = pa.list_(pa.list_(pa.string()))
    schema = pa.schema([("id", pa.int64()), ("a", texts), ("m", pa.map_(pa.string(), texts))])
    table = catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "2"})

    def rows(first: int) -> Any:
        empty = "CAST(array() AS ARRAY<ARRAY<STRING>>)"
        return spark.range(first, first + 20, 1, 3).selectExpr(
            "id", f"IF(id % 3 = 0, NULL, {empty}) a", f"map('k', {empty}) m"
        )

    tcs.write(rows(0), table)
    rows(20).write.format("paimon").mode("append").save(table.uri)
    tcs.merge_into(spark, table, rows(40), ["id"], [tc.MatchedUpsert(), tc.NotMatchedInsert()])
    wanted = [(id, None if id % 3 == 0 else [], [("k", [])]) for id in range(60)]
    assert rows_of(table) == wanted
