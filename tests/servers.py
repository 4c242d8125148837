"""Real servers for tests, each on a free port of 127.0.0.1 and in a folder of its own.

A server whose program is not on this machine is skipped by name.  MinIO is built once, by
``make minio``; where it is not built, moto answers for S3 in everything but races, in an
environment of its own.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo.servers import mariadb as mariadb_server
from demo.servers import s3 as s3_server
from demo.servers.machine import free_port

ROOT = Path(__file__).resolve().parent.parent
READY_S = 180


def wait(ready: object, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until ``ready()`` neither raises nor is false."""
    until = time.monotonic() + READY_S
    while True:
        assert process.poll() is None, f"the server ended: {log.read_text()[-2000:]}"
        try:
            if ready():  # type: ignore[operator]
                return
        except OSError:
            pass
        assert time.monotonic() < until, f"the server does not answer: {log.read_text()[-2000:]}"
        time.sleep(0.05)


@contextmanager
def running(
    words: list[str], log: Path, ready: object, **more: object
) -> Iterator[subprocess.Popen[bytes]]:
    """A server process, killed with all it started."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            words,
            stdout=out,
            stderr=out,
            start_new_session=True,
            **more,  # type: ignore[call-overload]
        )
    try:
        wait(ready, process, log)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def own_folder(user: str | None = None) -> Iterator[Path]:
    """A short path that ``user`` may enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="srv", dir="/tmp"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def program(*names: str) -> str:
    """The first of ``names`` that is here; skips if none is."""
    for name in names:
        path = shutil.which(name) or next(
            (str(p) for p in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None
        )
        if path:
            return path
    pytest.skip(f"needs {names[0]}: on Debian, apt-get install postgresql mariadb-server")


@dataclass(frozen=True)
class Database:
    """Where a server listens, and who may do everything."""

    kind: str
    port: int
    user: str
    name: str

    @property
    def uri(self) -> str:
        return f"jdbc:{self.kind}://127.0.0.1:{self.port}/{self.name}"

    @property
    def options(self) -> dict[str, str]:
        """As ``storage_options`` of a JDBC catalog with its lock."""
        return {
            "metastore": "jdbc",
            "uri": self.uri,
            "jdbc.user": self.user,
            "jdbc.password": "",
            "lock.enabled": "true",
        }

    @property
    def address(self) -> str:
        """For a client in Python."""
        return f"{self.kind}://{self.user}@127.0.0.1:{self.port}/{self.name}"

    @property
    def for_airflow(self) -> dict[str, str]:
        """Environment of an Airflow that keeps its metadata here."""
        where = self.address.partition("://")[2]
        return {
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://{where}",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": f"postgresql+psycopg://{where}",
        }


@contextmanager
def postgres() -> Iterator[Database]:
    """PostgreSQL; as root it runs as ``postgres``, which it demands."""
    initdb, server = Path(program("initdb")).resolve(), Path(program("postgres")).resolve()
    port = free_port()
    user = "postgres" if os.geteuid() == 0 else None
    ids: dict[str, object] = {}
    if user is not None:
        entry = pwd.getpwnam(user)
        ids = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    environment = {"PATH": f"{server.parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    with own_folder(user) as folder:
        words = ["-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run(
            [str(initdb), *words, "--encoding=UTF8", "--locale=C.UTF-8"],
            check=True,
            capture_output=True,
            cwd=folder,
            env=environment,
            **ids,  # type: ignore[arg-type]
        )
        settings = ["listen_addresses=127.0.0.1", "fsync=off", "max_connections=50"]
        words = [str(server), "-D", str(folder / "data"), "-p", str(port), "-k", str(folder)]
        words += [w for setting in settings for w in ("-c", setting)]
        log = folder / "log"
        ready = [str(server.with_name("pg_isready")), "-h", "127.0.0.1", "-p", str(port)]

        def answers() -> bool:
            return subprocess.run(ready, capture_output=True, check=False).returncode == 0

        with running(words, log, answers, cwd=folder, env=environment, **ids):
            yield Database("postgresql", port, "postgres", "postgres")


@contextmanager
def mariadb() -> Iterator[Database]:
    """MariaDB; its root has no password.  Paimon's own tables have keys too long for utf8mb4."""
    program(mariadb_server.PROGRAM)
    admin, port = program("mariadb-admin"), free_port()
    with own_folder() as folder:
        data = folder / "data"
        command = mariadb_server.install_command(data)
        subprocess.run(command, check=True, capture_output=True)
        more = [f"--socket={folder / 's'}", "--skip-log-bin", "--innodb-buffer-pool-size=32M"]
        words = mariadb_server.server_command(data, port, [*more, "--character-set-server=utf8mb3"])
        client = [admin, "--no-defaults", "-S", str(folder / "s"), "-uroot"]

        def answers() -> bool:
            words = [*client, "ping"]
            return subprocess.run(words, capture_output=True, check=False).returncode == 0

        with running(words, folder / "log", answers):
            subprocess.run([*client, "create", "paimon"], check=True, capture_output=True)
            yield Database("mysql", port, "root", "paimon")  # Paimon locks in no "mariadb"


@dataclass(frozen=True)
class S3:
    """An S3 server.  ``judges_races``: of several conditional puts exactly one wins, always."""

    endpoint: str
    judges_races: bool
    key: str = "test"
    secret: str = "testtest"

    def options(self, endpoint: str | None = None) -> dict[str, object]:
        """``storage_options`` for it, or for a proxy before it."""
        return {
            "key": self.key,
            "secret": self.secret,
            "client_kwargs": {
                "endpoint_url": endpoint or self.endpoint,
                "region_name": "us-east-1",
            },
            "skip_instance_cache": True,
        }

    def make_bucket(self, name: str) -> None:
        from table_core.storage.stores.locate import open_storage

        open_storage(f"s3://{name}", self.options()).fs.call_s3("create_bucket", Bucket=name)  # type: ignore[attr-defined]


@contextmanager
def s3(*, races: bool = False) -> Iterator[S3]:
    """The server in ``S3_ENDPOINT``, MinIO if it is built, else moto (not with ``races``)."""
    if (address := os.environ.get("S3_ENDPOINT")) is not None:
        key, secret = (
            os.environ.get(n, d) for n, d in (("S3_KEY", "test"), ("S3_SECRET", "testtest"))
        )
        yield S3(address, True, str(key), str(secret))
        return
    if races and s3_server.minio() is None:
        pytest.skip("only MinIO judges races: make minio")
    port = free_port()
    with own_folder() as folder:
        server = s3_server.program(folder / "data", port, S3.key, S3.secret)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

        def answers() -> bool:
            server.ask()
            return True

        more = {"env": {**environment, **server.environment}}
        with running(list(server.command), folder / "log", answers, **more):
            yield S3(f"http://127.0.0.1:{port}", server.judges_races)


def elsewhere(name: str, package: str) -> str:
    """A server program and the fsspec package that speaks to it; skips if one is missing."""
    path = shutil.which(name)
    if path is None or importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {name} on PATH and the package {package}")
    return path


@contextmanager
def gcs() -> Iterator[dict[str, object]]:
    """``storage_options`` of fake-gcs-server."""
    server, port = elsewhere("fake-gcs-server", "gcsfs"), free_port()
    endpoint = f"http://127.0.0.1:{port}"
    os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"  # it would look for gRPC for a minute
    with own_folder() as folder:
        words = [server, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
        words += ["-backend", "memory", "-public-host", f"127.0.0.1:{port}"]
        words += ["-external-url", endpoint]

        def answers() -> bool:
            with urllib.request.urlopen(f"{endpoint}/_internal/healthcheck", timeout=5) as reply:
                return bool(reply.status == 200)

        with running(words, folder / "log", answers):
            yield {"endpoint_url": endpoint, "token": "anon", "project": "test"}


@contextmanager
def azure() -> Iterator[dict[str, object]]:
    """``storage_options`` of Azurite, whose account and key everybody knows."""
    server, port = elsewhere("azurite-blob", "adlfs"), free_port()
    account = "devstoreaccount1"
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    with own_folder() as folder:
        words = [server, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--silent"]
        words += ["--location", str(folder / "data"), "--skipApiVersionCheck"]

        def answers() -> bool:
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                return True

        with running(words, folder / "log", answers):
            endpoint = f"http://127.0.0.1:{port}/{account}"
            text = f"DefaultEndpointsProtocol=http;AccountName={account};AccountKey={key};"
            yield {"connection_string": f"{text}BlobEndpoint={endpoint};"}
