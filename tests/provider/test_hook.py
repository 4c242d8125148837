"""The hook opens what the connection names."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_provider.conditions import NewSnapshots
from paimon_provider.hooks.paimon import PaimonHook
from paimon_provider.run_identity import RunIdentity


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PaimonHook:
    connection = {"conn_type": "paimon", "host": f"file://{tmp_path}/wh"}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(connection))
    return PaimonHook(identity=RunIdentity("me"))


def test_a_connection_can_be_tried(hook: PaimonHook, tmp_path: Path) -> None:
    hook.catalog().create_database("shop")
    assert hook.test_connection() == (True, f"file://{tmp_path}/wh: 1 databases")


def test_a_warehouse_that_cannot_be_opened_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps({"conn_type": "paimon"}))
    works, why = PaimonHook().test_connection()
    assert not works
    assert why.startswith("[invalid] connection 'paimon_default' names no warehouse")


def test_each_verb_of_a_task_run_commits_under_a_number_of_its_own(hook: PaimonHook) -> None:
    catalog = hook.catalog()
    catalog.create_database("a")
    schema = pa.schema([("x", pa.int64())])
    table = catalog.create_table("a.b", schema, options={"bucket": "-1"})
    assert hook.head("a.b") is None
    for _ in range(2):  # the second one is another verb, not a retry of the first
        with table.write(commit=hook.commit_as()) as writer:
            writer.write(pa.table({"x": [1]}))
            assert not writer.commit().replayed
    snapshots, producer = hook.snapshots("a.b")
    assert [(s.user, s.id) for s in snapshots] == [("me", 1), ("me", 2)]
    assert producer == "none"
    found = hook.new_snapshots("a.b", NewSnapshots(after=1))
    assert found == ([snapshots[1]], "none")
    assert hook.new_snapshots("a.b", NewSnapshots(after=2)) is None
    assert hook.head("a.missing") is None
