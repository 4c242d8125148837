"""Goal: a database and a topic bring the same customers as the files of events do.

Method: a small sample; MariaDB, Kafka and an S3 server as ``demo.wiring`` starts them; a sync for each
delivery, as the pipeline does.  A server that is not installed is skipped by name.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from demo import generate, shop
from demo.components import Components
from demo.scenarios import scenario_of
from demo.servers import kafka, s3
from demo.wiring import Wiring, wire
from table_core.cdc.sync.source_kinds import SOURCE_KINDS

DELIVERIES = (range(1, 6), range(6, 11))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    generate.generate(folder, customers=400, orders=1_000)
    return folder


@pytest.fixture
def components(tmp_path: Path) -> Iterator[Components]:
    started = Components(tmp_path / "home")
    yield started
    started.stop()


def replayed(source: Path) -> dict[int, dict[str, Any]]:
    """The customers after all events."""
    rows: dict[int, dict[str, Any]] = {}
    for number in range(1, generate.ROUNDS + 1):
        for line in generate.events_of(source, number).read_text().splitlines():
            event = json.loads(line)
            rows.pop((event["before"] or {}).get("id", 0), None)
            if event["after"] is not None:
                rows[event["after"]["id"]] = {"loyalty_tier": None, **event["after"]}
    return rows


def customers(wiring: Wiring, source: dict[str, Any], sample: Path, inbox: Path) -> Any:
    """The table after two deliveries."""
    catalog = tc.open_catalog(wiring.warehouse, wiring.options)
    catalog.create_database("default", if_not_exists=True)
    members = {name: value for name, value in source.items() if name != "kind"}
    events = SOURCE_KINDS[source["kind"]](**members)
    for rounds in DELIVERIES:
        number = generate.deliver(sample, inbox, rounds)
        wiring.take(generate.events_of(inbox, number))
        tc.sync_table(catalog, "default.customers", events, primary_key=("id",))
    table = catalog.table("default.customers")
    return {row["id"]: row for row in table.read().to_arrow().to_pylist()}


def test_events_become_statements_of_many_rows_in_their_order() -> None:
    ada = {"id": 1, "name": "Ada"}
    changes = [
        (None, ada),
        (None, {"id": 2, "name": "Ben"}),
        (ada, None),
        (None, {"id": 3, "name": "Chi", "loyalty_tier": "gold"}),
    ]
    lines = [json.dumps({"before": before, "after": after}) for before, after in changes]
    found = list(shop.statements(lines))
    assert [text.split()[0] for text, _ in found] == ["INSERT", "DELETE", "ALTER", "INSERT"]
    assert [rows for _, rows in found] == [
        [(1, "Ada"), (2, "Ben")],
        [(1,)],
        [()],
        [(3, "Chi", "gold")],
    ]


def test_mariadb_brings_the_customers(sample: Path, tmp_path: Path, components: Components) -> None:
    if shutil.which("mariadbd") is None:
        pytest.skip("mariadb-server is not installed: demo/servers.sh mariadb")
    wiring = wire(scenario_of("mariadb"), tmp_path / "home", components)
    told = json.loads(wiring.environment["AIRFLOW_CONN_SHOP_MARIADB"])
    source = {
        "kind": "mysql",
        "databases": "shop",
        "tables": "customers",
        "host": told["host"],
        "port": told["port"],
        "user": told["login"],
        "password": told["password"],
    }
    assert customers(wiring, source, sample, tmp_path / "inbox") == replayed(sample)
    assert components.stop() == ["mariadb"]


def test_kafka_brings_the_customers(sample: Path, tmp_path: Path, components: Components) -> None:
    if not any(kafka.JARS.glob("kafka_2.13-*.jar")):
        pytest.skip("Kafka's jars are not here: demo/servers.sh kafka")
    wiring = wire(scenario_of("kafka"), tmp_path / "home", components)
    told = json.loads(wiring.environment["AIRFLOW_CONN_SHOP_KAFKA"])
    source = {
        "kind": "kafka",
        "servers": f"{told['host']}:{told['port']}",
        "topics": [shop.TOPIC],
        "format": "debezium-json",
    }
    assert customers(wiring, source, sample, tmp_path / "inbox") == replayed(sample)
    assert components.stop() == ["kafka"]


def test_the_warehouse_may_lie_on_s3(sample: Path, tmp_path: Path, components: Components) -> None:
    wiring = wire(scenario_of("s3"), tmp_path / "home", components)
    assert wiring.warehouse.startswith("s3://")
    assert wiring.secrets["secret"] not in json.dumps(dict(wiring.storage))
    events = f"{(tmp_path / 'inbox').as_uri()}/events/customers/*.jsonl"
    source = {"kind": "files", "uri": events, "format": "debezium-json"}
    assert customers(wiring, source, sample, tmp_path / "inbox") == replayed(sample)


def test_minio_is_preferred_and_alone_judges_races(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "minio", lambda: tmp_path / "minio")
    program = s3.program(tmp_path / "data", 9000, "k", "s")
    assert program.command[0] == str(tmp_path / "minio")
    assert program.judges_races
    assert "s" not in program.command
    monkeypatch.setattr(s3, "minio", lambda: None)
    monkeypatch.setattr(s3, "moto", lambda: tmp_path / "moto_server")
    assert not s3.program(tmp_path / "data", 9000, "k", "s").judges_races
