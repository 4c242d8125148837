"""The Dag that the tables page starts does what its conf says, on declared tables, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_provider.arguments.table_actions import asked_action
from paimon_provider.table_actions import PaimonTableActionOperator
from table_core.errors import ArgumentError
from table_core.table.api.catalog import Catalog
from tests.provider.dag_runs import run_text, states, xcom
from tests.tables import write_rows

URI = "paimon://paimon_default/stall/Fruit"
TEXT = """# airflow reads files with this word and dag
from paimon_provider.table_actions import table_actions_dag
dag = table_actions_dag("acts", databases=["stall"])
"""


@pytest.fixture
def table(warehouse: Catalog) -> Any:
    warehouse.create_database("stall")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
    options = {"bucket": "1", "write-only": "true"}
    table = warehouse.create_table("stall.Fruit", schema, primary_key=["id"], options=options)
    for at in range(4):
        write_rows(table, pa.table({"id": [at], "n": [at]}))
    return table


@pytest.mark.airflow
@pytest.mark.filterwarnings("default")
def test_each_action_is_foretold_and_done(airflow_home: Path, table: Any) -> None:
    def act(action: str, dry_run: bool, **arguments: Any) -> Any:
        conf = {"action": action, "table": URI, "arguments": arguments, "dry_run": dry_run}
        ran = run_text(airflow_home, TEXT, "acts", **conf)
        assert states(ran) == {"act": "success"}
        return xcom(ran, "act")

    foretold = act("compact", True, strategy="full")
    assert (foretold["dry_run"], foretold["files_before"]) == (True, 4)
    assert table.latest_snapshot().id == 4
    assert act("compact", False, strategy="full")["files_after"] == 1
    assert act("create_tag", True, name="t", snapshot=2)["details"] == {
        "tag": "t",
        "snapshot": 2,
        "exists": False,
    }
    assert table.tags.list() == []
    assert act("create_tag", False, name="t", snapshot=2)["action"] == "create-tag"
    act("expire_snapshots", False, retain_max=2, retain_min=1)
    assert [s.id for s in table.snapshots()] == [4, 5]
    assert act("rollback", True, snapshot=4)["dry_run"]
    assert table.latest_snapshot().id == 5
    act("rollback", False, snapshot=4)
    assert table.latest_snapshot().id == 4


@pytest.mark.airflow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "conf",
    [
        {"table": "paimon://paimon_default/other/fruit"},
        {"table": "paimon://another/stall/fruit"},
        {"table": "paimon://paimon_default/stall/none"},
        {"table": "stall.../../x"},
        {"arguments": {"strategy": "full", "warehouse": "file:///tmp/x"}},
    ],
)
def test_what_is_not_declared_is_refused(airflow_home: Path, table: Any, conf: Any) -> None:
    asked = {"action": "compact", "table": URI, "arguments": {}, "dry_run": False} | conf
    ran = run_text(airflow_home, TEXT, "acts", **asked)
    assert states(ran) == {"act": "failed"}
    assert table.latest_snapshot().id == 4


@pytest.mark.parametrize(
    ("conf", "says"),
    [
        (None, "conf"),
        ({}, "action"),
        ({"action": "drop", "table": URI}, "action"),
        ({"action": ["compact"], "table": URI}, "action"),
        ({"action": "compact"}, "table"),
        ({"action": "compact", "table": 7}, "table"),
        ({"action": "compact", "table": "x" * 300}, "table"),
        ({"action": "compact", "table": "a\x00.b"}, "table"),
        ({"action": "compact", "table": "s3://bucket/x"}, "table"),
        ({"action": "compact", "table": URI, "engine": "spark"}, "engine"),
        ({"action": "compact", "table": URI, "dry_run": "no"}, "dry_run"),
        ({"action": "compact", "table": URI, "arguments": [1]}, "arguments"),
        ({"action": "compact", "table": URI, "arguments": {"strategy": "x"}}, "strategy"),
        ({"action": "create_tag", "table": URI}, "name"),
        ({"action": "create_tag", "table": URI, "arguments": {"name": "a\nb"}}, "name"),
        ({"action": "rollback", "table": URI}, "give one of snapshot, tag; found none"),
        ({"action": "rollback", "table": URI, "arguments": {"snapshot": True}}, "snapshot"),
        ({"action": "rollback", "table": URI, "arguments": {"snapshot": 1, "tag": "t"}}, "found snapshot and tag"),
        ({"action": "expire_snapshots", "table": URI, "arguments": {"older_than": "2026-01-01"}}, "zone"),
        ({"action": "expire_snapshots", "table": URI, "arguments": {"retain_max": 0}}, "retain_max"),
    ],
)  # fmt: skip
def test_a_conf_is_checked_member_by_member(conf: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        asked_action(conf)


def test_of_two_tables_that_differ_in_case_alone_none_is_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = {"conn_type": "paimon", "host": f"file://{tmp_path}/wh"}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(connection))
    act = PaimonTableActionOperator(task_id="act", databases=["stall"])
    catalog = act.hook.catalog()
    catalog.create_database("stall")
    asked = asked_action({"action": "rollback", "table": URI, "arguments": {"snapshot": 1}})
    catalog.create_table("stall.Fruit", pa.schema([("id", pa.int64())]))
    assert act._allowed(asked) == "stall.Fruit"
    catalog.create_table("stall.fruit", pa.schema([("id", pa.int64())]))
    with pytest.raises(ArgumentError, match="differ in case alone"):
        act._allowed(asked)


def test_what_is_left_out_is_a_dry_run() -> None:
    asked = asked_action({"action": "compact", "table": URI})
    assert asked.dry_run
    assert (asked.catalog, asked.table, asked.arguments) == ("paimon_default", "stall.fruit", {})
    older = {"older_than": "2026-01-31T10:00:00Z"}
    asked = asked_action({"action": "expire_snapshots", "table": "Stall.Fruit", "arguments": older})
    assert asked.arguments == {"older_than": 1769853600000}
