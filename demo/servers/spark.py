"""A Spark Connect server of the installed pyspark: one JVM that all jobs share."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TOKEN", "ask", "connect_command", "spark_home"]

CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # the name of a variable
"""Variable with the word that each client must send."""


def spark_home() -> Path:
    """Folder of the installed pyspark, with its programs."""
    spec = find_spec("pyspark")
    assert spec is not None, "the provider installs pyspark"
    assert spec.origin is not None, "pyspark is a regular package"
    return Path(spec.origin).parent


def connect_command(port: int, master: str, conf: Mapping[str, str]) -> list[str]:
    """Run the server on ``port``; ``master`` computes its rows."""
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        **conf,
    }
    words = [str(spark_home() / "bin" / "spark-submit"), "--master", master, "--class", CONNECT]
    words += [word for item in settings.items() for word in ("--conf", "=".join(item))]
    return [*words, "spark-internal"]


def ask(port: int) -> None:
    """Return when the server listens, else raise ``OSError``."""
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
