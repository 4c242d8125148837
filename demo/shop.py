"""The shop whose customers the streamhouse follows, where they live in a database or a topic.

The sample's change events are made into what an application and Debezium would do: statements in
MariaDB, or records of a topic.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from demo.servers import kafka, mariadb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = [
    "DATABASE",
    "READER",
    "TOPIC",
    "change_customers",
    "make_database",
    "make_topic",
    "run",
    "send_customers",
    "statements",
]

DATABASE = "shop"
READER = "cdc"
"""The user who follows the database; has the rights that ``docs/cdc.md`` lists, and no more."""
TOPIC = "shop.shop.customers"
"""As Debezium names it: prefix, database, table."""
PARTITIONS = 3
COLUMNS = {"updated": "BIGINT"} | dict.fromkeys(("name", "email", "country"), "VARCHAR(100)")
NEW_COLUMN = "loyalty_tier"


def make_database(port: int, password: str) -> None:
    """Make the shop's database, its table and the user who follows it."""
    columns = ", ".join(f"{name} {type}" for name, type in COLUMNS.items())
    run(
        mariadb.connect(port, autocommit=False),
        [
            (f"CREATE DATABASE {DATABASE}", [()]),
            (f"CREATE TABLE {DATABASE}.customers (id BIGINT PRIMARY KEY, {columns})", [()]),
            (f"CREATE USER {READER}@'127.0.0.1' IDENTIFIED BY %s", [(password,)]),
            (
                f"GRANT SELECT, REPLICATION SLAVE, BINLOG MONITOR ON *.* TO {READER}@'127.0.0.1'",
                [()],
            ),
        ],
    )


def change_customers(port: int, events: Path) -> None:
    """Make the changes of a file of Debezium events in MariaDB, in their order."""
    run(mariadb.connect(port, autocommit=False), statements(events.read_text().splitlines()))


def statements(lines: Sequence[str]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Debezium events as SQL statements, each with the values of all its rows.

    A column that an event brings for the first time is added, as a new release of the shop would do.
    """
    changes = [json.loads(line) for line in lines]
    table = f"{DATABASE}.customers"
    added = False
    for names, run in itertools.groupby(changes, lambda change: tuple(change["after"] or ())):
        if not names:
            gone = [(change["before"]["id"],) for change in run]
            yield f"DELETE FROM {table} WHERE id = %s", gone
            continue
        if NEW_COLUMN in names and not added:
            added = True
            yield f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {NEW_COLUMN} VARCHAR(20)", [()]
        marks = ", ".join(["%s"] * len(names))
        kept = ", ".join(f"{name} = VALUES({name})" for name in names if name != "id")
        put = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
        yield (
            f"{put} ON DUPLICATE KEY UPDATE {kept}",
            [tuple(change["after"].values()) for change in run],
        )


def run(connection: Any, wanted: Iterable[tuple[str, list[tuple[Any, ...]]]]) -> None:
    """Run statements, each with the values of all its rows, as one transaction; close the connection."""
    with connection, connection.cursor() as cursor:
        for statement, rows in wanted:
            cursor.executemany(statement, rows) if rows != [()] else cursor.execute(statement)
        connection.commit()


def make_topic(port: int) -> None:
    """Make the topic of customers."""
    from confluent_kafka.admin import NewTopic

    admin = kafka.admin(port)  # kept: the answer is lost with the client
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()


def send_customers(port: int, events: Path) -> None:
    """Send a file of Debezium events to the topic in one transaction; the key of a record is the customer's.

    Raises:
        confluent_kafka.KafkaException: the broker did not take one.
    """
    producer = kafka.producer(f"127.0.0.1:{port}", DATABASE)
    producer.begin_transaction()
    for number, line in enumerate(events.read_text().splitlines()):
        event = json.loads(line)
        key = json.dumps({"id": (event["after"] or event["before"])["id"]})
        producer.produce(TOPIC, key=key, value=line)
        if number % 1000 == 0:
            producer.poll(0)
    producer.commit_transaction()
