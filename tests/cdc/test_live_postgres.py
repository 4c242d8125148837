"""A real PostgreSQL: exported snapshot, slot, unsent values, kills, and a slot that is lost."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

import table_core as tc
from table_core.cdc.source.postgres import source as postgres_source_module
from table_core.errors import ArgumentError, EventError
from tests.cdc.servers import Postgres
from tests.cdc.sources import postgres_source as source
from tests.cdc.torture import CHANGES, Torture, changes, spelled

DDL = [
    "ALTER TABLE tor_1.orders ADD COLUMN rank INT NOT NULL DEFAULT 7",
    "ALTER TABLE tor_2.orders ADD COLUMN rank INT NOT NULL DEFAULT 7",
    "ALTER TABLE tor_1.items ALTER qty TYPE BIGINT",
    "ALTER TABLE tor_2.items ALTER qty TYPE BIGINT",
    "CREATE TABLE tor_1.late (k VARCHAR(20) PRIMARY KEY, v NUMERIC(9,3))",
    "INSERT INTO tor_1.late VALUES ('a', 1.5), ('b', -2.125)",
]


def test_many_changes_with_ddl_and_kills_leave_both_sides_equal(
    postgres: Postgres, tmp_path: Path
) -> None:
    for schema in ("tor_1", "tor_2"):
        first = int(schema[-1]) * 50_000_000
        postgres.sql(
            f"CREATE SCHEMA {schema}",
            f"CREATE TABLE {schema}.orders (id BIGINT PRIMARY KEY, customer INT NOT NULL, "
            "price NUMERIC(12,2) NOT NULL, note TEXT)",
            f"ALTER TABLE {schema}.orders ALTER note SET STORAGE EXTERNAL",
            f"CREATE TABLE {schema}.items (id BIGINT, line SMALLINT, qty INT NOT NULL, "
            "PRIMARY KEY (id, line))",
            f"CREATE TABLE {schema}.notes (a INT, b VARCHAR(40))",
            f"ALTER TABLE {schema}.notes REPLICA IDENTITY FULL",
            f"INSERT INTO {schema}.orders SELECT {first} + n, n % 9, n + 0.5, repeat('toast', 900) "
            "FROM generate_series(1, 100) n",
        )
    torture = Torture(
        tmp_path / "wh",
        "postgres",
        source(postgres, "tor_.*", "torture"),
        options={"changelog-producer": "input"},
    )
    with psycopg.connect(
        host="127.0.0.1", port=postgres.port, user="postgres", autocommit=True
    ) as connection:
        torture.run(changes(3, CHANGES, ["tor_1", "tor_2"], DDL), connection.execute, seed=4)
        connection.execute(
            "UPDATE tor_1.orders SET customer = 5, id = id + 1000000 WHERE id > 50000000"
        )
        torture.sync()
        for table in ("orders", "items", "notes"):
            there = []
            for schema in ("tor_1", "tor_2"):
                cursor = connection.execute(f"SELECT * FROM {schema}.{table}")
                names = [d.name for d in cursor.description or ()]
                there += [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            assert torture.rows(table) == spelled(names, there), table
    assert torture.rows("late") == spelled(
        ["k", "v"], [{"k": "a", "v": "1.500"}, {"k": "b", "v": "-2.125"}]
    )
    for table in ("orders", "items"):
        assert torture.replayed(table) == torture.rows(table)
    assert torture.sync()["rows"] == 0
    postgres.sql("SELECT pg_drop_replication_slot('torture')")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "before", [0, 1], ids=["nothing is new", "all is committed before its end"]
)
def test_the_slot_moves_on_where_the_end_of_a_transaction_leaves_nothing_to_commit(
    postgres: Postgres, tmp_path: Path, before: int
) -> None:
    """Changes that are in a snapshot already, or were committed while they were applied."""
    name = f"ends_{before}"
    postgres.sql(
        f"CREATE SCHEMA {name}",
        f"CREATE TABLE {name}.t (id INT PRIMARY KEY)",
        f"INSERT INTO {name}.t SELECT generate_series(1, {before})",
    )
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    server = tc.PostgresSource(**source(postgres, name, name))
    tc.sync_database(catalog, "lake", server, commit_rows=5)
    postgres.sql(
        f"INSERT INTO {name}.t SELECT generate_series(2, 40)",
        f"CREATE TABLE public.{name} AS SELECT generate_series(1, 1000)",  # the log goes on
    )
    tc.sync_database(catalog, "lake", server, commit_rows=5)
    assert catalog.table("lake.t").read().to_arrow().num_rows == 39 + before
    assert tc.sync_database(catalog, "lake", server).details["events"] == 0


def test_a_slot_that_is_gone_is_named(postgres: Postgres, tmp_path: Path) -> None:
    postgres.sql("CREATE SCHEMA lost", "CREATE TABLE lost.t (id INT PRIMARY KEY)")
    postgres.sql("INSERT INTO lost.t VALUES (1)")
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    server = tc.PostgresSource(**source(postgres, "lost", "gone"))
    tc.sync_database(catalog, "lake", server)
    postgres.sql("SELECT pg_drop_replication_slot('gone')")
    with pytest.raises(
        EventError, match=r"slot 'gone' is gone.*pg_create_logical_replication_slot"
    ):
        tc.sync_database(catalog, "lake", server)


def test_a_user_without_rights_is_told_what_to_grant(postgres: Postgres, tmp_path: Path) -> None:
    postgres.sql("CREATE ROLE weak LOGIN PASSWORD 's3cret'")
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    given = source(postgres, "lost", "weak") | {"user": "weak", "password": "s3cret"}
    with pytest.raises(ArgumentError, match=r"GRANT SELECT|CREATE PUBLICATION") as told:
        tc.sync_database(catalog, "lake", tc.PostgresSource(**given))
    assert "s3cret" not in str(told.value)
    assert "s3cret" not in repr(tc.PostgresSource(**given))


def test_rows_of_partitions_are_those_of_their_table(postgres: Postgres, tmp_path: Path) -> None:
    postgres.sql(
        "CREATE SCHEMA parts",
        "CREATE TABLE parts.t (id INT, at DATE, twice INT GENERATED ALWAYS AS (id * 2) STORED, "
        "PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
        *(f"CREATE TABLE parts.t_{n} PARTITION OF parts.t FOR VALUES FROM ('202{n}-01-01') "
          f"TO ('202{n + 1}-01-01')" for n in (3, 4)),
        "INSERT INTO parts.t VALUES (1, '2023-05-05'), (2, '2024-05-05')",
    )  # fmt: skip
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    server = tc.PostgresSource(**source(postgres, "parts", "parts"))
    tc.sync_database(catalog, "lake", server)
    postgres.sql(
        "INSERT INTO parts.t VALUES (3, '2023-06-06')",
        "UPDATE parts.t SET at = '2024-07-07' WHERE id = 1",
        "DELETE FROM parts.t WHERE id = 2",
    )
    tc.sync_database(catalog, "lake", server)
    assert catalog.tables("lake") == ["t"]
    rows = catalog.table("lake.t").read().to_arrow().sort_by("id").to_pylist()
    assert [(r["id"], str(r["at"])) for r in rows] == [(1, "2024-07-07"), (3, "2023-06-06")]
    postgres.sql("ALTER PUBLICATION parts_pub SET (publish_via_partition_root = false)")
    with pytest.raises(ArgumentError, match=r"ALTER PUBLICATION .*publish_via_partition_root"):
        tc.sync_database(catalog, "lake", server)
    postgres.sql("SELECT pg_drop_replication_slot('parts')", "DROP PUBLICATION parts_pub")


def test_a_publication_that_does_not_tell_all_is_refused(
    postgres: Postgres, tmp_path: Path
) -> None:
    postgres.sql(
        "CREATE SCHEMA told", "CREATE TABLE told.a (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE told.b (id INT PRIMARY KEY)", "CREATE UNLOGGED TABLE told.c (id INT PRIMARY KEY)",
    )  # fmt: skip
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    server = tc.PostgresSource(**source(postgres, "told", "told"))
    for told, mend in (
        ("TABLE told.b", r'"told"\."a": run ALTER PUBLICATION told_pub ADD TABLE "told"\."a"'),
        ("TABLE told.a (id), told.b", r'"told"\."a": give .* without row filter and column list'),
        ("TABLE told.a WHERE (id > 5), told.b", r'"told"\."a": give .* without row filter'),
        ("ALL TABLES", r'"told"\."c" is UNLOGGED.* run ALTER TABLE "told"\."c" SET LOGGED'),
    ):
        postgres.sql(f"CREATE PUBLICATION told_pub FOR {told}")
        with pytest.raises(ArgumentError, match=mend):
            tc.sync_database(catalog, "lake", server)
        postgres.sql("DROP PUBLICATION told_pub")
    tc.sync_database(catalog, "lake", server, excluding="c")
    postgres.sql("SELECT pg_drop_replication_slot('told')", "DROP PUBLICATION told_pub")


def test_old_rows_that_are_told_by_another_index_are_refused(
    postgres: Postgres, tmp_path: Path
) -> None:
    postgres.sql(
        "CREATE SCHEMA ident", "CREATE TABLE ident.t (id INT PRIMARY KEY, k INT NOT NULL UNIQUE)",
        "ALTER TABLE ident.t REPLICA IDENTITY USING INDEX t_k_key", "INSERT INTO ident.t VALUES (1, 10)",
    )  # fmt: skip
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    server = tc.PostgresSource(**source(postgres, "ident", "ident"))
    tc.sync_database(catalog, "lake", server)
    postgres.sql("UPDATE ident.t SET id = 2")  # nothing in the log says that row 1 is gone
    with pytest.raises(EventError, match=r"ALTER TABLE ident\.t REPLICA IDENTITY DEFAULT"):
        tc.sync_database(catalog, "lake", server)
    postgres.sql("SELECT pg_drop_replication_slot('ident')", "DROP PUBLICATION ident_pub")


@pytest.mark.parametrize("held_at_once", [1, 5_000, 100_000, 32 << 20])
def test_a_part_of_the_log_has_as_many_changes_as_fit(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, held_at_once: int
) -> None:
    """What is fetched beyond is fetched again: the same changes in the same order, each once."""
    monkeypatch.setattr(postgres_source_module, "_FETCHED_BYTES", held_at_once)
    postgres.sql(
        "CREATE SCHEMA fat",
        "CREATE TABLE fat.t (id INT PRIMARY KEY, v TEXT)",
        "CREATE PUBLICATION fat FOR TABLE fat.t",
        "SELECT pg_create_logical_replication_slot('fat', 'pgoutput')",
        "INSERT INTO fat.t SELECT n, repeat('x', (n % 7) * 1000) FROM generate_series(1, 300) n",
    )
    members = source(postgres, "fat", "fat") | {"publication": "fat"}
    try:
        connection = tc.PostgresSource(**members).connect()
        parts = list(connection.peek())
        connection.close()
        with psycopg.connect(
            host="127.0.0.1", port=postgres.port, user="postgres", autocommit=True
        ) as plain:
            rows = plain.execute(
                "SELECT data FROM pg_logical_slot_peek_binary_changes('fat', NULL, NULL, "
                "'proto_version', '1', 'publication_names', 'fat')"
            ).fetchall()
        assert [change for part in parts for change in part] == [row[0] for row in rows]
        assert len(rows) > 300
        assert all(sum(map(len, part[:-1])) < held_at_once for part in parts)
        assert (len(parts) > 1) == (held_at_once < 32 << 20)
    finally:
        postgres.sql(
            "SELECT pg_drop_replication_slot('fat')",
            "DROP PUBLICATION fat",
            "DROP SCHEMA fat CASCADE",
        )
