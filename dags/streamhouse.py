"""The streamhouse: customers and orders flow in, sales by country come out.

Trigger it with ``{"input": "<folder>", "round": <n>}``.  The folder holds Debezium events and orders.
Every task can be retried, killed or run twice: positions are kept with the commits themselves.
"""

from __future__ import annotations

import os

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
ORDER = {"order_id": "BIGINT", "customer_id": "BIGINT", "amount": "DECIMAL(12, 2)"}
ORDER |= {"order_time": "TIMESTAMP(3)"}
AGGREGATES = {"revenue": "sum", "order_count": "sum", "last_order_time": "max"}
TABLES = {
    CUSTOMERS: {
        "columns": {"id": "BIGINT NOT NULL", "updated": "BIGINT"}
        | dict.fromkeys(("name", "email", "country"), "STRING"),
        "primary_key": ["id"],
        "options": {"bucket": "2", "changelog-producer": "input"},
    },
    ORDERS: {
        "columns": ORDER | {"dt": "STRING"},
        "partition_by": ["dt"],
        "options": {"bucket": "-1", "partition.timestamp-formatter": "yyyy-MM-dd"},
    },
    WAITING: {"columns": ORDER, "options": {"bucket": "-1"}},
    SALES: {
        "columns": {"country": "STRING NOT NULL", "revenue": "DECIMAL(18, 2)"}
        | {"order_count": "BIGINT", "last_order_time": "TIMESTAMP(3)"},
        "primary_key": ["country"],
        "options": {f"fields.{name}.aggregate-function": how for name, how in AGGREGATES.items()}
        | {"bucket": "1", "merge-engine": "aggregation", "changelog-producer": "full-compaction"}
        | {"aggregation.remove-record-on-delete": "true", "full-compaction.delta-commits": "2"}
        | {"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "10"},
    },
}
# orders that are new and orders that waited; those without a customer wait (again)
FIELDS = ", ".join(ORDER)
DUE = f"WITH due AS (SELECT {FIELDS} FROM orders UNION ALL SELECT {FIELDS} FROM waiting_orders)"
SALES_SQL = f"""{DUE}
SELECT country, CAST(sum(amount) AS DECIMAL(18, 2)) AS revenue, count(*) AS order_count,
       max(order_time) AS last_order_time
FROM due JOIN customers ON id = customer_id GROUP BY country"""
WAITING_SQL = f"""{DUE}
SELECT * FROM due WHERE NOT EXISTS (SELECT 1 FROM customers WHERE id = customer_id)"""
SNAPSHOT = {"customers": {"table": CUSTOMERS}}
LIVED_IN = "SELECT DISTINCT country FROM customers"
ENGINE = os.environ.get("STREAMHOUSE_ENGINE", "spark")
# where customers come from: a database and a broker are behind a connection
EVENTS = {"uri": "{{ params.input }}/events/customers/*.jsonl", "format": "debezium-json"}
TOPIC = {"topics": ["shop.shop.customers"], "format": "debezium-json"}
LOG = {"databases": "shop", "tables": "customers"}
SOURCES = {
    "files": {"source": {"kind": "files"} | EVENTS},
    "kafka": {"source": {"kind": "kafka"} | TOPIC, "source_conn_id": "shop_kafka"},
    "mariadb": {"source": {"kind": "mysql"} | LOG, "source_conn_id": "shop_mariadb"},
}
# announced by the watcher of streamhouse_report, so the tasks keep silent
SILENT = {"table": SALES, "events": "none"}
ZEROS = {"country": "source.country", "revenue": "0", "order_count": "0"}
# the sample's days lie in the past: "a week old" is counted from the day of the round
AGE = "(dag_run.run_after.date() - macros.datetime(2026, 3, 1).date()).days"
WEEK = "{{ " + AGE + " - params.round + 7 }} d"

with DAG(
    dag_id="streamhouse",
    params={"input": Param(type="string"), "round": Param(1, type="integer", minimum=1)},
    default_args={"retries": 3, "retry_delay": 5, "catalog": "demo"},
    doc_md=__doc__,
):
    create = {
        name: PaimonCreateTableOperator(task_id=f"create_{name[8:]}", table=name, **parts)
        for name, parts in TABLES.items()
    }
    sync_customers = PaimonSyncTableOperator(
        task_id="sync_customers",
        table=CUSTOMERS,
        **SOURCES[os.environ.get("STREAMHOUSE_SOURCE", "files")],
        engine="local",
    )
    append_orders = PaimonWriteOperator(
        task_id="append_orders",
        table=ORDERS,
        rows_uri="{{ params.input }}/orders/*/*.parquet",
        rows_position="tc.files.orders",
        engine="local",
    )
    add_sales = PaimonWriteOperator(
        **SILENT,
        task_id="add_sales",
        sql=SALES_SQL,
        sources={"orders": {"table": ORDERS, "mode": "changes"}} | SNAPSHOT,
        pending={"table": WAITING, "sql": WAITING_SQL},
        engine=ENGINE,
    )
    align_countries = PaimonMergeIntoOperator(
        **SILENT,
        task_id="align_countries",
        source={"sql": LIVED_IN, "sources": SNAPSHOT},
        on=["country"],
        when=[
            {"action": "not-matched-insert", "values": ZEROS},
            {"action": "not-matched-by-source-delete"},
        ],
        engine=ENGINE,
    )
    # a row for each country: not worth a JVM
    deliver = PaimonCompactOperator(task_id="deliver_changes", engine="local", **SILENT)
    expire_old = [
        PaimonExpireSnapshotsOperator(task_id="expire_snapshots", table=SALES),
        PaimonExpirePartitionsOperator(task_id="expire_orders", table=ORDERS, expiration_time=WEEK),
    ]
    create[CUSTOMERS] >> sync_customers
    create[ORDERS] >> append_orders
    [sync_customers, append_orders, create[WAITING], create[SALES]] >> add_sales
    add_sales >> align_countries >> deliver >> expire_old
