"""A real Kafka: the recorded streams through topics of several partitions."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import table_core as tc
from table_core.errors import NotFoundError, StorageUnavailableError
from tests.cdc.servers import Kafka
from tests.golden import streams
from tests.golden.test_cdc_streams import Warehouse


class Topics(Warehouse):
    """The same streams, out of topics instead of files."""

    servers = ""

    def source(self) -> tc.KafkaSource:  # type: ignore[override]  # another kind of source
        prefix = "shop" if self.connector == "mariadb" else "pg"
        return tc.KafkaSource(self.servers, rf"^{prefix}\.")

    def differences_so_far(self, phase: int) -> dict[str, object]:
        try:
            return self.differences(phase)
        except NotFoundError as error:  # nothing of a table has come yet
            return {"missing": str(error)}

    def put(self, phase: int, seed: int | None) -> None:
        from confluent_kafka import Producer
        from confluent_kafka.admin import NewTopic

        super().put(phase, seed)
        admin = Kafka.admin(self)  # type: ignore[arg-type]  # needs the address alone
        producer = Producer({"bootstrap.servers": self.servers, "transactional.id": f"t{phase}"})
        producer.init_transactions()
        records = [
            json.loads(line)
            for line in (self.events / f"{phase:02}.jsonl").read_bytes().splitlines()
        ]
        known = admin.list_topics(timeout=10).topics
        fresh = {r["topic"] for r in records} - set(known)
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
                record["topic"],
                key=None if record["key"] is None else json.dumps(record["key"]),
                value=None if record["value"] is None else json.dumps(record["value"]),
                partition=record["partition"],
                headers=headers,
            )
        producer.commit_transaction()


@pytest.mark.parametrize("connector", streams.CONNECTORS)
def test_every_phase_gives_the_recorded_state(kafka: Kafka, tmp_path: Path, connector: str) -> None:
    warehouse = Topics(tmp_path, connector, "default", "schema", merge=True)
    warehouse.servers = kafka.servers
    for phase in range(len(streams.phases(connector))):
        warehouse.put(phase, None)
        for _ in range(50):  # a broker shows the end of a transaction a moment later
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
