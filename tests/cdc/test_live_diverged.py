"""Sources that are not what was read any more: real servers say so loudly, and the way out works."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import ErrorKind, TableError
from tests.cdc.conftest import need
from tests.cdc.servers import Kafka, MariaDb, Postgres
from tests.cdc.sources import mariadb_source as of_mariadb
from tests.cdc.sources import postgres_source as of_postgres
from tests.eventually import eventually


def ids(catalog: tc.Catalog, table: str) -> list[int]:
    return sorted(catalog.table(table).read().to_arrow()["id"].to_pylist())


def refused(catalog: tc.Catalog, server: Any, match: str) -> None:
    with pytest.raises(TableError, match=match) as told:
        tc.sync_database(catalog, "lake", server)
    assert told.value.kind is ErrorKind.UNKNOWN_OUTCOME


def test_a_log_that_was_reset_is_refused_and_dropped_tables_are_read_anew(tmp_path: Path) -> None:
    need(MariaDb)
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    with MariaDb() as mariadb:
        mariadb.sql("CREATE DATABASE r", "CREATE TABLE r.t (id INT PRIMARY KEY)")
        mariadb.sql(*(f"INSERT INTO r.t VALUES ({n})" for n in range(20)))
        server = tc.MySqlSource(**of_mariadb(mariadb, "r"))
        tc.sync_database(catalog, "lake", server)
        mariadb.sql("INSERT INTO r.t VALUES (100)")
        tc.sync_database(catalog, "lake", server)
        mariadb.sql("RESET MASTER", "INSERT INTO r.t VALUES (101)")
        refused(catalog, server, "reset|begins after|ends before|has not done")
        mariadb.sql(*(f"INSERT INTO r.t VALUES ({n})" for n in range(200, 260)))
        refused(catalog, server, "reset|another server")  # the log is longer than it was
        catalog.drop_table("lake.t")
        tc.sync_database(catalog, "lake", server)
        assert ids(catalog, "lake.t") == [*range(20), 100, 101, *range(200, 260)]


def test_two_servers_feed_one_database_under_one_filter(mariadb: MariaDb, tmp_path: Path) -> None:
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    with MariaDb() as other:
        for n, server in enumerate((mariadb, other)):
            server.sql(
                "CREATE DATABASE two",
                f"CREATE TABLE two.t{n} (id INT PRIMARY KEY)",
                f"INSERT INTO two.t{n} VALUES (1)",
            )
            tc.sync_database(catalog, "lake", tc.MySqlSource(**of_mariadb(server, "two")))
        for n, server in enumerate((mariadb, other)):
            server.sql(f"INSERT INTO two.t{n} VALUES (2)")
            tc.sync_database(catalog, "lake", tc.MySqlSource(**of_mariadb(server, "two")))
    assert (ids(catalog, "lake.t0"), ids(catalog, "lake.t1")) == ([1, 2], [1, 2])


def test_a_slot_that_was_made_anew_or_moved_on_is_refused(
    postgres: Postgres, tmp_path: Path
) -> None:
    postgres.sql("CREATE SCHEMA anew", "CREATE TABLE anew.t (id INT PRIMARY KEY)")
    postgres.sql("INSERT INTO anew.t VALUES (1)")
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    server = tc.PostgresSource(**of_postgres(postgres, "anew", "anew"))
    tc.sync_database(catalog, "lake", server)
    postgres.sql("INSERT INTO anew.t VALUES (2)")
    tc.sync_database(catalog, "lake", server)
    postgres.sql("CREATE TABLE public.other_of_anew (id INT PRIMARY KEY)")
    postgres.sql("INSERT INTO public.other_of_anew VALUES (1)")
    for _ in range(2):  # changes of others move the slot, and the position with it
        assert tc.sync_database(catalog, "lake", server).rows_written == 0
    postgres.sql("SELECT pg_drop_replication_slot('anew')", "INSERT INTO anew.t VALUES (3)")
    postgres.sql("SELECT pg_create_logical_replication_slot('anew', 'pgoutput')")
    postgres.sql("INSERT INTO anew.t VALUES (4)")
    refused(catalog, server, "begins at .* behind what was read")
    catalog.drop_table("lake.t")
    tc.sync_database(catalog, "lake", server)
    assert ids(catalog, "lake.t") == [1, 2, 3, 4]
    postgres.sql("SELECT pg_drop_replication_slot('anew')")
    refused(catalog, server, "is gone")


def test_a_topic_that_was_made_anew_is_refused(tmp_path: Path) -> None:
    need(Kafka)
    from confluent_kafka.admin import NewTopic

    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    with Kafka() as kafka:
        admin = kafka.admin()

        def put(*rows: int) -> None:
            kafka.put("p.s.t", *((None, json.dumps({"id": n}).encode()) for n in rows))

        def topic() -> None:
            def is_made() -> bool:
                made = admin.create_topics([NewTopic("p.s.t", 1, 1)])["p.s.t"]
                return made.exception() is None

            eventually(is_made, "the topic")

        topic()
        put(1, 2, 3, 4, 5)
        source = tc.KafkaSource(kafka.servers, "p.s.t", format="json")
        tc.sync_database(catalog, "lake", source)
        admin.delete_topics(["p.s.t"])["p.s.t"].result()
        topic()
        put(6, 7)
        refused(catalog, source, "recreated|ends at")
        put(*range(8, 20))
        refused(catalog, source, "recreated")
        positions = catalog.table("lake.t").positions
        positions.set("tc.source.position", text='{"v":1,"topics":{"p.s.t":{"0":2}}}')
        tc.sync_database(
            catalog, "lake", source
        )  # what was there stays, and 6 and 7 are passed over
        assert ids(catalog, "lake.t") == [*range(1, 6), *range(8, 20)]
        catalog.drop_table("lake.t")
        tc.sync_database(catalog, "lake", source)
        assert ids(catalog, "lake.t") == list(range(6, 20))
        # the same while a run waits for more
        run = ThreadPoolExecutor(1).submit(
            tc.sync_database, catalog, "lake", source, until="forever"
        )
        put(20)
        eventually(lambda: 20 in ids(catalog, "lake.t"), "row 20")
        admin.delete_topics(["p.s.t"])["p.s.t"].result()
        topic()
        put(*range(30, 60))
        with pytest.raises(TableError, match=r"recreated|no topic"):
            run.result(180)
        assert ids(catalog, "lake.t") == list(range(6, 21))
        catalog.table("lake.t").positions.reset("tc.source.positions")
        tc.sync_database(catalog, "lake", source)
        assert ids(catalog, "lake.t") == [*range(6, 21), *range(30, 60)]
