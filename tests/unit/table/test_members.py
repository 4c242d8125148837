"""``columns=["s.a"]``: a member of a ROW as a column of that name, and of the file no other member."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.errors import NotFoundError
from tests.tables import altered_elsewhere, write_rows
from tests.upstream.play import names_in, shape

COLUMNS = "k INT, s ROW<a INT, b STRING, c ROW<d INT, e STRING>>, v INT"
ROWS = [
    {"k": 1, "s": {"a": 10, "b": "x", "c": {"d": 5, "e": "y"}}, "v": 7},
    {"k": 2, "s": None, "v": 8},
    {"k": 3, "s": {"a": None, "b": "z", "c": None}, "v": None},
]
WANTED = ["s.a", "k", "s.c.d"]
SEEN = [
    {"s.a": row["s"] and row["s"]["a"], "k": row["k"], "s.c.d": d}
    for row, d in zip(ROWS, (5, None, None), strict=True)
]
KINDS = {
    "append": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "key": {"bucket": "1"},
    "first row": {"bucket": "1", "merge-engine": "first-row"},
    "partial update": {"bucket": "1", "merge-engine": "partial-update"},
}  # fmt: skip


def made(options: dict[str, str], key: str = "") -> tuple[Any, Any]:
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    fields = shape(COLUMNS).fields
    return catalog, catalog.create_table("d.t", fields, primary_key=names_in(key), options=options)


def put(table: Any, rows: list[dict[str, Any]]) -> None:
    write_rows(table, pa.Table.from_pylist(rows, schema=table.arrow_schema))


def by_key(rows: Any) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=lambda row: row["k"])


@pytest.mark.parametrize("format_", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_member_is_a_column(kind: str, format_: str) -> None:
    key = "k" if "bucket" in KINDS[kind] else ""
    _, table = made({"file.format": format_, **KINDS[kind]}, key)
    put(table, ROWS[:2])
    put(table, [*ROWS[2:], *(ROWS[:1] if key else [])])
    scan = table.read(columns=WANTED)
    assert scan.schema.names == WANTED
    assert by_key(scan.to_arrow()) == SEEN
    assert by_key(pa.Table.from_batches(scan.to_batches())) == SEEN
    where = table.read(columns=["s.c.e", "k"], where="v = 7").to_arrow().to_pylist()
    assert where == [{"s.c.e": "y", "k": 1}]
    whole = table.read(columns=["s", "s.a"], where="k = 1").to_arrow().to_pylist()
    assert whole == [{"s": ROWS[0]["s"], "s.a": 10}]


@pytest.mark.parametrize("format_", ["parquet", "orc", "avro"])
def test_members_change_and_old_files_stay(format_: str) -> None:
    catalog, table = made({"file.format": format_})
    put(table, ROWS)
    altered_elsewhere(
        catalog,
        "d.t",
        tc.RenameColumn("s.a", "z"),
        tc.UpdateColumnType("s.z", "BIGINT"),
        tc.AddColumn("s.c.new", "INT"),
        tc.DropColumn("s.b"),
    )
    rows = catalog.table("d.t").read(columns=["s.z", "s.c.new", "s.c"]).to_arrow()
    assert rows.schema.types[:2] == [pa.int64(), pa.int32()]
    assert rows["s.z"].to_pylist() == [10, None, None]
    assert rows["s.c"].to_pylist() == [{"d": 5, "e": "y", "new": None}, None, None]
    new = catalog.table("d.t").read(columns=["s.c.new"]).to_arrow()
    assert new["s.c.new"].to_pylist() == [None] * 3


def test_only_the_member_is_read_from_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    _, table = made({})
    put(table, ROWS)
    asked = []
    whole = pq.ParquetFile.iter_batches

    def noted(self: Any, *args: Any, columns: Any = None, **more: Any) -> Any:
        asked.append(list(columns))
        return whole(self, *args, columns=columns, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    table.read(columns=WANTED).to_arrow()
    assert asked == [["k", "s.a", "s.c.d"]]


@pytest.mark.parametrize("mode", ["delta", "diff", "changelog"])
def test_changes_have_members(mode: str) -> None:
    _, table = made({"bucket": "1", "changelog-producer": "input"}, "k")
    put(table, ROWS[:1])
    put(table, ROWS[1:])
    rows = table.changes(after=1, mode=mode, columns=WANTED).to_arrow()
    assert rows.schema.names == ["_ROW_KIND", *WANTED]
    assert by_key(rows.drop_columns(["_ROW_KIND"])) == SEEN[1:]


def test_following_has_members() -> None:
    _, table = made({})
    put(table, ROWS)
    batch = next(iter(table.follow(after=0, columns=WANTED)))
    assert by_key(batch.select(WANTED)) == SEEN


def test_the_command_line_has_members(tmp_path: Path) -> None:
    table = tc.open_table(
        tmp_path / "w" / "d.db" / "t", auto_create=True, schema=made({})[1].arrow_schema
    )
    put(table, ROWS)
    for command in (["read"], ["changes"], ["follow", "--limit", "3"]):
        words = ["-w", str(tmp_path / "w"), "d.t", *command[1:], "--columns", ",".join(WANTED)]
        told = CliRunner().invoke(app, [command[0], *words, "--format", "json"])
        assert told.exit_code == 0, told.output
        rows = [json.loads(line) for line in told.stdout.splitlines()]
        assert [{name: row[name] for name in WANTED} for row in rows] == SEEN


def test_rows_of_a_fallback_branch_have_members() -> None:
    catalog, table = made({})
    table.branches.create("old")
    put(catalog.table("d.t", branch="old"), ROWS)
    lent = catalog.table("d.t", options={"scan.fallback-branch": "old"})
    assert by_key(lent.read(columns=WANTED).to_arrow()) == SEEN


def test_system_tables_have_members() -> None:
    catalog, table = made({"bucket": "1", "changelog-producer": "input"}, "k")
    put(table, ROWS)
    log = catalog.table("d.t$audit_log")
    assert by_key(log.read(columns=WANTED).to_arrow()) == SEEN
    assert by_key(next(log.follow(columns=WANTED))) == SEEN


def test_a_column_whose_name_has_a_dot_is_found_first() -> None:
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    rows = pa.table({"s.a": [1], "s": pa.array([{"a": 2, "b": 3}])})
    table = catalog.create_table("d.t", rows.schema)
    write_rows(table, rows)
    assert table.read(columns=["s.a", "s.b"]).to_arrow().to_pylist() == [{"s.a": 1, "s.b": 3}]


@pytest.mark.parametrize(
    ("name", "told"),
    [("s.x", r"the members of 's' are \['s.a', 's.b', 's.c'\]"), ("v.a", "'v' is no ROW"), ("x.a", "there are")],
)  # fmt: skip
def test_a_member_that_is_not_there_is_named(name: str, told: str) -> None:
    _, table = made({})
    with pytest.raises(NotFoundError, match=told):
        table.read(columns=[name])
