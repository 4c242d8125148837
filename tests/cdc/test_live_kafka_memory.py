"""Large records of Kafka are read a few at a time: memory does not grow with their number."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import table_core as tc
from tests.cdc.servers import Kafka
from tests.lanes import budget

RECORDS = budget("LARGE_RECORDS", ci=12, nightly=60)
"""And twice as many."""
RECORD = 10 << 20
MOST_GROWTH_MIB = 120
"""Twelve more records had 300 MiB more before a limit counted bytes."""
SYNC = """
import resource, sys
import table_core as tc
source = tc.KafkaSource(sys.argv[2], [sys.argv[3]], format="json")
done = tc.sync_table(tc.open_catalog(sys.argv[1]), f"lake.{sys.argv[3]}", source, primary_key=["id"])
print(done.rows_written, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def _peak(kafka: Kafka, folder: Path, topic: str, records: int) -> int:
    """MiB of a sync of so many large records."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import NewTopic

    limit = str(RECORD + 1024)
    made = NewTopic(topic, 1, 1, config={"max.message.bytes": limit})
    admin = kafka.admin()
    admin.create_topics([made])[topic].result()
    servers = {"bootstrap.servers": kafka.servers, "message.max.bytes": int(limit)}
    producer, failed = Producer(servers), []
    for n in range(records):
        value = json.dumps({"id": n, "v": f"{n:04}" * (RECORD // 4 - 16)})
        producer.produce(
            topic, value=value, on_delivery=lambda e, _: failed.append(e) if e else None
        )
        assert producer.flush(120) == 0
    assert not failed
    command = [sys.executable, "-c", SYNC, f"file://{folder}/wh", kafka.servers, topic]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written, mib = map(int, done.stdout.split())
    assert written == records
    return mib


def test_memory_does_not_grow_with_the_number_of_large_records(
    kafka: Kafka, tmp_path: Path
) -> None:
    tc.open_catalog(f"file://{tmp_path}/wh").create_database("lake")
    few, many = (_peak(kafka, tmp_path, f"large_{n}", n * RECORDS) for n in (1, 2))
    print(f"{RECORDS} records of {RECORD >> 20} MiB: {few} MiB; {2 * RECORDS}: {many} MiB")
    assert many - few < MOST_GROWTH_MIB
