"""Real servers as processes of the test: MariaDB, PostgreSQL and Kafka, on free ports of 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

from demo.servers import kafka, mariadb
from demo.servers.machine import await_answer, free_port

POSTGRES_BIN = Path("/usr/lib/postgresql/15/bin")
BEGUN_S = 180
"""A server that is slow to begin is no fault; one that died is seen at once."""
SENT_S = 60


def wait_until(ready: Any, process: subprocess.Popen[bytes] | None, log: Path) -> None:
    """Ask until ``ready`` does not raise; a process that died is told with its log."""

    def alive() -> None:
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"no server: {log.read_text()[-2000:]}")

    await_answer(ready, seconds=BEGUN_S, alive=alive)


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
        command = mariadb.install_command(self.folder / "data")
        subprocess.run(command, check=True, capture_output=True)
        self.start()
        return self

    def start(self) -> None:
        log = self.folder / "log"
        command = mariadb.server_command(self.folder / "data", self.port, self.options)
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out)
        wait_until(lambda: self.connect().close(), self.process, log)

    def connect(self, **kwargs: Any) -> Any:
        return mariadb.connect(self.port, **kwargs)

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

    def crash(self) -> None:
        """End it as a kill does: what it had in memory is gone."""
        assert self.process is not None
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
            [*prefix, *environment, *command], check=True, cwd=self.folder, timeout=BEGUN_S,
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

    def crash(self) -> None:
        """End it as a kill does: what it had in memory is gone."""
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

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

    JARS = kafka.JARS

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
        subprocess.run(kafka.jars_command(), check=True, timeout=600)
        return None

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        settings = self.folder / "server.properties"
        settings.write_text(kafka.properties(self.folder / "data", self.port, self.control))
        log = self.folder / "log"
        with log.open("ab") as out:
            format_ = kafka.format_command(settings)
            subprocess.run(format_, check=True, stdout=out, stderr=out)
        self.start()
        return self

    def start(self) -> None:
        log = self.folder / "log"
        with log.open("ab") as out:
            command = kafka.server_command(self.folder / "server.properties")
            self.process = subprocess.Popen(command, stdout=out, stderr=out)
        wait_until(lambda: self.admin().list_topics(timeout=2), self.process, log)

    def admin(self) -> Any:
        return kafka.admin(self.port)

    def producer(self, name: str) -> Any:
        return kafka.producer(self.servers, name)

    def put(self, topic: str, *records: tuple[bytes | None, bytes], partition: int = -1) -> None:
        """Keys and values into a topic, each once and in order; back when the broker holds them all."""
        producer, failed = kafka.producer(self.servers), []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(error)

        for key, value in records:
            producer.produce(
                topic, key=key, value=value, partition=partition, on_delivery=delivered
            )
        left = producer.flush(SENT_S)
        assert (failed, left) == ([], 0)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
