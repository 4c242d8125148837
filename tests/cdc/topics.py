"""Topics that are fed with recorded streams, as JSON and as Avro."""

from __future__ import annotations

import json
import time
from typing import Any

import table_core as tc
from table_core.errors import NotFoundError
from tests.cdc.servers import Kafka
from tests.golden import streams
from tests.golden.avro_form import Registry
from tests.golden.stream_lake import Warehouse


class Topics(Warehouse):
    """The same streams, out of topics instead of files."""

    kafka: Kafka

    def source(self) -> tc.KafkaSource:  # type: ignore[override]  # another kind of source
        prefix = "shop" if self.connector == "mariadb" else "pg"
        return tc.KafkaSource(self.kafka.servers, rf"^{prefix}\..*")

    def topic(self, record: dict[str, Any]) -> str:
        return str(record["topic"])

    def body(self, part: Any) -> bytes | None:
        return None if part is None else json.dumps(part).encode()

    def differences_so_far(self, phase: int) -> dict[str, object]:
        try:
            return self.differences(phase)
        except NotFoundError as error:  # nothing of a table has come yet
            return {"missing": str(error)}

    def put(self, phase: int, seed: int | None) -> None:
        from confluent_kafka.admin import NewTopic

        super().put(phase, seed)
        admin = self.kafka.admin()
        producer = self.kafka.producer(f"{self.events}/{phase}")
        records = [
            json.loads(line)
            for line in (self.events / f"{phase:02}.jsonl").read_bytes().splitlines()
        ]
        known = admin.list_topics(timeout=10).topics
        fresh = {self.topic(r) for r in records} - set(known)
        wanted = [NewTopic(topic, 3, 1) for topic in fresh]
        for made in admin.create_topics(wanted).values() if wanted else ():
            made.result()
        producer.begin_transaction()
        for record in records:
            headers = [
                (n, v if isinstance(v, str) else json.dumps(v))
                for n, v in (record.get("headers") or {}).items()
            ]
            producer.produce(
                self.topic(record),
                key=self.body(record["key"]),
                value=self.body(record["value"]),
                partition=record["partition"],
                headers=headers,
            )
        producer.commit_transaction()


class AvroTopics(Topics):
    """The same records as Avro, their schemas in a registry."""

    registry: Registry

    def source(self) -> tc.KafkaSource:  # type: ignore[override]  # another kind of source
        return tc.KafkaSource(
            self.kafka.servers,
            rf"^avro\.{self.connector}\..*",
            format="debezium-avro",
            registry=self.registry.url,
            registry_options={"user": "u", "password": "s3cret"},
        )

    def topic(self, record: dict[str, Any]) -> str:
        return f"avro.{self.connector}.{record['topic']}"

    def body(self, part: Any) -> bytes | None:
        return self.registry.encoded(part)


def follows(warehouse: Topics, connector: str) -> None:
    """Phase by phase, until the state is that of the recording."""
    for phase in range(len(streams.phases(connector))):
        warehouse.put(phase, None)
        for _ in range(1_800):  # a broker shows the end of a transaction a moment later
            warehouse.sync()
            if not (differences := warehouse.differences_so_far(phase)):
                break
            time.sleep(0.1)
        assert differences == {}, phase
    assert warehouse.sync().rows_written == 0
