"""Orders in a topic, and the jars with which Spark reads them."""

from __future__ import annotations

import json
import subprocess
from importlib.metadata import version
from pathlib import Path

from tests.cdc.servers import Kafka

JARS = Kafka.JARS.with_name("kafka-spark")
RECORDS = 240_000


def spark_jars() -> str:
    """What Spark needs to read topics, from Maven Central; kept beside the broker's."""
    if not any(JARS.glob("spark-sql-kafka-*.jar")):
        pom = Path(__file__).parent / "kafka" / "spark.xml"
        subprocess.run(
            ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies",
             f"-Dspark={version('pyspark')}", f"-DoutputDirectory={JARS}"],
            check=True, timeout=600,
        )  # fmt: skip
    return ",".join(map(str, sorted(JARS.glob("*.jar"))))


def produce_orders(kafka: Kafka, topic: str) -> None:
    """Updates and deletes, a column from the middle on; records of aborted transactions among them."""
    from confluent_kafka.admin import NewTopic

    admin = kafka.admin()  # its topics are made only while it is there
    for made in admin.create_topics([NewTopic(topic, 3, 1)]).values():
        made.result()
    producer = kafka.producer(topic)
    for n in range(RECORDS):
        if n % 20_000 == 0:
            producer.begin_transaction()
        id = n * 7919 % 40_000
        row = {"id": id, "total": f"{n % 1000}.50", "note": f"left at door {n}"}
        if n >= RECORDS // 2:
            row["late"] = n
        gone = n % 11 == 0
        value = {
            "before": row if gone else None, "after": None if gone else row, "op": "d" if gone else "u",
            "source": {"db": "shop", "table": "orders", "file": "f.1", "pos": n, "row": 0},
        }  # fmt: skip
        key, body = json.dumps({"id": id}), json.dumps(value)
        while True:
            try:
                producer.produce(topic, key=key, value=body, partition=id % 3)
                break
            except BufferError:
                producer.poll(0.1)
        if n % 20_000 == 19_999:
            aborted = n % 100_000 == 59_999
            producer.flush()  # an abort drops what is not sent yet, and then the client often sends no more
            producer.abort_transaction() if aborted else producer.commit_transaction()
