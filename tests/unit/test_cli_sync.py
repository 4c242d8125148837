"""Keeping tables in step from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import table_core as tc
from table_core.cli.main import app
from table_core.errors import ArgumentError


def event(table: str, id: int) -> str:
    value = {
        "op": "c",
        "before": None,
        "after": {"id": id, "name": f"n{id}"},
        "source": {"db": "shop", "table": table, "ts_ms": 1},
    }
    return json.dumps({"topic": f"t.shop.{table}", "key": {"id": id}, "value": value}) + "\n"


@pytest.fixture
def source(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "events").mkdir()
    lines = [event("people", 1), event("orders", 7), event("people", 2)]
    (tmp_path / "events" / "1.jsonl").write_text("".join(lines))
    return {"kind": "files", "uri": f"file://{tmp_path}/events/*.jsonl"}


def run(folder: Path, *words: str) -> Result:
    words = ("sync", "-w", f"{folder}/wh", *words)
    return CliRunner().invoke(app, words, catch_exceptions=False)


def test_a_database_is_kept_in_step_and_tells_how_far_it_is(
    tmp_path: Path, source: dict[str, str]
) -> None:
    done = run(tmp_path, "lake", "--source", json.dumps(source), "--table-prefix", "ods_", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows_written"] == 3
    assert done.stderr == ""
    catalog = tc.open_catalog(f"{tmp_path}/wh")
    assert catalog.tables("lake") == ["ods_orders", "ods_people"]
    again = run(
        tmp_path, "lake", "--source", json.dumps(source), "--table-prefix", "ods_", "--json"
    )
    assert json.loads(again.stdout)["rows_written"] == 0


def test_one_table_takes_its_source_from_a_file(tmp_path: Path, source: dict[str, str]) -> None:
    told = tmp_path / "source.json"
    told.write_text(json.dumps({**source, "tables": "people"}))
    catalog = tc.open_catalog(f"{tmp_path}/wh")
    catalog.create_database("lake")
    words = ("lake.people", "--source", str(told), "--primary-key", "id")
    done = run(
        tmp_path,
        *words,
        *("--computed-column", "big=upper(name)"),
        *("--set", 'options={"bucket": "2"}', "--json"),
    )
    assert done.exit_code == 0, done.output
    table = catalog.table("lake.people")
    assert table.options["bucket"] == "2"
    rows = table.read().to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": n, "name": f"n{n}", "big": f"N{n}"} for n in (1, 2)]


def test_what_is_wrong_is_told_before_anything_is_read(
    tmp_path: Path, source: dict[str, str]
) -> None:
    server = {"kind": "mysql", "host": "127.0.0.1", "user": "u", "password": "hush"}
    for words, why in (
        (("lake", "--source", json.dumps(server)), "list of processes"),
        (("lake", "--source", "{"), "no JSON"),
        (("lake", "--source", f"{tmp_path}/nowhere.json"), "nowhere.json"),
        (("lake.t", "--source", json.dumps(source), "--including", "x"), "whole database"),
        (("lake", "--source", json.dumps(source), "--set", "mode=apart"), "mode='apart'"),
        (("lake", "--source", json.dumps(source), "--set", "colour=1"), "colour"),
    ):
        with pytest.raises(ArgumentError, match=why) as told:
            run(tmp_path, *words)
        assert "hush" not in str(told.value)
