"""An Airflow of the demo's own: home folder, free ports, four components, and its REST API."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demo.components import Components
from demo.environment import (
    COMPONENTS,
    CONNECTION,
    MIGRATE,
    USER,
    airflow_settings,
    of_this_machine,
)
from demo.servers.machine import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["AirflowHome", "DemoError", "run_to_end"]

LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Without any proxy: the server is on this machine."""
PATIENCE_S = 180
"""What is not there after so long has failed; a laptop may be busy."""
ANSWER_SECONDS = 120
"""A machine that has much to do answers late."""
ENV_FILE = "env.sh"
"""What a shell needs to use this Airflow; other programs find its address there, too."""
BASE_URL = "AIRFLOW__API__BASE_URL"


class DemoError(Exception):
    """The demo cannot go on; the message says why."""


@dataclass
class AirflowHome:
    """One Airflow on SQLite, reachable from this machine only."""

    home: Path
    dags: Path
    connection: str
    port: int = field(default_factory=free_port)
    address: str = ""
    """Where an Airflow that somebody else started is reached; empty for one of our own."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Variables of a scenario: connections, and what the Dags look at."""
    _environment: dict[str, str] = field(default_factory=dict)
    _token: str = ""

    @classmethod
    def started_in(cls, home: Path) -> AirflowHome:
        """The Airflow that a demo has started with this home, for asking it.

        Raises:
            DemoError: no demo has.
        """
        try:
            lines = (home / ENV_FILE).read_text().splitlines()
        except FileNotFoundError:
            raise DemoError(f"no demo runs in {home.parent}: start one with make demo") from None
        (base,) = (shlex.split(line)[1] for line in lines if BASE_URL in line)
        return cls(home, home, "", address=base.partition("=")[2])

    @property
    def url(self) -> str:
        """Address of the UI and the API."""
        return self.address or f"http://127.0.0.1:{self.port}"

    @property
    def passwords(self) -> Path:
        """File of the logins."""
        return self.home / "passwords.json"

    @property
    def password(self) -> str:
        """The password of ``admin``."""
        return str(json.loads(self.passwords.read_text())[USER])

    @property
    def components(self) -> Components:
        """The processes on this home."""
        return Components(self.home)

    @property
    def environment(self) -> dict[str, str]:
        """Everything that a component and its tasks find in their environment."""
        if not self._environment:
            self._environment = {
                **of_this_machine(),
                "AIRFLOW_HOME": str(self.home),
                "AIRFLOW__API__HOST": "127.0.0.1",
                "AIRFLOW__API__PORT": str(self.port),
                "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
                "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
                "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_DRIVER_PYTHON": sys.executable,
                CONNECTION: self.connection,
                **self.more,
                **airflow_settings(
                    api_url=self.url,
                    dags=str(self.dags),
                    passwords=str(self.passwords),
                    jwt_secret=secrets.token_hex(32),
                ),
            }
        return self._environment

    def airflow(self, *words: str) -> list[str]:
        """The command line of an ``airflow`` subcommand."""
        return [str(Path(sys.executable).parent / "airflow"), *words]

    def start(self, seconds: float = PATIENCE_S) -> None:
        """Make the metadata database, start the components, wait until all are healthy.

        Raises:
            DemoError: the database could not be made, or a component is not healthy in time.
            ComponentDiedError: a component ended by itself.
        """
        self.home.mkdir(parents=True, exist_ok=True)
        self.passwords.write_text(json.dumps({USER: secrets.token_urlsafe(9)}))
        self.passwords.chmod(0o600)
        self._write_shell_file()
        run_to_end("airflow db migrate", self.airflow(*MIGRATE), self.environment, self.home)
        for name in COMPONENTS:
            self.components.start(name, self.airflow(name), self.environment)
        self.wait_healthy(seconds)

    def wait_healthy(self, seconds: float = PATIENCE_S) -> None:
        """Wait until every component says that it is well."""
        self.wait("Airflow is healthy", self._healthy, seconds)

    def wait(
        self, what: str, ready: Callable[[], Any], seconds: float = PATIENCE_S, every: float = 0.5
    ) -> Any:
        """Ask ``ready`` again and again until it answers something true; that answer."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.components.check()
            answer = ready()
            if answer:
                return answer
            time.sleep(every)
        raise DemoError(f"not within {seconds:.0f} s: {what}\n{self._logs_end()}")

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """Ask the REST API; ``path`` is below ``/api/v2``; a list is asked for each of its values."""
        return self._call("GET", f"/api/v2{path}?{urllib.parse.urlencode(query, doseq=True)}")

    def trigger(self, dag: str, conf: Mapping[str, Any]) -> str:
        """Start a run; its id."""
        body = {"logical_date": None, "conf": dict(conf)}
        return str(self._call("POST", f"/api/v2/dags/{dag}/dagRuns", body)["dag_run_id"])

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change something by the REST API; ``path`` is below ``/api/v2``."""
        return self._call(method, f"/api/v2{path}", body)

    def restart(self, name: str) -> None:
        """Kill a component with -9 and start it again."""
        self.components.kill(name)
        self.components.start(name, self.airflow(name), self.environment)

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """All runs of a Dag, oldest first."""
        found = self.get(f"/dags/{dag}/dagRuns", limit=100)["dag_runs"]
        return sorted(found, key=lambda run: run["run_after"])

    def tasks(self, dag: str, run: str) -> list[dict[str, Any]]:
        """The task instances of a run."""
        quoted = urllib.parse.quote(run, safe="")
        return list(
            self.get(f"/dags/{dag}/dagRuns/{quoted}/taskInstances", limit=100)["task_instances"]
        )

    def log_tail(self, dag: str, run: str, task: str, lines: int = 25) -> str:
        """The end of the newest log of a task, from its file."""
        folder = self.home / "logs" / f"dag_id={dag}" / f"run_id={run}" / f"task_id={task}"
        files = sorted(folder.rglob("attempt=*.log"), key=lambda path: path.stat().st_mtime)
        if not files:
            return f"(no log in {folder})"
        return "\n".join([*_log_lines(files[-1].read_text(errors="replace"))][-lines:])

    def has_dags(self, *names: str) -> bool:
        """Whether all these Dags are read.

        Raises:
            DemoError: a Dag file cannot be read.
        """
        faults = self.import_errors()
        if faults:
            raise DemoError("a Dag file cannot be read:\n" + "\n".join(faults))
        return set(names) <= {dag["dag_id"] for dag in self.get("/dags", limit=100)["dags"]}

    def import_errors(self) -> list[str]:
        """Why Dag files could not be read."""
        found = self.get("/importErrors")["import_errors"]
        return [f"{e['filename']}:\n{e['stack_trace']}" for e in found]

    def _healthy(self) -> bool:
        try:
            health = self._call("GET", "/api/v2/monitor/health", authorized=False)
        except (OSError, DemoError):
            return False
        states = [part.get("status") for part in health.values() if isinstance(part, dict)]
        return len(states) >= len(COMPONENTS) and all(state == "healthy" for state in states)

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        authorized: bool = True,
    ) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if authorized:
            headers["Authorization"] = f"Bearer {self._login()}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with LOCAL.open(request, timeout=ANSWER_SECONDS) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")[:500]
            raise DemoError(f"{method} {path}: {error.code} {text}") from error

    def _login(self) -> str:
        if not self._token:
            login = {"username": USER, "password": self.password}
            answer = self._call("POST", "/auth/token", login, authorized=False)
            self._token = str(answer["access_token"])
        return self._token

    def _write_shell_file(self) -> None:
        ours = {k: v for k, v in self.environment.items() if os.environ.get(k) != v}
        path = self.home / ENV_FILE
        path.touch(mode=0o600)
        quoted = {k: v.replace("'", "'\\''") for k, v in ours.items()}
        path.write_text("".join(f"export {k}='{v}'\n" for k, v in sorted(quoted.items())))

    def _logs_end(self) -> str:
        ours = () if self.address else COMPONENTS
        return "\n".join(f"--- {name}\n{self.components.tail(name, 6)}" for name in ours)


def run_to_end(
    what: str,
    words: Sequence[str],
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> None:
    """Run a program until it ends: in ``home`` with ``environment``, or with those of this process.

    Raises:
        DemoError: it failed; with the end of what it said.
    """
    done = subprocess.run(
        words, env=environment, cwd=home, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DemoError(f"{what} failed:\n{(done.stdout + done.stderr)[-3000:]}")


def _log_lines(text: str) -> Iterator[str]:
    """Airflow's task log, one JSON document a line, as people read it."""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            yield line
            continue
        yield f"{entry.get('level', ''):8} {entry.get('event', line)}"
        for error in entry.get("error_detail") or ():
            yield f"         {error.get('exc_type')}: {error.get('exc_value')}"
