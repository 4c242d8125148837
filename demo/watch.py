"""Follow Dag runs while they go, and tell each step as it happens."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from demo.airflow_home import AirflowHome, DemoError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

__all__ = ["Watch"]

DONE = {"success": "green", "skipped": "dim", "failed": "red", "upstream_failed": "red"}


@dataclass
class Watch:
    """Prints what changed since it last looked."""

    airflow: AirflowHome
    console: Console
    started: float = field(default_factory=time.monotonic)
    _told: set[tuple[str, str, str, int, str]] = field(default_factory=set)

    def say(self, text: str) -> None:
        """One line with the time since the start."""
        self.console.print(
            f"[dim]{time.monotonic() - self.started:5.0f} s[/dim]  {text}", soft_wrap=True
        )

    def run(self, dag: str, run: str, title: str, seconds: float) -> None:
        """Wait until a run has ended well.

        Raises:
            DemoError: it failed (with the end of the log of its first failed task), or takes too
                long.
        """
        with self.console.status(title) as status:

            def ended() -> str | None:
                tasks = self.airflow.tasks(dag, run)
                self._tell(dag, run, title, tasks)
                busy = [t["task_id"] for t in tasks if t["state"] in ("running", "deferred")]
                status.update(f"{title}: {', '.join(busy) or 'waiting for a worker'}")
                state = self._state(dag, run)
                return state if state in ("success", "failed") else None

            state = self.airflow.wait(f"run of {dag} ended", ended, seconds, every=1)
        self._tell(dag, run, title, self.airflow.tasks(dag, run))
        if state == "failed":
            raise DemoError(self._cause(dag, run))

    def woken(self, dag: str, known: Iterable[str], seconds: float) -> str:
        """Wait for a run of ``dag`` that an asset event started; its id."""
        before = set(known)

        def found() -> str | None:
            for run in self.airflow.runs(dag):
                if run["dag_run_id"] not in before and run["run_type"] == "asset_triggered":
                    return str(run["dag_run_id"])
            return None

        with self.console.status(f"waiting for the snapshot to wake {dag}"):
            return str(self.airflow.wait(f"{dag} woken by a snapshot", found, seconds, every=1))

    def _state(self, dag: str, run: str) -> str | None:
        for found in self.airflow.runs(dag):
            if found["dag_run_id"] == run:
                return str(found["state"])
        return None

    def _tell(self, dag: str, run: str, title: str, tasks: list[dict[str, Any]]) -> None:
        for task in sorted(tasks, key=lambda t: t["end_date"] or "~"):
            state = str(task["state"])
            mark = (dag, run, task["task_id"], int(task["try_number"]), state)
            if mark in self._told or state not in (*DONE, "up_for_retry"):
                continue
            self._told.add(mark)
            took = f"{task['duration']:.1f} s" if task["duration"] else ""
            color = DONE.get(state, "yellow")
            self.say(f"{title}  [{color}]{state:8}[/{color}] {task['task_id']} [dim]{took}[/dim]")

    def _cause(self, dag: str, run: str) -> str:
        for task in self.airflow.tasks(dag, run):
            if task["state"] == "failed":
                name = task["task_id"]
                tail = self.airflow.log_tail(dag, run, name)
                return f"task {dag}.{name} failed after {task['try_number']} tries:\n{tail}"
        return f"run {run} of {dag} failed, no task of it did: see the scheduler's log"
