"""A Hive metastore of version 3.1.3 on Derby, in a JVM of its own, killed and started as a test asks for.

Its jars come from Maven Central once, by ``make servers`` or the first test that needs them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from demo.servers.machine import free_port
from tests.servers import READY_S, own_folder, wait

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "airflow-provider-paimon"
LOCK_S = 60
"""After so many seconds the metastore forgets a lock whose holder is not heard of."""


@dataclass
class HiveServer:
    """A metastore, its address and its warehouse."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    def options(self, **more: str) -> dict[str, str]:
        """``storage_options`` for it, with its lock."""
        return {"metastore": "hive", "uri": self.uri, "lock.enabled": "true", **more}

    def kill(self) -> None:
        """As a crash would end it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def start(self) -> None:
        """Start it on what it has stored."""
        self.process = _started(self.port, self.folder)


@contextmanager
def hive_metastore() -> Iterator[HiveServer]:
    """The server, with nothing but the database ``default``."""
    if shutil.which("java") is None or shutil.which("mvn") is None:
        pytest.skip("needs Java and Maven: demo/java.sh build")
    _classpath()
    with own_folder() as folder:
        (folder / "warehouse").mkdir()
        port = free_port()
        server = HiveServer(port, folder, _started(port, folder))
        try:
            yield server
        finally:
            server.process.kill()
            server.process.wait()


def _started(port: int, folder: Path) -> subprocess.Popen[bytes]:
    words = ["java", "-Xmx300m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    words += [
        f"-Dderby.stream.error.file={folder / 'derby.log'}",
        "-cp",
        _classpath(),
        "HiveServer",
    ]
    words += [str(port), str(folder / "names"), str(folder / "warehouse"), str(LOCK_S)]
    log = folder / "log"
    with log.open("ab") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, cwd=folder)

    def answers() -> bool:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True

    wait(answers, process, log)
    return process


def jars() -> str:
    """The folder of the jars, as a part of a classpath; Paimon's own catalog needs them too."""
    return f"{_home()}/*"


def _classpath() -> str:
    return f"{_home()}{os.pathsep}{jars()}"


def _home() -> Path:
    source = HERE / "HiveServer.java"
    marked = source.read_bytes() + (HERE / "pom.xml").read_bytes()
    home = CACHE / f"hive-{hashlib.sha256(marked).hexdigest()[:12]}"
    if not home.is_dir():
        fresh = CACHE / f"{home.name}.{os.getpid()}"
        fresh.mkdir(parents=True)
        words = ["mvn", "-q", "-B", "-ntp", "-f", str(HERE / "pom.xml")]
        words += ["dependency:copy-dependencies", f"-DoutputDirectory={fresh}"]
        subprocess.run(words, check=True, timeout=READY_S)
        subprocess.run(
            ["javac", "-nowarn", "-cp", f"{fresh}/*", "-d", str(fresh), str(source)], check=True
        )
        shutil.move(fresh, home)
    return home


if __name__ == "__main__":
    _home()
