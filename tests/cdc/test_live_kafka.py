"""A real Kafka: the recorded streams through topics of several partitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import table_core as tc
from table_core.cdc.source.kafka.records import JsonRecords
from table_core.errors import EventError, NotFoundError, StorageUnavailableError
from tests.cdc.conftest import need
from tests.cdc.servers import Kafka
from tests.cdc.topics import AvroTopics, Topics, follows
from tests.golden import streams
from tests.golden.avro_form import Registry


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


def test_what_is_not_there_is_named(kafka: Kafka, tmp_path: Path) -> None:
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    with pytest.raises(NotFoundError, match="no topic"):
        tc.sync_database(catalog, "lake", tc.KafkaSource(kafka.servers, ["nobody"]))
    source = tc.KafkaSource("127.0.0.1:1", ["t"], options={"socket.timeout.ms": 1000})
    with pytest.raises(StorageUnavailableError, match="cannot be reached"):
        tc.sync_database(catalog, "lake", source)


def test_a_topic_that_goes_away_while_it_is_read_is_named(kafka: Kafka) -> None:
    kafka.put("goes.away", (None, b"{}"))
    reading = tc.KafkaSource(kafka.servers, "goes.away").connect()
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
        reading = source.connect()
        end = {("t", 0): reading.partitions()["t", 0][1]}
        kafka.__exit__()
        with pytest.raises(StorageUnavailableError, match="cannot be reached"):
            list(reading.lines({}, end, JsonRecords()))
        reading.close()
