"""The hook opens what the connection names."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_provider.conditions import NewSnapshots, Seen, TableNews
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


def test_news_go_back_as_far_as_somebody_has_not_seen(hook: PaimonHook) -> None:
    catalog = hook.catalog()
    assert hook.news("a.b", None) == TableNews()
    catalog.create_database("a")
    schema = pa.schema([("x", pa.int64())])
    assert hook.news("a.b", None) == TableNews()

    def commit(times: int) -> None:
        for _ in range(times):
            with catalog.table("a.b").write() as writer:
                writer.write(pa.table({"x": [1]}))
                writer.commit()

    def ids(since: Seen | None) -> list[int]:
        return [s.id for s in hook.news("a.b", since).snapshots]

    catalog.create_table("a.b", schema, options={"bucket": "-1"})
    assert ids(None) == []
    commit(5)
    assert ids(None) == [5]
    third = Seen.up_to(hook.snapshots("a.b")[0][2])
    assert ids(third) == [3, 4, 5]
    assert ids(Seen()) == [1, 2, 3, 4, 5]
    head = hook.news("a.b", None).head
    assert ids(head) == [5]
    catalog.table("a.b").rollback_to(snapshot=2)
    commit(1)
    assert ids(head)[-1] == 3, "numbers started over: what is younger is there"
    catalog.drop_table("a.b")
    assert ids(head) == []
    catalog.create_table("a.b", schema, options={"bucket": "-1", "write-only": "true"})
    commit(1)
    assert ids(head)[-1] == 1
