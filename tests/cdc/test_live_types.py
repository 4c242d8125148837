"""Every type of a server: the first snapshot and the log give the same value, and the right one."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.datatypes.text import type_text
from table_core.errors import DataError
from tests.cdc.servers import MariaDb, Postgres

UTC = dt.UTC
UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a00"
MARIADB: list[tuple[str, str, str, Any]] = [
    ("tinyint(1)", "1", "BOOLEAN", True),
    ("tinyint", "-128", "TINYINT", -128),
    ("tinyint unsigned", "255", "SMALLINT", 255),
    ("smallint unsigned", "65535", "INT", 65535),
    ("mediumint", "-8388608", "INT", -8388608),
    ("mediumint unsigned", "16777215", "BIGINT", 16777215),
    ("int(5) unsigned zerofill", "42", "BIGINT", 42),
    ("bigint", "-9223372036854775808", "BIGINT", -(2**63)),
    ("bigint unsigned", "18446744073709551615", "DECIMAL(20, 0)", Decimal(2**64 - 1)),
    ("float", "0.5", "FLOAT", 0.5),
    ("double", "1e300", "DOUBLE", 1e300),
    ("decimal(12,2)", "-1.5", "DECIMAL(12, 2)", Decimal("-1.50")),
    ("decimal(60,5)", "1", "STRING", "1.00000"),
    ("bit(1)", "b'1'", "BOOLEAN", True),
    ("bit(10)", "b'1010101010'", "BINARY(2)", b"\x02\xaa"),
    ("year", "2024", "INT", 2024),
    ("date", "'2024-02-29'", "DATE", dt.date(2024, 2, 29)),
    ("date", "'0000-00-00'", "DATE", None),
    ("date", "'2024-00-00'", "DATE", None),
    ("datetime", "'2024-02-31 01:02:03'", "TIMESTAMP(0)", None),
    ("time(3)", "'-838:59:59'", "STRING", "-838:59:59"),
    ("datetime(6)", "'2024-01-02 03:04:05.678901'", "TIMESTAMP(6)",
     dt.datetime(2024, 1, 2, 3, 4, 5, 678901)),
    ("timestamp(3) NULL", "'2024-01-02 03:04:05.678'", "TIMESTAMP(3) WITH LOCAL TIME ZONE",
     dt.datetime(2024, 1, 2, 3, 4, 5, 678000, UTC)),
    ("timestamp NULL", "'0000-00-00 00:00:00'", "TIMESTAMP(0) WITH LOCAL TIME ZONE", None),
    ("char(5)", "'ab'", "CHAR(5)", "ab"),
    ("varchar(7) CHARACTER SET latin1", "'ünï'", "VARCHAR(7)", "ünï"),
    ("varchar(7) CHARACTER SET utf16", "'ünï'", "VARCHAR(7)", "ünï"),
    ("varchar(9) CHARACTER SET gbk", "'中文'", "VARCHAR(9)", "中文"),
    ("longtext", "'日本'", "STRING", "日本"),
    ("binary(4)", "x'00ff'", "VARBINARY(4)", b"\x00\xff\x00\x00"),
    ("varbinary(9)", "x'00ff00'", "VARBINARY(9)", b"\x00\xff\x00"),
    ("blob", "x'00ff'", "BYTES", b"\x00\xff"),
    ("enum('a','c,d')", "'c,d'", "STRING", "c,d"),
    ("set('a','b','c')", "'a,c'", "ARRAY<STRING>", ["a", "c"]),
    ("set('a','b')", "''", "ARRAY<STRING>", []),
    ("json", "'{\"a\": 1}'", "STRING", '{"a": 1}'),
    ("point", "ST_GeomFromText('POINT(1 2)')", "STRING",
     '{"coordinates":[1,2],"type":"Point","srid":0}'),
    ("uuid", f"'{UUID}'", "STRING", UUID),
    ("inet4", "'10.0.0.0'", "STRING", "10.0.0.0"),
    ("inet6", "'::ffff:1.2.3.4'", "STRING", "::ffff:1.2.3.4"),
]  # fmt: skip
POSTGRES: list[tuple[str, str, str, Any]] = [
    ("boolean", "true", "BOOLEAN", True),
    ("smallint", "-32768", "SMALLINT", -32768),
    ("bigint", "9223372036854775807", "BIGINT", 2**63 - 1),
    ("oid", "4294967295", "BIGINT", 2**32 - 1),
    ("real", "0.5", "FLOAT", 0.5),
    ("double precision", "'NaN'", "DOUBLE", math.nan),
    ("double precision", "'-Infinity'", "DOUBLE", -math.inf),
    ("numeric", "12345678901234567890.123456789", "STRING", "12345678901234567890.123456789"),
    ("numeric", "'NaN'", "STRING", "NaN"),
    ("numeric(12,2)", "1.5", "DECIMAL(12, 2)", Decimal("1.50")),
    ("numeric(60,5)", "1", "STRING", "1.00000"),
    ("char(5)", "'ab'", "CHAR(5)", "ab   "),
    ("varchar(7)", "'ünï'", "VARCHAR(7)", "ünï"),
    ("text", r"E'a\tb\nc\\d'", "STRING", "a\tb\nc\\d"),
    ("bytea", r"'\x00ff'", "BYTES", b"\x00\xff"),
    ("date", "'2024-02-29'", "DATE", dt.date(2024, 2, 29)),
    ("time(3)", "'24:00:00'", "STRING", "24:00:00"),
    ("timetz", "'01:02:03.5+02'", "STRING", "01:02:03.5+02"),
    ("timestamp(3)", "'2024-01-02 03:04:05.678'", "TIMESTAMP(3)",
     dt.datetime(2024, 1, 2, 3, 4, 5, 678000)),
    ("timestamptz", "'2024-01-02 03:04:05.678901+05:30'", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
     dt.datetime(2024, 1, 1, 21, 34, 5, 678901, UTC)),
    ("interval", "'1 year 2 mons 3 days 04:05:06.7'", "STRING", "P1Y2M3DT4H5M6.7S"),
    ("uuid", f"'{UUID}'", "STRING", UUID),
    ("jsonb", "'{\"b\": 1.50}'", "STRING", '{"b": 1.50}'),
    ("inet", "'10.0.0.1/8'", "STRING", "10.0.0.1/8"),
    ("bit(10)", "B'1010101010'", "STRING", "1010101010"),
    ("int4range", "'[1,5)'", "STRING", "[1,5)"),
    ("int[]", "'{1,NULL,3}'", "ARRAY<INT>", [1, None, 3]),
    ("int[]", "'[0:1]={1,2}'", "ARRAY<INT>", [1, 2]),
    ("int[]", "'{}'", "ARRAY<INT>", []),
    ("int[][]", "'{{1,2},{3,4}}'", "ARRAY<ARRAY<INT>>", [[1, 2], [3, 4]]),
    ("text[]", r"""'{"a,b",NULL,"NULL","","q\"x"}'""", "ARRAY<STRING>",
     ["a,b", None, "NULL", "", 'q"x']),
    ("numeric(6,2)[]", "'{1.5,NULL}'", "ARRAY<DECIMAL(6, 2)>", [Decimal("1.50"), None]),
    ("timestamptz[]", "'{2024-01-02 03:04:05+00}'",
     "ARRAY<TIMESTAMP(6) WITH LOCAL TIME ZONE>", [dt.datetime(2024, 1, 2, 3, 4, 5, 0, UTC)]),
    ("bytea[]", r"""'{"\\x00ff"}'""", "ARRAY<BYTES>", [b"\x00\xff"]),
]  # fmt: skip


def check(
    server: MariaDb | Postgres, source: Any, folder: Path, cases: list[tuple[str, str, str, Any]]
) -> None:
    lenient = ["SET sql_mode = 'ALLOW_INVALID_DATES'"] if isinstance(server, MariaDb) else []
    columns = ", ".join(f"c{n} {type_}" for n, (type_, *_) in enumerate(cases))
    values = ", ".join(value for _, value, *_ in cases)
    server.sql(*lenient, f"CREATE TABLE typed.t (id INT PRIMARY KEY, {columns})",
               f"INSERT INTO typed.t VALUES (1, {values})")  # fmt: skip
    catalog = tc.open_catalog(f"file://{folder}/wh")
    tc.sync_database(catalog, "lake", source)
    server.sql(*lenient, f"INSERT INTO typed.t VALUES (2, {values})")
    tc.sync_database(catalog, "lake", source)
    table = catalog.table("lake.t")
    types = [type_text(field.type) for field in table.definition.fields[1:]]
    assert types == [expected for *_, expected, _ in cases]
    first, second = table.read().to_arrow().sort_by("id").drop_columns(["id"]).to_pylist()
    for n, (type_, value, _, expected) in enumerate(cases):
        for read, row in (("snapshot", first), ("log", second)):
            assert repr(same_zone(row[f"c{n}"])) == repr(expected), (type_, value, read)


def same_zone(value: Any) -> Any:
    if isinstance(value, list):
        return [same_zone(one) for one in value]
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def test_mariadb(mariadb: MariaDb, tmp_path: Path) -> None:
    mariadb.sql("CREATE DATABASE typed")
    source = tc.MySqlSource("127.0.0.1", "root", port=mariadb.port, databases="typed")
    check(mariadb, source, tmp_path, MARIADB)


def test_postgres(postgres: Postgres, tmp_path: Path) -> None:
    postgres.sql("CREATE SCHEMA typed")
    source = tc.PostgresSource(
        "127.0.0.1", "postgres", "postgres", port=postgres.port, schemas="typed", slot="typed",
        publication="typed",
    )  # fmt: skip
    check(postgres, source, tmp_path, POSTGRES)
    postgres.sql("SELECT pg_drop_replication_slot('typed')", "DROP PUBLICATION typed")


@pytest.mark.parametrize(
    ("type_", "value"),
    [("timestamptz", "infinity"), ("date", "0044-03-15 BC"), ("numeric(9,2)", "NaN")],
)
def test_a_value_that_no_type_holds_is_told_or_text(
    postgres: Postgres, tmp_path: Path, type_: str, value: str
) -> None:
    postgres.sql("CREATE SCHEMA beyond", f"CREATE TABLE beyond.t (id INT PRIMARY KEY, v {type_})",
                 f"INSERT INTO beyond.t VALUES (1, '{value}')")  # fmt: skip
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    source = tc.PostgresSource(
        "127.0.0.1", "postgres", "postgres", port=postgres.port, schemas="beyond", slot="beyond",
        publication="beyond",
    )  # fmt: skip
    try:
        with pytest.raises(
            DataError, match=rf"beyond\.t, snapshot, \('1',\): column 'v' cannot take {value}"
        ):
            tc.sync_database(catalog, "lake", source)
        catalog.drop_table("lake.t", if_exists=True)
        tc.sync_database(catalog, "lake", source, type_mapping=["to-string"])
        (row,) = catalog.table("lake.t").read().to_arrow().to_pylist()
        assert row == {"id": "1", "v": value}
    finally:
        postgres.sql("DROP SCHEMA beyond CASCADE", "DROP PUBLICATION beyond",
                     "SELECT pg_drop_replication_slot('beyond')")  # fmt: skip
