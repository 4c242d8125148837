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

    def __init__(self, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mdb"))
        self.port = free_port()
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

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
