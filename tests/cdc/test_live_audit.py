"""The audit: a table beside its source, with real servers."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.errors import ArgumentError, DataError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded
from tests.cdc.audited_pair import Pair
from tests.cdc.column_types import MARIADB, POSTGRES
from tests.cdc.mariadb_log import Log
from tests.cdc.servers import MariaDb, Postgres


@pytest.fixture(params=["mariadb", "postgres"])
def server(request: pytest.FixtureRequest) -> MariaDb | Postgres:
    one: MariaDb | Postgres = request.getfixturevalue(request.param)
    return one


KEYS = {"number": ("BIGINT", "{n} * 1000"), "text": ("VARCHAR(20)", "concat('Kü ', {n})")}


@pytest.mark.parametrize("key", KEYS)
def test_one_byte_an_extra_row_and_a_row_that_is_gone(
    server: MariaDb | Postgres, key: str, tmp_path: Path
) -> None:
    pair = Pair(server, tmp_path, f"audit_{key}")
    type_, text = KEYS[key]
    pair.sql(f"CREATE TABLE t (id {type_} PRIMARY KEY, v VARCHAR(40))")
    pair.fill("t", text, "concat('value of row ', {n})")
    pair.sync()
    assert pair.audit()["tables"]["lake.t"] == {
        "differences": 0, "not_compared": [], "parts": 0, "has_more": False, "repaired": False,
        "skipped": None,
    }  # fmt: skip
    rows = {
        row["id"]: row["v"] for row in pair.catalog.table("lake.t").read().to_arrow().to_pylist()
    }
    changed, gone = sorted(rows)[700], sorted(rows)[1700]
    extra = -5 if key == "number" else "zzz"
    pair.write([{"id": changed, "v": rows[changed].replace("of", "oF")}, {"id": extra, "v": "x"}])
    pair.write([{"id": gone, "v": None}], "-D")
    details = pair.audit()
    assert details["rows"] == [
        {"table": "lake.t", "kind": kind, "key": json.dumps({"id": id}, ensure_ascii=False), "columns": columns}
        for kind, id, columns in sorted(
            [("differs", changed, "v"), ("missing in table", gone, ""), ("missing in source", extra, "")],
            key=lambda one: [row["key"] for row in details["rows"]].index(
                json.dumps({"id": one[1]}, ensure_ascii=False)
            ),
        )
    ]  # fmt: skip
    assert pair.audit(repair=True)["repaired"] == ["lake.t"]
    assert pair.audit()["differences"] == 0
    after = {
        row["id"]: row["v"] for row in pair.catalog.table("lake.t").read().to_arrow().to_pylist()
    }
    assert after == rows


EDGES: dict[str, list[tuple[str, str]]] = {
    "mariadb": [
        ("bigint", "-1"), ("bigint", "0"), ("decimal(38,10)", "-0.0000000001"), ("decimal(5,0)", "-7"),
        ("varchar(20)", "''"), ("varchar(20)", "'~'"), ("varchar(20)", "'a,b~ '"), ("text", "'😀\\0é'"),
        ("varchar(9) CHARACTER SET latin1 COLLATE latin1_german2_ci", "'ß'"), ("varbinary(4)", "''"),
        ("date", "'0001-01-01'"), ("date", "'9999-12-31'"), ("datetime(6)", "'0001-01-01 00:00:00'"),
        ("datetime(3)", "'9999-12-31 23:59:59.990'"), ("datetime(2)", "'2024-02-29 01:02:03.1'"),
        ("timestamp(6) NULL", "'2037-12-31 23:59:59.000001'"), ("time(6)", "'-00:00:00.100000'"),
        ("bit(64)", "b'1'"), ("bit(9)", "0"), ("year", "0"), ("tinyint(1)", "0"), ("double", "-0.0"),
        ("enum('','x')", "''"), ("set('a','b')", "'b'"), ("int(7) zerofill", "0"), ("longblob", "'x'"),
    ],
    "postgres": [
        ("bigint", "-1"), ("int", "0"), ("numeric(38,10)", "-0.0000000001"), ("numeric(5,0)", "-7"),
        ("real", "'-0'"), ("real", "1e-45"), ("real", "'NaN'"), ("double precision", "'-0'"),
        ("double precision", "5e-324"), ("double precision", "0.1"), ("double precision", "'Infinity'"),
        ("varchar(20)", "''"), ("text", "'~'"), ("text", "'a,b~ '"), ("text", "'😀é'"), ("bytea", "''"),
        ("char(4)", "''"), ("date", "'0001-01-01'"), ("date", "'9999-12-31'"), ("boolean", "false"),
        ("timestamp", "'0001-01-01 00:00:00'"), ("timestamp(3)", "'9999-12-31 23:59:59.990'"),
        ("timestamp(0)", "'2024-02-29 10:20:30'"), ("timestamptz", "'2037-12-31 23:59:59.1+00'"),
        ("timestamptz(2)", "'1969-12-31 23:59:59.99+00'"), ("json", "'{\"a\":  1}'"), ("numeric", "1.500"),
    ],
}  # fmt: skip
NO_TEXT = {"mariadb": {"float", "double", "point"}, "postgres": set[str]()}


def test_every_type_has_one_text_on_both_sides(server: MariaDb | Postgres, tmp_path: Path) -> None:
    kind = "mariadb" if isinstance(server, MariaDb) else "postgres"
    pair = Pair(server, tmp_path, "audit_types")
    usual = MARIADB if kind == "mariadb" else POSTGRES
    cases = [(type_, value) for type_, value, *_ in usual] + EDGES[kind]
    names = [f"c{n}" for n in range(len(cases))]
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in zip(names, cases, strict=True))
    values = ", ".join(value for _, value in cases)
    lenient = ["SET sql_mode = 'ALLOW_INVALID_DATES'"] if kind == "mariadb" else []
    pair.sql(*lenient, f"CREATE TABLE t (id INT PRIMARY KEY, {columns})", *(
        f"INSERT INTO t VALUES ({id}, {values})" for id in range(1, len(cases) + 1)
    ), "INSERT INTO t (id) VALUES (0)")  # fmt: skip
    pair.sync()
    pair.sql(*lenient, f"INSERT INTO t VALUES (999, {values})")  # what the log brings
    details = pair.audit()["tables"]["lake.t"]
    without = {name for name, (type_, _) in zip(names, cases, strict=True)
               if type_ in NO_TEXT[kind] or (kind == "postgres" and type_.endswith("[]"))}  # fmt: skip
    assert (details["differences"], details["parts"]) == (0, 0)
    assert set(details["not_compared"]) == without

    # row n loses its column n: that column and no other one is told
    rows = {row["id"]: row for row in pair.catalog.table("lake.t").read().to_arrow().to_pylist()}
    lost = {n: name for n, name in enumerate(names, 1) if rows[n][name] is not None}
    pair.write([{**rows[n], name: None} for n, name in lost.items()])
    told = {json.loads(row["key"])["id"]: row["columns"] for row in pair.audit()["rows"]}
    assert {n: told.get(n) for n in lost} == lost
    assert pair.audit(repair=True)["repaired"] == ["lake.t"]
    assert pair.audit()["differences"] == 0


def test_a_busy_table_has_no_false_difference(server: MariaDb | Postgres, tmp_path: Path) -> None:
    pair = Pair(server, tmp_path, "audit_busy")
    pair.sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40))",
             "CREATE TABLE quiet (id INT PRIMARY KEY)")  # fmt: skip
    pair.fill("t", "{n}", "concat('v', {n})")
    pair.fill("quiet", "{n}", rows=10)
    pair.sync()
    ends = threading.Event()
    written = [0]

    def write() -> None:
        while not ends.is_set():
            n = written[0] = written[0] + 1
            pair.sql("START TRANSACTION", f"UPDATE t SET v = concat(v, '.') WHERE id % 50 = {n % 50}",
                     f"DELETE FROM t WHERE id = {n}", f"INSERT INTO t VALUES ({10_000 + n}, 'new')",
                     "COMMIT")  # fmt: skip

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            before = written[0]
            details = pair.audit("t", "quiet")
            assert details["differences"] == 0
            assert {one["parts"] for one in details["tables"].values()} == {0}
            assert written[0] > before
    finally:
        ends.set()
        writer.join()


def test_rows_without_a_key_are_counted_and_the_table_is_read_again(
    server: MariaDb | Postgres, tmp_path: Path
) -> None:
    pair = Pair(server, tmp_path, "audit_bag")
    pair.sql("CREATE TABLE t (v INT, d FLOAT)")
    pair.fill("t", "{n} % 700", "0.5", rows=2000)
    if isinstance(server, Postgres):
        pair.sql("ALTER TABLE t REPLICA IDENTITY FULL")
    pair.sync()
    assert pair.audit()["tables"]["lake.t"]["parts"] == 0
    to = pair.catalog.table("lake.t")
    with to.write() as writer:
        writer.write(pa.Table.from_pylist([{"v": 5, "d": 0.5}], to.arrow_schema))
        writer.commit()
    details = pair.audit()
    assert details["rows"] == [
        {"table": "lake.t", "kind": "missing in source", "key": '{"v": 5, "d": 0.5}', "columns": ""}
    ]
    assert details["left"] == ["lake.t"]
    assert pair.audit(repair=True)["repaired"] == ["lake.t"]
    assert pair.audit()["differences"] == 0


def test_shards_later_columns_and_skewed_keys(server: MariaDb | Postgres, tmp_path: Path) -> None:
    pair = Pair(server, tmp_path, "audit_shard")
    pair.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, v VARCHAR(9))")
    pair.fill("t", "{n} + 1000000000000", "'a'", rows=45_000)
    pair.sql("INSERT INTO t VALUES (1, 'far'), (2000000000000, 'away')")
    pair.sync()
    pair.sql("ALTER TABLE t ADD COLUMN later INT")
    pair.sync()
    assert pair.audit()["tables"]["lake.t"]["parts"] == 0
    pair.write([{"id": 1000000000007, "v": "b", "later": None}])
    details = pair.audit()
    assert [(row["kind"], row["key"]) for row in details["rows"]] == [
        ("differs", '{"id": 1000000000007}')
    ]
    assert details["tables"]["lake.t"]["parts"] == 1  # narrowed: one slot of the many keys


def test_minus_zero_is_not_zero(postgres: Postgres, tmp_path: Path) -> None:
    pair = Pair(postgres, tmp_path, "audit_zero")
    pair.sql("CREATE TABLE t (id INT PRIMARY KEY, v FLOAT)", "INSERT INTO t VALUES (1, '-0')")
    pair.sync()
    pair.write([{"id": 1, "v": 0.0}])
    assert pair.audit()["differences"] == 1


def test_what_cannot_be_compared_is_named(mariadb: MariaDb, tmp_path: Path) -> None:
    pair = Pair(mariadb, tmp_path, "audit_not")
    pair.sql("CREATE TABLE t (id INT PRIMARY KEY) ENGINE = Aria", "INSERT INTO t VALUES (1)")
    pair.sync()
    assert "engine" in pair.audit()["tables"]["lake.t"]["skipped"]
    with pytest.raises(ArgumentError, match="only the tables of a database"):
        tc.source_audit(pair.catalog, ["lake.t"], tc.FilesSource("file:///x/*.jsonl"))


def test_the_command_and_the_job_say_what_differs(mariadb: MariaDb, tmp_path: Path) -> None:
    log = Log(mariadb, tmp_path, "audit_cmd")
    mariadb.sql(
        "SET sql_log_bin = OFF", "INSERT INTO audit_cmd.t VALUES (7, 'unlogged')",
    )  # fmt: skip
    source = {"kind": "mysql", "host": "127.0.0.1", "user": "root", "port": mariadb.port,
              "databases": "audit_cmd"}  # fmt: skip
    described = tmp_path / "source.json"
    described.write_text(json.dumps(source))
    spec = JobSpec(
        action="source-audit", warehouse=f"file://{tmp_path}/wh", table="lake",
        args={"source": source, "tables": ["t"]},
    )  # fmt: skip
    stages: list[dict[str, Any]] = []
    with pytest.raises(DataError, match=r"lake\.t in 1 rows; .*--repair"):
        run_embedded(spec, lambda stage, **facts: stages.append({"stage": stage, **facts}))
    assert {"table": "lake.t", "kind": "missing in table", "key": '{"id": 7}', "columns": "",
            "stage": "difference"} in stages  # fmt: skip
    command = [
        "source",
        "audit",
        "-w",
        f"file://{tmp_path}/wh",
        "lake.t",
        "--source",
        str(described),
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1, done.output
    assert "missing in table" in done.output
    done = CliRunner().invoke(app, [*command, "--repair", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["details"]["repaired"] == ["lake.t"]
    assert log.rows() == log.there()
    never = replace(spec, args={**spec.args, "fail_on": "never"})
    assert run_embedded(never, lambda *_, **__: None)["details"]["differences"] == 0
