"""An Airflow home of its own for every test process, before anything imports Airflow."""

from __future__ import annotations

import atexit
import fcntl
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from table_core.table.api.catalog import Catalog
from table_core.table.api.opening import open_catalog

ROOT = Path(__file__).parents[2]
HOME = Path(tempfile.mkdtemp(prefix="paimon-airflow-"))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
for name in ("dags", "plugins"):
    (HOME / name).mkdir()
(HOME / "plugins" / "paimon.py").write_text("from paimon_provider.plugin import PaimonPlugin\n")
(HOME / "passwords.json").write_text(json.dumps({"ada": "ada-1815", "vera": "vera-1815"}))
os.environ.update(
    AIRFLOW_HOME=str(HOME),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__DAGS_FOLDER=str(HOME / "dags"),
    AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS="ada:admin,vera:viewer",
    AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE=str(HOME / "passwords.json"),
    AIRFLOW__API_AUTH__JWT_SECRET="only-for-tests-" * 5,
    AIRFLOW__API__BASE_URL="http://localhost:8080",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{HOME}/airflow.db?timeout=180",  # for its lock
    AIRFLOW__PAIMON__REPORTS_FOLDER=str(HOME / "reports"),
    AIRFLOW__PAIMON__CACHE_FOLDER=str(HOME / "cache"),
    PYTHONPATH=os.pathsep.join([str(ROOT), str(ROOT / "provider")]),
)


@pytest.fixture(scope="session")
def airflow_home() -> Path:
    """The home, with a metadata database: the processes of one run migrate one and copy it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        migrate()
        return HOME
    kept = Path(tempfile.gettempdir()) / f"airflow-{run}.db"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            shutil.copyfile(kept, HOME / "airflow.db")
        else:
            migrate()
            shutil.copyfile(HOME / "airflow.db", kept.with_suffix(".part"))
            kept.with_suffix(".part").rename(kept)
    return HOME


def migrate() -> None:
    subprocess.run(
        [sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True
    )


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    uri = f"file://{tmp_path}/wh"
    document = {"conn_type": "paimon", "host": uri, "extra": {"spark_master": "local[2]"}}
    monkeypatch.setenv("AIRFLOW_CONN_PAIMON_DEFAULT", json.dumps(document))
    return open_catalog(uri)


@pytest.fixture
def run(airflow_home: Path, warehouse: Catalog) -> Callable[..., Any]:
    """Write a Dag file, load it, run it; gives the Dag run."""
    from tests.provider.dag_runs import run_body

    return functools.partial(run_body, airflow_home)
