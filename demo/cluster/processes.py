"""The services as processes of this machine: the same commands, environment and ports as in Compose."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from demo.airflow_home import DemoError, run_to_end
from demo.cluster.definition import IMAGE_FOLDERS, Place, Service, services
from demo.cluster.entrypoints import MOTO, machine_words, make_files
from demo.components import Components
from demo.environment import of_this_machine
from demo.servers.kafka import JARS
from demo.servers.s3 import BUILT

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Processes", "place_at", "resolved"]

PROJECT = Path(__file__).resolve().parents[2]
MOTO_BINARIES = PROJECT / ".cache" / "moto" / "bin"
HEALTHY_SECONDS = 300
VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")
REMEDIES = {
    "postgres": "on Debian: apt-get install postgresql",
    "mariadbd": "on Debian: apt-get install mariadb-server",
    "minio": "build it: make minio, or: make cluster-demo S3=moto",
    "moto_server": "install moto[server] into .cache/moto",
}


def place_at(home: Path) -> Place:
    """The place of processes whose files are below ``home``."""
    folders = {name: str(home / name) for name in IMAGE_FOLDERS}
    return Place("127.0.0.1", "127.0.0.1", str(PROJECT), str(JARS), sys.executable, folders)


def resolved(text: str) -> str:
    """``${NAME:-default}`` filled in from the environment, as Compose does."""
    return VARIABLE.sub(lambda found: os.environ.get(found[1]) or found[2], text)


@dataclass(frozen=True)
class Processes:
    """The cluster's processes, with all their files below ``home``."""

    home: Path
    moto: bool = False
    """Whether moto answers in place of MinIO."""

    @property
    def components(self) -> Components:
        """Those that run."""
        return Components(self.home / "airflow")

    @property
    def services(self) -> dict[str, Service]:
        """The services by name, each after what it needs."""
        stated = {service.name: service for service in services(place_at(self.home))}
        if self.moto:
            stated["s3"] = replace(stated["s3"], command=MOTO, environment={})
        return stated

    def command(self, service: Service) -> list[str]:
        """The words of its process."""
        before, within, after = machine_words(service)
        first, *others = service.command
        return [*before, *map(resolved, (first, *within, *others)), *after]

    def environment(self, service: Service) -> dict[str, str]:
        """The environment of its process."""
        ours = of_this_machine()
        binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        path = (
            ours["PATH"],
            *map(str, binaries),
            "/usr/sbin",
            str(BUILT.parent),
            str(MOTO_BINARIES),
        )
        stated = {name: resolved(value) for name, value in service.environment.items()}
        return {**ours, "PATH": os.pathsep.join(path), **stated}

    def check_machine(self) -> None:
        """See to it that every program is here, and every port is free.

        Raises:
            DemoError: one is not; names it, and says what to do.
        """
        for service in self.services.values():
            program = service.command[0]
            if shutil.which(program, path=self.environment(service)["PATH"]) is None:
                remedy = REMEDIES.get(program, "run: make venv")
                raise DemoError(f"{service.name} needs {program}, which is not here; {remedy}")
        if "kafka" in self.services and not any(JARS.glob("kafka_2.13-*.jar")):
            raise DemoError(f"kafka needs its jars in {JARS}; run: make kafka")
        taken = [
            f"{port} ({service.name})"
            for service in self.services.values()
            for port in service.ports
            if not _free(port)
        ]
        if taken:
            raise DemoError(
                f"other servers listen on ports that the cluster needs: {', '.join(taken)}. Stop"
                " them (`ss -ltnp` names them), then start again"
            )

    def start(self) -> None:
        """Start every service that has no profile, each as soon as what it needs is well.

        Raises:
            DemoError: a service is not well in time, or a task failed.
            ComponentDiedError: a server ended by itself.
        """
        for service in self.services.values():
            if not service.profile:
                self.await_health(service.needs)
                make_files(service, self.environment(service))
                if service.health:
                    self.launch(service.name)
                else:
                    self.run(service)
        self.await_health(name for name, s in self.services.items() if s.health)

    def launch(self, name: str) -> None:
        """Start a server."""
        service = self.services[name]
        self.components.start(name, self.command(service), self.environment(service))

    def run(self, service: Service) -> None:
        """Run a task to its end.

        Raises:
            DemoError: it failed; with the end of what it said.
        """
        run_to_end(service.name, self.command(service), self.environment(service), self.home)

    def await_health(self, names: Iterable[str], seconds: float = HEALTHY_SECONDS) -> None:
        """Wait until the health checks of these services succeed.

        Raises:
            DemoError: one does not in time.
            ComponentDiedError: a server ended by itself.
        """
        until = time.monotonic() + seconds
        for name in names:
            service = self.services[name]
            while service.health and not self._healthy(service):
                self.components.check()
                if time.monotonic() > until:
                    end = self.components.tail(name)
                    raise DemoError(f"{name} is not healthy after {seconds:.0f} s:\n{end}")
                time.sleep(0.5)

    def _healthy(self, service: Service) -> bool:
        done = subprocess.run(
            service.health,
            env=self.environment(service),
            cwd=self.home,
            capture_output=True,
            check=False,
        )
        return done.returncode == 0


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
