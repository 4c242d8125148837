"""Calls that everybody gets wrong once: each works, or names what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ArgumentError
from tests.tables import new_catalog, write_rows

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "v": ["a", "b"]})


@pytest.fixture
def catalog() -> tc.Catalog:
    made = new_catalog()
    table = made.create_table("d.t", ROWS, primary_key="id", options={"bucket": "1"})
    write_rows(table, ROWS)
    return made


def test_one_column_is_named_by_plain_text(catalog: tc.Catalog) -> None:
    table = catalog.table("d.t")
    assert table.primary_key == ("id",)
    assert table.read(columns="v").to_arrow().column_names == ["v"]
    made = catalog.create_table("d.p", ROWS, partition_by="v")
    assert made.partition_by == ("v",)
    write_rows(made, ROWS)
    made.drop_partitions({"v": "a"})  # type: ignore[arg-type]
    assert made.count() == 1


def test_rows_say_which_columns_a_table_gets(catalog: tc.Catalog) -> None:
    polars = pytest.importorskip("polars")
    for number, rows in enumerate(
        (ROWS, ROWS.to_batches()[0], polars.from_arrow(ROWS), ROWS.schema)
    ):
        made = catalog.create_table(f"d.t{number}", rows)
        assert made.schema.names == ["id", "v"]


def test_a_handle_has_what_data_frames_have(catalog: tc.Catalog) -> None:
    table = catalog.table("d.t")
    assert (table.count(), table.count("id > 1"), table.schema) == (2, 1, table.arrow_schema)
    assert table.to_pandas()["v"].tolist() == ["a", "b"]
    pytest.importorskip("polars")
    assert table.to_polars(columns=["id"])["id"].to_list() == [1, 2]


def test_one_change_needs_no_list(catalog: tc.Catalog) -> None:
    changed = catalog.alter_table("d.t", tc.AddColumn("z", "INT"))  # type: ignore[arg-type]
    assert changed.schema.names == ["id", "v", "z"]


WRONG: list[tuple[str, Callable[[tc.Catalog], Any], str]] = [
    ("rows to write()", lambda c: c.table("d.t").write(ROWS), "writer.write"),
    ("a dict as schema", lambda c: c.create_table("d.x", {"a": [1]}), "Arrow schema"),
    ("an object as schema", lambda c: c.create_table("d.x", 5), "Arrow schema"),
    ("a mapping of changes", lambda c: c.alter_table("d.t", {"a": "INT"}), "AddColumn"),
    ("text as changes", lambda c: c.alter_table("d.t", "drop v"), "AddColumn"),
    ("a number as columns", lambda c: c.table("d.t").read(columns=5), "column names"),
    ("a number as value", lambda c: c.table("d.t").update({"v": 5}, "true"), "SQL text"),
    ("a day as time", lambda c: c.table("d.t").read(timestamp=20260131), "ISO text"),
    ("seconds as time", lambda c: c.table("d.t").read(timestamp=1769817600), "seconds"),
    ("a day without zone", lambda c: c.table("d.t").read(timestamp="2026-01-31"), "zone"),
    ("no time at all", lambda c: c.table("d.t").read(timestamp="soon"), "point in time"),
]


@pytest.mark.parametrize(("call", "hint"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_wrong_call_names_what_to_write(
    catalog: tc.Catalog, call: Callable[[tc.Catalog], Any], hint: str
) -> None:
    with pytest.raises(ArgumentError, match=hint):
        call(catalog)


@pytest.mark.parametrize("age", ["30", " 7 ", 30])
def test_a_length_of_time_of_a_verb_has_a_unit(age: Any) -> None:
    table = new_catalog().create_table("d.p", ROWS, partition_by="v")
    with pytest.raises(ArgumentError, match="unit"):
        table.expire_partitions(expiration_time=age)
    with pytest.raises(ArgumentError, match="unit"):
        table.mark_done(idle_time=age)


@pytest.mark.parametrize("kind", ["Categorical", "Enum"])
def test_categories_of_polars_are_written_and_merged(kind: str, catalog: tc.Catalog) -> None:
    polars = pytest.importorskip("polars")
    type_ = polars.Categorical if kind == "Categorical" else polars.Enum(["a", "c"])
    rows = polars.DataFrame(
        {"id": [1, 3], "v": polars.Series(["a", "c"], dtype=type_)}, schema_overrides={"v": type_}
    )
    table = catalog.table("d.t")
    write_rows(table, rows)
    table.merge_into(rows, "id", [tc.MatchedUpsert(), tc.NotMatchedInsert()])  # type: ignore[arg-type]
    assert sorted(table.to_pandas()["v"].tolist()) == ["a", "b", "c"]
    assert catalog.create_table("d.c", rows).count() == 0


@pytest.mark.parametrize("values", [["x", "y"], [b"x", b"y"]])
@pytest.mark.parametrize("view", [True, False])
def test_dictionaries_of_any_value_are_written(values: list[Any], view: bool) -> None:
    text = isinstance(values[0], str)
    plain = pa.string() if text else pa.binary()
    viewed = pa.string_view() if text else pa.binary_view()
    coded = pa.DictionaryArray.from_arrays(
        pa.array([1, None, 0], pa.uint32()), pa.array(values, viewed if view else plain)
    )
    table = new_catalog().create_table(
        "d.t", pa.schema([("c", plain), ("l", pa.list_(plain)), ("s", pa.struct([("m", plain)]))])
    )
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 1, 3], pa.int32()), coded)
    rows = pa.table({"c": coded, "l": lists, "s": pa.StructArray.from_arrays([coded], names=["m"])})
    write_rows(table, rows)
    got = table.read().to_arrow()
    assert got["c"].to_pylist() == [values[1], None, values[0]]
    assert got["l"].to_pylist() == [[values[1]], [], [None, values[0]]]
    assert [s["m"] for s in got["s"].to_pylist()] == [values[1], None, values[0]]


def test_a_writer_that_is_left_without_commit_warns(
    catalog: tc.Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    with catalog.table("d.t").write() as writer:
        writer.write(ROWS)
    assert "without commit()" in caplog.text
    caplog.clear()
    with catalog.table("d.t").write() as writer:
        writer.write(ROWS)
        writer.abort()
    assert caplog.text == ""


def test_how_long_a_tag_is_kept_has_a_unit(catalog: tc.Catalog) -> None:
    tags = catalog.table("d.t").tags
    with pytest.raises(ArgumentError, match=r"time_retained='7' has no unit"):
        tags.create("v1", time_retained="7")
    assert tags.list() == []
