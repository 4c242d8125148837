"""A target that is asked for in words is there, or the command is refused; a variable may be meant for other files."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from table_core.cli.main import app
from table_core.errors import ArgumentError

PLAIN = 'name: shop\nversion: 1\ntables:\n  shop.t:\n    columns: {id: BIGINT}\n    options: {bucket: "-1"}\n'
COMMANDS = [["validate"], ["plan"], ["apply"], ["graph"], ["dags"]]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_target_of_a_file_without_targets_is_refused(words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(PLAIN)
    lake = ["-w", str(tmp_path / "lake")] if words[0] in {"plan", "apply"} else []
    result = CliRunner().invoke(app, [*words, str(file), *lake, "--target", "prod"])
    assert isinstance(result.exception, ArgumentError)
    assert "this file has no targets; add targets" in str(result.exception)
    assert not (tmp_path / "lake").exists()


def test_a_variable_may_be_meant_for_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TABLE_CORE_TARGET", "prod")
    file = tmp_path / "shop.yaml"
    file.write_text(PLAIN)
    assert CliRunner().invoke(app, ["validate", str(file)]).exit_code == 0
