"""Goal: what Spark scans itself and what is merged in tasks are together the rows of the table.

Method: the embedded engine reads the same state; plain Spark SQL over a Parquet copy answers the same
queries.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core import errors
from table_core.spark.reading.frames import frame_of
from table_core.spark.session.create import parallelism
from table_core.table.read.source_rows import first_rows
from tests.tables import write_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WIDE = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("dt", pa.string()),
        ("price", pa.decimal128(38, 10)),
        ("at", pa.timestamp("us")),
        ("seen", pa.timestamp("ms", "UTC")),
        ("Name", pa.string()),
        ("ratio", pa.float64()),
        ("place", pa.struct([("city", pa.string()), ("tags", pa.list_(pa.int32()))])),
    ]
)
LIMITS = (
    (Decimal("9" * 28 + "." + "9" * 10), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
    (Decimal("-" + "9" * 28 + "." + "9" * 10), dt.datetime(1, 1, 1, 0, 0, 0, 1)),
    (None, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)),
)


def row(id: int, **given: Any) -> dict[str, Any]:
    price, at = LIMITS[id % 3]
    return {
        "id": id,
        "dt": f"2026-01-0{id % 3 + 1}",
        "price": price,
        "at": at,
        "seen": dt.datetime(2026, 1, 1, 0, 0, id % 60, 5000, tzinfo=dt.UTC),
        "Name": None if id % 5 == 0 else f"name {id % 7}",
        "ratio": float("nan") if id % 11 == 0 else id / 4,
        "place": {"city": f"c{id % 2}", "tags": [id, None]},
        **given,
    }


def put(table: tc.Table, *rows: dict[str, Any]) -> None:
    schema = table.arrow_schema
    if "_ROW_KIND" in rows[0]:
        schema = schema.append(pa.field("_ROW_KIND", pa.string()))
    write_rows(table, pa.Table.from_pylist(list(rows), schema=schema))


def appended(catalog: tc.Catalog) -> tc.Table:
    table = catalog.create_table("d.t", WIDE, partition_by=("dt",), options={"bucket": "-1"})
    put(table, *(row(id) for id in range(40)))
    put(table, row(41, dt=None), row(42, dt="a/b c%"), row(43, dt="  "))
    return table


def half_merged(catalog: tc.Catalog) -> tc.Table:
    """Some buckets have files that overlap and a delete, others have one file each."""
    options = {"bucket": "6", "write-only": "true"}
    table = catalog.create_table("d.t", WIDE, primary_key=("id",), options=options)
    put(table, *(row(id) for id in range(40)))
    table.compact()
    put(table, row(36, Name="new"), row(46))
    put(table, row(3, _ROW_KIND="-D"))
    return table


def marked(catalog: tc.Catalog) -> tc.Table:
    options = {"bucket": "-1", "deletion-vectors.enabled": "true", "write-only": "true"}
    table = catalog.create_table("d.t", WIDE, options=options)
    put(table, *(row(id) for id in range(20)))
    put(table, *(row(id) for id in range(20, 40)))
    table.delete(where="id % 3 = 0 AND id < 20")
    return table


def evolved(catalog: tc.Catalog) -> tc.Table:
    schema = pa.schema([("id", pa.int64()), ("a", pa.int32()), ("b", pa.string())])
    table = catalog.create_table("d.t", schema, options={"bucket": "-1"})
    put(table, *({"id": id, "a": id, "b": str(id)} for id in range(5)))
    changes = [tc.RenameColumn("b", "c"), tc.AddColumn("b", "INT"), tc.AddColumn("d", "DOUBLE")]
    table = catalog.alter_table("d.t", changes)
    put(table, {"id": 7, "a": 8, "c": "x", "b": 1, "d": 0.5})
    table = catalog.alter_table("d.t", [tc.UpdateColumnType("a", "BIGINT")])
    put(table, {"id": 8, "a": 1 << 40, "c": "y", "b": None, "d": None})
    return table


LAYOUTS: tuple[Callable[[tc.Catalog], tc.Table], ...] = (appended, half_merged, marked, evolved)


def texts(rows: pa.Table) -> list[str]:
    """Comparable rows: NaN is not equal to itself."""
    return sorted(map(repr, rows.sort_by("id").to_pylist()))


def plan_of(frame: Any) -> str:
    """What ``explain`` shows, over Connect too."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        frame.explain()
    return shown.getvalue()


def one_row(batches: Any) -> Any:
    """A row for each task."""
    list(batches)
    yield pa.RecordBatch.from_pydict({"n": pa.array([1], pa.int32())})


@pytest.mark.parametrize("make", LAYOUTS)
def test_both_ways_of_reading_give_the_rows_of_the_table(
    spark: Any, catalog: tc.Catalog, make: Callable[[tc.Catalog], tc.Table]
) -> None:
    table = make(catalog)
    frame = tcs.read(spark, table)
    assert texts(frame.toArrow()) == texts(table.read().to_arrow())
    where = "id >= 3 AND (id < 8 OR id IN (36, 41)) AND NOT id = 4"
    some = tcs.read(spark, table, columns=["id"], where=where)
    assert some.columns == ["id"]
    assert texts(some.toArrow()) == texts(table.read(columns=["id"], where=where).to_arrow())
    assert "FileScan parquet" in plan_of(some)
    assert "PushedFilters: [" in plan_of(some)


@pytest.mark.parametrize("make", LAYOUTS)
def test_the_first_rows_of_a_flow_are_read_both_ways_too(
    spark: Any, catalog: tc.Catalog, make: Callable[[tc.Catalog], tc.Table]
) -> None:
    access = make(catalog).access
    scan = first_rows(access, access.head().id)
    frame = frame_of(spark, scan)
    rows, want = frame.toArrow(), scan.to_arrow()
    assert rows.column_names == want.column_names
    assert texts(rows) == texts(want)
    assert set(rows["_ROW_KIND"].to_pylist()) == {"+I"}
    assert "FileScan parquet" in plan_of(frame)


def test_only_what_needs_merging_goes_through_python(spark: Any, catalog: tc.Catalog) -> None:
    table = half_merged(catalog)
    assert "MapInArrow" in plan_of(tcs.read(spark, table))
    table.compact()
    plan = plan_of(tcs.read(spark, table))
    assert "MapInArrow" not in plan
    older = tcs.read(spark, table, snapshot=1)
    assert texts(older.toArrow()) == texts(table.read(snapshot=1).to_arrow())


def test_partitions_and_buckets_are_pruned(spark: Any, catalog: tc.Catalog) -> None:
    table = appended(catalog)
    frame = tcs.read(spark, table, where="dt = '2026-01-02'", columns=["id"])
    assert len(frame.inputFiles()) == 1
    assert sorted(r.id for r in frame.collect()) == [id for id in range(40) if id % 3 == 1]


def test_rows_come_by_partition_where_that_is_asked_for(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("dt", pa.string())])
    table = catalog.create_table("d.t", schema, partition_by=("dt",), options={"bucket": "-1"})
    for dt_, count in (("c", 300), ("a", 1), ("b", 30_000)):
        put(table, *({"id": id, "dt": dt_} for id in range(count)))
    asked = catalog.table("d.t", options={"scan.plan-sort-partition": "true"})
    came = [row.dt for row in tcs.read(spark, asked, columns=["dt"]).collect()]
    assert came == sorted(came)
    assert len(came) == 30_301


QUERIES = (
    "SELECT id, Name, price FROM {0} WHERE at < TIMESTAMP_NTZ '1970-01-01 00:00:00' AND id > 3",
    "SELECT * FROM {0} WHERE ratio > 5 OR Name IS NULL OR seen = TIMESTAMP '2026-01-01 00:00:07.005Z'",
    "SELECT dt, count(*), sum(id), max(price), min(at), count(DISTINCT NAME) FROM {0} GROUP BY dt",
    "SELECT l.id, r.place.city FROM {0} l JOIN {0} r ON l.id = r.id + 1 AND l.dt <> r.dt",
)


@pytest.mark.parametrize("make", LAYOUTS[:3])
def test_plain_sql_over_a_parquet_copy_agrees(
    spark: Any, catalog: tc.Catalog, tmp_path: Path, make: Callable[[tc.Catalog], tc.Table]
) -> None:
    table = make(catalog)
    pq.write_table(table.read().to_arrow(), tmp_path / "copy.parquet")
    spark.read.parquet(f"{tmp_path}/copy.parquet").createOrReplaceTempView("copy")
    tcs.view(spark, table, "ours")
    for query in QUERIES:
        ours, theirs = (spark.sql(query.format(name)) for name in ("ours", "copy"))
        assert ours.count()
        assert not ours.exceptAll(theirs).union(theirs.exceptAll(ours)).take(1), query


def test_views_take_names_branches_tags_and_system_tables(spark: Any, catalog: tc.Catalog) -> None:
    table = appended(catalog)
    table.tags.create("first", snapshot=1)
    table.branches.create("side", tag="first")
    put(table, row(50))
    spark.conf.set("spark.sql.paimon.warehouse", catalog.warehouse)
    tcs.view(spark, "d.t")
    tcs.view(spark, "d.t", "old", tag="first")
    tcs.view(spark, "d.t$branch_side", "side")
    tcs.view(spark, "d.t$snapshots", catalog=catalog)
    counts = "SELECT (SELECT count(*) FROM {}), (SELECT count(*) FROM {})"
    assert tuple(spark.sql(counts.format("t", "old")).first()) == (44, 40)
    assert tuple(spark.sql(counts.format("side", "t_snapshots")).first()) == (40, 3)
    assert dict(spark.table("t_snapshots").dtypes)["commit_time"] == "timestamp_ntz"
    spark.conf.unset("spark.sql.paimon.warehouse")
    with pytest.raises(errors.ArgumentError, match="warehouse"):
        tcs.view(spark, "d.t")


def test_changes_carry_their_kind(spark: Any, catalog: tc.Catalog) -> None:
    table = half_merged(catalog)
    ours = tcs.changes(spark, table, after=2, columns=["id"]).toArrow()
    assert texts(ours) == texts(table.changes(after=2, columns=["id"]).to_arrow())
    assert "-D" in ours["_ROW_KIND"].to_pylist()


def test_nanoseconds_are_cut_off_only_on_demand(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("ns"))])
    table = catalog.create_table("d.t", schema, options={"bucket": "-1"})
    put(table, {"id": 1, "at": None})
    with table.write() as writer:
        stamps = pa.array([1_999, -1], pa.int64()).cast(pa.timestamp("ns"))
        writer.write(pa.table({"id": [2, 3], "at": stamps}))
        writer.commit()
    with pytest.raises(errors.UnsupportedFeatureError, match="truncate"):
        tcs.read(spark, table)
    rows = tcs.read(spark, table, nanoseconds="truncate").toArrow().sort_by("id")
    assert rows["at"].cast(pa.int64()).to_pylist() == [None, 1, -1]
    with pytest.raises(errors.ArgumentError, match="refuse, truncate"):
        tcs.read(spark, table, nanoseconds="round")


def test_options_say_how_many_tasks_read(spark: Any, catalog: tc.Catalog) -> None:
    table = half_merged(catalog)

    def tasks(**options: str) -> int:
        handle = catalog.table("d.t", options={k.replace("_", "."): v for k, v in options.items()})
        frame = tcs.read(spark, handle, columns=["id"])
        assert frame.count() == table.read(columns=["id"]).to_arrow().num_rows
        return int(frame.mapInArrow(one_row, "n int").count())

    split_alone = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}
    assert tasks(**split_alone) == len(catalog.table("d.t", options=split_alone).read().splits())
    assert tasks(**{"scan.parallelism": "1"}) == 1
    assert tasks(**{"scan.infer-parallelism": "false"}) <= parallelism(spark)


def test_columns_that_differ_by_case_are_told_apart(spark: Any, catalog: tc.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.string()), ("V", pa.string())])
    table = catalog.create_table("d.t", schema, options={"bucket": "-1"})
    put(table, {"id": 1, "v": "low", "V": "UP"})
    frame = tcs.read(spark, table)
    assert frame.collect()[0][1:] == ("low", "UP")


def test_files_that_are_gone_or_broken_keep_their_kind(
    spark: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    table = catalog.create_table("d.t", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})
    put(table, {"id": 1})
    frame = tcs.read(spark, table)
    [file] = tmp_path.glob("**/data-*")
    file.write_bytes(b"PAR1 no")
    copy = catalog.create_table("d.c", table.arrow_schema, options={"bucket": "-1"})
    with pytest.raises(errors.CorruptFileError, match=file.name):
        tcs.write(frame, copy)
    file.unlink()
    with pytest.raises(errors.FilesExpiredError, match="expired"):
        tcs.write(frame, copy)
    with pytest.raises(errors.FilesExpiredError):
        tcs.write(tcs.read(spark, table), copy)  # over Connect a read is looked at when it is used


@pytest.mark.parametrize("layout", [appended, half_merged])
def test_members_of_rows_are_columns(
    catalog: tc.Catalog, spark: Any, layout: Callable[[tc.Catalog], tc.Table]
) -> None:
    table = layout(catalog)
    asked = ["id", "place.city", "place.tags"]
    frame = tcs.read(spark, table, columns=asked, where="ratio < 6")
    assert frame.columns == asked
    rows = table.read(columns=asked, where="ratio < 6").to_arrow()
    assert texts(frame.toArrow()) == texts(rows)
