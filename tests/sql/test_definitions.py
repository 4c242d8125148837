"""Goal: CREATE, ALTER and DROP make the tables that they say, in Spark's words and in Flink's; SHOW says what there is."""

from __future__ import annotations

from typing import Any

import pytest

import table_core as tc
from table_core.datatypes.text import type_text
from tests.sql.conftest import answer
from tests.tables import new_catalog

pytestmark = pytest.mark.usefixtures("here")

SPARK = """CREATE TABLE IF NOT EXISTS d.t (
  id BIGINT NOT NULL COMMENT 'the key', dt STRING, name VARCHAR(20) DEFAULT 'none', n INT DEFAULT -1,
  amount DECIMAL(12, 2), at TIMESTAMP, wall TIMESTAMP_NTZ, raw BINARY, tags ARRAY<ARRAY<INT>>,
  counts MAP<STRING, LONG>, who STRUCT<name: STRING COMMENT 'full', age: INT NOT NULL>
) USING paimon COMMENT 'a ''table''' PARTITIONED BY (dt)
TBLPROPERTIES ('primary-key' = 'id,dt', bucket = 2, 'file.format' = 'parquet')"""
FLINK = """CREATE TABLE d.t (
  id BIGINT, dt STRING, wall TIMESTAMP(3), at TIMESTAMP(3) WITH LOCAL TIME ZONE, at2 TIMESTAMP_LTZ(6),
  code BINARY(4), words MULTISET<STRING>, who ROW<name STRING, age INT>, PRIMARY KEY (dt, id) NOT ENFORCED
) PARTITIONED BY (dt) WITH ('bucket' = '2', 'changelog-producer' = 'input')"""


def columns(table: tc.Table) -> list[tuple[str, str]]:
    return [(field.name, type_text(field.type)) for field in table.definition.fields]


@pytest.fixture
def empty() -> tc.Catalog:
    return new_catalog()


def test_the_columns_of_spark(empty: tc.Catalog) -> None:
    empty.sql(SPARK)
    table = empty.table("d.t")
    assert columns(table) == [
        ("id", "BIGINT NOT NULL"),
        ("dt", "STRING NOT NULL"),
        ("name", "VARCHAR(20)"),
        ("n", "INT"),
        ("amount", "DECIMAL(12, 2)"),
        ("at", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("wall", "TIMESTAMP(6)"),
        ("raw", "BYTES"),
        ("tags", "ARRAY<ARRAY<INT>>"),
        ("counts", "MAP<STRING, BIGINT>"),
        ("who", "ROW<`name` STRING 'full', `age` INT NOT NULL>"),
    ]
    assert (table.primary_key, table.partition_by) == (("id", "dt"), ("dt",))
    definition = table.definition
    assert definition.comment == "a 'table'"
    assert definition.raw_options == {"bucket": "2", "file.format": "parquet"}
    assert [(f.description, f.default) for f in definition.fields[:4]] == [
        ("the key", None),
        (None, None),
        (None, "none"),
        (None, "-1"),
    ]
    empty.sql(SPARK)
    with pytest.raises(tc.errors.AlreadyExistsError):
        empty.sql(SPARK.replace("IF NOT EXISTS ", ""))


def test_the_columns_of_flink(empty: tc.Catalog) -> None:
    empty.sql(FLINK)
    table = empty.table("d.t")
    assert [text for _, text in columns(table)] == [
        *(
            "BIGINT NOT NULL",
            "STRING NOT NULL",
            "TIMESTAMP(3)",
            "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        ),
        *("TIMESTAMP(6) WITH LOCAL TIME ZONE", "BINARY(4)", "MULTISET<STRING>"),
        "ROW<`name` STRING, `age` INT>",
    ]
    assert table.primary_key == ("dt", "id")
    assert table.options == {"bucket": "2", "changelog-producer": "input"}


@pytest.mark.parametrize("statement", [SPARK, FLINK, "CREATE TABLE d.t (`a b` INT, `x``y` DATE)"])
def test_show_create_table_creates_the_same(empty: tc.Catalog, statement: str) -> None:
    empty.sql(statement)
    first = empty.table("d.t").definition
    ((shown,),) = answer(empty.sql("SHOW CREATE TABLE d.t"))
    empty.sql("DROP TABLE d.t")
    empty.sql(shown)
    again = empty.table("d.t").definition
    assert again.fields == first.fields
    assert (again.primary_keys, again.partition_keys) == (first.primary_keys, first.partition_keys)
    assert (again.raw_options, again.comment) == (first.raw_options, first.comment)


def test_typed_partition_columns_come_last(empty: tc.Catalog) -> None:
    empty.sql("CREATE TABLE d.t (id INT) PARTITIONED BY (dt DATE, hh INT)")
    assert columns(empty.table("d.t")) == [("id", "INT"), ("dt", "DATE"), ("hh", "INT")]
    assert empty.table("d.t").partition_by == ("dt", "hh")


def test_alter_table(empty: tc.Catalog) -> None:
    empty.sql("CREATE TABLE d.t (id INT NOT NULL, name STRING, who STRUCT<age: INT>)")
    for statement in [
        "ALTER TABLE d.t ADD COLUMNS (a INT COMMENT 'first' AFTER id, b DECIMAL(5, 1))",
        "ALTER TABLE d.t ADD COLUMN z DATE FIRST",
        "ALTER TABLE d.t ADD COLUMN who.zip STRING",
        "ALTER TABLE d.t RENAME COLUMN name TO title",
        "ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT",
        "ALTER TABLE d.t ALTER COLUMN who.age TYPE BIGINT",
        "ALTER TABLE d.t ALTER COLUMN id DROP NOT NULL",
        "ALTER TABLE d.t ALTER COLUMN b COMMENT 'second'",
        "ALTER TABLE d.t ALTER COLUMN title SET DEFAULT 'none'",
        "ALTER TABLE d.t ALTER b AFTER title",
        "ALTER TABLE d.t DROP COLUMN z",
        "ALTER TABLE d.t SET TBLPROPERTIES ('snapshot.num-retained.max' = '20', 'comment' = 'words')",
        "ALTER TABLE d.t SET TBLPROPERTIES ('target-file-size' = '8 mb')",
        "ALTER TABLE d.t UNSET TBLPROPERTIES ('target-file-size')",
    ]:
        empty.sql(statement)
    table = empty.table("d.t")
    assert columns(table) == [
        ("id", "INT"),
        ("a", "BIGINT"),
        ("title", "STRING"),
        ("b", "DECIMAL(5, 1)"),
        ("who", "ROW<`age` BIGINT, `zip` STRING>"),
    ]
    assert table.definition.comment == "words"
    assert table.options == {"snapshot.num-retained.max": "20"}
    assert table.definition.field("title").default == "none"
    assert table.definition.field("b").description == "second"
    empty.sql("COMMENT ON TABLE d.t IS 'other words'")
    assert empty.table("d.t").definition.comment == "other words"
    empty.sql("ALTER TABLE d.t RENAME TO u")
    assert empty.tables("d") == ["u"]
    empty.sql("CREATE DATABASE e")
    empty.sql("ALTER TABLE d.u RENAME TO e.u")
    assert (empty.tables("d"), empty.tables("e")) == ([], ["u"])


def test_databases(empty: tc.Catalog) -> None:
    empty.sql("CREATE DATABASE shop")
    empty.sql("CREATE SCHEMA IF NOT EXISTS shop")
    empty.sql("CREATE TABLE shop.t (id INT)")
    assert answer(empty.sql("SHOW DATABASES")) == [("d",), ("shop",)]
    assert answer(empty.sql("SHOW DATABASES LIKE 'S*|x'")) == [("shop",)]
    with pytest.raises(tc.errors.ArgumentError, match="has tables"):
        empty.sql("DROP DATABASE shop")
    empty.sql("DROP DATABASE shop CASCADE")
    empty.sql("DROP DATABASE IF EXISTS shop")
    with pytest.raises(tc.errors.NotFoundError):
        empty.sql("DROP DATABASE shop")


def test_like_and_drop(empty: tc.Catalog) -> None:
    empty.sql(SPARK)
    empty.sql("INSERT INTO d.t (id, dt) VALUES (1, 'a')")
    empty.sql("CREATE TABLE d.u LIKE d.t TBLPROPERTIES ('bucket' = '3')")
    like, of = empty.table("d.u").definition, empty.table("d.t").definition
    assert (like.fields, like.primary_keys, like.comment) == (
        of.fields,
        of.primary_keys,
        of.comment,
    )
    assert like.raw_options == {**of.raw_options, "bucket": "3"}
    assert empty.table("d.u").latest_snapshot() is None
    empty.sql("DROP TABLE d.u")
    empty.sql("DROP TABLE IF EXISTS d.u")
    assert empty.tables("d") == ["t"]


def test_show_and_describe(catalog: tc.Catalog) -> None:
    assert answer(catalog.sql("SHOW TABLES IN d")) == [("d", "Cities"), ("d", "orders")]
    assert answer(catalog.sql("SHOW TABLES IN d LIKE 'cit*'")) == [("d", "Cities")]
    assert answer(catalog.sql("SHOW COLUMNS IN d.Cities")) == [("city",), ("country",)]
    assert answer(catalog.sql("SHOW PARTITIONS d.orders")) == [
        ("city=Bergen",),
        ("city=Oslo",),
        ("city=null",),
    ]
    size = [("target-file-size", "64 mb")]
    assert answer(catalog.sql("SHOW TBLPROPERTIES d.orders")) == size
    assert answer(catalog.sql("SHOW TBLPROPERTIES d.orders ('target-file-size')")) == size
    rows = answer(catalog.sql("DESCRIBE TABLE d.orders"))
    assert rows[0] == ("id", "BIGINT NOT NULL", None)
    assert rows[-1] == ("city", "STRING", None)
    extended: dict[str, Any] = {r[0]: r[1] for r in answer(catalog.sql("DESC EXTENDED d.orders"))}
    assert extended["Name"] == "d.orders"
    assert extended["Option target-file-size"] == "64 mb"
    assert answer(catalog.sql("DESCRIBE d.orders$snapshots"))[0][0] == "snapshot_id"


def test_create_table_as(catalog: tc.Catalog) -> None:
    done = catalog.sql(
        "CREATE TABLE d.sums PARTITIONED BY (city) TBLPROPERTIES ('bucket' = '-1') AS "
        "SELECT city, count(*) AS n, sum(amount) AS total FROM d.orders WHERE city IS NOT NULL GROUP BY city"
    )
    assert isinstance(done, tc.ResultDocument)
    assert done.rows_written == 2
    assert columns(catalog.table("d.sums")) == [
        ("city", "STRING"),
        ("n", "BIGINT"),
        ("total", "DECIMAL(20, 2)"),
    ]
    assert catalog.table("d.sums").partition_by == ("city",)
    with pytest.raises(tc.errors.UnsupportedFeatureError, match="computed column 'a'"):
        catalog.sql("CREATE TABLE d.u AS SELECT amount + 1 AS a FROM d.orders")


def test_a_table_whose_rows_fail_is_gone(catalog: tc.Catalog) -> None:
    key = "TBLPROPERTIES ('primary-key' = 'city', 'bucket' = '1')"
    with pytest.raises(tc.errors.DataError, match="NOT NULL"):
        catalog.sql(f"CREATE TABLE d.u {key} AS SELECT city, id FROM d.orders")
    assert "u" not in catalog.tables("d")
    catalog.sql("CREATE TABLE IF NOT EXISTS d.Cities AS SELECT id FROM d.orders")
    assert catalog.table("d.Cities").arrow_schema.names == ["city", "country"]


def test_names_with_dots_are_columns_and_members_in_backquotes(empty: tc.Catalog) -> None:
    empty.sql("CREATE TABLE d.t (id INT, `v1.2` INT, v1 STRUCT<a: INT, `b.c`: INT>)")
    for statement in [
        "ALTER TABLE d.t ADD COLUMN `x.y` INT AFTER `v1.2`",
        "ALTER TABLE d.t RENAME COLUMN `v1.2` TO `v1.3`",
        "ALTER TABLE d.t ALTER COLUMN `x.y` TYPE BIGINT",
        "ALTER TABLE d.t DROP COLUMN v1.`b.c`",
        "ALTER TABLE d.t ADD COLUMN v1.`d.e` INT",
    ]:
        empty.sql(statement)
    assert columns(empty.table("d.t")) == [
        ("id", "INT"),
        ("v1.3", "INT"),
        ("x.y", "BIGINT"),
        ("v1", "ROW<`a` INT, `d.e` INT>"),
    ]
