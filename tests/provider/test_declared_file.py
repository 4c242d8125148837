"""A declaration's file is read from its manifest where that is of this file, and anew where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from paimon_provider.declared_file import read_head, read_whole
from table_core.cli.main import app
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path

SHOP = """\
version: 1
name: shop
tables:
  a.orders:
    columns: {id: BIGINT NOT NULL, amount: "DECIMAL(12, 2)"}
    primary_key: [id]
"""


def compiled(file: Path) -> Path:
    """The manifest that ``validate --compile`` writes beside ``file``."""
    made = file.with_suffix(".manifest.json")
    assert CliRunner().invoke(app, ["validate", str(file), "--compile", str(made)]).exit_code == 0
    return made


def test_a_manifest_that_is_not_whole_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes((SHOP + "warehouse: '${WHERE:-x}'\n").replace("\n", "\r\n").encode())
    made = compiled(file)
    assert read_whole(file).tables.keys() == {"a.orders"}
    made.write_text("")
    assert read_head(file).name == "shop"


def test_a_manifest_of_several_files_is_old_when_one_of_them_changes(tmp_path: Path) -> None:
    main, more = tmp_path / "shop.yaml", tmp_path / "parts" / "more.yaml"
    more.parent.mkdir()
    main.write_text(SHOP + "warehouse: ./wh\ninclude: [parts/more.yaml]\n")
    more.write_text("tables:\n  a.more: {columns: {x: INT}}\n")
    compiled(main)
    assert set(read_whole(main).tables) == {"a.orders", "a.more"}
    more.write_text("tables:\n  a.more: {columns: {x: INT, y: DATE}}\n")
    assert set(read_whole(main).tables["a.more"].columns) == {"x", "y"}
    more.unlink()
    with pytest.raises(ArgumentError, match=r"more\.yaml"):
        read_whole(main)
