"""Whatever is wrong with what a caller gives: a clear error, and the table as it was."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from tests.tables import new_catalog, write_rows

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("small", pa.int8()),
        ("price", pa.decimal128(5, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("wall", pa.timestamp("us")),
        ("ratio", pa.float32()),
        ("name", pa.string()),
        ("pair", pa.struct([("a", pa.int32()), ("b", pa.int32())])),
    ]
)
UTC = dt.UTC
NOON = dt.datetime(2026, 1, 1, 12)


@pytest.fixture
def catalog() -> tc.Catalog:
    return new_catalog()


@pytest.fixture
def table(catalog: tc.Catalog) -> tc.Table:
    made = catalog.create_table("d.t", COLUMNS, primary_key=("id",), options={"bucket": "1"})
    write_rows(made, pa.table({"id": pa.array([1], pa.int32())}))
    return made


@contextmanager
def unchanged(table: tc.Table) -> Iterator[None]:
    before = sorted(info.path for info in table.access.storage.walk(""))
    yield
    assert sorted(info.path for info in table.access.storage.walk("")) == before


def put(table: tc.Table, rows: Any, **how: Any) -> tc.Commit:
    return write_rows(table, rows, **how)


@pytest.mark.parametrize(
    ("column", "values", "row"),
    [
        ("small", [1, 300], 1),
        ("small", [1.0, 1.5], 1),
        ("small", ["1"], 0),
        ("price", [Decimal("1.000"), Decimal("1.005")], 1),
        ("price", [0.7, 0.125], 1),
        ("price", [1, 100_000], 1),
        ("day", [dt.datetime(2026, 1, 1), NOON], 1),
        ("day", [None, 20_000], 1),
        ("at", [None, NOON], 1),
        ("at", [5], 0),
        ("wall", [NOON.replace(tzinfo=UTC)], 0),
        ("ratio", [0.1, 1e300], 1),
        ("name", [1], 0),
        ("pair", [{"a": 1, "b": 2, "c": 3}], 0),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_column_and_row(
    table: tc.Table, column: str, values: list[object], row: int
) -> None:
    ids = pa.array(range(len(values)), pa.int32())
    rows = pa.table({"id": ids, column: pa.array(values)})
    with unchanged(table), pytest.raises(errors.DataError, match=f"column '{column}', row {row}"):
        put(table, rows)


def test_numbers_that_fit_are_taken(table: tc.Table) -> None:
    given = {
        "id": [5],
        "small": [1.0],
        "price": [7],
        "ratio": [2],
        "day": [dt.datetime(2026, 1, 1)],
    }
    put(table, pa.table(given))
    stored = table.read(columns=list(given), where="id = 5").to_arrow().to_pylist()
    assert stored == [
        {"id": 5, "small": 1, "price": Decimal("7.00"), "ratio": 2.0, "day": dt.date(2026, 1, 1)}
    ]


def test_rows_are_counted_across_batches(table: tc.Table) -> None:
    ids = pa.array([1, 2, 3], pa.int32())
    good = pa.table({"id": ids, "small": pa.array([1, 2, 3])})
    bad = pa.table({"id": ids, "small": pa.array([1, 1000, 3])})
    with unchanged(table), pytest.raises(errors.DataError, match="row 7") as told:
        put(table, [good, good, bad])
    assert told.value.facts == {"column": "small", "row": 7, "value": "1000"}


def test_a_key_is_never_null(table: tc.Table) -> None:
    with unchanged(table), pytest.raises(errors.DataError, match="'id' is NOT NULL, but row 1"):
        put(table, pa.table({"id": pa.array([1, None], pa.int32())}))
    with unchanged(table), pytest.raises(errors.DataError, match="'id' is NOT NULL, but row 0"):
        put(table, pa.table({"small": pa.array([1], pa.int8())}))


def test_an_unknown_column_is_named(table: tc.Table) -> None:
    with unchanged(table), pytest.raises(errors.DataError, match="nmae"):
        put(table, pa.table({"id": pa.array([1], pa.int32()), "nmae": ["x"]}))


def test_an_unknown_row_kind_is_named(table: tc.Table) -> None:
    rows = {"id": pa.array([1, 2], pa.int32()), "_ROW_KIND": ["+I", "upsert"]}
    with unchanged(table), pytest.raises(errors.DataError, match="row 1: upsert"):
        put(table, pa.table(rows))


@pytest.mark.parametrize("data", [42, "rows", {"id": [1]}, None, [1, 2]])
def test_what_is_not_arrow_is_refused(table: tc.Table, data: object) -> None:
    with unchanged(table), pytest.raises(errors.ArgumentError, match="Arrow"):
        put(table, data)


def test_an_unknown_option_comes_with_the_nearest_known_one(catalog: tc.Catalog) -> None:
    with pytest.raises(errors.OptionError, match="changelog-producer"):
        catalog.create_table("d.x", COLUMNS, options={"changelog-producr": "input"})
    assert catalog.tables("d") == []


@pytest.mark.parametrize(
    "where", ["small >", "nope = 1", "name = 1 AND", "small > 'x'", "drop table t", ""]
)
def test_a_bad_condition_is_a_predicate_error(table: tc.Table, where: str) -> None:
    with pytest.raises(errors.PredicateError):
        table.read(where=where).to_arrow()


def test_a_naive_point_in_time_is_refused(table: tc.Table) -> None:
    with pytest.raises(errors.ArgumentError, match="no time zone"):
        table.read(timestamp=NOON).to_arrow()
    with unchanged(table), pytest.raises(errors.ArgumentError, match="no time zone"):
        table.expire_snapshots(older_than=NOON)


def test_an_expired_snapshot_says_which_there_are(catalog: tc.Catalog) -> None:
    table = catalog.create_table("d.s", COLUMNS, primary_key=("id",), options={"bucket": "1"})
    for id in range(4):
        put(table, pa.table({"id": pa.array([id], pa.int32())}))
    table.expire_snapshots(retain_max=2, retain_min=2)
    with pytest.raises(errors.NotFoundError, match="no snapshot 1: there are 3 to 4"):
        table.read(snapshot=1).to_arrow()


def test_a_scan_that_outlives_its_snapshot_says_so(catalog: tc.Catalog) -> None:
    table = catalog.create_table("d.s", COLUMNS, primary_key=("id",), options={"bucket": "1"})
    put(table, pa.table({"id": pa.array([1], pa.int32())}))
    scan = table.read()
    splits = scan.splits()
    assert splits
    put(table, pa.table({"id": pa.array([2], pa.int32())}), overwrite="table")
    table.expire_snapshots(retain_max=1)
    with pytest.raises(errors.FilesExpiredError, match="expired"):
        scan.to_arrow()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("type", "format-table"),
        ("type", "object-table"),
        ("manifest.format", "orc"),
        ("chain-table.enabled", "true"),
        ("scan.primary-branch", "b"),
        ("scan.bucket", "0"),
    ],
)
def test_a_table_whose_rows_are_elsewhere_is_refused_by_name(
    catalog: tc.Catalog, option: str, value: str
) -> None:
    made = catalog.create_table("d.e", COLUMNS, options={"bucket": "-1"})
    table = tc.Table(made.access.with_options({option: value}))
    for read in (table.read, lambda: table.changes(after=0), lambda: table.system("audit_log")):
        with pytest.raises(errors.UnsupportedFeatureError, match=option) as told:
            read()
        assert told.value.facts["feature"] == option


@pytest.mark.parametrize(
    "feature", ["data-evolution.enabled", "sequence.snapshot-ordering", "chain-table.enabled"]
)
def test_a_table_that_cannot_be_written_names_the_feature(
    catalog: tc.Catalog, feature: str
) -> None:
    made = catalog.create_table("d.u", COLUMNS, options={"bucket": "-1"})
    table = tc.Table(made.access.with_options({feature: "true"}))
    with unchanged(table), pytest.raises(errors.UnsupportedFeatureError, match=feature) as told:
        put(table, pa.table({"id": pa.array([1], pa.int32())}))
    assert feature in str(told.value.facts["feature"])
    with unchanged(table), pytest.raises(errors.UnsupportedFeatureError, match=feature):
        table.compact()


def test_a_warehouse_that_cannot_be_written_names_the_path(tmp_path: Path) -> None:
    (tmp_path / "wh").write_text("a file, where a folder should be")
    with pytest.raises(errors.ArgumentError, match="wh is a file"):
        tc.open_catalog(str(tmp_path / "wh"))


def test_a_table_folder_that_cannot_be_written_commits_nothing(tmp_path: Path) -> None:
    catalog = new_catalog(str(tmp_path / "wh"))
    table = catalog.create_table("d.t", COLUMNS, primary_key=("id",), options={"bucket": "1"})
    (tmp_path / "wh" / "d.db" / "t" / "bucket-0").write_text("in the way")
    with pytest.raises(errors.TableError, match="bucket-0") as told:
        put(table, pa.table({"id": pa.array([1], pa.int32())}))
    assert told.value.kind in {"invalid", "unavailable"}
    assert table.latest_snapshot() is None


def test_a_writer_is_used_once(table: tc.Table) -> None:
    rows = pa.table({"id": pa.array([5], pa.int32())})
    writer = table.write()
    writer.write(rows)
    writer.commit()
    for again in (writer.commit, writer.prepare, lambda: writer.write(rows)):
        with unchanged(table), pytest.raises(errors.ArgumentError, match="open a new one"):
            again()


def test_a_writer_takes_nothing_after_an_error(table: tc.Table) -> None:
    good = pa.table({"id": pa.array([5], pa.int32())})
    with unchanged(table), table.write() as writer:
        writer.write(good)
        with pytest.raises(errors.DataError):
            writer.write(pa.table({"id": ["x"]}))
        with pytest.raises(errors.ArgumentError, match="open a new one"):
            writer.commit()


def test_a_conflict_leaves_no_file(table: tc.Table) -> None:
    commit = tc.CommitAs(expect={"tc.position": "5"})
    with unchanged(table), pytest.raises(errors.CommitConflictError, match=r"tc\.position"):
        put(table, pa.table({"id": pa.array([5], pa.int32())}), commit=commit)


def test_results_that_are_committed_twice_stay_in_the_table(table: tc.Table) -> None:
    writer = table.write()
    writer.write(pa.table({"id": pa.array([5], pa.int32())}))
    results, name = [writer.prepare()], tc.CommitAs(user="me", identifier=0)
    first = table.commit(results, name)
    again = table.commit(results, name)
    assert (first.replayed, again.replayed) == (False, True)
    assert (again.snapshot_ids, again.rows_added) == (first.snapshot_ids, first.rows_added)
    assert table.read(columns=["id"]).to_arrow()["id"].to_pylist() == [1, 5]


def test_a_merge_whose_source_does_not_fit_is_a_data_error(table: tc.Table) -> None:
    with unchanged(table), pytest.raises(errors.DataError, match="'id'"):
        table.merge_into(pa.table({"id": ["x"]}), ["id"], [tc.NotMatchedInsert()])
