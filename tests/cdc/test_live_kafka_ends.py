"""A real Kafka: a position is the end that was reached, whatever stands there."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import SourceDivergedError
from tests.cdc.conftest import need
from tests.cdc.servers import Kafka
from tests.eventually import eventually


class Rows:
    """A topic of plain rows with one partition, and the table that follows it."""

    def __init__(self, kafka: Kafka, folder: Path, topic: str, **configuration: str) -> None:
        from confluent_kafka.admin import NewTopic

        self.kafka, self.topic = kafka, topic
        self.admin = kafka.admin()
        made = NewTopic(topic, 1, 1, config=configuration)
        self.admin.create_topics([made])[topic].result()
        self.source = tc.KafkaSource(kafka.servers, [topic], format="json")
        self.catalog = tc.open_catalog(f"file://{folder}/wh")
        self.catalog.create_database("d")

    def transaction(self, *rows: dict[str, Any], commit: bool = True) -> None:
        producer = self.kafka.producer(f"{self.topic}-{time.monotonic_ns()}")
        producer.begin_transaction()
        for row in rows:
            producer.produce(self.topic, key=json.dumps({"id": row["id"]}), value=json.dumps(row))
        producer.flush(60)
        producer.commit_transaction() if commit else producer.abort_transaction()

    def end(self) -> int:
        reading = self.source.connect()
        try:
            return reading.partitions()[self.topic, 0][1]
        finally:
            reading.close()

    def settle(self, end: int) -> None:
        """Until readers see all up to ``end``: a broker shows the end of a transaction a moment later."""
        eventually(lambda: self.end() >= end, "the end of a transaction")

    def retain_nothing(self) -> None:
        """What retention does to a topic that nobody writes to."""
        from confluent_kafka import OFFSET_END, TopicPartition

        at = TopicPartition(self.topic, 0, OFFSET_END)
        for done in self.admin.delete_records([at]).values():
            done.result()

    def sync(self, **more: Any) -> Any:
        return tc.sync_table(self.catalog, "d.t", self.source, primary_key=["id"], **more)

    def ids(self) -> list[int]:
        return sorted(self.catalog.table("d.t").read().to_arrow()["id"].to_pylist())


def test_a_topic_that_was_read_to_its_end_may_lose_all_of_it(kafka: Kafka, tmp_path: Path) -> None:
    """Behind the last row of a transaction stands its mark, which is an offset too."""
    rows = Rows(kafka, tmp_path, "ends.committed")
    rows.transaction({"id": 1}, {"id": 2})
    rows.settle(3)
    rows.sync()
    rows.retain_nothing()
    rows.sync()
    rows.transaction({"id": 3})
    rows.settle(5)
    rows.sync()
    assert rows.ids() == [1, 2, 3]


def test_so_may_one_that_ends_with_what_was_never_committed(kafka: Kafka, tmp_path: Path) -> None:
    rows = Rows(kafka, tmp_path, "ends.aborted")
    rows.transaction({"id": 1})
    rows.settle(2)
    rows.sync()
    rows.transaction({"id": 2}, {"id": 3}, commit=False)
    rows.settle(5)
    rows.sync()
    rows.retain_nothing()
    rows.sync()
    rows.transaction({"id": 4})
    rows.settle(7)
    rows.sync()
    assert rows.ids() == [1, 4]


def test_so_may_one_whose_newest_events_are_of_no_table(kafka: Kafka, tmp_path: Path) -> None:
    rows = Rows(kafka, tmp_path, "ends.others")
    kafka.put("ends.others", (b'{"id": 1}', b'{"id": 1}'))
    rows.sync()
    kafka.put("ends.others", (None, b"null"), (None, b"null"))
    rows.sync()
    rows.retain_nothing()
    kafka.put("ends.others", (b'{"id": 2}', b'{"id": 2}'))
    rows.sync()
    assert rows.ids() == [1, 2]


def test_rows_of_a_transaction_that_is_open_come_once_it_is_committed(
    kafka: Kafka, tmp_path: Path
) -> None:
    rows = Rows(kafka, tmp_path, "ends.open")
    kafka.put("ends.open", (b'{"id": 1}', b'{"id": 1}'))
    producer = kafka.producer("ends.open")
    producer.begin_transaction()
    producer.produce("ends.open", key='{"id": 2}', value='{"id": 2}')
    producer.flush(60)
    kafka.put("ends.open", (b'{"id": 3}', b'{"id": 3}'))
    rows.sync()
    assert rows.ids() == [1]
    producer.commit_transaction()
    rows.settle(4)
    rows.sync()
    assert rows.ids() == [1, 2, 3]


def test_what_is_read_again_and_again_makes_no_snapshots(kafka: Kafka, tmp_path: Path) -> None:
    rows = Rows(kafka, tmp_path, "ends.quiet")
    rows.transaction({"id": 1})
    rows.settle(2)
    rows.sync()
    before = rows.catalog.table("d.t").latest_snapshot().id
    for _ in range(3):
        rows.sync()
    assert rows.catalog.table("d.t").latest_snapshot().id == before


def test_what_was_deleted_before_it_was_read_is_still_told(kafka: Kafka, tmp_path: Path) -> None:
    rows = Rows(kafka, tmp_path, "ends.lost")
    rows.transaction({"id": 1})
    rows.settle(2)
    rows.sync()
    rows.transaction({"id": 2})
    rows.settle(4)
    rows.retain_nothing()
    with pytest.raises(SourceDivergedError, match="was deleted before it was read"):
        rows.sync()


def test_a_run_without_an_end_outlasts_a_broker_that_is_started_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    need(Kafka)
    with Kafka() as kafka:
        catalog = tc.open_catalog(f"file://{tmp_path}/wh")
        catalog.create_database("d")
        source = tc.KafkaSource(
            kafka.servers, ["again"], format="json", options={"socket.timeout.ms": 1000}
        )
        seen: list[int] = []

        def progress(stage: str, **facts: Any) -> None:
            """Between passes: the broker goes after the first row, and the run ends after the second."""
            if stage == "events" and facts["events"] not in seen:
                seen.append(facts["events"])
                if len(seen) == 1:
                    kafka.stop()
                    thread.start()
                else:
                    raise Ended

        def restarted() -> None:
            eventually(lambda: "It is asked again" in caplog.text, "the run misses the broker")
            kafka.start()
            kafka.put("again", (b"2", b'{"id": 2}'))

        thread = threading.Thread(target=restarted)
        kafka.put("again", (b"1", b'{"id": 1}'))
        with pytest.raises(Ended):
            tc.sync_table(
                catalog, "d.t", source, primary_key=["id"], until="forever", progress=progress
            )
        thread.join()
        tc.sync_table(catalog, "d.t", source, primary_key=["id"])
        assert sorted(catalog.table("d.t").read().to_arrow()["id"].to_pylist()) == [1, 2]


class Ended(BaseException):
    """Nothing that a run could catch."""


def test_the_newer_change_wins_where_partitions_were_added(kafka: Kafka, tmp_path: Path) -> None:
    """Key 1 was in the long partition, and is in the short one since there are two."""
    from confluent_kafka.admin import NewTopic

    admin = kafka.admin()
    admin.create_topics([NewTopic("grown.o", 2, 1)])["grown.o"].result()

    def event(id: int, place: int, v: str, op: str = "u") -> tuple[bytes, bytes]:
        source = {"db": "shop", "table": "o", "file": "b.000001", "pos": place, "row": 0}
        row = {"id": id, "v": v}
        value = {"op": op, "before": row, "after": None if op == "d" else row, "source": source}
        return json.dumps({"id": id}).encode(), json.dumps(value).encode()

    fill = "x" * 900
    kafka.put("grown.o", *(event(3, n, fill) for n in range(25_000)), partition=0)
    kafka.put("grown.o", event(1, 25_000, "old"), event(2, 25_001, "old"), partition=0)
    kafka.put("grown.o", event(1, 25_002, "new"), event(2, 25_003, "", op="d"), partition=1)
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    tc.sync_database(catalog, "lake", tc.KafkaSource(kafka.servers, ["grown.o"]))
    rows = catalog.table("lake.o").read().to_arrow().to_pylist()
    assert sorted((row["id"], row["v"][:3]) for row in rows) == [(1, "new"), (3, "xxx")]


def test_events_that_a_connector_sends_again_are_there_once(kafka: Kafka, tmp_path: Path) -> None:
    """A table without a key; before the sync the doctor says what can be told, and what cannot."""
    from confluent_kafka.admin import NewTopic

    admin = kafka.admin()
    admin.create_topics([NewTopic("c.s.again", 1, 1)])["c.s.again"].result()

    def insert(n: int) -> tuple[bytes | None, bytes]:
        at = {"file": "log.000001", "pos": 100 + n, "row": 0, "ts_ms": 1_700_000_000_000}
        about = {"name": "c", "server_id": 1, "db": "s", "table": "again", "snapshot": "false"}
        event = {"op": "c", "before": None, "after": {"v": n}, "source": {**about, **at}}
        return None, json.dumps(event).encode()

    source = tc.KafkaSource(kafka.servers, "c.s.again")
    catalog = tc.open_catalog(f"file://{tmp_path}/wh")
    for first in (1, 2, 4):
        kafka.put("c.s.again", *map(insert, range(first, first + 3)))
        tc.sync_database(catalog, "lake", source)
    there = catalog.table("lake.again").read().to_arrow()["v"].to_pylist()
    assert sorted(there) == [1, 2, 3, 4, 5, 6]
    found = {one.what: one for one in tc.source_doctor(source)}
    assert found["topics"].level == "ok"
    assert (found["s.again"].level, "primary_key" in found["s.again"].remedy) == ("warning", True)
