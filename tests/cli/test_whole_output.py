"""Goal: what the command line prints is whole, or it says that it is not.

Method: wide and long tables on terminals of three widths, into files, full disks and pipes that nobody reads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from tests.cli.terminal import Shown, Terminal
from tests.tables import new_catalog, write_rows

COLUMNS = [f"column_{number}" for number in range(27)]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("warehouse")
    catalog = new_catalog(str(folder))
    wide = catalog.create_table("d.wide", pa.schema([(name, pa.string()) for name in COLUMNS]))
    long = catalog.create_table("d.long", pa.schema([("k", pa.int64())]))
    for table, rows in (
        (wide, pa.table({name: [f"{name} has words"] * 2 for name in COLUMNS})),
        (long, pa.table({"k": range(1000)})),
    ):
        write_rows(table, rows)
    return folder


@pytest.mark.parametrize("columns", [40, 80, 160])
@pytest.mark.parametrize("count", [1, 5, 15, 24, 27])
def test_no_value_vanishes_whatever_the_terminal_is_wide(
    terminal: Terminal, warehouse: Path, columns: int, count: int
) -> None:
    some = ",".join(COLUMNS[:count])
    words = ("read", "d.wide", "--columns", some, "-w", ".")
    shown = terminal.run(*words, folder=warehouse, columns=columns).screen
    assert max(map(len, shown.splitlines())) <= columns
    told = "".join(c for c in shown if c.isalnum() or c == "_")
    for name in COLUMNS[:count]:
        if count > 5:  # one record below the other, each value in its line
            assert told.count(f"{name}{name}haswords") == 2
    assert shown.count("words") == 2 * count


def piped(terminal: Terminal, folder: Path, *words: str, stdout: str | None = None) -> Shown:
    return terminal.run(*words, "-w", ".", folder=folder, terminal=False, stdout=stdout)


def test_a_file_gets_all_rows_or_none(terminal: Terminal, warehouse: Path, tmp_path: Path) -> None:
    refused = piped(terminal, warehouse, "read", "d.long", "-o", str(tmp_path / "out.txt"))
    assert refused.status == 1
    assert "say what to write with --format csv, json or parquet" in refused.stderr
    assert list(tmp_path.iterdir()) == []
    for ending, lines in ((".csv", 1001), (".json", 1000)):
        file = tmp_path / f"out{ending}"
        assert piped(terminal, warehouse, "read", "d.long", "-o", str(file)).status == 0
        assert len(file.read_text().splitlines()) == lines


@pytest.mark.parametrize("words", [("read", "d.long"), ("read", "d.long", "--json"), ("tables",)])
def test_a_full_disk_under_the_output_is_an_error_and_no_traceback(
    terminal: Terminal, warehouse: Path, words: tuple[str, ...]
) -> None:
    done = piped(terminal, warehouse, *words, stdout="/dev/full")
    assert done.status == 1
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error_to_tell(warehouse: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "table_core.cli.main", "read", "d.long", "--json", "-w", "."]
    done = subprocess.run(
        command,
        cwd=warehouse,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""


@pytest.mark.parametrize("command", ["databases", "tables"])
def test_a_warehouse_that_is_not_there_is_no_empty_one(
    terminal: Terminal, tmp_path: Path, command: str
) -> None:
    done = terminal.run(command, "-w", "typo", folder=tmp_path, terminal=False)
    assert done.status == 1
    assert "is that the right warehouse" in done.stderr


@pytest.mark.parametrize("where", [" ", ";", "/* all */"])
def test_an_empty_condition_is_called_that(terminal: Terminal, warehouse: Path, where: str) -> None:
    done = piped(terminal, warehouse, "read", "d.long", "--where", where)
    assert done.status == 1
    assert "it is empty" in done.stderr


def test_a_name_with_a_control_character_is_refused(warehouse: Path) -> None:
    for name in ("d.a\0b", "d.\x1bb", "d\n.t"):
        with pytest.raises(tc.errors.ArgumentError, match="control characters"):
            tc.open_catalog(str(warehouse)).table(name)
