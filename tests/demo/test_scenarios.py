"""Goal: whoever asks for a demo is told what it will do; an unknown name gets the list.

Method: the pure parts, the file that ``make`` runs before there is an environment, and the Dag.
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from demo.environment import ENGINE, SOURCE
from demo.run import main
from demo.scenarios import SCENARIOS, UnknownScenarioError, plan, scenario_of

ROOT = Path(__file__).parents[2]
DAG = ROOT / "dags" / "streamhouse.py"


def test_no_name_is_spark() -> None:
    assert scenario_of("").name == "spark"


def test_an_unknown_name_is_refused_with_the_list() -> None:
    with pytest.raises(UnknownScenarioError, match="there is no DEMO=mysql") as caught:
        scenario_of("mysql")
    for name in SCENARIOS:
        assert f"DEMO={name} " in str(caught.value)


def test_make_refuses_it_before_anything_is_installed() -> None:
    command = [sys.executable, "-I", str(ROOT / "demo" / "scenarios.py"), "mysql"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "DEMO=mariadb" in done.stderr
    rule = (ROOT / "Makefile").read_text().partition("\ndemo: ")[2].split()
    assert rule[0] == "demo-known"


def test_the_demo_refuses_it_and_leaves_the_home_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mysql", "--home", str(tmp_path / "home")]) == 2
    assert "DEMO=kafka" in capsys.readouterr().out
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_plan_says_what_happens_and_how_long_it_takes(name: str) -> None:
    scenario = SCENARIOS[name]
    text = plan(scenario)
    assert scenario.shows in text
    assert re.search(r"about \d+ minutes", text)
    assert f"  {len(scenario.steps)}. " in text
    assert all(len(line) <= 110 for line in text.splitlines())


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_dag_takes_customers_from_where_the_scenario_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = SCENARIOS[name]
    monkeypatch.setenv(ENGINE, scenario.engine)
    monkeypatch.setenv(SOURCE, scenario.source)
    script = runpy.run_path(str(DAG))
    sync = script["sync_customers"]
    kinds = {"files": "files", "kafka": "kafka", "mariadb": "mysql"}
    assert sync.source["kind"] == kinds[scenario.source]
    connection = None if scenario.source == "files" else f"shop_{scenario.source}"
    assert sync.source_conn_id == connection
    assert script["add_sales"].engine == scenario.engine


def test_readme_and_docs_tell_every_scenario() -> None:
    for path in ("README.md", "docs/start/demo.md"):
        text = (ROOT / path).read_text()
        for name in SCENARIOS:
            assert name == "spark" or f"DEMO={name}" in text, (path, name)
