"""Processes that the demo started: start them, notice their death, stop them and nothing else.

Each component leads a session of its own, recorded by the leader's process id and birth.  While any
member lives the kernel gives that id to nobody else, and a process that has the id but was born at
another time is a stranger: so nothing that we did not start is ever touched.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["ComponentDiedError", "Components"]

POLITE_SECONDS = 15


class ComponentDiedError(Exception):
    """A component ended on its own; the message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Components:
    """The processes that live on one home: Airflow's components, and the servers of a scenario."""

    home: Path

    @property
    def record(self) -> Path:
        """File with the session of each component."""
        return self.home / "pids.json"

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a component in a session of its own, with its log in ``logs/NAME.log``."""
        log = self._log(name)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            process = subprocess.Popen(
                command,
                env=dict(environment),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        born = psutil.Process(process.pid).create_time()
        self.record.write_text(json.dumps({**self._sessions(), name: [process.pid, born]}))

    def kill(self, name: str) -> None:
        """Kill a component and all of its session with -9, as a machine that goes down would."""
        sessions = self._sessions()
        leader, _ = sessions.pop(name)
        members = [process for process in psutil.process_iter() if _session(process) == leader]
        for process in members:
            _send(process, signal.SIGKILL)
        psutil.wait_procs(members, timeout=10)
        self.record.write_text(json.dumps(sessions))

    def check(self) -> None:
        """Raise ``ComponentDiedError`` if a component is no longer there."""
        for name, (leader, born) in self._sessions().items():
            if _alive(leader, born) is None:
                raise ComponentDiedError(f"{name} ended by itself:\n{self.tail(name)}")

    def tail(self, name: str, lines: int = 15) -> str:
        """The end of a component's log."""
        return "\n".join(self._log(name).read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> list[str]:
        """Stop every process of the recorded sessions; their names.

        The leaders are asked first, so that the scheduler ends its own tasks; what is left after
        a while is asked too, and at last killed.
        """
        sessions = self._sessions()
        ours = self._ours(sessions)
        led = {leader for leader, _ in sessions.values()}
        leaders = [p for p in ours if p.pid in led]
        for wave, signal_number in ((leaders, signal.SIGTERM), (ours, signal.SIGTERM)):
            for process in wave:
                _send(process, signal_number)
            _, ours = psutil.wait_procs(ours, timeout=POLITE_SECONDS)
        for process in [*ours, *self._ours(sessions)]:
            _send(process, signal.SIGKILL)
        psutil.wait_procs(ours, timeout=5)
        self.record.unlink(missing_ok=True)
        return sorted(sessions) if leaders else []

    def _sessions(self) -> dict[str, tuple[int, float]]:
        return json.loads(self.record.read_text()) if self.record.exists() else {}

    def _log(self, name: str) -> Path:
        return self.home / "logs" / f"{name}.log"

    def _ours(self, sessions: Mapping[str, tuple[int, float]]) -> list[psutil.Process]:
        led = {
            leader
            for leader, born in sessions.values()
            if not psutil.pid_exists(leader) or _alive(leader, born)
        }
        found = {}
        for process in psutil.process_iter():
            try:
                if _session(process) in led:
                    found.update({p.pid: p for p in (process, *process.children(recursive=True))})
            except psutil.Error:
                continue
        return list(found.values())


def _alive(pid: int, born: float) -> psutil.Process | None:
    """The process with this id, if it is the one that was born then and still runs."""
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - born) < 2 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if same else None


def _session(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return None


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
