"""Topics read by tasks on a cluster, and by those of a Spark Connect server, give what one process reads."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

import table_core as tc
from table_core.jobs.job_spec import JobSpec
from tests.cdc.kafka_on_spark import RECORDS, produce_orders
from tests.cdc.servers import Kafka
from tests.cdc.torture import Torture
from tests.spark.submitted import MODULE, job
from tests.spark_servers import SMALL, connect, kill_executors_at_work, standalone

TOPIC = "elsewhere.orders"
MORE: dict[str, Any] = {"primary_key": ["id"]}


@pytest.fixture(scope="module")
def alone(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Torture:
    """A warehouse that one process has filled."""
    produce_orders(kafka, TOPIC)
    source = {"servers": kafka.servers, "topics": [TOPIC]}
    made = Torture(tmp_path_factory.mktemp("alone"), "kafka", source)
    tc.sync_database(made.catalog, "lake", tc.KafkaSource(**source), **MORE)
    return made


@pytest.mark.parametrize("place", ["standalone", "connect"])
def test_tasks_elsewhere_give_what_one_process_reads(
    alone: Torture,
    jars: str,
    tmp_path: Path,
    place: str,
) -> None:
    """On the cluster all executors are killed once tasks run."""
    found = Torture(tmp_path / "wh", "kafka", alone.source)
    options, command = {**SMALL, "spark.jars": jars}, list(MODULE)
    killed: list[psutil.Process] = []
    with ExitStack() as servers:
        if place == "connect":
            server = servers.enter_context(connect(**{"spark.jars": jars}))
            command += ["--remote", server.url]
        else:
            cluster = servers.enter_context(standalone())
            options |= {"spark.master": cluster.master, "spark.driver.host": "127.0.0.1"}
            over = threading.Event()
            killer = threading.Thread(target=kill_executors_at_work, args=(cluster, killed, over))
            killer.start()
            servers.callback(killer.join)
            servers.callback(over.set)
        spec = JobSpec(
            action="sync-database",
            warehouse=str(found.catalog.warehouse),
            table="lake",
            args={**MORE, "source": {"kind": "kafka", **alone.source}},
            options=options,
        )
        status, result, _ = job(tmp_path, spec, command)
    assert (status, result.error) == (0, None)
    assert result.result is not None
    details = result.result["details"]
    assert 0 < details["events_by_tasks"] < details["events"] < RECORDS
    assert bool(killed) == (place == "standalone")
    assert found.rows("orders") == alone.rows("orders")
