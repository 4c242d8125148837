"""The page reads what tasks returned through the XCom backend that Airflow is set to."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time import xcom as backends
from airflow.utils.session import create_session

from paimon_provider.pages import cache
from paimon_provider.pages.airflow_facts import copy_airflow_facts
from tests.provider.dag_runs import states

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Airflow keeps values as files in it, and their names in its database."""

    values = tmp_path / "values"
    values.mkdir()

    class Files(BaseXCom):
        @staticmethod
        def serialize_value(value: Any, **_: Any) -> str:
            path = values / uuid.uuid4().hex
            path.write_text(json.dumps(value))
            return str(path)

        @staticmethod
        def deserialize_value(result: Any) -> Any:
            return json.loads(Path(result.value).read_text())

    monkeypatch.setattr(backends, "XCom", Files)
    monkeypatch.setattr(task_runner, "XCom", Files)
    return values


def test_the_state_of_checks_and_runs_is_known_with_any_backend(
    run: Callable[..., Any], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    done = run(
        """
create = PaimonCreateTableOperator(task_id="create", table="shop.t", columns={"n": "BIGINT"}, engine="local",
    options={"bucket": "-1"})
fill = PaimonWriteOperator(task_id="fill", table="shop.t", engine="local", sql="SELECT 1 AS n")
check = PaimonCheckOperator(task_id="check", table="shop.t", rules={"rows": [1, None]})
create >> fill >> check
"""
    )
    assert set(states(done).values()) == {"success"}

    def known() -> dict[str, Any]:
        with closing(sqlite3.connect(":memory:")) as db, create_session() as session:
            db.executescript(cache._SCHEMA)
            copy_airflow_facts(session, db, 0)
            rows = db.execute(
                "SELECT task_id, action, document FROM run WHERE dag_id = ?", (done.dag_id,)
            )
            return {task: (action, json.loads(text)) for task, action, text in rows}

    seen = known()
    assert set(seen) == {"create", "fill", "check"}
    assert seen["create"][0] == "create-table"
    assert seen["fill"][1]["snapshot_after"] == 1
    assert seen["check"][1]["details"]
    for file in folder.iterdir():
        file.unlink()
    assert {action for action, _ in known().values()} == {None}, "nothing is made up"
    assert "FileNotFoundError" in caplog.text
