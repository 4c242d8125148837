"""Rows of a PostgreSQL that change without a word in its log: the lake equals the source all the same."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

import table_core as tc
from table_core.errors import ArgumentError, EventError
from tests.cdc.both_sides import is_read_again, plain
from tests.cdc.servers import Postgres
from tests.cdc.sources import postgres_source as source
from tests.eventually import eventually
from tests.lanes import sampled

PARTS = (
    "CREATE TABLE {0}.p (id INT PRIMARY KEY, v TEXT) PARTITION BY RANGE (id)",
    "CREATE TABLE {0}.p1 PARTITION OF {0}.p FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE {0}.p2 PARTITION OF {0}.p FOR VALUES FROM (10) TO (20)",
    "INSERT INTO {0}.p VALUES (1, 'one'), (11, 'eleven')",
)
CASES: dict[str, Sequence[str]] = {
    "a table that is created anew": (
        "DROP TABLE {0}.t",
        "CREATE TABLE {0}.t (id INT PRIMARY KEY, v VARCHAR(20))",
        "INSERT INTO {0}.t VALUES (7, 'seven')",
    ),
    "a rotated table": (
        "CREATE TABLE {0}.n (LIKE {0}.t INCLUDING ALL)",
        "ALTER TABLE {0}.t RENAME TO o",
        "ALTER TABLE {0}.n RENAME TO t",
        "INSERT INTO {0}.t VALUES (7, 'seven')",
    ),
    "a default that is dropped": (
        "ALTER TABLE {0}.t ADD n INT NOT NULL DEFAULT 5",
        "ALTER TABLE {0}.t ALTER n DROP DEFAULT",
        "INSERT INTO {0}.t VALUES (2, 'b', 6)",
        "ALTER TABLE {0}.t ALTER n DROP NOT NULL",
    ),
    "a default that comes later": (
        "ALTER TABLE {0}.t ADD n INT",
        "ALTER TABLE {0}.t ALTER n SET DEFAULT 5",
        "INSERT INTO {0}.t (id) VALUES (2)",
    ),
    "a default that changes": (
        "ALTER TABLE {0}.t ADD n INT DEFAULT 5",
        "ALTER TABLE {0}.t ALTER n SET DEFAULT 7",
        "INSERT INTO {0}.t (id) VALUES (2)",
    ),
    "defaults that the server computes once": (
        "ALTER TABLE {0}.t ADD a TIMESTAMPTZ DEFAULT now(), ADD b INT DEFAULT 2+3, "
        "ADD c TEXT DEFAULT 'x'||'y', ADD d NUMERIC(5,1) DEFAULT 1.25, ADD e BYTEA DEFAULT '\\x00ff', "
        "ADD f INT[] DEFAULT '{1,NULL}', ADD g TEXT[] DEFAULT ARRAY['a,b','\"'], ADD h BOOL DEFAULT true",
        "INSERT INTO {0}.t (id) VALUES (2)",
    ),
    "defaults of each row": (
        "ALTER TABLE {0}.t ADD a UUID DEFAULT gen_random_uuid(), ADD b SERIAL, "
        "ADD c INT GENERATED ALWAYS AS IDENTITY",
        "INSERT INTO {0}.t (id) VALUES (2)",
    ),
    "columns that trade their names": (
        "ALTER TABLE {0}.t ADD w VARCHAR(20) DEFAULT 'w'",
        "INSERT INTO {0}.t VALUES (2, 'b', 'c')",
        "ALTER TABLE {0}.t RENAME v TO x",
        "ALTER TABLE {0}.t RENAME w TO v",
        "ALTER TABLE {0}.t RENAME x TO w",
        "INSERT INTO {0}.t VALUES (3, 'b', 'c')",
    ),
    "a column that is dropped and added": (
        "ALTER TABLE {0}.t DROP v",
        "ALTER TABLE {0}.t ADD v VARCHAR(20)",
        "INSERT INTO {0}.t VALUES (2, 'b')",
    ),
    "a column that is added, dropped and added": (
        "ALTER TABLE {0}.t ADD n INT DEFAULT 5",
        "INSERT INTO {0}.t VALUES (2, 'b', 6)",
        "ALTER TABLE {0}.t DROP n",
        "ALTER TABLE {0}.t ADD n INT DEFAULT 7",
        "INSERT INTO {0}.t VALUES (3, 'b')",
    ),
    "values that are computed anew": (
        "ALTER TABLE {0}.t ALTER v TYPE VARCHAR(20) USING v || '!'",
        "INSERT INTO {0}.t VALUES (2, 'b')",
    ),
    "a partition that comes with rows": (
        *PARTS,
        "-- sync",
        "CREATE TABLE {0}.p3 (id INT PRIMARY KEY, v TEXT)",
        "INSERT INTO {0}.p3 VALUES (21, 'in')",
        "ALTER TABLE {0}.p ATTACH PARTITION {0}.p3 FOR VALUES FROM (20) TO (30)",
    ),
    "a partition that is made, filled and put in at once": (
        *PARTS,
        "-- sync",
        "BEGIN; CREATE TABLE {0}.p3 (LIKE {0}.p INCLUDING ALL); INSERT INTO {0}.p3 VALUES (21, 'in'); "
        "ALTER TABLE {0}.p ATTACH PARTITION {0}.p3 FOR VALUES FROM (20) TO (30); COMMIT",
        "INSERT INTO {0}.p VALUES (22, 'later')",
    ),
    "partitions of partitions that come with rows": (
        *PARTS,
        "-- sync",
        "CREATE TABLE {0}.p3 (LIKE {0}.p INCLUDING ALL) PARTITION BY RANGE (id)",
        "CREATE TABLE {0}.\"p%4\" PARTITION OF {0}.p3 FOR VALUES FROM (20) TO (25)",
        "INSERT INTO {0}.p3 VALUES (21, 'in')",
        "ALTER TABLE {0}.p ATTACH PARTITION {0}.p3 FOR VALUES FROM (20) TO (30)",
    ),
    "defaults of a partitioned table": (
        *PARTS,
        "-- sync",
        "ALTER TABLE {0}.p ADD n INT DEFAULT 5, ADD a UUID DEFAULT '00000000-0000-0000-0000-000000000034'",
        "ALTER TABLE {0}.p ALTER n SET DEFAULT 7",
        "CREATE TABLE {0}.p3 (LIKE {0}.p)",
        "ALTER TABLE {0}.p3 DROP n",
        "ALTER TABLE {0}.p3 ADD n INT DEFAULT 9",
        "ALTER TABLE {0}.p ATTACH PARTITION {0}.p3 FOR VALUES FROM (20) TO (30)",
        "INSERT INTO {0}.p VALUES (2, 'later')",
    ),
    "partitions that go": (
        *PARTS,
        "-- sync",
        "ALTER TABLE {0}.p DETACH PARTITION {0}.p1",
        "DROP TABLE {0}.p1",
    ),
    "a partition that is emptied": (*PARTS, "-- sync", "TRUNCATE {0}.p1"),
    "a partition that is changed while it is out": (
        *PARTS,
        "-- sync",
        "ALTER TABLE {0}.p DETACH PARTITION {0}.p1",
        "UPDATE {0}.p1 SET v = 'out'",
        "ALTER TABLE {0}.p ATTACH PARTITION {0}.p1 FOR VALUES FROM (0) TO (10)",
    ),
    "another name for a while": (
        "ALTER TABLE {0}.t RENAME TO away",
        "UPDATE {0}.away SET v = 'away'",
        "ALTER TABLE {0}.away RENAME TO t",
        "INSERT INTO {0}.t VALUES (2, 'b')",
    ),
    "a publication that was without it for a while": (
        "ALTER PUBLICATION {0}_pub DROP TABLE {0}.t",
        "UPDATE {0}.t SET v = 'dark'",
        "ALTER PUBLICATION {0}_pub ADD TABLE {0}.t",
        "INSERT INTO {0}.t VALUES (2, 'b')",
    ),
    "a publication that told less for a while": (
        "ALTER PUBLICATION {0}_pub SET (publish = 'insert')",
        "UPDATE {0}.t SET v = 'dark'",
        "ALTER PUBLICATION {0}_pub SET (publish = 'insert, update, delete, truncate')",
        "INSERT INTO {0}.t VALUES (2, 'b')",
    ),
    "words of a type that change": (
        "CREATE TYPE {0}.mood AS ENUM ('glad', 'sad')",
        "CREATE TYPE {0}.pair AS (a INT, b INT)",
        "ALTER TABLE {0}.t ADD w {0}.mood DEFAULT 'sad', ADD x {0}.pair DEFAULT '(1,2)'",
        "INSERT INTO {0}.t VALUES (2, 'b', 'glad')",
        "-- sync",
        "ALTER TYPE {0}.mood RENAME VALUE 'sad' TO 'blue'",
        "ALTER TYPE {0}.pair ADD ATTRIBUTE c INT",
        "INSERT INTO {0}.t VALUES (3, 'b', 'glad')",
    ),
    "a child that inherits": (
        "CREATE TABLE {0}.heir (more INT) INHERITS ({0}.t)",
        "ALTER TABLE {0}.heir ADD PRIMARY KEY (id)",
        "INSERT INTO {0}.heir VALUES (5, 'heir', 1)",
        "-- fresh",
    ),
}  # fmt: skip
FROM_THE_LOG = {
    "a default that is dropped",
    "a default that comes later",
    "a default that changes",
    "defaults that the server computes once",
    "defaults of a partitioned table",
    "a child that inherits",
}
"""Of these the log tells all; after the others the table is read again."""


class Log:
    """A schema of its own, and the tables that follow it."""

    def __init__(self, server: Postgres, folder: Path, name: str) -> None:
        self.server, self.name, self.folder = server, name, folder
        self.fresh()
        server.sql(
            f"CREATE SCHEMA {name}",
            f"CREATE TABLE {name}.t (id INT PRIMARY KEY, v VARCHAR(20))",
            f"INSERT INTO {name}.t VALUES (1, 'first')",
        )

    def fresh(self) -> None:
        self.catalog = tc.open_catalog(f"file://{self.folder}/wh{id(self)}")
        self.folder = self.folder / "more"

    def __enter__(self) -> Self:
        self.sync()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.sql(f"SELECT pg_drop_replication_slot('{self.name}')")

    def source(self, **more: Any) -> tc.PostgresSource:
        return tc.PostgresSource(**{**source(self.server, self.name, self.name), **more})

    def sync(self, **more: Any) -> tc.ResultDocument:
        return tc.sync_database(self.catalog, "lake", self.source(), **more)

    def sync_parts(self, **source: Any) -> None:
        """A sync of small parts, which has its time."""
        tc.sync_database(self.catalog, "lake", self.source(**source), max_duration="60 s")

    def run(self, statements: Iterable[str]) -> None:
        for statement in statements:
            if statement == "-- sync":
                self.sync()
            elif statement == "-- fresh":
                self.fresh()
            else:
                self.server.sql(statement.replace("{0}", self.name))

    def same(self, table: str, **more: Any) -> None:
        """Both sides have the same rows, column by column."""
        with psycopg.connect(
            host="127.0.0.1", port=self.server.port, user="postgres", autocommit=True
        ) as connection:
            only = "" if table == "p" else "ONLY "
            cursor = connection.execute(f"SELECT * FROM {only}{self.name}.{table}")
            names = [d.name for d in cursor.description or ()]
            there = sorted(str(tuple(map(plain, row))) for row in cursor.fetchall())
        found = self.catalog.table(f"lake.{table}").read().to_arrow().select(names).to_pylist()
        assert sorted(str(tuple(map(plain, row.values()))) for row in found) == there


@pytest.mark.parametrize("case", sampled(CASES, 4))
def test_the_lake_equals_the_source_after(postgres: Postgres, tmp_path: Path, case: str) -> None:
    name = f"pgrw_{list(CASES).index(case)}"
    with Log(postgres, tmp_path, name) as log:
        log.run(CASES[case])
        assert is_read_again(log.sync) == (case not in FROM_THE_LOG)
        log.sync()
        tables = sorted({"t", "p"} & set(log.catalog.tables("lake")))
        for table in tables:
            log.same(table)
        postgres.sql(f"DELETE FROM {name}.t WHERE id = 1", f"INSERT INTO {name}.t (id) VALUES (99)")
        log.sync()
        for table in tables:
            log.same(table)
        assert log.sync().rows_written == 0


def test_a_table_that_is_due_holds_up_no_long_log(postgres: Postgres, tmp_path: Path) -> None:
    with Log(postgres, tmp_path, "pgrw_long") as log:
        log.run(CASES["another name for a while"])
        log.run(f"INSERT INTO {{0}}.t VALUES ({n}, 'more')" for n in range(100, 130))
        log.sync_parts(batch_changes=5)
        log.same("t")


def test_what_leaves_rows_as_they_are_reads_nothing_again(
    postgres: Postgres, tmp_path: Path
) -> None:
    with Log(postgres, tmp_path, "pgrw_kept") as log:
        log.run(PARTS)
        log.sync()
        postgres.sql(
            "VACUUM FULL pgrw_kept.t",
            "ALTER TABLE pgrw_kept.t ADD n INT DEFAULT 5",
            "CREATE TABLE pgrw_kept.p3 PARTITION OF pgrw_kept.p FOR VALUES FROM (20) TO (30)",
            "INSERT INTO pgrw_kept.p VALUES (21, 'in')",
        )
        assert log.sync(on_rewrite="fail").rows_written == 1
        log.same("p")


KEYS = {
    "a key of another column": (
        "ALTER TABLE {0}.t ALTER v SET NOT NULL, DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (v)",
        "UPDATE {0}.t SET id = 5",
        "INSERT INTO {0}.t VALUES (5, 'second')",
    ),
    "a key that gets one more column": (
        "ALTER TABLE {0}.t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (id, v)",
        "INSERT INTO {0}.t VALUES (1, 'second')",
    ),
    "a column of the key that is renamed": (
        "ALTER TABLE {0}.t RENAME id TO k",
        "INSERT INTO {0}.t VALUES (2, 'second')",
    ),
    "a key that is gone": (
        "ALTER TABLE {0}.t DROP CONSTRAINT t_pkey",
        "ALTER TABLE {0}.t REPLICA IDENTITY FULL",
        "INSERT INTO {0}.t VALUES (1, 'second')",
    ),
}
"""Refused: the table here has to be dropped, and is read anew."""


@pytest.mark.parametrize("case", sampled(KEYS, 2))
def test_a_key_that_changes_is_refused_and_the_way_out_works(
    postgres: Postgres, tmp_path: Path, case: str
) -> None:
    with Log(postgres, tmp_path, f"pgrw_key{list(KEYS).index(case)}") as log:
        log.run(KEYS[case])
        for _ in range(2):
            with pytest.raises(EventError, match=r"primary key of pgrw_key\d\.t was .*drop"):
                log.sync()
        log.catalog.drop_table("lake.t")
        log.sync()
        log.same("t")


def test_a_table_that_is_dropped_or_replaced_is_told(postgres: Postgres, tmp_path: Path) -> None:
    with Log(postgres, tmp_path, "pgrw_drop") as log:
        postgres.sql(
            "CREATE TABLE pgrw_drop.u (id INT PRIMARY KEY)", "INSERT INTO pgrw_drop.u VALUES (1)"
        )
        log.sync()
        postgres.sql("DROP TABLE pgrw_drop.t")
        with pytest.raises(EventError, match=r"pgrw_drop\.t was dropped"):
            log.sync(on_drop="fail")
        log.sync(on_drop="apply")
        assert log.catalog.tables("lake") == ["u"]
        log.run(["DROP TABLE {0}.u", "CREATE TABLE {0}.u (id INT PRIMARY KEY)"])
        with pytest.raises(EventError, match=r"pgrw_drop\.u was dropped"):
            log.sync(on_drop="fail")
        log.sync()
        log.same("u")


def test_rows_that_a_policy_hides_are_told(postgres: Postgres, tmp_path: Path) -> None:
    log = Log(postgres, tmp_path, "pgrw_rls")
    postgres.sql(
        "CREATE ROLE veiled LOGIN REPLICATION",
        "GRANT USAGE ON SCHEMA pgrw_rls TO veiled",
        "GRANT SELECT ON pgrw_rls.t TO veiled",
        "ALTER TABLE pgrw_rls.t ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY few ON pgrw_rls.t USING (id > 1)",
        "CREATE PUBLICATION pgrw_rls_pub FOR TABLE pgrw_rls.t",
    )
    with pytest.raises(ArgumentError, match="ALTER ROLE veiled BYPASSRLS"):
        tc.sync_database(log.catalog, "lake", log.source(user="veiled"))
    postgres.sql("ALTER ROLE veiled BYPASSRLS")
    tc.sync_database(log.catalog, "lake", log.source(user="veiled"))
    log.same("t")
    log.__exit__()


def test_a_partition_that_is_in_no_log_is_refused(postgres: Postgres, tmp_path: Path) -> None:
    with Log(postgres, tmp_path, "pgrw_dark") as log:
        log.run(
            [
                *PARTS,
                "-- sync",
                "CREATE UNLOGGED TABLE {0}.p3 PARTITION OF {0}.p FOR VALUES FROM (20) TO (30)",
                "INSERT INTO {0}.p VALUES (21, 'dark')",
            ]
        )
        with pytest.raises(
            ArgumentError, match=r'"pgrw_dark"\."p" has a partition that is UNLOGGED'
        ):
            log.sync()
        log.run(["ALTER TABLE {0}.p3 SET LOGGED"])
        log.sync()
        log.same("p")


def test_large_values_that_did_not_change_come_from_the_old_row(
    postgres: Postgres, tmp_path: Path
) -> None:
    log = Log(postgres, tmp_path, "pgrw_toast")
    log.run(
        [
            "CREATE TABLE {0}.bag (id INT, v TEXT)",
            "CREATE TABLE {0}.swap (id INT PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v TEXT)",
            *(
                statement.replace("{1}", table)
                for table in ("bag", "swap")
                for statement in (
                    "ALTER TABLE {0}.{1} ALTER v SET STORAGE EXTERNAL, REPLICA IDENTITY FULL",
                    "INSERT INTO {0}.{1} SELECT n, repeat(n::text, 9000) FROM generate_series(1, 2) n",
                )
            ),
        ]
    )
    with log:
        log.run(["UPDATE {0}.bag SET id = id + 5", "UPDATE {0}.swap SET id = 3 - id"])
        log.sync()
        log.same("bag")
        log.same("swap")


@pytest.mark.parametrize(
    ("statement", "is_read_again_too"),
    [
        ("UPDATE {0}.w SET id = 5 - id", True),
        ("UPDATE {0}.w SET id = CASE id WHEN 4 THEN 1 ELSE id + 1 END", True),
        ("BEGIN; INSERT INTO {0}.w VALUES (2, 'same'); DELETE FROM {0}.w WHERE ctid = '(0,2)'; COMMIT", True),
        ("BEGIN; INSERT INTO {0}.w VALUES (2, 'same'); UPDATE {0}.w SET v = 'other' WHERE ctid = '(0,2)'; "
         "UPDATE {0}.w SET id = 9 WHERE v = 'other'; COMMIT", True),
        ("UPDATE {0}.w SET id = id + 10", False),
        ("BEGIN; INSERT INTO {0}.w VALUES (7, 'a'); UPDATE {0}.w SET v = 'b' WHERE id = 7; COMMIT", False),
    ],
)  # fmt: skip
def test_equal_rows_that_have_one_key_for_a_while(
    postgres: Postgres, tmp_path: Path, statement: str, is_read_again_too: bool
) -> None:
    log = Log(postgres, tmp_path, "pgrw_equal")
    log.run(
        [
            "CREATE TABLE {0}.w (id INT PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v TEXT)",
            "ALTER TABLE {0}.w REPLICA IDENTITY FULL",
            "INSERT INTO {0}.w SELECT n, 'same' FROM generate_series(1, 4) n",
        ]
    )
    try:
        with log:
            log.run([statement])
            assert is_read_again(log.sync) == is_read_again_too
            log.sync()
            log.same("w")
    finally:
        postgres.sql("DROP SCHEMA pgrw_equal CASCADE", "DROP PUBLICATION pgrw_equal_pub")


def test_the_publication_has_the_tables_of_the_sync_alone(
    postgres: Postgres, tmp_path: Path
) -> None:
    postgres.sql(
        "CREATE TABLE public.pgrw_nokey (id INT)", "INSERT INTO public.pgrw_nokey VALUES (1)"
    )
    with Log(postgres, tmp_path, "pgrw_pub") as log:
        postgres.sql("UPDATE public.pgrw_nokey SET id = 2")
        tables = (
            "SELECT tablename FROM pg_publication_tables WHERE pubname = 'pgrw_pub_pub' ORDER BY 1"
        )
        assert postgres.sql(tables) == [("t",)]
        log.run(["CREATE TABLE {0}.u (id INT PRIMARY KEY)", "INSERT INTO {0}.u VALUES (1)"])
        log.sync(on_rewrite="fail")  # the other table stays as it is
        assert postgres.sql(tables) == [("t",), ("u",)]
        log.same("u")
        log.run(["CREATE TABLE {0}.nokey (id INT)"])
        with pytest.raises(ArgumentError, match="REPLICA IDENTITY FULL"):
            log.sync()
        log.run(["UPDATE {0}.nokey SET id = 3", "ALTER TABLE {0}.nokey REPLICA IDENTITY FULL"])
        log.sync()


class Ended(Exception):
    """The test has seen what it wanted."""


def test_a_run_without_an_end_notices_too(postgres: Postgres, tmp_path: Path) -> None:
    log, enough = Log(postgres, tmp_path, "pgrw_ever"), threading.Event()

    def ends(*_: object, **__: object) -> None:
        if enough.is_set():
            raise Ended

    def values() -> list[str]:
        if "t" not in log.catalog.tables("lake"):
            return []
        return sorted(log.catalog.table("lake.t").read().to_arrow()["v"].to_pylist())

    with ThreadPoolExecutor() as pool:
        log.catalog.create_database("lake", if_not_exists=True)
        run = pool.submit(log.sync, until="forever", progress=ends)
        eventually(lambda: values() == ["first"], "the first row")
        log.run(
            [
                "ALTER TABLE {0}.t ALTER v TYPE VARCHAR(20) USING v || '!'",
                "CREATE TABLE {0}.u (id INT PRIMARY KEY)",
                "INSERT INTO {0}.u VALUES (1)",
            ]
        )
        eventually(lambda: values() == ["first!"], "the rewritten row")
        eventually(lambda: "u" in log.catalog.tables("lake"), "the new table")
        enough.set()
        with pytest.raises(Ended):
            run.result()
    log.sync()
    log.same("u")
    log.__exit__()


def test_a_publication_that_was_dropped_for_a_while_is_told_and_the_way_out_works(
    postgres: Postgres, tmp_path: Path
) -> None:
    with Log(postgres, tmp_path, "pgrw_gone") as log:
        log.run(["DROP PUBLICATION pgrw_gone_pub", "INSERT INTO {0}.t VALUES (2, 'b')"])
        with pytest.raises(EventError, match=r"dropped for a while.*table-core position reset"):
            log.sync()
        postgres.sql("SELECT pg_drop_replication_slot('pgrw_gone')")
        log.catalog.table("lake.t").positions.reset("tc.source.positions")
        log.sync()
        log.same("t")
        log.run(["DELETE FROM {0}.t WHERE id = 1"])
        log.sync()
        log.same("t")
