"""Goal: who follows the page about tests of Dags has a test that passes, and that fails if the Dag is wrong.

Method: write the files of the page into an empty folder and run pytest there; then again with a wrong type.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "test-a-dag.md"
NAMES = ("dags/people.py", "tests/conftest.py", "tests/test_people.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    blocks = re.findall(r"```(?:python|py)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for name, code in zip(NAMES, blocks, strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    return tmp_path


def outcome(project: Path) -> tuple[int, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    places = os.pathsep.join([str(ROOT), str(ROOT / "provider")])
    programs = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests"],
        cwd=project,
        env=kept | {"PYTHONPATH": places, "PATH": programs},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_the_test_of_the_page_passes(project: Path) -> None:
    status, told = outcome(project)
    assert status == 0, told[-3000:]
    assert "1 passed" in told


def test_the_test_of_the_page_finds_a_wrong_dag(project: Path) -> None:
    dag = project / NAMES[0]
    dag.write_text(dag.read_text().replace("primary_key", "primry_key"))
    status, told = outcome(project)
    assert status == 1
    assert "primry_key" in told
