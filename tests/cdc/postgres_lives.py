"""Random lives of PostgreSQL's tables: rows, shapes, partitions and publications that change while syncs begin and die."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import psycopg

import table_core as tc
from tests.cdc.both_sides import plain
from tests.cdc.lives import Killed, killed_at, killed_process
from tests.cdc.servers import Postgres
from tests.cdc.sources import postgres_source as source

ROUNDS = 4
TABLES = ("t", "c", "p", "bag", "r", "w")
PARTITIONED = (
    "CREATE TABLE p (id INT PRIMARY KEY, v TEXT) PARTITION BY RANGE (id)",
    "CREATE TABLE p0 PARTITION OF p FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (10) TO (2000)",
)
MADE = (
    "CREATE TYPE mood AS ENUM ('a', 'b', 'c', 'ä')",
    "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))",
    "CREATE TABLE c (id INT PRIMARY KEY, t INT REFERENCES t (id) ON DELETE CASCADE ON UPDATE CASCADE, "
    "v VARCHAR(20))",
    *PARTITIONED,
    "CREATE TABLE bag (id INT, v TEXT)",
    "ALTER TABLE bag REPLICA IDENTITY FULL",
    "CREATE TABLE w (id INT PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v TEXT)",
    "ALTER TABLE w REPLICA IDENTITY FULL",
    "ALTER TABLE w ALTER v SET STORAGE EXTERNAL",
)
TYPES = {
    "SMALLINT": "{n}",
    "BIGINT": "{n}",
    "NUMERIC(9,2)": "{n}.5",
    "DOUBLE PRECISION": "{n}.25",
    "BOOLEAN": "{n} % 2 = 0",
    "DATE": "DATE '2020-02-20' + {n}",
    "TIMESTAMP": "TIMESTAMP '2020-02-20 20:20:20.123456'",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2020-02-20 20:20:20+02'",
    "UUID": "'00000000-0000-0000-0000-0000000000{n}'",
    "BYTEA": "'\\x00{n}ff'",
    "TEXT": "repeat('{w}', {n})",
    "VARCHAR(20)": "'{w}''{n}\\'",
    "CHAR(4)": "'{w}'",
    "INT[]": "'{{{n},NULL}}'",
    "TEXT[]": "ARRAY['{w},{n}', NULL]",
    "mood": "'{w}'",
}
ONE = (
    "INSERT INTO {t} (id) VALUES ({n})",
    "INSERT INTO {t} (id, v) VALUES ({n}, '{w}'), ({m}, '{w}')",
    "INSERT INTO {t} (id, v) VALUES ({n}, '{w}') ON CONFLICT (id) DO UPDATE SET v = 'conflict'",
    "INSERT INTO {t} (id, v) SELECT s, 's' FROM generate_series({n}, {m}) s ON CONFLICT DO NOTHING",
    "INSERT INTO w VALUES ({n}, repeat('{w}', 9000))",
    "UPDATE {t} SET v = '{w}' WHERE id > {n}",
    "UPDATE {t} SET id = id + 30 WHERE id = {n}",
    "INSERT INTO w SELECT s, repeat('{w}', 9000) FROM generate_series({n}, {m}) s",
    "UPDATE w SET id = {n} + {m} - id WHERE id IN ({n}, {m})",
    "UPDATE w SET id = 40 - id",
    "UPDATE r SET x0 = DEFAULT WHERE id > {n}",
    "DELETE FROM {t} WHERE id < {m} AND id > {n}",
    "DELETE FROM t WHERE id = {n}",
    "INSERT INTO c (id, t) SELECT {n}, MAX(id) FROM t",
    "TRUNCATE {t} CASCADE",
    "TRUNCATE {t}, bag",
)  # fmt: skip
DDL = (
    "ALTER TABLE {t} ADD COLUMN x{k} INT NOT NULL DEFAULT {n}",
    "ALTER TABLE {t} ADD COLUMN x{k} {y} DEFAULT {d}",
    "ALTER TABLE {t} ADD COLUMN x{k} {y}",
    "ALTER TABLE {t} ADD COLUMN x{k} TIMESTAMPTZ DEFAULT now()",
    "ALTER TABLE {t} ADD COLUMN x{k} SERIAL",
    "ALTER TABLE {t} ADD COLUMN g{k} INT GENERATED ALWAYS AS (id + 1) STORED",
    "ALTER TABLE {t} ALTER x{k} SET DEFAULT {d}",
    "ALTER TABLE {t} ALTER x{k} DROP DEFAULT",
    "ALTER TABLE {t} ALTER x{k} DROP NOT NULL",
    "ALTER TABLE {t} DROP COLUMN x{k}",
    "ALTER TABLE {t} DROP COLUMN v; ALTER TABLE {t} ADD COLUMN v TEXT DEFAULT '{w}'",
    "ALTER TABLE {t} RENAME COLUMN x{k} TO z{k}",
    "ALTER TABLE {t} RENAME COLUMN z{k} TO x{k}",
    "ALTER TABLE {t} ALTER x{k} TYPE BIGINT USING length(x{k}::text)",
    "ALTER TABLE {t} ALTER x{k} TYPE TEXT",
    "ALTER TABLE {t} ALTER v TYPE VARCHAR(40) USING v || '!'",
    "ALTER TABLE {t} ALTER v TYPE TEXT COLLATE \"C\"",
    "CREATE TABLE n (LIKE bag INCLUDING ALL); ALTER TABLE n REPLICA IDENTITY FULL; "
    "ALTER TABLE bag RENAME TO o; ALTER TABLE n RENAME TO bag; DROP TABLE o",
    "DROP TABLE t CASCADE; CREATE TABLE t (id INT PRIMARY KEY, v TEXT)",
    "DROP TABLE p; {p}",
    "ALTER TABLE p DETACH PARTITION p0; UPDATE p0 SET v = 'out'; "
    "ALTER TABLE p ATTACH PARTITION p0 FOR VALUES FROM (0) TO (10)",
    "DROP TABLE p0; CREATE TABLE p0 PARTITION OF p FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE q (LIKE p INCLUDING ALL); INSERT INTO q (id) VALUES (2001); "
    "ALTER TABLE p ATTACH PARTITION q FOR VALUES FROM (2001) TO (3000); ALTER TABLE q RENAME TO q{n}",
    "BEGIN; CREATE TABLE q (LIKE p INCLUDING ALL); INSERT INTO q (id) VALUES (3001); "
    "ALTER TABLE p ATTACH PARTITION q FOR VALUES FROM (3001) TO (4000); ALTER TABLE q RENAME TO q{n}; COMMIT",
    "ALTER TABLE p ADD COLUMN x{k} {y} DEFAULT {d}; INSERT INTO p (id) VALUES ({n})",
    "TRUNCATE p1",
    "TRUNCATE p0; INSERT INTO p (id) VALUES ({n})",
    "UPDATE p SET id = 25 - id",
    "VACUUM FULL {t}",
    "CLUSTER {t} USING {t}_pkey",
    "ALTER TABLE {t} SET UNLOGGED; UPDATE {t} SET v = 'dark'; ALTER TABLE {t} SET LOGGED",
    "CREATE SCHEMA away; ALTER TABLE {t} SET SCHEMA away; UPDATE away.{t} SET v = 'away'; "
    "ALTER TABLE away.{t} SET SCHEMA {s}; DROP SCHEMA away CASCADE",
    "ALTER TYPE mood RENAME VALUE '{w}' TO '{w}{n}'; ALTER TYPE mood ADD VALUE '{w}'",
    "ALTER TABLE {t} REPLICA IDENTITY FULL",
    "UPDATE {t} SET v = 'k' WHERE v IS NULL; ALTER TABLE {t} ALTER v SET NOT NULL, "
    "DROP CONSTRAINT {t}_pkey CASCADE, ADD PRIMARY KEY (id, v); INSERT INTO {t} (id, v) SELECT id, 'twin' FROM {t}",
    "ALTER PUBLICATION {s}_pub DROP TABLE {t}; UPDATE {t} SET v = 'dark'; ALTER PUBLICATION {s}_pub ADD TABLE {t}",
    "ALTER TABLE {t} REPLICA IDENTITY DEFAULT",
    "ALTER TABLE bag REPLICA IDENTITY FULL",
    "SET session_replication_role = replica; DELETE FROM t WHERE id > {n}; RESET session_replication_role",
    "CREATE TABLE heir () INHERITS ({t}); INSERT INTO heir (id) VALUES ({n}); UPDATE {t} SET v = 'both'; "
    "DROP TABLE heir",
)  # fmt: skip
AROUND = (
    ("BEGIN", "COMMIT"),
    ("BEGIN", "ROLLBACK"),
    ("BEGIN; INSERT INTO {t} (id) VALUES ({n}); SAVEPOINT s", "ROLLBACK TO s; COMMIT"),
    ("BEGIN; SAVEPOINT s; INSERT INTO {t} (id) VALUES ({n}); RELEASE s; SAVEPOINT s", "COMMIT"),
    ("BEGIN", "PREPARE TRANSACTION '{s}{n}'; COMMIT PREPARED '{s}{n}'"),
    ("BEGIN", "PREPARE TRANSACTION '{s}{n}'; ROLLBACK PREPARED '{s}{n}'"),
)


class Life:
    """What happens in one schema, and the tables that follow it."""

    def __init__(self, server: Postgres, folder: Path, seed: int) -> None:
        self.server, self.name = server, f"life_{seed}"
        self.chance = random.Random(seed)
        self.catalog = tc.open_catalog(f"file://{folder}/wh")
        self.said: list[str] = []
        server.sql(f"CREATE SCHEMA {self.name}")
        self.connect()
        for statement in (*MADE, self.random_table()):
            self.do(statement)

    def connect(self) -> None:
        self.connection = psycopg.connect(
            host="127.0.0.1", port=self.server.port, user="postgres", autocommit=True,
            options=f"-c search_path={self.name} -c TimeZone=UTC -c row_security=off",
        )  # fmt: skip

    def random_table(self) -> str:
        types = [self.chance.choice(list(TYPES)) for _ in range(3)]
        columns = ", ".join(f"x{n} {type_}" for n, type_ in enumerate(types))
        key = self.chance.choice(["id", "id, v", "v, id"])
        return f"CREATE TABLE r (id INT, v VARCHAR(20) DEFAULT 'k', {columns}, PRIMARY KEY ({key}))"

    def do(self, statement: str) -> None:
        self.said.append(statement)
        try:
            self.connection.execute(statement)
        except psycopg.Error as error:
            self.said.append(f"-- {str(error).partition(chr(10))[0]}")

    def filled(self, text: str) -> list[str]:
        chance = self.chance
        n, type_, word = chance.randrange(10, 40), chance.choice(list(TYPES)), chance.choice("äbc")
        values: dict[str, Any] = {
            "t": chance.choice(TABLES), "n": n, "m": n + chance.randrange(1, 9), "w": word,
            "k": chance.randrange(3), "y": type_, "d": TYPES[type_].format(n=n, w=word),
            "p": "; ".join(PARTITIONED), "s": self.name,
        }  # fmt: skip
        if chance.random() < 0.5:
            values["n"] = n - 10
        return text.format(**values).split("; ")

    def act(self) -> None:
        """What is done at once."""
        chance = self.chance
        some = [
            one for _ in range(chance.randrange(1, 5)) for one in self.filled(chance.choice(ONE))
        ]
        change = self.filled(chance.choice(DDL)) if chance.random() < 0.35 else []
        before, after = chance.choice(AROUND) if chance.random() < 0.5 else ("", "")
        around = self.filled(f"{before}; -; {after}")
        cut = around.index("-")
        for statement in (*around[:cut], *change, *some, *around[cut + 1 :]):
            if statement:
                self.do(statement)
        self.do("ROLLBACK")

    def source(self, **more: Any) -> tc.PostgresSource:
        given = source(self.server, self.name, self.name)
        chunk = self.chance.choice([3, 50_000])
        return tc.PostgresSource(**{**given, "chunk_rows": chunk, **more})

    def sync(self) -> None:
        """A sync that is cut or dies, perhaps, and then one to the end, by the way out that it names."""
        chance = self.chance
        self.said.append("-- sync")
        if chance.random() < 0.3:
            self.once(max_rows=chance.randrange(1, 20))
        if chance.random() < 0.3:
            try:
                with killed_at(chance.randrange(1, 6)):
                    self.once()
            except Killed:
                self.said.append("-- killed")
        if chance.random() < 0.1:
            source, step = self.source(batch_changes=7), chance.randrange(1, 8)
            killed = killed_process(self.catalog.warehouse, source, step)
            self.said.append(f"-- process {'killed' if killed else 'ended'}")
        if chance.random() < 0.3:
            self.act()
        if chance.random() < 0.05:
            self.connection.close()
            self.server.crash()
            self.server.start()
            self.connect()
            self.said.append("-- crash")
        self.once()

    def once(self, **more: Any) -> None:
        for _ in TABLES:
            try:
                tc.sync_database(self.catalog, "lake", self.source(batch_changes=7), **more)
            except tc.errors.TableError as error:
                self.said.append(f"-- {error}")
                self.go_out(error)
            else:
                return
        raise AssertionError("the way out does not lead out")

    def go_out(self, error: tc.errors.TableError) -> None:
        """What the error says."""
        text = str(error)
        if "drop the table here" in text:
            self.catalog.drop_table(f"lake.{str(error.facts['table']).partition('.')[2]}")
        elif "drop the tables here" in text:
            for table in self.catalog.tables("lake"):
                self.catalog.drop_table(f"lake.{table}")
        elif "REPLICA IDENTITY FULL" in text:
            table = text.partition(" has no primary key")[0]
            self.do(f"ALTER TABLE {table} REPLICA IDENTITY FULL")
        else:
            raise error

    def compare(self) -> None:
        for table in TABLES:
            there = self.columns(table)
            if not there or table not in self.catalog.tables("lake"):
                assert not there or self.rows(table, there) == [], table
                continue
            lake = self.catalog.table(f"lake.{table}").read().to_arrow()
            names = [name for name in there if name in lake.column_names]
            here = sorted(
                str(tuple(map(plain, r.values()))) for r in lake.select(names).to_pylist()
            )
            assert here == self.rows(table, names), table

    def columns(self, table: str) -> list[str]:
        found = self.connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 "
            "AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
            (table,),
        )
        return [str(name) for (name,) in found]

    def rows(self, table: str, names: list[str]) -> list[str]:
        quoted = ", ".join(f'"{name}"' for name in names)
        only = "" if table == "p" else "ONLY "
        found = self.connection.execute(f"SELECT {quoted} FROM {only}{table}").fetchall()
        return sorted(str(tuple(map(plain, row))) for row in found)

    def close(self) -> None:
        self.connection.close()
        self.server.sql(
            f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            f"WHERE slot_name = '{self.name}'",
            f"DROP PUBLICATION IF EXISTS {self.name}_pub",
            "SET client_min_messages = error",
            f"DROP SCHEMA {self.name} CASCADE",
        )


def live(server: Postgres, folder: Path, seed: int) -> None:
    """One life.

    Raises:
        AssertionError: the lake differs from the source, and why that may be.
    """
    life = Life(server, folder, seed)
    try:
        for _ in range(ROUNDS):
            for _ in range(life.chance.randrange(3, 12)):
                life.act()
            try:
                life.sync()
                life.compare()
            except (AssertionError, tc.errors.TableError) as error:
                raise AssertionError(";\n".join(life.said)) from error
    finally:
        life.close()
