"""Apache Paimon's own REST catalog server, which is in the tests of its core: it judges our client.

It keeps names and newest snapshots in memory: a server that is started again is an empty catalog.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.servers import READY_S, own_folder

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "airflow-provider-paimon"
VERSION = "2.0.0"
JARS = (
    f"org.apache.paimon:paimon-core:{VERSION}:jar:tests",
    f"org.apache.paimon:paimon-flink-2.0:{VERSION}",
    "org.apache.hadoop:hadoop-client-api:3.4.2",
    "org.apache.hadoop:hadoop-client-runtime:3.4.2",
    "org.slf4j:slf4j-api:1.7.36",
)
WAREHOUSE = "wh"


@dataclass
class RestCatalogServer:
    """A server, its address and what it takes."""

    uri: str
    data: Path
    login: dict[str, str]
    process: subprocess.Popen[str] = field(repr=False)

    def options(self, uri: str | None = None) -> dict[str, str]:
        """``storage_options`` for it, or for a proxy before it at ``uri``; its tables lie in folders of this machine."""
        local = {"local-tables.enabled": "true"}
        return {"metastore": "rest", "uri": uri or self.uri, **local, **self.login}

    def lose_next_answer(self) -> None:
        """The next commit is done, and answered with an error."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("lose\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "DONE\n"


@contextmanager
def rest_catalog(provider: str = "bear") -> Iterator[RestCatalogServer]:
    """The server, which takes the token, or the signatures, of one client."""
    if shutil.which("java") is None or shutil.which("mvn") is None:
        pytest.skip("needs Java and Maven: demo/java.sh build")
    classpath = _classpath()
    secrets = [uuid.uuid4().hex for _ in range(2)]
    with own_folder() as folder:
        words = [
            "java",
            "-Xmx256m",
            "-cp",
            classpath,
            "RestServer",
            str(folder / "data"),
            WAREHOUSE,
        ]
        words += ["bear", secrets[0]] if provider == "bear" else ["dlf", *secrets]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("READY "), (folder / "log").read_text()[-2000:]
            login = {"token.provider": provider}
            if provider == "bear":
                login["token"] = secrets[0]
            else:
                login |= {
                    "dlf.region": "cn-hangzhou",
                    "dlf.access-key-id": secrets[0],
                    "dlf.access-key-secret": secrets[1],
                }
            yield RestCatalogServer(line.split()[1].rstrip("/"), folder / "data", login, process)
        finally:
            process.kill()
            process.communicate()


def _classpath() -> str:
    source = HERE / "RestServer.java"
    marked = source.read_bytes() + (HERE / "pom.xml").read_bytes() + " ".join(JARS).encode()
    home = CACHE / f"rest-{hashlib.sha256(marked).hexdigest()[:12]}"
    if not home.is_dir():
        fresh = CACHE / f"{home.name}.{os.getpid()}"
        fresh.mkdir(parents=True)
        _maven(
            "-f",
            str(HERE / "pom.xml"),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={fresh}",
        )
        for jar in JARS:
            _maven("dependency:copy", f"-Dartifact={jar}", f"-DoutputDirectory={fresh}")
        subprocess.run(
            ["javac", "-nowarn", "-cp", f"{fresh}/*", "-d", str(fresh), str(source)], check=True
        )
        shutil.move(fresh, home)
    return f"{home}{os.pathsep}{home}/*"


def _maven(*words: str) -> None:
    subprocess.run(["mvn", "-q", "-B", "-ntp", *words], check=True, timeout=READY_S)
