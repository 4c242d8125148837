"""Topics read by Spark's own source give what one process reads out of them."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import table_core as tc
import table_core.spark
from table_core.cdc.source.kafka import parallel_batches
from table_core.cdc.source.kafka import reader as kafka_reader
from table_core.errors import EventError
from tests.cdc.kafka_on_spark import RECORDS, produce_orders
from tests.cdc.servers import Kafka
from tests.cdc.topics import AvroTopics, Topics, follows
from tests.cdc.torture import Torture, position
from tests.golden import streams
from tests.golden.avro_form import Registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark(jars: str) -> Iterator[SparkSession]:
    from table_core.spark.session.create import open_session

    session = open_session({"spark.master": "local[2]", "spark.jars": jars})
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recordings are small: parallel batches as soon as a hundred records wait."""
    monkeypatch.setattr(parallel_batches, "_MANY", 60)
    monkeypatch.setattr(kafka_reader, "window_is_full", lambda _, lines, __: lines >= 30)


class SparkTopics(Topics):
    """The streams in topics of their own, synced by tasks."""

    spark: SparkSession
    by_tasks = 0

    @property
    def name(self) -> str:
        return f"tasks.{self.connector}.{self.form}"

    def source(self) -> tc.KafkaSource:  # type: ignore[override]  # another kind of source
        return tc.KafkaSource(self.kafka.servers, rf"^{self.name}\..*")

    def topic(self, record: dict[str, Any]) -> str:
        return f"{self.name}.{record['topic']}"

    def sync(self) -> Any:
        found = table_core.spark.sync(
            self.spark, self.catalog, "shop", self.source(), merge_shards=self.merge
        )
        self.by_tasks += found.details.get("events_by_tasks", 0)
        return found


class SparkAvroTopics(SparkTopics, AvroTopics):
    """The streams as Avro."""

    @property
    def name(self) -> str:
        return f"tasks.avro.{self.connector}"

    def source(self) -> tc.KafkaSource:  # type: ignore[override]  # another kind of source
        return replace(
            super().source(), format="debezium-avro", registry=self.registry.url,
            registry_options={"user": "u", "password": "s3cret"},
        )  # fmt: skip


@pytest.mark.parametrize("connector", streams.CONNECTORS)
def test_tasks_give_the_recorded_state_after_every_phase(
    kafka: Kafka, spark: SparkSession, tmp_path: Path, few_are_many: None, connector: str
) -> None:
    warehouse = SparkTopics(tmp_path, connector, "text-numbers", "schema", merge=False)
    warehouse.kafka, warehouse.spark = kafka, spark
    follows(warehouse, connector)
    assert warehouse.by_tasks > 0


def test_tasks_read_avro(
    kafka: Kafka, spark: SparkSession, tmp_path: Path, few_are_many: None
) -> None:
    warehouse = SparkAvroTopics(tmp_path, "mariadb", "text-numbers", "schema", merge=False)
    warehouse.kafka, warehouse.spark = kafka, spark
    with Registry(password="s3cret") as warehouse.registry:
        follows(warehouse, "mariadb")
    assert warehouse.by_tasks > 0


def test_killed_tasks_lose_and_repeat_nothing(
    kafka: Kafka, spark: SparkSession, jars: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three partitions, transactions of which some are aborted, and the engines take turns."""
    produce_orders(kafka, "many.orders")
    source = {"servers": kafka.servers, "topics": ["many.orders"]}
    more: dict[str, Any] = {
        "commit_rows": 30_000, "primary_key": ["id"], "options": {"changelog-producer": "input"},
    }  # fmt: skip
    alone = Torture(tmp_path / "alone", "kafka", source, **more)
    tc.sync_database(alone.catalog, "lake", tc.KafkaSource(**source), **more)
    torture = Torture(tmp_path / "killed", "kafka", source, **more)
    monkeypatch.setenv("CDC_SPARK_JARS", jars)
    process = torture.start()
    deadline = time.monotonic() + 240
    try:
        while process.poll() is None and time.monotonic() < deadline:
            if position(torture, "orders"):
                break
            time.sleep(0.005)
    finally:
        process.kill()
        _, error = process.communicate()
    assert (process.returncode, position(torture, "orders") != "") == (-9, True), error[-2000:]
    found = table_core.spark.sync(spark, torture.catalog, "lake", tc.KafkaSource(**source), **more)
    assert 0 < found.details["events_by_tasks"] < found.details["events"] < RECORDS
    assert torture.rows("orders") == alone.rows("orders")
    assert torture.replayed("orders") == alone.replayed("orders") == alone.rows("orders")
    assert tc.sync_database(torture.catalog, "lake", tc.KafkaSource(**source)).rows_written == 0


def created(n: int) -> bytes:
    event = {"op": "c", "after": {"id": n}, "source": {"db": "d", "table": "t"}}
    return json.dumps(event).encode()


def test_a_record_that_cannot_be_read_is_named_or_kept(
    kafka: Kafka, spark: SparkSession, tmp_path: Path, few_are_many: None
) -> None:
    values = [b"{" if n == 177 else created(n) for n in range(300)]
    kafka.put("torn.t", *((None, value) for value in values), partition=0)
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    source = tc.KafkaSource(kafka.servers, ["torn.t"])
    with pytest.raises(EventError, match=r"torn\.t, partition 0, offset 177: its value is no JSON"):
        table_core.spark.sync(spark, catalog, "lake", source)
    done = table_core.spark.sync(spark, catalog, "lake", source, dead_letter="lake.dead")
    assert done.details["dead_letters"] == 1
    assert 0 < done.details["events_by_tasks"] < 300
    ids = catalog.table("lake.t").read().to_arrow()["id"].to_pylist()
    assert Counter(ids) == Counter(set(range(300)) - {177})


def test_options_of_another_client_leave_the_reading_to_this_process(
    kafka: Kafka, spark: SparkSession, tmp_path: Path, few_are_many: None
) -> None:
    kafka.put("given.t", *((None, created(n)) for n in range(300)), partition=0)
    source = tc.KafkaSource(kafka.servers, ["given.t"], options={"client.id": "us"})
    for java in ({}, {"client.id": "us"}):
        catalog = tc.open_catalog(f"file://{tmp_path}/{len(java)}")
        found = table_core.spark.sync(spark, catalog, "lake", replace(source, java_options=java))
        assert ("events_by_tasks" in found.details) == bool(java)
        assert found.details["events"] == 300
