"""What the entry point of a server's image does, for a server that runs as a process of this machine.

``machine_words`` is all that a process's command has beyond its service's: a server must not read this
machine's own settings, and some do not run as root.  ``make_files`` makes a database's first files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from demo.airflow_home import DemoError
from demo.servers import mariadb
from demo.servers.machine import user_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from demo.cluster.definition import Service

__all__ = ["MOTO", "MachineWords", "machine_words", "make_files"]

MachineWords = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Words before a command, after its first word, and at its end."""


MOTO = ("moto_server", "-H", "127.0.0.1", "-p", "9000")
"""Answers in place of MinIO where that is not built and ``--s3 moto`` asks for it; keeps all in memory."""


def machine_words(service: Service) -> MachineWords:
    """What the command of a process has in addition to that of its service."""
    if service.name == "postgres":
        return _as_postgres(), (), ("-k", service.folder)
    if service.name == "mariadb":
        return (), ("--no-defaults", f"--user={user_name()}"), ("--socket=socket", "--pid-file=pid")
    return (), (), ()


def make_files(service: Service, environment: Mapping[str, str]) -> None:
    """Make the folder of a service, and the first files of a database, if they are not there.

    Raises:
        DemoError: a database could not be made; with what its program said.
    """
    folder = Path(service.folder)
    if not service.folder or folder.exists():
        return
    folder.mkdir(parents=True)
    if service.name == "postgres":
        _make_postgres(folder, environment)
    elif service.name == "mariadb":
        _run(mariadb.install_command(folder), environment)


def _make_postgres(folder: Path, environment: Mapping[str, str]) -> None:
    """A database of the user that the environment names, who must give the password."""
    if _as_postgres():
        shutil.chown(folder, "postgres")
    user, name = environment["POSTGRES_USER"], environment["POSTGRES_DB"]
    words = ("initdb", "-U", user, "--auth-host=scram-sha-256", "--auth-local=trust", "--no-sync")
    _run((*_as_postgres(), *words, "--encoding=UTF8", "--locale=C.UTF-8"), environment)
    single = ("postgres", "--single", "-D", str(folder), "postgres")
    password = environment["POSTGRES_PASSWORD"].replace("'", "''")
    made = f'ALTER USER "{user}" PASSWORD \'{password}\'\nCREATE DATABASE "{name}"\n'
    _run((*_as_postgres(), *single), environment, made)


def _as_postgres() -> tuple[str, ...]:
    """PostgreSQL refuses to run as root."""
    words = ("setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups")
    return words if os.geteuid() == 0 else ()


def _run(words: Sequence[str], environment: Mapping[str, str], text: str = "") -> None:
    done = subprocess.run(
        words, env=dict(environment), input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DemoError(f"{' '.join(words)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
