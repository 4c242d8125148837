"""Goal: the Compose file is valid, and runs Airflow exactly as ``make demo`` does.

Method: the published schema of the Compose specification, and ``demo/environment.py``.
There is no container engine here, so nothing is started.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.environment import (
    CATALOG,
    COMPONENTS,
    CONNECTION,
    MIGRATE,
    SPARK,
    USER,
    airflow_settings,
    paimon_connection,
)

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yaml"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return yaml.safe_load(FILE.read_text())["services"]


def test_it_meets_the_compose_schema() -> None:
    check = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema"]
    done = subprocess.run(
        [*check, "vendor.compose-spec", FILE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_component_has_the_demo_settings_and_commands(services: dict[str, Any]) -> None:
    jwt = services["scheduler"]["environment"]["AIRFLOW__API_AUTH__JWT_SECRET"]
    wanted = airflow_settings(
        api_url="http://api-server:8080",
        browser_url="http://localhost:8080",
        dags="/opt/project/dags",
        passwords="/opt/airflow/passwords.json",
        jwt_secret=jwt,
    )
    for name in COMPONENTS:
        service = services[name]
        assert service["command"] == ["airflow", name]
        settings = {k: v for k, v in service["environment"].items() if k.startswith("AIRFLOW__")}
        settings.pop("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN")
        assert settings == wanted
        assert "healthcheck" in service
    assert f"airflow {' '.join(MIGRATE)} &&" in services["init"]["command"][-1]
    assert json.dumps(USER) in services["init"]["command"][-1]
    assert len(re.sub(r"\$\{\w+:-|\}", "", jwt)) >= 64


def test_the_connection_is_the_demos_on_a_cluster(services: dict[str, Any]) -> None:
    stated = json.loads(services["scheduler"]["environment"][CONNECTION])
    conf = stated["extra"]["spark_conf"]
    assert stated["extra"]["catalog_name"] == CATALOG
    assert stated == json.loads(
        paimon_connection(
            warehouse="file:///data/warehouse",
            spark_backend="spark-submit",
            spark_master="spark://spark-master:7077",
            spark_conf=conf,
        )
    )
    assert conf["spark.sql.shuffle.partitions"] == SPARK["spark.sql.shuffle.partitions"]
    assert conf["spark.driver.host"] == services["scheduler"]["hostname"]


def test_spark_has_two_workers_that_see_the_warehouse(services: dict[str, Any]) -> None:
    worker, master = services["spark-worker"], services["spark-master"]
    assert worker["deploy"]["replicas"] == 2
    for service in (worker, master, *(services[name] for name in COMPONENTS)):
        assert "data:/data" in service["volumes"]
    assert worker["command"][-1] == f"spark://{master['hostname']}:7077"


def test_whatever_a_service_needs_exists_and_can_be_waited_for(services: dict[str, Any]) -> None:
    for name, service in services.items():
        for needed, how in service.get("depends_on", {}).items():
            assert needed in services, name
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[needed], (name, needed)


def test_the_image_copies_what_exists() -> None:
    text = (ROOT / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
