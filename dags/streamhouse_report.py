"""Woken by a snapshot of ``country_sales`` that delivers changes, whoever committed it.

Commits that a reader of changes gets nothing from wake nobody: rows that wait for a compaction, a
compaction that finds nothing new, expiry.  The page opens from the task's link.
"""

from __future__ import annotations

from airflow.sdk import DAG

from paimon_provider.assets import watched_table
from paimon_provider.operators.report import PaimonChangeReportOperator

SALES = "default.country_sales"

with DAG(
    dag_id="streamhouse_report",
    schedule=[watched_table(SALES, catalog="demo", start="earliest", poll_seconds=2)],
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "catalog": "demo"},
    doc_md=__doc__,
    tags=["paimon"],
):
    PaimonChangeReportOperator(
        task_id="report", table=SALES, label_column="country", value_column="revenue"
    )
