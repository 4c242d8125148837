"""Commands open the catalog that a file describes: secrets are on no command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app


def run(*words: str) -> Any:
    return CliRunner().invoke(app, [*words])


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, str]]:
    """A warehouse, and the options of its catalog, which are in the file."""
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path / 'names.db'}"}
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(options))
    monkeypatch.setenv("TABLE_CORE_CATALOG_FILE", str(path))
    monkeypatch.setenv("COLUMNS", "400")  # paths are long, and lines would be broken
    return str(tmp_path / "wh"), options


def test_commands_use_the_catalog_of_the_file(described: tuple[str, dict[str, str]]) -> None:
    warehouse, options = described
    made = run("create", "-w", warehouse, "d.t", "--column", "k INT")
    assert made.exit_code == 0, made.output
    assert tc.open_catalog(warehouse, options).tables("d") == ["t"]
    assert tc.open_catalog(f"{warehouse}-2", options).tables("d") == ["t"], "the names are shared"
    assert "d.t" in run("tables", "-w", warehouse).stdout
    assert "databases: 1, tables: 1" in run("doctor", "-w", warehouse).stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read: No such file"),
        ("{", "it is not JSON"),
        ('["PLANTED"]', "is no JSON object"),
    ],
)
def test_a_file_that_is_none_is_named_and_not_shown(
    text: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "catalog.json"
    if text is not None:
        path.write_text(text)
    monkeypatch.setenv("TABLE_CORE_CATALOG_FILE", str(path))
    done = run("tables", "-w", str(tmp_path))
    assert isinstance(done.exception, tc.errors.ArgumentError)
    assert says in str(done.exception)
    assert str(path) in str(done.exception)
    assert "PLANTED" not in str(done.exception) + done.output
