"""Real servers as processes of the test: MariaDB, PostgreSQL and Kafka, on free ports of 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

POSTGRES_BIN = Path("/usr/lib/postgresql/15/bin")


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def wait_until(ready: Any, process: subprocess.Popen[bytes] | None, log: Path) -> None:
    """Ask until ``ready`` does not raise; a process that died is told with its log."""
    deadline = time.monotonic() + 90
    while True:
        try:
            ready()
            return
        except Exception:
            dead = process is not None and process.poll() is not None
            if dead or time.monotonic() > deadline:
                raise RuntimeError(f"no server: {log.read_text()[-2000:]}") from None
            time.sleep(0.1)


class MariaDb:
    """One MariaDB with row-based binary log; ``root`` has no password."""

    def __init__(self, *options: str, port: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mdb"))
        self.port = port or free_port()
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def missing() -> str | None:
        return None if shutil.which("mariadbd") else "mariadb-server is not installed"

    def __enter__(self) -> Self:
        user = f"--user={os.environ.get('USER') or 'root'}"
        data = f"--datadir={self.folder}/data"
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", user, data,
             "--auth-root-authentication-method=normal", "--skip-test-db"],
            check=True, capture_output=True,
        )  # fmt: skip
        self.start()
        return self

    def start(self) -> None:
        user = f"--user={os.environ.get('USER') or 'root'}"
        log = self.folder / "log"
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                ["mariadbd", "--no-defaults", user, f"--datadir={self.folder}/data",
                 f"--socket={self.folder}/s.sock", f"--pid-file={self.folder}/pid",
                 "--bind-address=127.0.0.1", f"--port={self.port}", "--server-id=1",
                 f"--log-bin={self.folder}/data/binlog", "--binlog-format=ROW",
                 "--binlog-row-image=FULL", "--binlog-row-metadata=FULL", "--gtid-strict-mode=ON",
                 "--character-set-server=utf8mb4", "--default-time-zone=+00:00",
                 "--skip-name-resolve", "--innodb-buffer-pool-size=64M",
                 "--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=2",
                 *self.options],
                stdout=out, stderr=out,
            )  # fmt: skip
        wait_until(lambda: self.connect().close(), self.process, log)

    def connect(self, **kwargs: Any) -> Any:
        import pymysql

        given = {"host": "127.0.0.1", "port": self.port, "user": "root", "autocommit": True}
        return pymysql.connect(**{**given, **kwargs}, init_command="SET time_zone = '+00:00'")

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return list(cursor.fetchall())
        finally:
            connection.close()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Postgres:
    """One PostgreSQL with logical decoding; everybody is trusted, ``postgres`` is the superuser."""

    def __init__(self, *options: str, port: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pgs"))
        self.port = port or free_port()
        self.options = options

    @staticmethod
    def missing() -> str | None:
        return None if (POSTGRES_BIN / "initdb").exists() else "postgresql is not installed"

    def _run(self, *command: str) -> None:
        be = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        prefix = be if os.geteuid() == 0 else []
        environment = [
            "env",
            "-i",
            f"PATH={POSTGRES_BIN}:/usr/bin:/bin",
            "LC_ALL=C.UTF-8",
            "TZ=UTC",
        ]
        subprocess.run(
            [*prefix, *environment, *command], check=True, cwd=self.folder, timeout=90,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> Self:
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.folder.chmod(0o755)
        self._run("initdb", "-D", f"{self.folder}/data", "-U", "postgres", "-A", "trust",
                  "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        self.start()
        return self

    def start(self) -> None:
        options = (
            f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c wal_level=logical "
            f"-c max_replication_slots=20 -c max_wal_senders=20 -c fsync=off {' '.join(self.options)}"
        )
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-t", "30", "-l",
                  f"{self.folder}/log", "-o", options, "start")  # fmt: skip

    def stop(self) -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "fast", "stop")

    def back_up(self) -> None:
        """Keep a copy of all that the server has."""
        self.stop()
        self._run("cp", "-a", f"{self.folder}/data", f"{self.folder}/backup")
        self.start()

    def restore(self, *, as_standby: bool = False) -> None:
        """Put the copy back; as a standby that is promoted, so on another timeline."""
        self.stop()
        self._run("rm", "-rf", f"{self.folder}/data")
        self._run("cp", "-a", f"{self.folder}/backup", f"{self.folder}/data")
        if as_standby:
            self._run("touch", f"{self.folder}/data/standby.signal")
        self.start()
        if as_standby:
            self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-t", "30", "promote")

    def sql(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(
            host="127.0.0.1", port=self.port, user="postgres", dbname=database, autocommit=True
        ) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Kafka:
    """One Kafka broker (KRaft) from the jars of Maven Central, kept in ``.cache/kafka``."""

    JARS = Path(__file__).resolve().parents[2] / ".cache" / "kafka"

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kfk"))
        self.port, self.control = free_port(), free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @classmethod
    def missing(cls) -> str | None:
        if any(cls.JARS.glob("kafka_2.13-*.jar")):
            return None
        if not os.environ.get("CDC_REQUIRED"):
            return "Kafka is started by make test-cdc only"
        pom = Path(__file__).parent / "kafka" / "pom.xml"
        subprocess.run(
            ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies",
             f"-DoutputDirectory={cls.JARS}", "-DincludeScope=runtime"],
            check=True, timeout=600,
        )  # fmt: skip
        return None

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        settings = self.folder / "server.properties"
        settings.write_text(
            "process.roles=broker,controller\nnode.id=1\n"
            f"controller.quorum.voters=1@127.0.0.1:{self.control}\n"
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.control}\n"
            f"advertised.listeners=PLAINTEXT://{self.servers}\n"
            "controller.listener.names=CONTROLLER\n"
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
            f"log.dirs={self.folder}/data\noffsets.topic.replication.factor=1\n"
            "offsets.topic.num.partitions=4\ntransaction.state.log.replication.factor=1\n"
            "transaction.state.log.min.isr=1\ntransaction.state.log.num.partitions=4\n"
            "group.initial.rebalance.delay.ms=0\n"
        )
        java = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-cp", f"{self.JARS}/*"]
        log = self.folder / "log"
        with log.open("ab") as out:
            subprocess.run(
                [*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAA",
                 "-c", str(settings)],
                check=True, stdout=out, stderr=out,
            )  # fmt: skip
            self.process = subprocess.Popen(
                [*java, "kafka.Kafka", str(settings)], stdout=out, stderr=out
            )
        wait_until(lambda: self.admin().list_topics(timeout=2), self.process, log)
        return self

    def admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
