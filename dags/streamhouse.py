"""The streamhouse: customers and orders flow in, sales by country come out.

Trigger it with ``{"input": "<folder>", "round": <n>}``.  The folder holds Debezium events in
``events/customers/*.jsonl`` and orders in ``orders/round-NN/*.parquet``.  Every task can be retried,
killed, or run twice: what is in is in once, because positions are kept with the commits.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param
from paimon_provider.operators.compact import PaimonCompactOperator
from paimon_provider.operators.expire import (
    PaimonExpirePartitionsOperator,
    PaimonExpireSnapshotsOperator,
)
from paimon_provider.operators.sync import PaimonSyncTableOperator
from paimon_provider.operators.table import PaimonCreateTableOperator
from paimon_provider.operators.write import PaimonMergeIntoOperator, PaimonWriteOperator

CUSTOMERS, ORDERS, SALES = "default.customers", "default.orders", "default.country_sales"
WAITING = "default.waiting_orders"

# orders that are new and orders that waited, with the customers of one snapshot
DUE = """
WITH due AS (
    SELECT order_id, customer_id, amount, order_time FROM orders
    UNION ALL SELECT order_id, customer_id, amount, order_time FROM waiting
)"""
SALES_SQL = f"""{DUE}
SELECT c.country, CAST(sum(d.amount) AS DECIMAL(18, 2)) AS revenue, count(*) AS order_count,
       max(d.order_time) AS last_order_time
FROM due d JOIN customers c ON c.id = d.customer_id GROUP BY c.country"""
WAITING_SQL = f"""{DUE}
SELECT d.* FROM due d LEFT ANTI JOIN customers c ON c.id = d.customer_id"""

# the sample's days lie in the past: "a week old" is counted from the day of the round
WEEK = """{{ (dag_run.run_after.date() - macros.datetime(2026, 3, 1).date()).days
             - params.round + 7 }} d"""

with DAG(
    dag_id="streamhouse",
    schedule=None,
    catchup=False,
    params={"input": Param(type="string"), "round": Param(1, type="integer", minimum=1)},
    default_args={"retries": 3, "retry_delay": timedelta(seconds=5), "catalog": "demo"},
    doc_md=__doc__,
    tags=["paimon"],
):
    customers = PaimonCreateTableOperator(
        task_id="create_customers",
        table=CUSTOMERS,
        columns={
            "id": "BIGINT NOT NULL",
            "name": "STRING",
            "email": "STRING",
            "country": "STRING",
            "updated": "BIGINT",
        },
        primary_key=["id"],
        options={"bucket": "2", "changelog-producer": "input"},
    )
    orders, waiting = (
        PaimonCreateTableOperator(
            task_id=f"create_{table.removeprefix('default.')}",
            table=table,
            columns={
                "order_id": "BIGINT",
                "customer_id": "BIGINT",
                "amount": "DECIMAL(12, 2)",
                "order_time": "TIMESTAMP(3)",
            }
            | ({"dt": "STRING"} if partition_by else {}),
            partition_by=partition_by,
            options={"bucket": "-1"},
        )
        for table, partition_by in ((ORDERS, ["dt"]), (WAITING, []))
    )
    sales = PaimonCreateTableOperator(
        task_id="create_country_sales",
        table=SALES,
        columns={
            "country": "STRING NOT NULL",
            "revenue": "DECIMAL(18, 2)",
            "order_count": "BIGINT",
            "last_order_time": "TIMESTAMP(3)",
        },
        primary_key=["country"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.revenue.aggregate-function": "sum",
            "fields.order_count.aggregate-function": "sum",
            "fields.last_order_time.aggregate-function": "max",
            "aggregation.remove-record-on-delete": "true",
            "changelog-producer": "full-compaction",
            "full-compaction.delta-commits": "2",
            "snapshot.num-retained.min": "5",
            "snapshot.num-retained.max": "10",
        },
    )
    sync_customers = PaimonSyncTableOperator(
        task_id="sync_customers",
        table=CUSTOMERS,
        source={
            "kind": "files",
            "uri": "{{ params.input }}/events/customers/*.jsonl",
            "format": "debezium-json",
        },
        primary_key=["id"],
        engine="local",
    )
    append_orders = PaimonWriteOperator(
        task_id="append_orders",
        table=ORDERS,
        rows_uri="{{ params.input }}/orders/*/*.parquet",
        rows_position="tc.files.orders",
        engine="local",
    )
    # SALES is announced by the watcher of streamhouse_report, so these tasks keep silent
    add_sales = PaimonWriteOperator(
        task_id="add_sales",
        table=SALES,
        sql=SALES_SQL,
        sources={
            "orders": {"table": ORDERS, "mode": "changes"},
            "customers": {"table": CUSTOMERS},
            "waiting": {"table": WAITING},
        },
        pending={"table": WAITING, "sql": WAITING_SQL},
        events="none",
    )
    align_countries = PaimonMergeIntoOperator(
        task_id="align_countries",
        table=SALES,
        source={
            "sql": "SELECT DISTINCT country FROM customers",
            "sources": {"customers": {"table": CUSTOMERS}},
        },
        on=["country"],
        when=[
            {
                "action": "not-matched-insert",
                "values": {
                    "country": "source.country",
                    "revenue": "0",
                    "order_count": "0",
                    "last_order_time": "NULL",
                },
            },
            {"action": "not-matched-by-source-delete"},
        ],
        events="none",
    )
    deliver_changes = PaimonCompactOperator(
        task_id="deliver_changes", table=SALES, strategy="full", events="none"
    )
    expire_snapshots = PaimonExpireSnapshotsOperator(task_id="expire_snapshots", table=SALES)
    expire_orders = PaimonExpirePartitionsOperator(
        task_id="expire_orders", table=ORDERS, expiration_time=WEEK
    )
    customers >> sync_customers
    orders >> append_orders
    [sync_customers, append_orders, waiting, sales] >> add_sales
    add_sales >> align_countries >> deliver_changes >> [expire_snapshots, expire_orders]
