"""An S3 server: MinIO where it is, else moto in an environment of its own.

MinIO is looked for on ``PATH`` and where ``make minio`` builds it.  moto answers as S3 does, but keeps
all in memory and checks conditions of writes without a lock: of writers that race two may win.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import urllib.request
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MOTO",
    "REGION",
    "S3Program",
    "command_line",
    "minio",
    "moto",
    "program",
    "storage_options",
]

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "airflow-provider-paimon"
BUILT = CACHE / "minio"
"""Where ``make minio`` puts it."""
MOTO = "moto[server]==5.2.5"
REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class S3Program:
    """How a server is started.

    Args:
        command: its words.
        environment: what its environment has besides the usual.
        health: the address that answers 200 as soon as it is well.
        judges_races: of several conditional writes exactly one wins, always.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    health: str
    judges_races: bool

    def ask(self) -> None:
        """Return when the server is well, else raise ``OSError``."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.health, timeout=5):
            pass


def minio() -> Path | None:
    """The program, if it is on this machine."""
    found = shutil.which("minio")
    if found is not None:
        return Path(found)
    return BUILT if BUILT.exists() else None


def program(data: Path, port: int, key: str, secret: str) -> S3Program:
    """MinIO on ``data``, else moto, which is installed on first use."""
    where = f"127.0.0.1:{port}"
    server = minio()
    if server is not None:
        quiet = ("--quiet", "--address", where, "--console-address", "127.0.0.1:0")
        return S3Program(
            command=(str(server), "server", *quiet, str(data)),
            environment={"MINIO_ROOT_USER": key, "MINIO_ROOT_PASSWORD": secret},
            health=f"http://{where}/minio/health/live",
            judges_races=True,
        )
    return S3Program(
        command=(str(moto()), "-H", "127.0.0.1", "-p", str(port)),
        environment={},
        health=f"http://{where}/moto-api/",
        judges_races=False,
    )


def storage_options(port: int) -> dict[str, object]:
    """Where the server is, as a catalog is told; the keys come apart."""
    return {"client_kwargs": {"endpoint_url": f"http://127.0.0.1:{port}", "region_name": REGION}}


def command_line(port: int, key: str, secret: str) -> dict[str, str]:
    """Variables that any program with Amazon's client reaches the server by."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
    }


def moto() -> Path:
    """The server of moto, in an environment that is made on first use."""
    home = (ROOT / ".cache" / "moto").resolve()
    home.parent.mkdir(exist_ok=True)
    with home.with_suffix(".lock").open("ab") as lock:  # processes of tests start together
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install_moto(home)
    return home / "bin" / "moto_server"


def _install_moto(home: Path) -> None:
    stamp, python = home / "pins.txt", home / "bin" / "python"
    made = f"{MOTO}\n{home}\n"  # a folder that was moved has programs that name the old one
    if stamp.exists() and stamp.read_text() == made:
        return
    uv = shutil.which("uv")
    venv.create(home, with_pip=uv is None, clear=True)
    installer = [uv, "pip", "install", "-q", "--python", str(python)] if uv else []
    subprocess.run([*(installer or [str(python), "-m", "pip", "install", "-q"]), MOTO], check=True)
    stamp.write_text(made)
