"""The commands of upkeep do what the verbs do, and say so to programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.errors import ArgumentError
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), pa.field("dt", pa.string(), nullable=False)]
)


@pytest.fixture
def table(tmp_path: Path) -> Any:
    catalog = new_catalog(tmp_path.as_uri())
    made = catalog.create_table(
        "d.t",
        SCHEMA,
        primary_key=("k", "dt"),
        partition_by=("dt",),
        options={"bucket": "1", "write-only": "true"},
    )
    for key in range(3):
        write_rows(made, pa.table({"k": [key], "dt": ["ab"[key % 2]]}, schema=SCHEMA))
    return made


def run(table: Any, *words: str) -> Any:
    """What a command prints as JSON."""
    warehouse = table.uri.partition("/d.db")[0]
    found = CliRunner().invoke(app, [*words, "-w", warehouse])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0, found.output
    return json.loads(found.output) if found.output else None


def test_tags_from_beginning_to_end(table: Any) -> None:
    made = run(table, "tag", "create", "d.t", "one", "--snapshot", "1", "--json")
    assert made == [{"tag": "one", "snapshot": 1}]
    run(table, "tag", "replace", "d.t", "one", "--time-retained", "1 d", "--json")
    run(table, "tag", "rename", "d.t", "one", "two", "--json")
    (listed,) = run(table, "tag", "list", "d.t", "--json")
    assert (listed["tag"], listed["snapshot"], listed["retained_hours"]) == ("two", 3, 24)
    said = run(table, "tag", "delete", "d.t", "two", "--dry-run", "--json")
    assert (said["action"], said["dry_run"], table.tags.list()) == ("delete-tag", True, ["two"])
    run(table, "tag", "delete", "d.t", "two", "--json")
    assert table.tags.list() == []


def test_branches_and_rollback(table: Any) -> None:
    table.tags.create("one", snapshot=1)
    run(table, "branch", "create", "d.t", "b", "--tag", "one", "--json")
    run(table, "branch", "rename", "d.t", "b", "c", "--json")
    assert run(table, "branch", "list", "d.t", "--json") == [{"branch": "c", "snapshot": 1}]
    said = run(table, "rollback", "d.t", "--snapshot", "2", "--dry-run", "--json")
    assert said["details"]["snapshots_removed"] == [3]
    run(table, "rollback", "d.t", "--snapshot", "2", "--json")
    assert table.latest_snapshot().id == 2
    said = run(table, "branch", "fast-forward", "d.t", "c", "--dry-run", "--json")
    assert table.latest_snapshot().id == 2
    done = run(table, "branch", "fast-forward", "d.t", "c", "--json")
    assert said["details"] == done["details"]
    assert done["details"]["lost"] == [2]
    assert table.latest_snapshot().id == 1
    run(table, "branch", "delete", "d.t", "c", "--json")


def test_consumers(table: Any) -> None:
    run(table, "consumer", "reset", "d.t", "c", "2", "--json")
    found = run(table, "consumer", "list", "d.t", "--json")
    assert found == [{"consumer": "c", "next_snapshot": 2}]
    run(table, "consumer", "delete", "d.t", "c", "--json")
    assert table.consumers.list() == {}


def test_partitions(table: Any) -> None:
    marked = run(table, "mark-done", "d.t", "--partition", "dt=a", "--json")
    assert marked["details"]["marked"] == [{"path": "dt=a/_SUCCESS", "again": False}]
    assert run(table, "mark-done", "d.t", "--idle-time", "1 d", "--json")["details"]["marked"] == []
    said = run(table, "drop-partitions", "d.t", "--partition", "dt=a", "--dry-run", "--json")
    assert (said["files_deleted"], table.latest_snapshot().id) == (2, 3)
    run(table, "drop-partitions", "d.t", "--partition", "dt=a", "--json")
    assert table.read().to_arrow()["dt"].to_pylist() == ["b"]
    run(table, "truncate", "d.t", "--json")
    assert table.read().to_arrow().num_rows == 0
    with pytest.raises(ArgumentError, match="write dt="):
        run(table, "mark-done", "d.t", "--partition", "a")


def test_clones_manifests_statistics_and_databases(table: Any, tmp_path: Path) -> None:
    assert run(table, "rewrite-manifests", "d.t", "--json")["details"]["manifests_after"] == 1
    assert run(table, "analyze", "d.t", "--columns", "k", "--json")["details"]["rows"] == 3
    done = run(table, "clone", "d.t", "d.copy", "--snapshot", "1", "--json")
    assert done["files_after"] == 1
    done = run(table, "clone-database", "d", "e", "--excluding", "copy", "--json")
    assert list(done["details"]["tables"]) == ["t"]
    done = run(table, "compact-database", "d", "--strategy", "full", "--json")
    assert done["files_after"] == 3
    assert tc.open_catalog(tmp_path.as_uri()).tables("e") == ["t"]
    done = run(table, "rescale", "d.t", "--buckets", "2", "--dry-run", "--json")
    assert done["details"] == {"buckets": 2, "partitions": 2, "replayed": False}


def test_health_with_other_thresholds(table: Any) -> None:
    words = ("health", "d.t", "--threshold", "small_files_due=1", "--json")
    assert run(table, *words)["actions"]["compact"]["verdict"] == "due"
    with pytest.raises(ArgumentError, match="expected a number"):
        run(table, "health", "d.t", "--threshold", "small_files_due=few")
