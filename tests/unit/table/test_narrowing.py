"""A column gets a type that does not hold all that was there only with a word, and only if all values fit."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.datatypes.text import parse_type, type_text
from table_core.declaration import applying
from table_core.declaration.document import parse
from table_core.errors import ArgumentError, DataError, SchemaError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from tests.tables import write_rows
from tests.upstream.play import names_in, shape

DAY = dt.datetime(2026, 1, 2)
TYPES = (
    # from, to, a value that fits, one that does not, what is told of it
    ("DECIMAL(10, 2)", "INT", Decimal("55.00"), Decimal("55.18"), "55.18, which would become 55"),
    ("DECIMAL(10, 2)", "DECIMAL(4, 2)", Decimal("55.18"), Decimal("155.18"), "155.18, which would become NULL"),
    ("DECIMAL(10, 2)", "DOUBLE", Decimal("0.10"), None, ""),
    ("DECIMAL(30, 2)", "BIGINT", Decimal(5), Decimal(10) ** 25, "10000000000000000000000000.00, which would become"),
    ("BIGINT", "INT", 7, 2**31, "2147483648, which would become -2147483648"),
    ("BIGINT", "DOUBLE", 2**53, 2**53 + 1, "9007199254740993"),
    ("INT", "BOOLEAN", 1, 2, "2, which would become true"),
    ("DOUBLE", "FLOAT", 0.5, 0.1, "0.1"),
    ("DOUBLE", "INT", 3.0, float("nan"), "NaN, which would become 0"),
    ("DOUBLE", "FLOAT", float("nan"), 1e300, "1.0E300, which would become Infinity"),
    ("STRING", "INT", " 12", "twelve", "'twelve'"),
    ("STRING", "VARCHAR(3)", "abc", "abcd", "'abcd', which would become 'abc'"),
    ("STRING", "CHAR(3)", "ab", "abcd", "'abcd', which would become 'abc'"),
    ("STRING", "DATE", "2026-01-02", "2026-13-02", "'2026-13-02'"),
    ("INT", "VARCHAR(2)", 12, 123, "123, which would become '12'"),
    ("TIMESTAMP(6)", "DATE", DAY, DAY.replace(hour=5), "2026-01-02 05:00:00.000000, which would become 2026-01-02"),
    ("TIMESTAMP(6)", "TIMESTAMP(3)", DAY, DAY.replace(microsecond=1), "2026-01-02 00:00:00.000001"),
    ("BYTES", "VARBINARY(2)", b"ab", b"abc", "abc"),
    ("BYTES", "STRING", b"ab", b"\xff", "\ufffd"),
    ("INT", "INT NOT NULL", 5, None, "NULL"),
)  # fmt: skip
KEPT = (
    ("INT", "BIGINT"),
    ("BOOLEAN", "INT"),
    ("INT", "STRING"),
    ("DATE", "TIMESTAMP(6)"),
    ("DECIMAL(10, 2)", "DECIMAL(12, 2)"),
)


def made(columns: str, *values: object, **more: Any) -> tuple[Any, str]:
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    own = shape(columns, **{name.replace("__", "."): value for name, value in more.items()})
    options = {"alter-column-null-to-not-null.disabled": "false", **own.options}
    table = catalog.create_table("d.t", own.fields, primary_key=names_in(own.key), options=options)
    put(table, *values)
    return catalog, "d.t"


def put(table: Any, *values: object) -> None:
    schema = table.arrow_schema
    for value in values:
        one = [pa.array([1], pa.int32()), pa.array([value], schema.field("v").type)]
        write_rows(table, pa.table(one, schema=schema))


@pytest.mark.parametrize(("old", "new", "fits", "lost", "told"), TYPES)
def test_a_narrower_type(old: str, new: str, fits: Any, lost: Any, told: str) -> None:
    catalog, name = made(f"k INT, v {old}", fits)
    change = tc.UpdateColumnType("v", new)
    before = catalog.table(name).definition
    with pytest.raises(SchemaError, match=r"v: .* allow='narrow'"):
        catalog.alter_table(name, change)
    if told:
        put(catalog.table(name), lost)
        with pytest.raises(DataError) as error:
            catalog.alter_table(name, change, allow="narrow")
        assert f"column 'v' cannot become {type_text(parse_type(new))}: it holds {told}" in str(
            error.value
        )
        assert error.value.facts["column"] == "v"
        assert catalog.table(name).definition == before
        catalog, name = made(f"k INT, v {old}", fits)
    altered = catalog.alter_table(name, change, allow=["narrow"])
    assert altered.definition.fields[1].type == parse_type(new)
    assert altered.read().to_arrow().num_rows == 1


@pytest.mark.parametrize(("old", "new"), KEPT)
def test_a_type_that_holds_all_needs_no_word(old: str, new: str) -> None:
    catalog, name = made(f"k INT, v {old}", None)
    assert catalog.alter_table(name, tc.UpdateColumnType("v", new)).definition.id == 1


def test_a_time_that_gets_a_zone_is_utc() -> None:
    """Java reads it in the zone of its process, so a change needs the word."""
    catalog, name = made("k INT, v TIMESTAMP(6)", DAY)
    change = tc.UpdateColumnType("v", "TIMESTAMP(6) WITH LOCAL TIME ZONE")
    with pytest.raises(SchemaError, match="narrow"):
        catalog.alter_table(name, change)
    table = catalog.alter_table(name, change, allow="narrow")
    assert table.read().to_arrow()["v"].to_pylist() == [DAY.replace(tzinfo=dt.UTC)]


def test_a_table_without_rows_needs_no_word() -> None:
    catalog, name = made("k INT, v BIGINT")
    assert catalog.alter_table(name, tc.UpdateColumnType("v", "INT")).definition.id == 1


def test_another_word_is_refused() -> None:
    catalog, name = made("k INT, v BIGINT", 1)
    with pytest.raises(ArgumentError, match="'wide'"):
        catalog.alter_table(name, tc.UpdateColumnType("v", "INT"), allow="wide")


@pytest.mark.parametrize(
    ("type_", "path", "fits", "lost"),
    [
        ("ROW<a BIGINT, b ROW<c BIGINT>>", "b.c", {"a": 2**40, "b": {"c": 1}}, {"a": 1, "b": {"c": 2**40}}),
        ("ARRAY<BIGINT>", "element", [1, None], [1, 2**40]),
        ("MAP<STRING, BIGINT>", "value", [("a", 1)], [("a", 1), ("b", 2**40)]),
        ("ARRAY<ROW<a BIGINT>>", "element.a", [None, {"a": 1}], [{"a": None}, {"a": 2**40}]),
    ],
)  # fmt: skip
def test_a_member_is_looked_at(type_: str, path: str, fits: Any, lost: Any) -> None:
    catalog, name = made(f"k INT, v {type_}", fits, None)
    change = tc.UpdateColumnType(f"v.{path}", "INT")
    with pytest.raises(SchemaError, match=f"v.{path}"):
        catalog.alter_table(name, change)
    catalog.alter_table(name, change, allow="narrow")
    catalog, name = made(f"k INT, v {type_}", fits, lost)
    with pytest.raises(DataError, match=f"'v.{path}' .* 1099511627776"):
        catalog.alter_table(name, change, allow="narrow")


def test_a_member_of_a_row_that_is_null_may_become_not_null() -> None:
    catalog, name = made("k INT, v ROW<a INT>", None, {"a": 1})
    change = tc.UpdateColumnNullability("v.a", nullable=False)
    catalog.alter_table(name, change, allow="narrow")
    catalog, name = made("k INT, v ROW<a INT>", None, {"a": None})
    with pytest.raises(DataError, match="NULL"):
        catalog.alter_table(name, change, allow="narrow")


def test_older_versions_of_a_row_are_looked_at() -> None:
    """A text that is no number would end every read of its file, though a later version replaces it."""
    catalog, name = made("k INT, v STRING", "many", "5", key="k", bucket="1")
    change = tc.UpdateColumnType("v", "INT")
    with pytest.raises(DataError, match=r"'many'.*full compaction"):
        catalog.alter_table(name, change, allow="narrow")
    catalog.table(name).compact("full")
    assert catalog.alter_table(name, change, allow="narrow").read().to_arrow()["v"].to_pylist() == [
        5
    ]


def test_rows_that_were_deleted_are_looked_at_until_they_are_compacted() -> None:
    catalog, name = made("k INT, v STRING", deletion_vectors__enabled="true")
    table = catalog.table(name)
    write_rows(table, pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["many", "5"]}))
    table.delete("v = 'many'")
    with pytest.raises(DataError, match="'many'"):
        catalog.alter_table(name, tc.UpdateColumnType("v", "INT"), allow="narrow")


def test_a_job_and_a_declaration() -> None:
    catalog, name = made("k INT, v BIGINT", 5)
    change = {"change": "UpdateColumnType", "name": "v", "type": "INT"}
    with pytest.raises(SchemaError, match="narrow"):
        job(catalog, changes=[change])
    assert job(catalog, changes=[change], allow=["narrow"])["details"]["schema_after"] == 1

    text = "version: 1\nname: d\ntables:\n  d.t:\n    columns: {k: INT, v: TINYINT}\n"
    applying.apply(applying.plan(parse(text), catalog, allow=["narrow"]), catalog)
    put(catalog.table(name), 100)
    text = text.replace("TINYINT", '"DECIMAL(2, 0)"') + "    allow: [narrow]\n"
    with pytest.raises(DataError, match=r"'v' .* 100"):
        applying.apply(applying.plan(parse(text), catalog), catalog)


def job(catalog: Any, **args: Any) -> Any:
    spec = JobSpec(action="alter-table", warehouse=catalog.warehouse, table="d.t", args=args)
    return run_embedded(JobSpec.from_json(spec.to_json()))
