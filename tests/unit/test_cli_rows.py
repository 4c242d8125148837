"""Reading from the command line: every format, system tables, changes as they come."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import table_core as tc
from table_core.cli.main import app

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
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("d")
    schema = ROWS.schema.set(0, ROWS.schema.field("k").with_nullable(False))
    table = catalog.create_table("d.t", schema, primary_key=("k",), options={"bucket": "1"})
    with table.write() as writer:
        writer.write(ROWS)
        writer.commit()
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
