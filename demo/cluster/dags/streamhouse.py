"""The streamhouse from the declaration beside this file, and the Dags of its tables page."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, CronTriggerTimetable

from paimon_provider.declaration import load_dags
from paimon_provider.operators.collect import PaimonCollectMetadataOperator
from paimon_provider.table_actions import table_actions_dag

load_dags("streamhouse.yaml")

with DAG(
    dag_id="table_metadata",
    schedule=CronTriggerTimetable("*/10 * * * *", timezone="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=10), "catalog": "demo"},
    tags=["paimon"],
):
    PaimonCollectMetadataOperator(task_id="collect", database="default")

actions = table_actions_dag(databases=["default"], catalog="demo")
