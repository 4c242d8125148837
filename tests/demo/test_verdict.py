"""Goal: the demo ends green only if no task is red, skipped or taken away.

Method: documents as Airflow's REST API lists them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from demo.airflow_home import AirflowHome, DemoError
from demo.verdict import PAGE, look, main, verdict_on


def instance(task: str, state: str | None, tries: int = 1) -> dict[str, Any]:
    return {
        "dag_id": "d",
        "task_id": task,
        "dag_run_id": "r",
        "state": state,
        "try_number": tries,
    }


def test_green_and_waiting_tasks_are_right() -> None:
    found = verdict_on([instance("a", "success"), instance("b", "running"), instance("c", None)])
    assert found.counts == {"success": 1, "running": 1, "none": 1}
    assert found.wrong == found.again == ()
    assert found.text == "3 task instances: 1 none, 1 running, 1 success"


@pytest.mark.parametrize("state", ["failed", "upstream_failed", "skipped", "removed"])
def test_others_are_named(state: str) -> None:
    found = verdict_on([instance("a", "success"), instance("b", state)])
    assert found.wrong == (f"d.b of r: {state}",)


def test_a_task_that_needed_a_second_try_is_told_and_is_not_wrong() -> None:
    found = verdict_on([instance("a", "success", tries=2)])
    assert found.again == ("d.a of r: success after 2 tries",)
    assert found.wrong == ()


def test_every_page_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    all_of_them = [instance(str(n), "success") for n in range(2 * PAGE)] + [instance("z", "failed")]

    def get(_: AirflowHome, path: str, *, limit: int, offset: int) -> dict[str, Any]:
        assert path == "/dags/~/dagRuns/~/taskInstances"
        page = all_of_them[offset : offset + limit]
        return {"task_instances": page, "total_entries": len(all_of_them)}

    monkeypatch.setattr(AirflowHome, "get", get)
    found = look(AirflowHome(tmp_path, tmp_path, "", address="http://127.0.0.1:1"))
    assert found.counts == {"success": 2 * PAGE, "failed": 1}


def test_without_a_demo_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "start one with make demo" in capsys.readouterr().err


def test_the_address_is_found_in_the_file_for_shells(tmp_path: Path) -> None:
    (tmp_path / "env.sh").write_text(
        "export AIRFLOW_HOME='/x'\nexport AIRFLOW__API__BASE_URL='http://127.0.0.1:8123'\n"
    )
    assert AirflowHome.started_in(tmp_path).url == "http://127.0.0.1:8123"
    with pytest.raises(DemoError, match="no demo runs in"):
        AirflowHome.started_in(tmp_path / "other")
