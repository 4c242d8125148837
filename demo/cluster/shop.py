"""The shop that the streamhouse follows: customers in MariaDB, orders in Kafka.

Addresses come from the Airflow connections ``shop_mariadb`` and ``shop_kafka`` of the environment.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import duckdb
import pymysql
from confluent_kafka.admin import AdminClient, NewTopic

from demo.cluster.definition import TOPIC
from demo.servers import kafka
from demo.shop import run, statements

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["change_customers", "make_topic", "send_orders"]

OWNER = "shop"
"""User and password of the application that changes customers."""
PARTITIONS = 3


def change_customers(events: Path) -> int:
    """Make the changes of a file of Debezium events in MariaDB, in one transaction; how many."""
    server = _connection("SHOP_MARIADB")
    lines = events.read_text().splitlines()
    connection = pymysql.connect(
        host=server["host"], port=server["port"], user=OWNER, password=OWNER
    )
    run(connection, statements(lines))
    return len(lines)


def make_topic() -> None:
    """Make the topic of orders, if it is not there."""
    admin = AdminClient({"bootstrap.servers": _servers()})
    if TOPIC not in admin.list_topics(timeout=30).topics:
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()


def send_orders(files: Path) -> int:
    """Send the orders of a folder of Parquet files as JSON to Kafka; how many.

    Raises:
        confluent_kafka.KafkaException: the broker did not take one.
    """
    producer = kafka.producer(_servers(), "shop")
    producer.begin_transaction()
    query = "SELECT order_id::VARCHAR, to_json(o)::VARCHAR FROM read_parquet(?) o"
    count = 0
    with duckdb.connect() as db:
        found = db.execute(query, [str(files / "*.parquet")])
        while rows := found.fetchmany(10_000):
            for key, value in rows:
                producer.produce(TOPIC, key=key, value=value)
            producer.flush()
            count += len(rows)
    producer.commit_transaction()
    return count


def _servers() -> str:
    server = _connection("SHOP_KAFKA")
    return f"{server['host']}:{server['port']}"


def _connection(name: str) -> dict[str, Any]:
    return dict(json.loads(os.environ[f"AIRFLOW_CONN_{name}"]))
