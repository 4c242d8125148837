"""Attack: a row, a name or an error.  Goal: to steer the terminal of who looks at it, or the page of who approves."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jinja2
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_core as tc
from table_core.cli.grid import show_grid
from table_core.options.shown import shown, shown_in_json
from tests.forking import ForkServer
from tests.tables import write_rows

ON_TERMINAL = Path(__file__).parents[1] / "on_terminal.py"
EVIL = "\x1b]0;pwned\x07\x1b[2J\x9b31m\r\x08\u202etxt[bold red]x[/]"
STEERS = {*map(chr, range(32)), *map(chr, range(127, 160)), "\u202e", "\u2028", "\u2066"} - {
    "\n",
    "\t",
}


@given(st.text())
def test_what_is_shown_steers_nothing(text: str) -> None:
    assert not STEERS & set(shown(text))
    assert not (STEERS | {"\n", "\t"}) & set(shown(text, one_line=True))
    line = json.dumps({text: text}, ensure_ascii=False)
    assert json.loads(shown_in_json(line)) == {text: text}
    assert not STEERS & set(shown_in_json(line))


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    catalog = tc.open_catalog((tmp_path / "wh").as_uri())
    catalog.create_database("d")
    catalog.create_table(
        "d.t", pa.schema([("id", pa.int64()), ("evil\x1b[2J", pa.string())]), comment=EVIL
    )
    write_rows(catalog.table("d.t"), pa.table({"id": [1], "evil\x1b[2J": [EVIL]}))
    return tmp_path / "wh"


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer("table_core.cli.main", environment={}) as server:
        yield server


@pytest.mark.parametrize(
    "arguments",
    [
        ("read", "d.t"), ("read", "d.t", "--format", "csv"), ("read", "d.t", "--format", "json"),
        ("changes", "d.t", "--after", "0", "--to", "1"), ("describe", "d.t"),
        ("read", "d.none\x1b[2J"), ("read", "d.t", "--where", "x = '\x1b[2J\x07"),
    ],
    ids=lambda a: ascii(" ".join(a)),
)  # fmt: skip
def test_no_value_name_or_error_steers_a_terminal(
    server: ForkServer, warehouse: Path, arguments: tuple[str, ...]
) -> None:
    words = (str(ON_TERMINAL), *arguments, "--warehouse", str(warehouse))
    told = server.run(*words, folder=warehouse).stdout.replace("\r\n", "\n")
    assert told.strip()
    assert not STEERS & set(told), ascii(told)
    if arguments[0] != "describe" and "none" not in arguments[1] and "--where" not in arguments:
        assert "[bold red]x[/]" in told, "what looks like markup is text"


def test_a_pipe_gets_every_byte(warehouse: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "table_core.cli.main", "read", "d.t", "--format", "csv", "--warehouse", str(warehouse)],
        capture_output=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert EVIL.encode() in done.stdout


def test_a_grid_shows_names_and_cells_as_text() -> None:
    out = io.StringIO()
    show_grid(["a" + EVIL], [[EVIL]], out)
    assert not STEERS & set(out.getvalue())


@pytest.mark.parametrize(
    "name",
    ["<img src=x onerror=alert(1)>", "a|b|c", "[x](javascript:alert(1))", "![x](http://e/p.png)", "`x`",
     "a\n\n# Approve!", "&lt;b&gt;", "**x**", "a\\|b"],
)  # fmt: skip
def test_what_is_approved_shows_names_of_files_as_text(name: str) -> None:
    from airflow.sdk import DAG

    from paimon_provider.approval import approval
    from paimon_provider.operators.expire import PaimonRemoveOrphanFilesOperator

    with DAG("d", schedule=None):
        look = PaimonRemoveOrphanFilesOperator(task_id="look", table="a.b", dry_run=True)
        task = approval(look)

    class Instance:
        @staticmethod
        def xcom_pull(task_ids: str) -> dict[str, object]:
            document = {"action": "x", "table": name, "files_deleted": 1, "bytes_deleted": 2}
            return {
                **document,
                "files_before": 3,
                "snapshot_before": 4,
                "details": {"files": [name]},
            }

    body = jinja2.Template(task.body).render(ti=Instance())  # type: ignore[attr-defined]
    line = next(line for line in body.splitlines() if line.startswith("| details"))
    assert not set("<>`*_[]()!\\") & set(line)
    assert line.count("|") == 3
    assert body.count("\n") == 6
