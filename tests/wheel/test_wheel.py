"""Goal: what users install works: everything is in the wheel, and nothing of this folder is needed.

Method: build the wheel, install it into an environment of its own, and run Airflow there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DAG = """
from airflow.sdk import DAG
from paimon_provider.operators.table import PaimonCreateTableOperator

with DAG(dag_id="clean", schedule=None):
    PaimonCreateTableOperator(
        task_id="create",
        table="default.t",
        columns={"id": "BIGINT NOT NULL", "name": "STRING"},
        primary_key=["id"],
        options={"bucket": "1"},
        engine="local",
    )
"""
PROVIDER = """
import json
from airflow.providers_manager import ProvidersManager
manager = ProvidersManager()
info = manager.providers["airflow-provider-paimon"].data
print(json.dumps([info["name"], manager.hooks["paimon"].hook_class_name]))
"""
LOOK = """
import sys, table_core as tc
table = tc.open_catalog(sys.argv[1]).table("default.t")
print(tc.__file__, table.primary_key, table.arrow_schema.names)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs of an environment that has the wheel and its dependencies."""
    home = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([ROOT / "demo" / "venv.sh", home, wheel], check=True)
    return home / "bin"


def run(clean: Path, home: Path, *command: str, **environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "PYTHONPATH"))}
    settings = {
        "PATH": f"{clean}{os.pathsep}{os.environ['PATH']}",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        **environment,
    }
    done = subprocess.run(
        [clean / command[0], *command[1:]],
        env={**kept, **settings},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def test_it_holds_every_module_and_every_other_file_of_both_packages(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    for package in (ROOT / "table_core", ROOT / "provider" / "paimon_provider"):
        for path in package.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert str(path.relative_to(package.parent)) in inside
    assert not [name for name in inside if name.startswith(("tests", "demo", "bench", "dags"))]


def test_airflow_finds_the_provider_and_its_hook(clean: Path, tmp_path: Path) -> None:
    found = json.loads(run(clean, tmp_path, "python", "-c", PROVIDER).splitlines()[-1])
    assert found == ["Apache Paimon", "paimon_provider.hooks.paimon.PaimonHook"]
    shown = ("airflow", "providers", "get", "airflow-provider-paimon", "--full", "-o", "json")
    (document,) = json.loads(run(clean, tmp_path, *shown).splitlines()[-1])
    assert document["package-name"] == "airflow-provider-paimon"
    assert set(document["connection-types"][0]["conn-fields"]) >= {"warehouse", "metastore"}


def test_an_operator_runs_and_leaves_a_table(clean: Path, tmp_path: Path) -> None:
    warehouse = (tmp_path / "warehouse").as_uri()
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "clean.py").write_text(DAG)
    (tmp_path / "look.py").write_text(LOOK)
    connection = json.dumps({"conn_type": "paimon", "extra": {"warehouse": warehouse}})
    run(clean, tmp_path, "airflow", "db", "migrate")
    run(clean, tmp_path, "airflow", "dags", "test", "clean", AIRFLOW_CONN_PAIMON_DEFAULT=connection)
    seen = run(clean, tmp_path, "python", "look.py", warehouse)
    assert str(clean.parent) in seen
    assert "('id',) ['id', 'name']" in seen
