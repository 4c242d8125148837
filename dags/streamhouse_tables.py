"""What the tables page shows of the streamhouse, and what it can do to its tables.

``streamhouse_tables`` keeps the metadata history of the tables after each run of the pipeline, and every ten
minutes.  ``paimon_table_actions`` compacts, expires, tags and rolls back when a user of the page asks for it.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, AssetOrTimeSchedule, CronTriggerTimetable

from paimon_provider.assets import table_asset
from paimon_provider.operators.collect import PaimonCollectMetadataOperator
from paimon_provider.table_actions import table_actions_dag

ORDERS = table_asset("default.orders", catalog="demo")
CUSTOMERS = table_asset("default.customers", catalog="demo")

with DAG(
    dag_id="streamhouse_tables",
    schedule=AssetOrTimeSchedule(
        timetable=CronTriggerTimetable("*/10 * * * *", timezone="UTC"), assets=ORDERS | CUSTOMERS
    ),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=10), "catalog": "demo"},
    doc_md=__doc__,
    tags=["paimon"],
):
    PaimonCollectMetadataOperator(task_id="collect", database="default")

actions = table_actions_dag(databases=["default"], catalog="demo")
