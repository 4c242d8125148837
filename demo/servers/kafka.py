"""One Kafka broker that is its own controller (KRaft), from the jars of Maven Central."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = [
    "JARS",
    "POM",
    "admin",
    "format_command",
    "jars_command",
    "producer",
    "properties",
    "server_command",
]

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".cache" / "kafka"
POM = ROOT / "demo" / "kafka" / "pom.xml"
_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
"""An id of 16 bytes in Base64; a broker that lives for a demo or a test needs no other."""


def jars_command() -> list[str]:
    """Copy the jars into ``JARS``, once."""
    return [
        *("mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"),
        *(f"-DoutputDirectory={JARS}", "-DincludeScope=runtime"),
    ]


def properties(data: Path, port: int, control: int) -> str:
    """The settings file of a broker on ``port``, whose controller listens on ``control``."""
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{control}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "broker.session.timeout.ms": "60000",  # a broker that a busy machine keeps waiting is not gone
        "group.initial.rebalance.delay.ms": "0",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def format_command(settings: Path) -> list[str]:
    """Make the broker's folder, once."""
    return [*_java(), "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)]


def server_command(settings: Path) -> list[str]:
    """Run the broker."""
    return [*_java(), "kafka.Kafka", str(settings)]


def admin(port: int) -> Any:
    """A client that makes and lists topics."""
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})


def producer(servers: str, name: str | None = None) -> Any:
    """A client that reports no record as delivered which the broker does not hold, each once and in order.

    With a ``name`` it sends transactions under it.

    It sends one request at a time.  With more, a broker that makes a topic may refuse the first batch and
    take the second.  It then calls the first a duplicate when it is sent again: its records are lost, and
    the client reports them as delivered, without an offset.
    """
    from confluent_kafka import Producer

    made = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "max.in.flight.requests.per.connection": 1,
            "linger.ms": 20,
            "log_level": 0,  # the first id waits for its coordinator, and that is no news
            **({} if name is None else {"transactional.id": name}),
        }
    )
    if name is not None:
        made.init_transactions()
    return made


def _java() -> list[str]:
    light = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return ["java", *light, "-cp", f"{JARS}/*"]
