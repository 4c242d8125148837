"""A table whose snapshots hold its position in two properties is gone on from: no event twice, none missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from tests.both_positions import write_both_properties
from tests.cdc.servers import Kafka, MariaDb, Postgres
from tests.cdc.sources import mariadb_source, postgres_source


def ids(catalog: tc.Catalog) -> list[int]:
    """Of a table without a key, where a row that is taken twice is there twice."""
    return sorted(catalog.table("lake.t").read().to_arrow()["id"].to_pylist())


def follows(folder: Path, source: Any, put: Any) -> None:
    catalog = tc.open_catalog(f"file://{folder}/wh")
    put(1, 2)
    tc.sync_database(catalog, "lake", source)
    put(3)
    tc.sync_database(catalog, "lake", source)
    shown = write_both_properties(catalog.table("lake.t"))
    put(4)
    tc.sync_database(catalog, "lake", source)
    assert ids(catalog) == [1, 2, 3, 4]
    table = catalog.table("lake.t")
    assert table.position("tc.source.position") == ""
    put(5)
    tc.sync_database(catalog, "lake", source)
    assert ids(catalog) == [1, 2, 3, 4, 5]
    table.positions.set("tc.source.position", text=shown)
    tc.sync_database(catalog, "lake", source)
    assert ids(catalog) == [1, 2, 3, 4, 4, 5, 5], "a place that somebody sets is read from again"


@pytest.mark.parametrize("use_gtid", [False, True])
def test_of_mariadb(mariadb: MariaDb, tmp_path: Path, use_gtid: bool) -> None:
    name = f"both{use_gtid:d}"
    mariadb.sql(f"CREATE DATABASE {name}", f"CREATE TABLE {name}.t (id INT)")

    def put(*rows: int) -> None:
        mariadb.sql(*(f"INSERT INTO {name}.t VALUES ({n})" for n in rows))

    source = tc.MySqlSource(**mariadb_source(mariadb, name), use_gtid=use_gtid)
    follows(tmp_path, source, put)


def test_of_kafka(kafka: Kafka, tmp_path: Path) -> None:
    def put(*rows: int) -> None:
        kafka.put("both.s.t", *((None, json.dumps({"id": n}).encode()) for n in rows))

    follows(tmp_path, tc.KafkaSource(kafka.servers, "both.s.t", format="json"), put)


def test_of_postgres(postgres: Postgres, tmp_path: Path) -> None:
    postgres.sql("CREATE SCHEMA both_", "CREATE TABLE both_.t (id INT)")
    postgres.sql("ALTER TABLE both_.t REPLICA IDENTITY FULL")

    def put(*rows: int) -> None:
        postgres.sql(*(f"INSERT INTO both_.t VALUES ({n})" for n in rows))

    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    source = tc.PostgresSource(**postgres_source(postgres, "both_", "both"))
    put(1, 2)
    tc.sync_database(catalog, "lake", source)
    for n in (3, 4):  # what a slot has confirmed is not sent again
        write_both_properties(catalog.table("lake.t"))
        put(n)
        tc.sync_database(catalog, "lake", source)
        assert ids(catalog) == list(range(1, n + 1))
        assert catalog.table("lake.t").position("tc.source.position") == ""
