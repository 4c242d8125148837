"""Reading from the command line: every format, system tables, changes as they come."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import table_core as tc
from table_core.cli.main import app, main
from tests.tables import new_catalog, write_rows

ROWS = pa.table(
    {
        "k": pa.array([1, 2, 3], pa.int32()),
        "t": pa.array([0, None, -1], pa.timestamp("ns")),
        "d": pa.array([Decimal("1.50"), None, Decimal("-0.01")], pa.decimal128(9, 2)),
        "f": [math.nan, math.inf, 0.5],
        "b": [b"\x00\xff", None, b""],
        "s": ["", 'say "x", y', None],
        "l": pa.array([[1, None], [], None], pa.list_(pa.int64())),
        "m": pa.array([[("a", [{"x": 1}])], [], None], pa.map_(pa.string(), pa.list_(pa.struct([("x", pa.int32())])))),
    }
)  # fmt: skip


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    catalog = new_catalog(tmp_path.as_uri())
    schema = ROWS.schema.set(0, ROWS.schema.field("k").with_nullable(False))
    table = catalog.create_table("d.t", schema, primary_key=("k",), options={"bucket": "1"})
    write_rows(table, ROWS)
    return str(tmp_path)


def run(warehouse: str, *words: str) -> Result:
    return CliRunner().invoke(app, [words[0], "-w", warehouse, *words[1:]], catch_exceptions=False)


def test_json_holds_every_value(warehouse: str) -> None:
    lines = run(warehouse, "read", "d.t", "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"k": 1, "t": "1970-01-01 00:00:00.000000000", "d": "1.50", "f": "NaN", "b": "AP8=", "s": "",
         "l": [1, None], "m": [["a", [{"x": 1}]]]},
        {"k": 2, "t": None, "d": None, "f": "Infinity", "b": None, "s": 'say "x", y', "l": [], "m": []},
        {"k": 3, "t": "1969-12-31 23:59:59.999999999", "d": "-0.01", "f": 0.5, "b": "", "s": None,
         "l": None, "m": None},
    ]  # fmt: skip


def test_csv_holds_every_value(warehouse: str, tmp_path: Path) -> None:
    shown = run(warehouse, "read", "d.t", "--format", "csv").stdout
    header, first, second, _ = csv.reader(io.StringIO(shown))
    assert header == list(ROWS.column_names)
    assert first[-2:] == ["[1, null]", '[["a", [{"x": 1}]]]']
    assert second[5] == 'say "x", y'
    run(warehouse, "read", "d.t", "--format", "csv", "-o", str(tmp_path / "rows.csv"))
    assert (tmp_path / "rows.csv").read_text() == shown


def test_parquet_goes_to_a_file(warehouse: str, tmp_path: Path) -> None:
    file = str(tmp_path / "rows.parquet")
    run(warehouse, "read", "d.t", "--format", "parquet", "-o", file, "--where", "k < 3")
    assert pq.read_table(file)["k"].to_pylist() == [1, 2]
    with pytest.raises(tc.errors.ArgumentError):
        run(warehouse, "read", "d.t", "--format", "parquet")
    with pytest.raises(tc.errors.ArgumentError):
        run(warehouse, "read", "d.t", "--format", "xml")


def test_tables_are_for_people(warehouse: str) -> None:
    shown = run(warehouse, "read", "d.t", "--columns", "k,s", "--limit", "2").stdout
    assert "say" in shown
    assert "│ 2" in shown
    assert "│ 3" not in shown


def test_system_tables_and_options_have_their_names(warehouse: str) -> None:
    found = run(warehouse, "read", "d.t$snapshots", "--json", "--columns", "snapshot_id").stdout
    assert json.loads(found) == {"snapshot_id": 1}
    asked = ("read", "d.t$audit_log", "--json", "-O", "incremental-between=0,1", "--columns", "k")
    assert len(run(warehouse, *asked).stdout.splitlines()) == 3
    with pytest.raises(tc.errors.ArgumentError):
        run(warehouse, "read", "d.t", "-O", "scan.mode")


def test_states_have_a_time(warehouse: str) -> None:
    later = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S")
    assert (
        len(run(warehouse, "read", "d.t", "--json", "--timestamp", later).stdout.splitlines()) == 3
    )


@pytest.mark.parametrize("format", ["json", "csv", "table"])
def test_follow_prints_what_comes(warehouse: str, format: str) -> None:
    words = ("follow", "d.t", "--consumer", "c", "--limit", "2", "--format", format)
    assert run(warehouse, *words).stdout.count("+I") == 2


def test_a_file_that_cannot_be_written_is_misuse(warehouse: str, tmp_path: Path) -> None:
    for file in (str(tmp_path / "no" / "rows"), str(tmp_path), "/dev/null/rows"):
        for format in ("json", "csv", "parquet"):
            with pytest.raises(tc.errors.ArgumentError, match=f"cannot write {file}: "):
                run(warehouse, "read", "d.t", "--format", format, "-o", file)


def test_a_device_that_is_full_is_no_traceback(warehouse: str) -> None:
    for format in ("json", "csv", "parquet"):
        with pytest.raises(tc.errors.StorageUnavailableError, match="the disk is full"):
            run(warehouse, "read", "d.t", "--format", format, "-o", "/dev/full")


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_a_read_that_fails_leaves_the_file_as_it_was(
    warehouse: str, tmp_path: Path, format: str
) -> None:
    file = tmp_path / "rows"
    file.write_text("of yesterday")
    table = tc.open_catalog(warehouse).table("d.t")
    write_rows(table, ROWS.slice(0, 1))
    storage = table.access.storage
    newest = max((i for i in storage.walk("bucket-0")), key=lambda info: info.modified_ms)
    storage.write(newest.path, storage.read(newest.path)[:-100])
    with pytest.raises(tc.errors.CorruptFileError):
        run(warehouse, "read", "d.t", "--format", format, "-o", str(file))
    assert file.read_text() == "of yesterday"
    assert {path.name for path in tmp_path.iterdir()} == {"rows", "d.db"}


def test_a_link_stays_a_link(warehouse: str, tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "rows"
    link.symlink_to(file)
    run(warehouse, "read", "d.t", "--json", "-o", str(link))
    assert link.is_symlink()
    assert len(file.read_text().splitlines()) == 3


def test_tables_show_texts_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # the width that somebody asks for
    catalog = new_catalog(tmp_path.as_uri())
    table = catalog.create_table("d.s", pa.schema([("s", pa.string())]), options={"bucket": "-1"})
    text = ":smile: [bold]x[/] [/a] " + "word " * 40
    write_rows(table, pa.table({"s": [text]}))
    assert f"│ {text.strip()} " in run(str(tmp_path), "read", "d.s").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("read", "d.t", "--columns", "k,k"),
        ("read", "d.t", "--limit", "-1"),
        ("follow", "d.t", "--limit", "-1"),
        ("follow", "d.t", "--poll-seconds", "-1"),
        ("follow", "d.t", "--poll-seconds", "nan"),
    ],
)
def test_misuse_is_refused(warehouse: str, words: tuple[str, ...]) -> None:
    with pytest.raises(tc.errors.ArgumentError):
        run(warehouse, *words)


def test_what_is_not_there_is_named(warehouse: str, tmp_path: Path) -> None:
    for words in (("read", "d.t", "--branch", "b"), ("read", "d.t$branch_b")):
        with pytest.raises(tc.errors.NotFoundError, match=r"d\.t has no branch 'b'; there are"):
            run(warehouse, *words)
    with pytest.raises(tc.errors.NotFoundError, match="is that the right warehouse"):
        run(str(tmp_path / "elsewhere"), "read", "d.t")


def test_errors_are_shown_as_they_are(
    warehouse: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wish = "k = '[/x] :smile:' OR ["
    monkeypatch.setattr("sys.argv", ["table-core", "read", "-w", warehouse, "d.t", "--where", wish])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    assert wish in capsys.readouterr().err


def test_a_pipe_is_written_as_it_is(warehouse: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(pipe.read_text)
        run(warehouse, "read", "d.t", "--json", "-o", str(pipe))
        assert len(taken.result().splitlines()) == 3
    assert pipe.is_fifo()


def test_a_condition_that_does_not_fit_is_shown_as_it_was_written(warehouse: str) -> None:
    with pytest.raises(tc.errors.PredicateError) as caught:
        run(warehouse, "read", "d.t", "--where", "s = 'a' AND k = 'x'")
    assert str(caught.value).endswith("""in "s = 'a' AND k = 'x'\"""")
    assert caught.value.facts["where"] == "s = 'a' AND k = 'x'"
