"""How the Airflow of a scenario is connected: its warehouse, its source of customers, its servers."""

from __future__ import annotations

import json
import secrets
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from demo import shop
from demo.airflow_home import DemoError, run_to_end
from demo.environment import ENGINE, SOURCE, SPARK, of_this_machine
from demo.servers import kafka, mariadb, s3, spark
from demo.servers.machine import NotReadyError, await_answer, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from demo.components import Components
    from demo.scenarios import Scenario

__all__ = ["WAREHOUSE", "Wiring", "wire"]

READY_SECONDS = 300
WAREHOUSE = "warehouse"
BUCKET = "lake"
MASTER = "local[2]"


def _nothing(_: Path) -> None:
    return


def _at_once() -> None:
    return


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a scenario's Airflow is told.

    Args:
        warehouse: its address.
        storage: options of its store that are no secret.
        secrets: the others, and those of Spark.
        environment: more variables: connections, and what the Dags look at.
        command_line: variables with which the command line reaches the store.
        spark_backend: how jobs reach Spark.
        spark_master: where Spark is.
        take: hands the customer events of a delivery to the server that customers come from.
        await_ready: returns when every server answers.
    """

    warehouse: str
    storage: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    command_line: Mapping[str, str] = field(default_factory=dict)
    spark_backend: str = "local"
    spark_master: str = MASTER
    take: Callable[[Path], None] = _nothing
    await_ready: Callable[[], None] = _at_once

    @property
    def options(self) -> dict[str, Any]:
        """All options of the store."""
        store = {k: v for k, v in self.secrets.items() if not k.startswith("spark.")}
        return {**self.storage, **store}


def wire(scenario: Scenario, home: Path, components: Components) -> Wiring:
    """Start the server of ``scenario`` on a free port and say how to reach it.

    Raises:
        DemoError: it cannot be set up, or does not answer.
        ComponentDiedError: it ended by itself.
    """
    common = {ENGINE: scenario.engine, SOURCE: scenario.source}
    warehouse = (home / WAREHOUSE).as_uri()
    folder = home / "servers" / scenario.server
    match scenario.server:
        case "spark":
            return _spark(warehouse, folder, components, common)
        case "mariadb":
            return _mariadb(warehouse, folder, components, common)
        case "kafka":
            return _kafka(warehouse, folder, components, common)
        case "s3":
            return _s3(folder, components, common)
    return Wiring(warehouse, environment=common)


def _spark(
    warehouse: str, folder: Path, components: Components, common: Mapping[str, str]
) -> Wiring:
    """One Spark for all tasks; it starts while Airflow does."""
    port, token = free_port(), secrets.token_urlsafe(24)
    folder.mkdir(parents=True)
    machine = {
        **of_this_machine(),
        **dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable),
        spark.TOKEN: token,
    }
    components.start("spark", spark.connect_command(port, MASTER, SPARK), machine)
    return Wiring(
        warehouse,
        secrets={"spark.connect.authenticate.token": token},
        environment=common,
        spark_backend="connect",
        # by this name alone a client sends its token without TLS
        spark_master=f"sc://localhost:{port}",
        await_ready=lambda: _await(components, "spark", lambda: spark.ask(port)),
    )


def _mariadb(
    warehouse: str, folder: Path, components: Components, common: Mapping[str, str]
) -> Wiring:
    port, password = free_port(), secrets.token_urlsafe(12)
    data = folder / "data"
    data.parent.mkdir(parents=True)
    run_to_end("mariadb-install-db", mariadb.install_command(data))
    command = mariadb.server_command(data, port)
    _start(components, "mariadb", command, lambda: mariadb.connect(port).close())
    shop.make_database(port, password)
    server = {"conn_type": "mysql", "host": "127.0.0.1", "port": port}
    login = {"login": shop.READER, "password": password}
    return Wiring(
        warehouse,
        environment={**common, "AIRFLOW_CONN_SHOP_MARIADB": json.dumps(server | login)},
        take=lambda events: shop.change_customers(port, events),
    )


def _kafka(
    warehouse: str, folder: Path, components: Components, common: Mapping[str, str]
) -> Wiring:
    port = free_port()
    folder.mkdir(parents=True)
    settings = folder / "server.properties"
    settings.write_text(kafka.properties(folder / "data", port, free_port()))
    run_to_end("formatting Kafka's storage", kafka.format_command(settings))
    command = kafka.server_command(settings)
    _start(components, "kafka", command, lambda: kafka.admin(port).list_topics(timeout=2))
    shop.make_topic(port)
    server = {"conn_type": "kafka", "host": "127.0.0.1", "port": port}
    return Wiring(
        warehouse,
        environment={**common, "AIRFLOW_CONN_SHOP_KAFKA": json.dumps(server)},
        take=lambda events: shop.send_customers(port, events),
    )


def _s3(folder: Path, components: Components, common: Mapping[str, str]) -> Wiring:
    port, keys = free_port(), {"key": "demo", "secret": secrets.token_urlsafe(12)}
    folder.mkdir(parents=True)
    program = s3.program(folder / "data", port, **keys)
    _start(components, "s3", program.command, program.ask, program.environment)
    storage = s3.storage_options(port)
    import s3fs

    store = s3fs.S3FileSystem(**storage, **keys, skip_instance_cache=True)
    store.call_s3("create_bucket", Bucket=BUCKET)  # mkdir names a location, which us-east-1 refuses
    return Wiring(
        f"s3://{BUCKET}/{WAREHOUSE}", storage, keys, common, s3.command_line(port, **keys)
    )


def _start(
    components: Components,
    name: str,
    command: Sequence[str],
    ask: Callable[[], object],
    environment: Mapping[str, str] | None = None,
) -> None:
    components.start(name, command, {**of_this_machine(), **(environment or {})})
    _await(components, name, ask)


def _await(components: Components, name: str, ask: Callable[[], object]) -> None:
    try:
        await_answer(ask, seconds=READY_SECONDS, alive=components.check)
    except NotReadyError as error:
        raise DemoError(f"{name}: {error}\n{components.tail(name)}") from error
