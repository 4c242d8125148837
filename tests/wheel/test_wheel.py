"""Goal: what users install works: everything is in the wheels, and nothing of this folder is needed.

Method: build both wheels, install them into an environment of its own, and run Airflow, local SQL and Spark there.  With
``PLAIN_INSTALL=1`` (``make test-install``) pip chooses the versions, without our constraints.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.wheel.conftest import ROOT, Wheels

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
LOCAL_SQL = """
import sys
import pyarrow as pa
import table_core as tc
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded

catalog = tc.open_catalog(sys.argv[1])
catalog.create_database("d")
for name in ("orders", "sales"):
    catalog.create_table(f"d.{name}", pa.schema([("id", pa.int64())]))
with catalog.table("d.orders").write() as writer:
    writer.write(pa.table({"id": [1, 2, 3]}))
    writer.commit()
flow = {"sql": "SELECT id FROM orders WHERE id > 1", "sources": {"orders": {"table": "d.orders"}}}
run_embedded(JobSpec(action="write", warehouse=sys.argv[1], table="d.sales", args=flow))
print(catalog.table("d.sales").read().to_arrow()["id"].to_pylist())
"""
PYTHON_UDF = """
from pyspark.sql.functions import udf
from table_core.spark.session.create import open_session

session = open_session({"spark.ui.enabled": "false", "spark.master": "local[1]"})
doubled = udf(lambda n: n * 2, "long")
print([row[0] for row in session.range(3).select(doubled("id")).collect()])
session.stop()
"""
WRONG_PAIR = """
from table_core.errors import ArgumentError
from table_core.spark.session.create import open_session

try:
    open_session()
except ArgumentError as error:
    print(error.kind, error)
"""
LOOK = """
import sys, table_core as tc
table = tc.open_catalog(sys.argv[1]).table("default.t")
print(tc.__file__, table.primary_key, table.arrow_schema.names)
"""


@pytest.fixture(scope="module")
def clean(wheels: Wheels, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs of an environment that has both wheels and what they need."""
    home = tmp_path_factory.mktemp("clean") / "venv"
    if os.environ.get("PLAIN_INSTALL"):
        base = Path(sys.executable).resolve()
        subprocess.run([base, "-m", "venv", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "-q", *wheels], check=True)
    else:
        subprocess.run([ROOT / "demo" / "venv.sh", home, *wheels], check=True)
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


def test_it_holds_every_module_of_the_provider_and_nothing_else(wheels: Wheels) -> None:
    inside = set(zipfile.ZipFile(wheels.provider).namelist())
    files = {
        str(path.relative_to(ROOT / "provider"))
        for path in (ROOT / "provider" / "paimon_provider").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "paimon_provider/pages/ui/dist/tables.js" in files
    assert {name for name in inside if ".dist-info/" not in name} == files


def test_both_wheels_hold_the_licence_and_the_notice(wheels: Wheels) -> None:
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as inside:
            for name in ("LICENSE", "NOTICE"):
                (path,) = [
                    p for p in inside.namelist() if p.endswith(f".dist-info/licenses/{name}")
                ]
                assert inside.read(path) == (ROOT / name).read_bytes(), path


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


def test_local_sql_runs(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "local.py").write_text(LOCAL_SQL)
    said = run(clean, tmp_path, "python", "local.py", (tmp_path / "lake").as_uri())
    assert said.splitlines()[-1] == "[2, 3]"


def test_spark_runs_a_python_function(clean: Path, tmp_path: Path) -> None:
    """It fails far from the cause where the two packages of PySpark are not of one version."""
    (tmp_path / "spark.py").write_text(PYTHON_UDF)
    assert run(clean, tmp_path, "python", "spark.py").splitlines()[-1] == "[0, 2, 4]"


def test_the_wrong_pair_of_versions_is_told_in_one_line(clean: Path, tmp_path: Path) -> None:
    """Last of all: it changes the environment, and takes the change back."""
    (metadata,) = clean.parent.glob(
        "lib/python3*/site-packages/pyspark_client-*.dist-info/METADATA"
    )
    whole = metadata.read_text()
    (version,) = re.findall(r"^Version: (.+)$", whole, re.MULTILINE)
    metadata.write_text(whole.replace(f"\nVersion: {version}\n", "\nVersion: 4.0.0\n", 1))
    try:
        (tmp_path / "pair.py").write_text(WRONG_PAIR)
        (said,) = run(clean, tmp_path, "python", "pair.py").splitlines()
    finally:
        metadata.write_text(whole)
    assert said.startswith(f"invalid pyspark {version} and pyspark-client 4.0.0 share one folder")
    assert f"pip install --force-reinstall --no-deps pyspark-client=={version}" in said
