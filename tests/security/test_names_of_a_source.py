"""Attack: whoever may name a column of a source.  Goal: a statement of theirs, or a sync that stops for good."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import table_core as tc
from tests.cdc.conftest import need
from tests.cdc.servers import MariaDb, Postgres
from tests.cdc.sources import mariadb_source as of_mariadb
from tests.cdc.sources import postgres_source as of_postgres

NAMES = [
    "a%",
    "%s",
    "%(x)s",
    "%%d",
    "q`q",
    'd"d',
    "s's",
    "b\\b",
    "c;DROP TABLE t",
    "-- x",
    "$1",
    "?",
    "{y}",
    "\u00fc",
]
KEY = "k%s`'\"\\"


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDb]:
    need(MariaDb)
    with MariaDb() as server:
        yield server


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    need(Postgres)
    with Postgres() as server:
        yield server


def everything_is_there(
    catalog: tc.Catalog, source: tc.MySqlSource | tc.PostgresSource, rows: int
) -> None:
    tc.sync_database(catalog, "lake", source)
    found = catalog.table("lake.t").read().to_arrow()
    assert found.column_names == ["id", KEY, *NAMES]
    assert sorted(found["id"].to_pylist()) == list(range(rows))
    assert all(sorted(found[name].to_pylist()) == list(range(rows)) for name in NAMES)


def test_columns_of_mysql_with_any_names_are_read_in_chunks_and_from_the_log(
    mariadb: MariaDb, tmp_path: Path
) -> None:
    def quoted(name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    columns = "".join(f", {quoted(name)} INT" for name in NAMES)
    more = ", {}" * len(NAMES)
    mariadb.sql(
        "CREATE DATABASE per",
        f"CREATE TABLE per.t (id INT, {quoted(KEY)} VARCHAR(20){columns}, PRIMARY KEY (id, {quoted(KEY)}))",
        "INSERT INTO per.t VALUES "
        + ", ".join(f"({n}, '%s''x\\\\'{more.format(*[n] * 99)})" for n in range(9)),
    )
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    source = tc.MySqlSource(**of_mariadb(mariadb, "per", chunk_rows=2))
    everything_is_there(catalog, source, 9)
    mariadb.sql(f"INSERT INTO per.t VALUES (9, '%d'{more.format(*[9] * 99)})")
    everything_is_there(catalog, source, 10)


def test_columns_of_postgres_with_any_names_are_read_in_chunks_and_from_the_log(
    postgres: Postgres, tmp_path: Path
) -> None:
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    columns = "".join(f", {quoted(name)} INT" for name in NAMES)
    more = ", {}" * len(NAMES)
    postgres.sql(
        "CREATE SCHEMA per",
        f"CREATE TABLE per.t (id INT, {quoted(KEY)} TEXT{columns}, PRIMARY KEY (id, {quoted(KEY)}))",
        "INSERT INTO per.t VALUES "
        + ", ".join(f"({n}, '%s''x\\'{more.format(*[n] * 99)})" for n in range(9)),
    )
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    source = tc.PostgresSource(**of_postgres(postgres, "per", "per"), chunk_rows=2)
    everything_is_there(catalog, source, 9)
    postgres.sql(f"INSERT INTO per.t VALUES (9, '%d'{more.format(*[9] * 99)})")
    everything_is_there(catalog, source, 10)
