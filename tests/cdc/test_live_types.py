"""Every type of a server: the first snapshot and the log give the same value, and the right one."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.datatypes.text import type_text
from table_core.errors import DataError
from tests.cdc.column_types import MARIADB, POSTGRES, UTC
from tests.cdc.servers import MariaDb, Postgres


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
