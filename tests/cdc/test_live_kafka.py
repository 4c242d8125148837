"""A real Kafka: the recorded streams through topics of several partitions."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.cdc.kafka.records import JsonRecords
from table_core.errors import EventError, NotFoundError, StorageUnavailableError
from tests.cdc.conftest import need
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


@pytest.mark.parametrize("connector", streams.CONNECTORS)
def test_every_phase_gives_the_recorded_state(kafka: Kafka, tmp_path: Path, connector: str) -> None:
    warehouse = Topics(tmp_path, connector, "default", "schema", merge=True)
    warehouse.kafka = kafka
    follows(warehouse, connector)


@pytest.mark.parametrize("connector", streams.CONNECTORS)
def test_avro_with_a_registry_gives_the_recorded_state(
    kafka: Kafka, tmp_path: Path, connector: str
) -> None:
    warehouse = AvroTopics(tmp_path, connector, "default", "schema", merge=True)
    warehouse.kafka = kafka
    with Registry(password="s3cret") as warehouse.registry:
        follows(warehouse, connector)


def test_a_record_that_is_no_avro_goes_to_the_dead_letters(kafka: Kafka, tmp_path: Path) -> None:
    line = next(
        r for r in streams.lines("mariadb", "default", "schema") if b'"shop.shop_1.orders"' in r
    )
    record = json.loads(line)
    with Registry() as registry:
        key = registry.encoded(record["key"])
        kafka.put("broken.orders", (key, registry.encoded(record["value"])), (key, b"no avro"))
        source = tc.KafkaSource(
            kafka.servers, ["broken.orders"], format="debezium-avro", registry=registry.url
        )
        catalog = tc.open_catalog(f"file://{tmp_path}/wh")
        with pytest.raises(EventError, match=r"broken\.orders, partition 0, offset 1: no Avro"):
            tc.sync_database(catalog, "lake", source)
        done = tc.sync_database(catalog, "lake", source, dead_letter="lake.dead")
    assert done.details["dead_letters"] == 1
    assert catalog.table("lake.orders").read().to_arrow().num_rows == 1
    (dead,) = catalog.table("lake.dead").read().to_arrow().to_pylist()
    assert "no Avro of a registry" in dead["reason"]


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


def test_what_is_not_there_is_named(kafka: Kafka, tmp_path: Path) -> None:
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    with pytest.raises(NotFoundError, match="no topic"):
        tc.sync_database(catalog, "lake", tc.KafkaSource(kafka.servers, ["nobody"]))
    source = tc.KafkaSource("127.0.0.1:1", ["t"], options={"socket.timeout.ms": 1000})
    with pytest.raises(StorageUnavailableError, match="cannot be reached"):
        tc.sync_database(catalog, "lake", source)


def test_a_topic_that_goes_away_while_it_is_read_is_named(kafka: Kafka) -> None:
    kafka.put("goes.away", (None, b"{}"))
    reading = tc.KafkaSource(kafka.servers, "goes.away").open()
    (at,) = reading.partitions()
    admin = kafka.admin()
    admin.delete_topics(["goes.away"])["goes.away"].result()
    with pytest.raises(NotFoundError, match=r"no topic 'goes\.away' .* any more: it was deleted"):
        list(reading.lines({}, {at: 1}, JsonRecords()))
    reading.close()


def test_brokers_that_go_away_are_told() -> None:
    need(Kafka)
    with Kafka() as kafka:
        source = tc.KafkaSource(kafka.servers, ["t"], options={"socket.timeout.ms": 1000})
        kafka.put("t", (None, b"{}"))
        reading = source.open()
        end = {("t", 0): reading.partitions()["t", 0][1]}
        kafka.__exit__()
        with pytest.raises(StorageUnavailableError, match="cannot be reached"):
            list(reading.lines({}, end, JsonRecords()))
        reading.close()
