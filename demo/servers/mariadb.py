"""MariaDB with a row-based binary log; ``root`` has no password and comes from this machine only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from demo.servers.machine import user_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["PROGRAM", "connect", "install_command", "server_command"]

PROGRAM = "mariadbd"


def install_command(data: Path) -> list[str]:
    """Make the data folder, once."""
    return [
        *("mariadb-install-db", "--no-defaults", f"--user={user_name()}", f"--datadir={data}"),
        *(f"--tmpdir={data}", "--auth-root-authentication-method=normal", "--skip-test-db"),
    ]


def server_command(data: Path, port: int, more: Sequence[str] = ()) -> list[str]:
    """Run the server on ``data``; of an option that is there twice the last counts.

    The socket has a relative path, below ``data``: an absolute one may have 107 bytes at most.  Temporary tables lie in ``data``
    too: a server that starts deletes every ``#sql…`` file of its ``tmpdir``, those of another server that runs there too.
    """
    return [
        *(PROGRAM, "--no-defaults", f"--user={user_name()}", f"--datadir={data}"),
        *("--socket=s.sock", "--pid-file=server.pid", "--bind-address=127.0.0.1"),
        *(f"--tmpdir={data}", f"--port={port}", "--skip-name-resolve"),
        *("--default-time-zone=+00:00", "--server-id=1", "--log-bin=binlog"),
        "--binlog-format=ROW",
        *("--binlog-row-image=FULL", "--binlog-row-metadata=FULL", "--gtid-strict-mode=ON"),
        *("--character-set-server=utf8mb4", "--innodb-buffer-pool-size=64M"),
        *("--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=2"),
        *more,
    ]


def connect(port: int, user: str = "root", **more: Any) -> Any:
    """A connection of ``pymysql`` in UTC, which commits each statement."""
    import pymysql

    given = {"host": "127.0.0.1", "port": port, "user": user, "autocommit": True}
    return pymysql.connect(**{**given, **more}, init_command="SET time_zone = '+00:00'")
