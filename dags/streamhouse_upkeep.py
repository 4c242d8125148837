"""Every night: few large files instead of many small ones, and nothing older than needed."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, CronTriggerTimetable, TaskGroup

from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.operators.expire import PaimonExpireSnapshotsOperator

# a full compaction of country_sales delivers its changes; orders have no key to merge by
STRATEGIES = {
    "default.customers": "full",
    "default.orders": "minor",
    "default.country_sales": "full",
}

with DAG(
    dag_id="streamhouse_upkeep",
    # no run for a night that is past: with False, Airflow starts one until 2.4 hours after it was due
    schedule=CronTriggerTimetable("0 3 * * *", timezone="UTC", run_immediately=timedelta(0)),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1), "catalog": "demo"},
    doc_md=__doc__,
    tags=["paimon"],
):
    for table, strategy in STRATEGIES.items():
        with TaskGroup(table.removeprefix("default.")):
            # whatever commits to country_sales is announced by the watcher of streamhouse_report
            compact = PaimonCompactOperator(
                task_id="compact", table=table, strategy=strategy, engine="local", events="none"
            )
            expire = PaimonExpireSnapshotsOperator(
                task_id="expire_snapshots", table=table, retain_max=20, retain_min=5
            )
            compact >> expire
