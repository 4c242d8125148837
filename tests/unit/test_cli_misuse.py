"""What the command line says to who asks for what it has not, misuses it, or interrupts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.cli.main import COMMANDS
from table_core.cli.misuse import INSTEAD

PYTHON = [sys.executable, "-m", "table_core.cli.main"]


def run(*words: str, columns: int = 200) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    return subprocess.run([*PYTHON, *words], capture_output=True, text=True, env=settings, timeout=60, check=False)  # fmt: skip


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    catalog = tc.open_catalog(tmp_path / "wh")
    catalog.create_database("shop")
    catalog.create_table("shop.orders", pa.schema([("id", pa.int64())]))
    return str(tmp_path / "wh")


def test_the_version_is_that_of_the_distribution() -> None:
    assert run("--version").stdout == f"table-core {version('paimon-table-core')}\n"


def test_words_of_other_tools_lead_to_what_does_it_here() -> None:
    done = run("alter", "shop.orders")
    assert done.returncode == 2
    assert "No such command 'alter': run table-core sql \"ALTER TABLE" in done.stderr
    names = {" ".join(entry.path) for entry in COMMANDS}
    assert not INSTEAD.keys() & names


@pytest.mark.parametrize("word", sorted(word for word in INSTEAD if "sql" in INSTEAD[word]))
def test_the_statement_that_is_named_runs(warehouse: str, word: str) -> None:
    statement = INSTEAD[word].split('"')[1]
    if word == "create-database":
        statement = statement.replace("shop", "store")
    if word == "drop-database":
        assert run("sql", "-w", warehouse, "DROP TABLE shop.orders").returncode == 0
    done = run("sql", "-w", warehouse, statement)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("read", "shop.orders", "--limit", "many"), "Invalid value for '--limit'"),
        (("read", "shop.orders", "--colums", "id"), "No such option: --colums"),
        (("count", "shop.orders"), "SELECT count(*)"),
        (("describe",), "Missing argument"),
    ],
)
def test_misuse_is_json_for_programs(warehouse: str, words: tuple[str, ...], message: str) -> None:
    done = run(*words, "-w", warehouse, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    document = json.loads(done.stderr)
    assert document["kind"] == "invalid"
    assert message in document["message"]


def test_a_command_that_fails_for_a_program_keeps_its_status(warehouse: str) -> None:
    assert run("tables", "-w", warehouse, "--json").returncode == 0
    assert run("read", "shop.nope", "-w", warehouse, "--json").returncode == 1


_INTERRUPTED = """
import io, os, signal, sys
from table_core.cli.main import main

class Interrupts(io.RawIOBase):
    isatty = lambda self: False
    readable = lambda self: True
    def readinto(self, buffer):
        os.kill(os.getpid(), signal.SIGINT)

sys.stdin = io.TextIOWrapper(io.BufferedReader(Interrupts()))
main()
"""


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_interrupt_says_what_is_committed(warehouse: str, more: tuple[str, ...]) -> None:
    words = ["write", "-w", warehouse, "shop.orders", "--format", "csv", *more]
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, *words], capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert "interrupted: a commit is there as a whole or not at all" in done.stderr
    assert tc.open_catalog(warehouse).table("shop.orders").latest_snapshot() is None
