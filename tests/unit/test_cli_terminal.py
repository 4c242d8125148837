"""What the command line prints is whole, or it says that it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

COLUMNS = [f"column_{number}" for number in range(27)]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("warehouse"))
    catalog = new_catalog(folder)
    wide = catalog.create_table("d.wide", pa.schema([(name, pa.string()) for name in COLUMNS]))
    long = catalog.create_table("d.long", pa.schema([("k", pa.int64())]))
    for table, rows in (
        (wide, pa.table({name: [f"{name} has words"] * 2 for name in COLUMNS})),
        (long, pa.table({"k": range(1000)})),
    ):
        write_rows(table, rows)
    return folder


def run(warehouse: str, *words: str, width: int = 80, **how) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "table_core.cli.main", *words, "-w", warehouse],
        env={**os.environ, "COLUMNS": str(width)},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how},
    )


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("count", [1, 5, 15, 24, 27])
def test_no_value_vanishes_whatever_the_terminal_is_wide(
    warehouse: str, width: int, count: int
) -> None:
    some = ",".join(COLUMNS[:count])
    shown = run(warehouse, "read", "d.wide", "--columns", some, width=width).stdout
    assert max(map(len, shown.splitlines())) <= width
    told = "".join(c for c in shown if c.isalnum() or c == "_")
    for name in COLUMNS[:count]:
        if count > 5:  # one record below the other, each value in its line
            assert told.count(f"{name}{name}haswords") == 2
    assert shown.count("words") == 2 * count


def test_a_file_gets_all_rows_or_none(warehouse: str, tmp_path: Path) -> None:
    refused = run(warehouse, "read", "d.long", "-o", str(tmp_path / "out.txt"))
    assert refused.returncode == 1
    assert "say what to write with --format csv, json or parquet" in refused.stderr
    assert list(tmp_path.iterdir()) == []
    for ending, lines in ((".csv", 1001), (".json", 1000)):
        file = tmp_path / f"out{ending}"
        assert run(warehouse, "read", "d.long", "-o", str(file)).returncode == 0
        assert len(file.read_text().splitlines()) == lines


@pytest.mark.parametrize("words", [("read", "d.long"), ("read", "d.long", "--json"), ("tables",)])
def test_a_full_disk_under_the_output_is_an_error_and_no_traceback(warehouse, words) -> None:
    with open("/dev/full", "w") as full:
        done = run(warehouse, *words, stdout=full)
    assert done.returncode == 1
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error_to_tell(warehouse: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = run(warehouse, "read", "d.long", "--json", stdout=writing)
    os.close(writing)
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["databases", "tables"])
def test_a_warehouse_that_is_not_there_is_no_empty_one(tmp_path: Path, command: str) -> None:
    done = run(str(tmp_path / "typo"), command)
    assert done.returncode == 1
    assert "is that the right warehouse" in done.stderr


@pytest.mark.parametrize("where", [" ", ";", "/* all */"])
def test_an_empty_condition_is_called_that(warehouse: str, where: str) -> None:
    done = run(warehouse, "read", "d.long", "--where", where)
    assert done.returncode == 1
    assert "it is empty" in done.stderr


def test_a_name_with_a_control_character_is_refused(warehouse: str) -> None:
    for name in ("d.a\0b", "d.\x1bb", "d\n.t"):
        with pytest.raises(tc.errors.ArgumentError, match="control characters"):
            tc.open_catalog(warehouse).table(name)
