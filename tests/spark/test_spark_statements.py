"""Goal: statements by tasks change a table as the embedded engine does, and touch nothing else.

Method: the same statement on two equal tables, one by each engine; rows and counts must agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core import errors
from tests.tables import write_rows

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("dt", pa.string(), nullable=False),
        ("v", pa.string()),
        ("n", pa.int64()),
    ]
)
LAYOUTS: dict[str, dict[str, Any]] = {
    "key": {"options": {"bucket": "3"}, "primary_key": ("id", "dt"), "partition_by": ("dt",)},
    "dynamic": {"options": {"bucket": "-1"}, "primary_key": ("id",)},
    "cross-partition": {
        "options": {"bucket": "-1"},
        "primary_key": ("id",),
        "partition_by": ("dt",),
    },
    "append": {"options": {"bucket": "-1"}, "partition_by": ("dt",)},
    "append by bucket": {"options": {"bucket": "2", "bucket-key": "id"}},
    "marked": {"options": {"bucket": "-1", "deletion-vectors.enabled": "true"}},
}


def twins(catalog: tc.Catalog, layout: str, **options: str) -> tuple[tc.Table, tc.Table]:
    how = LAYOUTS[layout]
    how = {**how, "options": {**how["options"], "write-only": "true", **options}}
    tables = tuple(catalog.create_table(f"d.{name}", COLUMNS, **how) for name in ("one", "two"))
    for table in tables:
        for start in (0, 20):
            ids = range(start, start + 20)
            rows = {
                "id": ids,
                "dt": [f"d{id % 2}" for id in ids],
                "v": [f"v{id}" for id in ids],
                "n": [None if id % 5 == 0 else id for id in ids],
            }
            write_rows(table, pa.table(rows, schema=COLUMNS))
    return tables[0], tables[1]


def rows_of(table: tc.Table) -> list[tuple[Any, ...]]:
    rows = table.read().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def files_of(table: tc.Table) -> set[str]:
    live = table.access.live_entries(table.latest_snapshot())
    return {entry.file.file_name for entry in live}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_delete_and_update_are_those_of_the_embedded_engine(
    spark: Any, catalog: tc.Catalog, layout: str
) -> None:
    one, two = twins(catalog, layout)
    steps: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
        (one.delete, lambda **how: tcs.delete(spark, two, **how)),
        (
            lambda **how: one.update({"n": "n + 1", "v": "'new'"}, **how),
            lambda **how: tcs.update(spark, two, {"n": "n + 1", "v": "'new'"}, **how),
        ),
    )
    commit = tc.CommitAs(user="job", identifier=7)
    for (ours, by_tasks), where in zip(steps, ("id % 7 = 0", "n > 10 AND id < 30"), strict=True):
        expected, found = ours(where=where).to_document(), by_tasks(where=where).to_document()
        assert found["details"]["rows"] == expected["details"]["rows"] > 0
        assert rows_of(two) == rows_of(one)
    assert tcs.delete(spark, two, "id = 1", commit).details["rows"] == 1
    assert tcs.delete(spark, two, "id = 1", commit).details["replayed"]
    with pytest.raises(errors.ArgumentError, match="'where'"):
        tcs.delete(spark, two, "true", commit)
    assert tcs.delete(spark, two, "id > 1000").snapshot_after == two.latest_snapshot().id


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_rows_of_a_statement_wait_for_a_bucket_as_rows_of_the_embedded_engine_do(
    spark: Any, catalog: tc.Catalog, producer: str
) -> None:
    options = {"bucket": "-2", "changelog-producer": producer}
    one, two = (
        catalog.create_table(f"d.{name}", COLUMNS, primary_key=("id",), options=options)
        for name in ("one", "two")
    )

    def put(*ids: int) -> None:
        rows = {"id": ids, "dt": ["d"] * len(ids), "v": ["old"] * len(ids), "n": [0] * len(ids)}
        for table in (one, two):
            write_rows(table, pa.table(rows, schema=COLUMNS))

    def places(table: tc.Table) -> list[tuple[int, int, int]]:
        live = table.access.live_entries(table.latest_snapshot())
        return sorted((each.bucket, each.total_buckets, each.file.row_count) for each in live)

    put(1, 2, 3)
    one.update({"v": "'new'"}, "id < 3")
    tcs.update(spark, two, {"v": "'new'"}, "id < 3")
    assert places(one) == places(two)
    put(4)
    one.delete("id = 1")
    tcs.delete(spark, two, "id = 1")
    assert places(one) == places(two)
    put(5)
    for table in (one, two):
        table.compact()
    assert rows_of(one) == rows_of(two)
    assert [row[0] for row in rows_of(two)] == [2, 3, 4, 5]


CLAUSES: tuple[Any, ...] = (
    tc.MatchedDelete(condition="source.n < 0"),
    tc.MatchedUpsert(values={"v": "source.v", "n": "target.n + source.n"}),
    tc.NotMatchedInsert(condition="source.n IS NOT NULL"),
    tc.NotMatchedBySourceDelete(condition="target.id < 3"),
    tc.NotMatchedBySourceUpsert(values={"v": "'alone'"}, condition="target.id > 37"),
)
SOURCE = pa.table(
    {
        "id": [4, 5, 6, 100, 101],
        "dt": ["d0", "d1", "d0", "d1", "d0"],
        "v": ["four", "five", "six", "hundred", None],
        "n": [-1, 1, 1, 7, None],
    },
    schema=COLUMNS,
)


@pytest.mark.parametrize(
    ("layout", "chosen"),
    [*((layout, slice(0, 5)) for layout in LAYOUTS), ("append by bucket", slice(1, 2))],
)
def test_merge_into_is_that_of_the_embedded_engine(
    spark: Any, catalog: tc.Catalog, layout: str, chosen: slice
) -> None:
    one, two = twins(catalog, layout)
    before = files_of(two)
    expected = one.merge_into(SOURCE, ["id", "dt"], CLAUSES[chosen])
    found = tcs.merge_into(spark, two, spark.createDataFrame(SOURCE), ["id", "dt"], CLAUSES[chosen])
    assert found.details["rows_by_clause"] == expected.details["rows_by_clause"]
    assert rows_of(two) == rows_of(one)
    if chosen.start and layout in ("append", "append by bucket"):
        assert before & files_of(two), "files without a changed row stay"


def test_several_source_rows_for_one_target_row_are_an_error(
    spark: Any, catalog: tc.Catalog
) -> None:
    one, _ = twins(catalog, "key")
    head = one.latest_snapshot()
    for id, fails in ((3, True), (500, False)):
        source = f"SELECT {id}L id, 'd1' dt, 'x' v, 1L n FROM range(2)"
        if fails:
            with pytest.raises(errors.DataError, match="several source rows") as caught:
                tcs.merge_into(spark, one, source, {"id": "id"}, [tc.MatchedUpsert()])
            assert caught.value.facts["value"] == {"id": 3}
            assert one.latest_snapshot() == head
        else:
            tcs.merge_into(spark, one, source, ["id", "dt"], [tc.NotMatchedInsert()])
            assert one.read(where="id = 500").to_arrow().num_rows == 1
    with pytest.raises(errors.ArgumentError, match="no column"):
        tcs.merge_into(spark, one, "SELECT 1 x", ["id"], [tc.MatchedUpsert()])
    clause = tc.MatchedDelete(condition="source.nothing = 1")
    with pytest.raises(errors.ArgumentError, match="nothing"):
        tcs.merge_into(spark, one, "SELECT 1L id", ["id"], [clause])


def test_of_source_rows_that_match_nothing_no_clause_is_asked(
    spark: Any, catalog: tc.Catalog
) -> None:
    """They may be alike, and the condition of a clause may have no answer for them."""
    one, _ = twins(catalog, "key")
    alike = "SELECT 'nowhere' v, 0L n FROM range(2)"
    for condition in ("target.v = 'v3'", "10 % source.n = 1"):
        clause = tc.MatchedDelete(condition=condition)
        tcs.merge_into(spark, one, f"{alike} UNION ALL SELECT 'v3', 3L", ["v"], [clause])
        tcs.merge_into(
            spark, one, "SELECT 3L id, 'd1' dt, 'v3' v, 3L n", ["id", "dt"], [tc.NotMatchedInsert()]
        )
    assert one.read().to_arrow().num_rows == 40


def test_columns_of_a_source_match_in_any_case(spark: Any, catalog: tc.Catalog) -> None:
    table, _ = twins(catalog, "key")
    source = "SELECT 3L ID, 'd1' Dt, 'met' V, 7L n"
    when = [tc.MatchedUpsert(condition="source.Id = 3"), tc.NotMatchedInsert()]
    for on in (["id", "dt"], {"id": "ID", "dt": "dt"}):
        tcs.merge_into(spark, table, source, on, when)
    assert len(rows_of(table)) == 40
    assert table.read(where="id = 3").to_arrow().to_pylist() == [
        {"id": 3, "dt": "d1", "v": "met", "n": 7}
    ]


def test_merge_into_an_empty_table_inserts(spark: Any, catalog: tc.Catalog) -> None:
    for layout in ("key", "append"):
        table = catalog.create_table(f"d.{layout}", COLUMNS, **LAYOUTS[layout])
        frame = spark.createDataFrame(SOURCE)
        done = tcs.merge_into(spark, table, frame, ["id"], [tc.NotMatchedInsert()])
        assert done.details["rows_by_clause"] == {"NotMatchedInsert": 5}
        assert len(rows_of(table)) == 5


def test_a_statement_that_fails_in_a_task_leaves_no_file(
    spark: Any, catalog: tc.Catalog, tmp_path: Any
) -> None:
    for layout in ("key", "append"):
        table = catalog.create_table(f"d.{layout}", COLUMNS, **LAYOUTS[layout])
        write_rows(table, SOURCE)
        before = {path for path in tmp_path.glob("**/*") if path.is_file()}
        with pytest.raises(errors.TableError):
            tcs.update(spark, table, {"n": "CAST(v AS BIGINT)"}, "true")
        clause = tc.MatchedUpsert(values={"n": "CAST(source.v AS BIGINT)"})
        with pytest.raises(errors.DataError):
            tcs.merge_into(spark, table, spark.createDataFrame(SOURCE), ["id"], [clause])
        assert {path for path in tmp_path.glob("**/*") if path.is_file()} == before


def test_rescale_moves_every_row_once(spark: Any, catalog: tc.Catalog) -> None:
    _, table = twins(catalog, "key")
    before = rows_of(table)
    done = tcs.rescale(spark, table, buckets=5)
    table = catalog.table("d.two")
    assert (done.details["buckets"], done.details["partitions"]) == (5, 2)
    assert rows_of(table) == before
    live = table.access.live_entries(table.latest_snapshot())
    assert {entry.total_buckets for entry in live} == {5}
    assert tcs.rescale(lambda: pytest.fail("no session is needed"), table).files_deleted == 0


def test_rows_that_spark_cannot_hold_are_moved_without_it(catalog: tc.Catalog) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("at", pa.time32("ms"))])
    table = catalog.create_table("d.t", schema, primary_key=("id",), options={"bucket": "1"})
    write_rows(table, pa.table({"id": [1, 2], "at": [None, None]}, schema=schema))
    tcs.rescale(lambda: pytest.fail("no session is needed"), table, buckets=2)
    assert catalog.table("d.t").read().to_arrow().num_rows == 2


def test_sort_compaction_and_databases_by_tasks(spark: Any, catalog: tc.Catalog) -> None:
    one, two = twins(catalog, "append")
    expected = one.compact(order_by=["n", "v"]).to_document()
    found = tcs.compact(spark, two, order_by=["n", "v"]).to_document()
    assert found["files_after"] == expected["files_after"] == 2
    assert two.read().to_arrow()["n"].to_pylist() == one.read().to_arrow()["n"].to_pylist()
    third = catalog.create_table("d.three", COLUMNS, **LAYOUTS["key"])
    for _ in range(2):
        tcs.write(spark.createDataFrame(SOURCE), third)
    done = tcs.compact_database(spark, catalog, "d", including="t.*", strategy="full")
    assert set(done.details["tables"]) == {"three", "two"}
    assert done.details["tables"]["three"]["files_deleted"] > 0
    assert rows_of(third) == sorted((tuple(r.values()) for r in SOURCE.to_pylist()), key=repr)


@pytest.mark.parametrize("layout", ["key", "append", "marked"])
def test_each_clause_gives_values_of_the_columns_own_type(
    spark: Any, catalog: tc.Catalog, layout: str
) -> None:
    """Spark would make doubles of all whole numbers where one clause gives a double."""
    big = 2**53 + 1
    one, two = twins(catalog, layout)
    source = pa.table(
        {"id": [4, 5, 6, 100], "dt": ["d0", "d1", "d0", "d1"], "n": [big] * 4, "x": [1.0] * 4}
    )
    when = (
        tc.MatchedUpsert(values={"n": "source.x"}, condition="source.id = 4"),
        tc.MatchedUpsert(values={"n": "source.n"}, condition="source.id = 5"),
        tc.MatchedUpsert(values={"v": "NULL", "n": "NULL"}),
        tc.NotMatchedInsert(values={"id": "source.id", "dt": "source.dt", "n": "source.n"}),
    )
    one.merge_into(source, ["id", "dt"], when)
    tcs.merge_into(spark, two, spark.createDataFrame(source), ["id", "dt"], when)
    found = {row[0]: row[3] for row in rows_of(two)}
    assert [found[id] for id in (4, 5, 6, 100)] == [1, big, None, big]
    assert rows_of(two) == rows_of(one)
    lossy = tc.MatchedUpsert(values={"n": "source.x + 0.5D"}, condition="source.id = 4")
    with pytest.raises(errors.DataError, match=r"'n'.*1\.5.*without loss"):
        tcs.merge_into(spark, two, spark.createDataFrame(source), ["id", "dt"], [lossy])
    assert rows_of(two) == rows_of(one)


@pytest.mark.parametrize("layout", ["key", "append", "marked"])
def test_only_a_row_that_is_inserted_gets_a_default(
    spark: Any, catalog: tc.Catalog, layout: str
) -> None:
    one, two = twins(catalog, layout)
    for table in (one, two):
        catalog.alter_table(table.name, [tc.UpdateColumnDefault("n", "7")])
    source = pa.table({"id": [0, 5, 100], "dt": ["d0", "d1", "d0"], "v": ["a", "b", "c"]})
    when = (
        tc.MatchedUpsert(values={"v": "source.v"}),
        tc.NotMatchedInsert(),
        tc.NotMatchedBySourceUpsert(values={"v": "'alone'"}, condition="target.n IS NULL"),
    )
    catalog.table(one.name).merge_into(source, ["id", "dt"], when)
    frame = spark.createDataFrame(source)
    tcs.merge_into(spark, catalog.table(two.name), frame, ["id", "dt"], when)
    found = {row[0]: row[3] for row in rows_of(two)}
    assert [found[id] for id in (0, 5, 10, 100)] == [None, None, None, 7]
    assert rows_of(two) == rows_of(one)


@pytest.mark.parametrize("layout", ["key", "dynamic", "cross-partition"])
@pytest.mark.parametrize("on", ["the key", "more"])
def test_a_new_key_that_two_rows_would_have_is_an_error(
    spark: Any, catalog: tc.Catalog, layout: str, on: str
) -> None:
    """Which of them wins would be chance."""
    one, two = twins(catalog, layout)
    key = list(one.primary_key)
    names = key if on == "the key" else [*key, "v"]
    alike = "SELECT 500L id, 'd1' dt, 'x' v, 1L n FROM range(3)"
    tcs.merge_into(spark, two, alike, names, [tc.NotMatchedInsert()])
    assert len(rows_of(two)) == 41
    head = two.latest_snapshot()
    sources = ["SELECT 600L + id % 2 id, 'd1' dt, CAST(id AS STRING) v, 1L n FROM range(4)"]
    if on == "more":
        sources.append("SELECT 3L id, 'd1' dt, 'not matched' v, 1L n")
    for source in sources:
        with pytest.raises(errors.DataError, match="the key"):
            tcs.merge_into(spark, two, source, names, [tc.NotMatchedInsert()])
        rows = spark.sql(source).toArrow()
        with pytest.raises(errors.DataError, match="the key"):
            one.merge_into(rows, names, [tc.NotMatchedInsert()])
    assert two.latest_snapshot() == head


@pytest.mark.parametrize("keyed", [True, False])
def test_columns_may_have_names_that_a_program_would_choose(
    spark: Any, catalog: tc.Catalog, keyed: bool
) -> None:
    names = ["__row", "__task", "__order", "__file", "__clause", "__count", "__old", "target"]
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), *((name, pa.int64()) for name in names)]
    )
    table = catalog.create_table(
        "d.t",
        schema,
        primary_key=("id",) if keyed else (),
        options={"bucket": "2" if keyed else "-1"},
    )
    values = ", ".join(f"id * 100 + {at} AS {name}" for at, name in enumerate(names))
    frame = spark.sql(f"SELECT IF(id < 0, NULL, id) AS id, {values} FROM range(4)")
    tcs.write(frame, table)
    rows = [(id, *(id * 100 + at for at in range(len(names)))) for id in range(4)]
    assert rows_of(table) == rows
    when = [tc.MatchedUpsert(values={"__file": "source.__old"}), tc.NotMatchedInsert()]
    tcs.merge_into(spark, table, frame.where("id = 3"), ["id"], when)
    tcs.update(spark, table, {"__row": "target"}, "id = 2")
    rows[3] = (*rows[3][:4], 306, *rows[3][5:])
    rows[2] = (2, 207, *rows[2][2:])
    assert rows_of(table) == rows
