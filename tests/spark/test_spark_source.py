"""Goal: ``format("paimon")`` is right for whatever rows Spark hands to whatever task.

Method: the data source writes, the embedded engine reads, and the other way.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.spark import register, write
from tests.tables import write_rows

NAME = "paimon"


@pytest.fixture(scope="module")
def source(spark: Any) -> Any:
    register(spark, NAME)
    return spark


def keyed(catalog: tc.Catalog, **options: str) -> tc.Table:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    return catalog.create_table(
        "d.t", schema, primary_key=("id",), options={"bucket": "2", **options}
    )


def test_rows_pass_both_ways(source: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog)
    frame = source.createDataFrame([(i, str(i)) for i in range(50)], "id long, v string")
    frame.repartition(3).write.format(NAME).mode("append").save(table.uri)
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == list(range(50))
    read = source.read.format(NAME).load(table.uri)
    assert read.where("id between 10 and 12 and v like '1%'").count() == 3
    assert read.where("id = 7 or v = '8'").count() == 2
    assert read.count() == 50
    assert read.where("id = 1").union(read.where("id = 2")).count() == 2
    assert source.read.format(NAME).option("where", "id < 5").load(table.uri).count() == 5
    assert source.read.format(NAME).option("columns", "v").load(table.uri).columns == ["v"]


def test_tasks_that_share_a_bucket_never_give_out_the_same_number(
    source: Any, catalog: tc.Catalog
) -> None:
    table = keyed(catalog, **{"write-only": "true"})
    frame = source.createDataFrame([(i % 7, str(i)) for i in range(70)], "id long, v string")
    for _ in range(2):
        frame.repartition(4).write.format(NAME).mode("append").save(table.uri)
    files = [e.file for e in table.access.live_entries(table.latest_snapshot())]
    assert len(files) > 8
    residues = {(f.min_sequence_number % 65536, f.max_sequence_number % 65536) for f in files}
    assert all(low == high for low, high in residues)
    read = source.read.format(NAME).load(table.uri)
    assert sorted(map(tuple, read.collect())) == sorted(
        (row["id"], row["v"]) for row in table.read().to_arrow().to_pylist()
    )
    before = sorted(map(tuple, read.collect()))
    table.compact()
    assert sorted(map(tuple, source.read.format(NAME).load(table.uri).collect())) == before


def test_append_buckets_are_numbered_without_overlap(source: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([("id", pa.int64())])
    table = catalog.create_table("d.t", schema, options={"bucket": "2", "bucket-key": "id"})
    for _ in range(2):
        source.range(40).repartition(3).write.format(NAME).mode("append").save(table.uri)
    spans: dict[int, list[int]] = {0: [], 1: []}
    for entry in table.access.live_entries(table.latest_snapshot()):
        file = entry.file
        numbers = range(file.min_sequence_number, file.max_sequence_number + 1)
        assert len(numbers) == file.row_count
        spans[entry.bucket] += numbers
    assert all(len(set(span)) == len(span) for span in spans.values())
    assert sum(map(len, spans.values())) == 80


@pytest.mark.parametrize("producer", ["none", "input"])
def test_dynamic_buckets_are_dealt_out_whatever_the_tasks_saw(
    source: Any, catalog: tc.Catalog, tmp_path: Any, producer: str
) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "20", "write-only": "true"}
    table = keyed(catalog, **options, **{"changelog-producer": producer})
    for first in (0, 30):
        rows = source.range(first, first + 50).selectExpr("id", f"'{first}' v")
        several = rows.union(rows).repartition(4)  # a key in two tasks
        several.write.format(NAME).mode("append").save(table.uri)
    with table.write() as writer:  # the embedded writer goes on with the same index
        writer.write(pa.table({"id": range(10), "v": ["embedded"] * 10}))
        writer.commit()
    found = {row["id"]: row["v"] for row in table.read().to_arrow().to_pylist()}
    expected = {id: "0" if id < 30 else "30" for id in range(80)}
    assert found == expected | dict.fromkeys(range(10), "embedded")
    read = table.read(columns=["id"])
    homes = [
        (id, split.bucket)
        for split in read.splits()
        for id in pa.Table.from_batches(read.read_split(split))["id"].to_pylist()
    ]
    assert len(set(homes)) == 80  # no key has two homes
    live = table.access.live_entries(table.latest_snapshot())
    stored = {path.name for path in tmp_path.glob("**/data-*")}
    assert stored == {entry.file.file_name for entry in live}  # nothing of the tasks is left over
    changes = table.changes(after=0).to_arrow()
    assert set(changes["_ROW_KIND"].to_pylist()) == {"+I"}
    assert set(changes["id"].to_pylist()) == set(range(80))


def test_keys_that_move_between_partitions_need_one_task(
    source: Any, catalog: tc.Catalog, tmp_path: Any
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("dt", pa.string())])
    table = catalog.create_table(
        "d.t", schema, primary_key=("id",), partition_by=("dt",), options={"bucket": "-1"}
    )
    rows = source.range(8).selectExpr("id", "'a' dt")
    with pytest.raises(Exception, match=r"coalesce\(1\)"):
        rows.repartition(4).write.format(NAME).mode("append").save(table.uri)
    assert not list(tmp_path.glob("**/data-*"))
    rows.coalesce(1).write.format(NAME).mode("append").save(table.uri)
    moved = source.sql("SELECT 1L id, 'b' dt").coalesce(1)
    moved.write.format(NAME).mode("overwrite").save(table.uri)
    assert table.read().to_arrow().to_pylist() == [{"id": 1, "dt": "b"}]
    assert len(table.access.live_entries(table.latest_snapshot())) == 1  # nothing moved out of "a"


def test_an_overwrite_does_not_mind_how_many_buckets_there_were(
    source: Any, catalog: tc.Catalog
) -> None:
    table = keyed(catalog, **{"changelog-producer": "input"})
    rows = source.range(20).selectExpr("id", "'v' v")
    rows.write.format(NAME).mode("append").save(table.uri)
    table = catalog.alter_table("d.t", [tc.SetOption("bucket", "5")])
    rows.write.format(NAME).mode("overwrite").save(table.uri)
    live = table.access.live_entries(table.latest_snapshot())
    assert {entry.total_buckets for entry in live} == {5}
    assert table.changes(after=1).to_arrow().num_rows == 0  # as with every overwrite
    assert table.read().to_arrow().num_rows == 20


def test_overwrite_replaces_the_table_or_what_occurs(source: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([("dt", pa.string()), ("n", pa.int64())])
    table = catalog.create_table("d.t", schema, partition_by=("dt",), options={"bucket": "-1"})

    def save(mode: str, rows: list[tuple[str, int]], **options: str) -> list[tuple[str, int]]:
        frame = source.createDataFrame(rows, "dt string, n long")
        frame.write.format(NAME).mode(mode).options(**options).save(table.uri)
        return sorted((row["dt"], row["n"]) for row in table.read().to_arrow().to_pylist())

    save("append", [("a", 1), ("b", 1)])
    assert save("overwrite", [("a", 2)], **{"overwrite-mode": "partitions"}) == [("a", 2), ("b", 1)]
    assert save("overwrite", [("c", 3)]) == [("c", 3)]


def test_partitions_are_not_replaced_where_keys_move_between_them(
    source: Any, catalog: tc.Catalog
) -> None:
    """The row of a key in another partition would stay beside the new one."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("dt", pa.string())])
    table = catalog.create_table(
        "d.t", schema, primary_key=("id",), partition_by=("dt",), options={"bucket": "-1"}
    )
    frame = source.createDataFrame([(1, "new")], "id long, dt string")
    write(source.createDataFrame([(1, "old"), (2, "new")], "id long, dt string"), table)
    head = table.latest_snapshot()
    by_format = frame.coalesce(1).write.format(NAME).mode("overwrite")
    by_format = by_format.option("overwrite-mode", "partitions")
    for overwrite in (
        lambda: write(frame, table, "overwrite-partitions"),
        lambda: write(frame, table, {"dt": "new"}),
        lambda: by_format.save(table.uri),
    ):
        with pytest.raises(Exception, match="a key may move between partitions"):
            overwrite()
    assert table.latest_snapshot() == head
    write(frame, table, "overwrite")
    assert table.read().to_arrow().to_pylist() == [{"id": 1, "dt": "new"}]


def test_time_travel_by_canonical_and_short_names(source: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog, **{"write-only": "true"})
    for value in "ab":
        write_rows(table, pa.table({"id": [1], "v": [value]}))
    reader = source.read.format(NAME)
    assert reader.option("scan.snapshot-id", 1).load(table.uri).first().v == "a"
    assert source.read.format(NAME).option("snapshot-id", 2).load(table.uri).first().v == "b"
    both = source.read.format(NAME).option("snapshot-id", 2).option("scan.snapshot-id", 1)
    with pytest.raises(Exception, match="given twice"):
        _ = both.load(table.uri).schema  # over Connect nothing is looked at before


def test_pushed_filters_spare_files(source: Any, catalog: tc.Catalog, tmp_path: Any) -> None:
    table = keyed(catalog, **{"write-only": "true"})
    for ids in ([1, 2], [901, 902]):
        write_rows(table, pa.table({"id": ids, "v": ["x", "y"]}))
    low = [e.file for e in table.access.live_entries(table.snapshot(1))]
    for file in low:
        next(tmp_path.glob(f"**/{file.file_name}")).write_bytes(b"must not be read")
    reader = source.read.format(NAME).option("push-filters", "true")
    assert reader.load(table.uri).where("id = 901").count() == 1


def test_a_commit_by_name_lands_once(source: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog)
    frame = source.createDataFrame([(1, "a")], "id long, v string")
    for _ in range(2):
        named = frame.write.format(NAME).mode("append").option("commit-user", "job")
        named.option("commit-identifier", "3").save(table.uri)
    assert [s.commit_user for s in table.snapshots()] == ["job"]


def test_a_failing_task_leaves_nothing(source: Any, catalog: tc.Catalog, tmp_path: Any) -> None:
    table = keyed(catalog)
    frame = source.sql("SELECT id, CAST(id / (id - 3) AS STRING) v FROM range(6)").repartition(1)
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        frame.write.format(NAME).mode("append").save(table.uri)
    assert table.latest_snapshot() is None


def test_plain_sql_reads_and_inserts(source: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog)
    source.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING {NAME} OPTIONS (path '{table.uri}')")
    write_rows(table, pa.table({"id": [1, 2], "v": ["a", None]}))
    assert source.sql("SELECT id FROM v WHERE v IS NULL").first().id == 2


@pytest.mark.parametrize(
    "where",
    [
        "d = DATE '2026-01-02'",
        "at >= TIMESTAMP_NTZ '2026-01-02 00:00:00'",
        "seen < TIMESTAMP '2026-01-02 00:00:00Z'",
        "price IN (1.50, 2.50)",
        "NOT (name LIKE 'b%')",
        "name LIKE '%100\\\\%%'",
        "ratio > 1.0",
        "name IS NULL",
        "name <=> NULL",
    ],
)
def test_pushed_filters_lose_no_row(source: Any, catalog: tc.Catalog, where: str) -> None:
    spark = source
    rows = spark.sql(
        "SELECT id, date_add(DATE '2026-01-01', CAST(id AS INT)) d, "
        "CAST(date_add(DATE '2026-01-01', CAST(id AS INT)) AS TIMESTAMP_NTZ) at, "
        "CAST(date_add(DATE '2026-01-01', CAST(id AS INT)) AS TIMESTAMP) seen, "
        "CAST(id + 0.5 AS DECIMAL(9, 2)) price, "
        "CASE id WHEN 0 THEN NULL WHEN 1 THEN 'b' WHEN 2 THEN '100%' ELSE 'c' END name, "
        "CASE id WHEN 3 THEN double('NaN') ELSE double(id) END ratio FROM range(5)"
    )
    table = catalog.create_table(
        "d.t", rows.toArrow().schema, options={"bucket": "-1", "target-file-size": "1 kb"}
    )
    rows.repartition(5).write.format(NAME).mode("append").save(table.uri)
    expected = {row.id for row in rows.where(where).collect()}
    assert expected
    for push in ("false", "true"):
        reader = spark.read.format(NAME).option("push-filters", push)
        assert {row.id for row in reader.load(table.uri).where(where).collect()} == expected


def test_a_save_creates_the_table_and_follows_new_columns(source: Any, catalog: tc.Catalog) -> None:
    path = f"{catalog.warehouse}/d.db/made"
    writer = source.sql("SELECT 1L id, 'a' v").write.format(NAME).mode("append")
    with pytest.raises(Exception, match="no table at"):
        writer.save(path)
    created = {"auto-create": "true", "primary-key": "id", "bucket": "2"}
    writer.options(**created).save(path)
    made = catalog.table("d.made")
    assert (made.primary_key, made.options["bucket"]) == (("id",), "2")
    wider = source.sql("SELECT 1L id, 'b' v, 7 n").write.format(NAME).mode("append")
    with pytest.raises(Exception, match="alter_table"):
        wider.save(path)
    wider.option("write.merge-schema", "true").save(path)
    assert catalog.table("d.made").read().to_arrow().to_pylist() == [{"id": 1, "v": "b", "n": 7}]


def test_what_a_save_cannot_do_it_says(source: Any, catalog: tc.Catalog) -> None:
    table = keyed(catalog)
    frame = source.sql("SELECT 1L id, 'a' v")
    for mode, option, why in (
        ("append", {"commit-user": "u", "commit-identifier": "seven"}, "no whole number"),
        ("append", {"no-such-option": "1"}, "unknown option"),
        ("overwrite", {"overwrite-mode": "rows"}, "use 'table' or 'partitions'"),
        ("error", {}, "cannot be written"),
        ("ignore", {}, "cannot be written"),
    ):
        with pytest.raises(Exception, match=why):
            frame.write.format(NAME).mode(mode).options(**option).save(table.uri)
    assert table.latest_snapshot() is None


def test_nanoseconds_are_cut_off_by_option(source: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([("at", pa.timestamp("ns"))])
    table = catalog.create_table("d.t", schema, options={"bucket": "-1"})
    write_rows(table, pa.table({"at": pa.array([1_999], pa.int64()).cast(pa.timestamp("ns"))}))
    reader = source.read.format(NAME)
    with pytest.raises(Exception, match="nanoseconds"):
        _ = reader.load(table.uri).schema
    rows = reader.option("nanoseconds", "truncate").load(table.uri)
    assert rows.first().at.microsecond == 1
