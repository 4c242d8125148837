"""What an Airflow needs to run the streamhouse: one source for ``make demo`` and the cluster."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CATALOG",
    "COMPONENTS",
    "CONNECTION",
    "DAGS",
    "ENGINE",
    "MIGRATE",
    "PAGE",
    "SOURCE",
    "SPARK",
    "TABLES",
    "USER",
    "airflow_settings",
    "of_this_machine",
    "paimon_connection",
]

COMPONENTS = ("api-server", "scheduler", "dag-processor", "triggerer")
"""``airflow`` subcommands that make up one Airflow, in the order of their start."""
MIGRATE = ("db", "migrate")
CONNECTION = "AIRFLOW_CONN_PAIMON_DEFAULT"
CATALOG = "demo"
"""First part of the tables' asset URIs; the Dags name it."""
DAGS = ("streamhouse", "streamhouse_report", "streamhouse_upkeep", "table_metadata")
TABLES = ("default.customers", "default.orders", "default.country_sales")
USER = "admin"
PAGE = "/plugin/paimon-tables"
"""The tables page, below Airflow's address."""
ENGINE = "STREAMHOUSE_ENGINE"
"""Variable that says on which engine the tasks of the Dags run that compute rows."""
SOURCE = "STREAMHOUSE_SOURCE"
"""Variable that says where customers come from: ``files``, ``mariadb`` or ``kafka``."""


SPARK = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    # jobs of seconds: a JVM that optimises deeply spends twice as long on them
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""For jobs of seconds on a machine of two cores."""


def airflow_settings(
    *, api_url: str, dags: str, passwords: str, jwt_secret: str, browser_url: str | None = None
) -> dict[str, str]:
    """Environment variables that every Airflow component of this project gets.

    Args:
        api_url: where the other components reach the API server.
        dags: folder of the Dags.
        passwords: file in which the simple auth manager keeps logins.
        jwt_secret: shared by the components; tasks prove with it who they are.
        browser_url: where the browser reaches the API server, if elsewhere.
    """
    return {
        "AIRFLOW__CORE__DAGS_FOLDER": dags,
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{api_url}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": passwords,
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "AIRFLOW__API__BASE_URL": browser_url or api_url,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": jwt_secret,
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
        "AIRFLOW__DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL": "5",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "30",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        # on a busy machine the first requests take longer than the 5 s after which a task fails
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
        # the scheduler may start a task before the API server answers
        "AIRFLOW__WORKERS__EXECUTION_API_RETRIES": "10",
    }


def of_this_machine() -> dict[str, str]:
    """The environment of a process of the demo before anything is set for it.

    It lacks the caller's settings of Airflow, Spark and Python; servers of this machine are reached
    without a proxy.
    """
    foreign = ("AIRFLOW_", "SPARK_", "PYSPARK_", "PYTHONPATH")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONUNBUFFERED": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def paimon_connection(
    *,
    warehouse: str,
    spark_backend: str,
    spark_master: str,
    spark_conf: Mapping[str, str],
    storage_options: Mapping[str, object] | None = None,
    secrets: Mapping[str, str] | None = None,
) -> str:
    """The ``paimon`` connection as the JSON that ``AIRFLOW_CONN_...`` variables hold."""
    extra = {
        "warehouse": warehouse,
        "catalog_name": CATALOG,
        "spark_backend": spark_backend,
        "spark_master": spark_master,
        "spark_conf": dict(spark_conf),
        **({"storage_options": dict(storage_options)} if storage_options else {}),
    }
    password = {"password": json.dumps(dict(secrets))} if secrets else {}
    return json.dumps({"conn_type": "paimon", **password, "extra": extra})
