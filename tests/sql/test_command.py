"""Goal: ``table-core sql`` runs what is typed or in a file, in the process that SQL gets, and writes rows as they are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app

WAREHOUSE = """CREATE DATABASE shop; USE shop;
CREATE TABLE t (id INT, name STRING);
INSERT INTO t VALUES (1, 'ada'), (2, NULL);"""


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    catalog = tc.open_catalog(tmp_path / "wh")
    for _ in catalog.sql_session().script(WAREHOUSE):
        pass
    return str(tmp_path / "wh")


def run(*words: str, input: str | None = None) -> str:
    done = CliRunner().invoke(app, ["sql", *words], input=input, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def test_rows_in_each_form(warehouse: str, tmp_path: Path) -> None:
    query = "SELECT id, name FROM shop.t WHERE id < :most"
    typed = ("-w", warehouse, "-p", "most=3", query)
    rows = [{"id": 1, "name": "ada"}, {"id": 2, "name": None}]
    lines = sorted(run(*typed, "--json").splitlines())
    assert [json.loads(line) for line in lines] == rows
    assert sorted(run(*typed, "--csv").splitlines()) == [
        '"id","name"',
        '1,"ada"',
        "2,",
    ]
    assert "ada" in run(*typed)
    file = tmp_path / "rows.parquet"
    run(*typed, "-o", str(file))
    assert sorted(pq.read_table(file).to_pylist(), key=lambda row: row["id"]) == rows


def test_a_script_from_a_file_and_from_stdin(warehouse: str, tmp_path: Path) -> None:
    script = "DELETE FROM t WHERE name IS NULL;\nSELECT count(*) AS n FROM t;"
    file = tmp_path / "script.sql"
    file.write_text(script)
    documents = [
        json.loads(line)
        for line in run("-w", warehouse, "-d", "shop", "-f", str(file), "--json").splitlines()
    ]
    assert [documents[0]["action"], documents[1]] == ["delete", {"n": 1}]
    again = run(
        "-w", warehouse, "-d", "shop", "-f", "-", "--json", input="SELECT max(id) AS m FROM t"
    )
    assert json.loads(again) == {"m": 1}


def test_a_named_statement_lands_once(warehouse: str) -> None:
    named = ("-w", warehouse, "--commit-user", "etl", "--commit-identifier", "1", "--json")
    insert = "INSERT INTO shop.t VALUES (3, 'bob')"
    first, again = (json.loads(run(*named, insert)) for _ in range(2))
    assert (first["details"]["replayed"], again["details"]["replayed"]) == (False, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "one of them"),
        (("SELECT 1", "-f", "x.sql"), "one of them"),
        (("-f", "absent.sql"), "absent.sql"),
        (("SELECT 1", "--json", "--csv"), "two formats"),
        (("SELECT 1; SELECT 2", "-o", "x.csv"), "one statement"),
        (("SELECT 1", "-p", "x"), "name=value"),
    ],
)
def test_misuse(warehouse: str, words: tuple[str, ...], message: str) -> None:
    done: Any = CliRunner().invoke(app, ["sql", "-w", warehouse, *words])
    assert isinstance(done.exception, tc.errors.TableError)
    assert message.replace("name=value", "key=value") in str(done.exception)


def test_what_a_query_takes_is_bounded(warehouse: str) -> None:
    catalog = tc.open_catalog(warehouse)
    cross = "SELECT a.name FROM shop.t a " + " ".join(f"CROSS JOIN shop.t t{n}" for n in range(22))
    with pytest.raises(tc.errors.ArgumentError, match=r"sql\.memory-limit"):
        catalog.sql(cross, options={"sql.memory-limit": "8 mb", "sql.threads": "1"})


def test_sql_reaches_nothing_but_tables(warehouse: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nplanted\n")
    catalog = tc.open_catalog(warehouse)
    for source in (
        f"'{secret}'",
        f"read_csv('{secret}')",
        f"`{secret}`",
        "duckdb_settings()",
        "`view0`",
    ):
        with pytest.raises(tc.errors.TableError):
            catalog.sql(f"SELECT * FROM {source}")
    with pytest.raises(tc.errors.TableError):
        catalog.sql("SELECT getenv('HOME')")


def test_a_script_makes_a_warehouse_and_a_query_of_none_names_it(tmp_path: Path) -> None:
    warehouse = str(tmp_path / "new")
    with pytest.raises(tc.errors.NotFoundError, match="is that the right warehouse"):
        run("-w", warehouse, "SELECT id FROM shop.t")
    assert not Path(warehouse).exists()
    run("-w", warehouse, WAREHOUSE)
    assert run("-w", warehouse, "--csv", "SELECT id FROM shop.t WHERE id = 1") == '"id"\n1\n'
