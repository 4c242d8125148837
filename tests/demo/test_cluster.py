"""Goal: containers and processes of the cluster get the same commands, environment and ports.

Method: the Compose file as it is, the published schema of the Compose specification, the processes'
words, and one real server.  There is no container engine here, so no container is started.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from demo.airflow_home import DemoError
from demo.cluster import compose
from demo.cluster.definition import CONTAINERS, PROJECT_IMAGE, WORKERS, Service, services
from demo.cluster.entrypoints import machine_words, make_files
from demo.cluster.healthy import PARTS, healthy
from demo.cluster.processes import Processes, place_at, resolved
from demo.environment import COMPONENTS
from tests.servers import free_port, own_folder, program

ROOT = Path(__file__).parents[2]
HOME = Path("/home/ada/cluster")
BETWEEN = re.compile(r"(//|[^\w./-]+)")
PINNED = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")


@pytest.fixture(scope="module")
def composed() -> dict[str, Any]:
    return yaml.safe_load(compose.FILE.read_text())["services"]


def test_the_compose_file_is_what_the_definition_says() -> None:
    assert compose.FILE.read_text() == compose.text(), "run: make compose"


def test_it_meets_the_compose_schema() -> None:
    check = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema"]
    done = subprocess.run(
        [*check, "vendor.compose-spec", compose.FILE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_image_is_pinned_by_tag_and_digest(composed: dict[str, Any]) -> None:
    images = {s["image"] for s in composed.values()} - {PROJECT_IMAGE}
    (base,) = re.findall(r"^FROM (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert [image for image in (*images, base) if not PINNED.fullmatch(image)] == []


def test_processes_get_the_commands_and_the_environment_of_containers(
    composed: dict[str, Any],
) -> None:
    cluster = Processes(HOME)
    assert list(composed) == list(cluster.services)
    for name, service in cluster.services.items():
        ours, theirs = cluster.command(service), composed[name]
        before, within, after = machine_words(service)
        end = len(ours) - len(after)
        first, *others = ours[len(before) : end]
        words = [first, *others[len(within) :]]
        assert (ours[: len(before)], ours[end:]) == (list(before), list(after))
        assert len(words) == len(theirs["command"])
        differing = [p for p in zip(theirs["command"], words, strict=True) if not same(*p)]
        environment = cluster.environment(service)
        for key, value in theirs.get("environment", {}).items():
            if not same(value, environment[key]):
                differing.append((f"{key}={value}", environment[key]))
        assert differing == [], name
        health = theirs.get("healthcheck", {"test": ["CMD"]})["test"]
        assert all(map(same, health, ("CMD", *service.health))), name
        assert theirs.get("expose", []) == [str(port) for port in service.ports]


def same(container: str, process: str) -> bool:
    """Whether two texts differ in nothing but what a place says."""
    theirs, ours = BETWEEN.split(resolved(container)), BETWEEN.split(process)
    return len(theirs) == len(ours) and all(
        their == our or our in placed(their) for their, our in zip(theirs, ours, strict=True)
    )


def placed(token: str) -> set[str]:
    """What a container's host, address or path is for a process."""
    here = place_at(HOME)
    hosts = {service.name for service in services(CONTAINERS)} | {CONTAINERS.listen}
    found = {here.host} if token in hosts else set()
    roots = {CONTAINERS.project: here.project, CONTAINERS.jars: here.jars}
    roots |= {CONTAINERS.python: here.python}
    roots |= {path: here.folders[name] for name, path in CONTAINERS.folders.items()}
    for theirs, ours in roots.items():
        if token == theirs or token.startswith(f"{theirs}/"):
            found.add(ours + token.removeprefix(theirs))
    # of several workers each has the same folder in its container
    return found | {here.folders[name] for name in WORKERS if CONTAINERS.folders[name] == token}


def test_no_two_servers_want_one_port() -> None:
    ports = [port for service in services(CONTAINERS) for port in service.ports]
    assert sorted(set(ports)) == sorted(ports)


def test_whatever_a_service_needs_comes_before_it_and_can_be_waited_for() -> None:
    before: dict[str, Service] = {}
    for service in services(CONTAINERS):
        for needed, state in service.needs.items():
            assert bool(before[needed].health) == (state == "healthy"), (service.name, needed)
        before[service.name] = service
    assert set(COMPONENTS) < before.keys()
    assert {s.name for s in before.values() if s.profile == "smoke"} == {"smoke"}


def test_the_declaration_is_the_streamhouse_with_other_sources() -> None:
    theirs, ours = (
        yaml.safe_load((ROOT / folder / "streamhouse.yaml").read_text())
        for folder in ("declarations", "demo/cluster/dags")
    )
    assert {s["sync"]["kind"] for s in ours.pop("sources").values()} == {"mysql", "kafka"}
    theirs.pop("sources")
    theirs["pipeline"]["params"].pop("input")
    assert ours == theirs


def test_a_mounted_file_exists_and_the_image_copies_what_exists(composed: dict[str, Any]) -> None:
    mounts = [m.split(":")[0] for s in composed.values() for m in s.get("volumes", [])]
    copied = re.findall(r"^COPY (.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    sources = [source for line in copied for source in line.split()[:-1]]
    paths = [*(mount for mount in mounts if mount.startswith("./")), *sources]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@dataclass(frozen=True)
class Own(Processes):
    """A cluster of one service on a port of its own."""

    one: Service | None = None

    @property
    def services(self) -> dict[str, Service]:
        assert self.one is not None
        return {self.one.name: self.one}


def test_a_port_that_is_taken_is_named_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cluster = Own(tmp_path, one=Service("store", "", ("bash",), ports=(port,)))
        with pytest.raises(DemoError, match=rf"cluster needs: {port} \(store\)\. Stop them"):
            cluster.check_machine()
    cluster.check_machine()


def test_a_program_that_is_not_here_is_named(tmp_path: Path) -> None:
    cluster = Own(tmp_path, one=Service("store", "", ("no-such-server",)))
    with pytest.raises(DemoError, match=r"store needs no-such-server, which is not here"):
        cluster.check_machine()


@pytest.fixture
def postgres() -> Iterator[tuple[Own, int]]:
    program("initdb")
    port = str(free_port())
    with own_folder() as folder:
        stated = Processes(folder).services["postgres"]
        moved = replace(
            stated,
            command=tuple(port if word == "5432" else word for word in stated.command),
            health=tuple(port if word == "5432" else word for word in stated.health),
        )
        cluster = Own(folder, one=moved)
        (folder / "airflow").mkdir()
        yield cluster, int(port)
        cluster.components.stop()


def test_a_server_starts_is_healthy_and_asks_for_the_password(postgres: tuple[Own, int]) -> None:
    cluster, port = postgres
    make_files(cluster.services["postgres"], cluster.environment(cluster.services["postgres"]))
    cluster.launch("postgres")
    cluster.await_health(["postgres"])
    address = f"postgresql://airflow:{{}}@127.0.0.1:{port}/airflow"
    with psycopg.connect(address.format("airflow")) as database:
        assert database.execute("SELECT current_database()").fetchall() == [("airflow",)]
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(address.format("wrong"))
    cluster.components.kill("postgres")
    cluster.components.check()  # what was killed on purpose is missed by nobody


class _Health(BaseHTTPRequestHandler):
    """Airflow's health page, with a triggerer that is not well."""

    def do_GET(self) -> None:
        states = {part: {"status": "healthy"} for part in PARTS.values()}
        states["triggerer"] = {"status": "unhealthy"}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(states).encode())

    def log_message(self, *_: object) -> None:
        return


def test_a_component_is_healthy_when_airflow_says_so() -> None:
    server = HTTPServer(("127.0.0.1", 0), _Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    assert [name for name in PARTS if healthy(url, name)] == list(PARTS)[:-1]
    server.shutdown()
    server.server_close()
    assert not healthy(url)
