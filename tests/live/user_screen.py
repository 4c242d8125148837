"""What a user of Airflow sees and does, by its REST API; and what happens to the machine under it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import psutil

from demo.airflow_home import DemoError
from tests.live.airflows import Live
from tests.live.user_model import Key

__all__ = ["ENDED", "Screen"]

ENDED = ("success", "failed")
ANNOUNCED = """
SELECT e.source_task_id, e.source_run_id, e.source_map_index, count(*)
FROM asset_event e WHERE e.source_task_id IS NOT NULL GROUP BY 1, 2, 3
"""
WATCHED = """
SELECT extract(epoch FROM e.timestamp), e.extra->'payload' FROM asset_event e
JOIN dag_schedule_asset_reference r ON r.asset_id = e.asset_id WHERE r.dag_id = 'woken' ORDER BY e.id
"""


@dataclass(frozen=True)
class Screen:
    """The pages of a live Airflow."""

    live: Live

    def runs(self, dag: str) -> dict[str, str]:
        """The runs of a Dag and their states, oldest first."""
        query = {"limit": 100, "order_by": "-run_after"}
        found = self.live.airflow.get(f"/dags/{dag}/dagRuns", **query)["dag_runs"]
        return {run["dag_run_id"]: run["state"] for run in reversed(found)}

    def active(self, *dags: str) -> list[tuple[str, str]]:
        """The runs that have not ended, as Dag and run."""
        at_work = ["queued", "running"]
        found = self.live.airflow.get("/dags/~/dagRuns", limit=100, state=at_work)["dag_runs"]
        return sorted((r["dag_id"], r["dag_run_id"]) for r in found if r["dag_id"] in dags)

    def tasks(self, dag: str, run: str) -> list[dict[str, Any]]:
        return self.live.airflow.tasks(dag, run)

    def states(self, dag: str, run: str) -> dict[tuple[str, int], str | None]:
        """The states of the tasks of a run, by task and mapped index."""
        return {(t["task_id"], t["map_index"]): t["state"] for t in self.tasks(dag, run)}

    def trigger(self, dag: str, run: str, **conf: Any) -> None:
        body = {"logical_date": None, "dag_run_id": run, "conf": conf}
        self.live.airflow.send("POST", f"/dags/{dag}/dagRuns", body)

    def clear(self, dag: str, run: str, *tasks: str | tuple[str, int], reset: bool = True) -> None:
        """Clear tasks; without ``reset`` the run stays as it is, until it is set to go on."""
        body = {"dag_run_id": run, "task_ids": list(tasks), "reset_dag_runs": reset}
        body |= {"dry_run": False, "only_failed": False}
        self.live.airflow.send("POST", f"/dags/{dag}/clearTaskInstances", body)

    def clear_run(self, dag: str, run: str) -> None:
        path = f"/dags/{dag}/dagRuns/{quote(run, safe='')}/clear"
        self.live.airflow.send("POST", path, {"dry_run": False})

    def go_on(self, dag: str, run: str) -> None:
        """Set a run to be queued."""
        path = f"/dags/{dag}/dagRuns/{quote(run, safe='')}"
        self.live.airflow.send("PATCH", path, {"state": "queued"})

    def delete(self, dag: str, run: str) -> bool:
        """Delete a run; False where Airflow does not allow it, for it is running."""
        path = f"/dags/{dag}/dagRuns/{quote(run, safe='')}"
        try:
            self._send_for_nothing("DELETE", path)
        except DemoError as error:
            if " 409 " not in str(error):
                raise
            return False
        return True

    def backfill(self, dag: str, first: str, last: str, *, again: bool) -> bool:
        """Fill these days; False where another backfill is under way."""
        body = {"dag_id": dag, "from_date": first, "to_date": last, "max_active_runs": 3}
        body["reprocess_behavior"] = "completed" if again else "none"
        try:
            self.live.airflow.send("POST", "/backfills", body)
        except DemoError as error:
            if " 409 " not in str(error):
                raise
            return False
        return True

    def pause(self, dag: str, *, paused: bool) -> None:
        self.live.airflow.send("PATCH", f"/dags/{dag}", {"is_paused": paused})

    def connect(self, *, new: bool = False, **members: Any) -> None:
        """Make or edit the connection of all Dags."""
        extra = {"catalog_name": "demo", **members.pop("extra", {})}
        body = {"connection_id": "user", "conn_type": "paimon", "host": None, **members}
        body["extra"] = json.dumps(extra)
        path = "/connections" if new else "/connections/user"
        self.live.airflow.send("POST" if new else "PATCH", path, body)

    def working(self, *dags: str) -> list[dict[str, Any]]:
        """The tasks that have a process, in the order of Dags, runs and tasks."""
        tasks = [t for dag, run in self.active(*dags) for t in self.tasks(dag, run)]
        return [t for t in tasks if t["state"] == "running" and t["pid"]]

    def kill(self, task: dict[str, Any], *, supervisor: bool) -> bool:
        """With -9, the task's process or the one that looks after it; False if it is gone."""
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            process = psutil.Process(task["pid"])
            scheduler, _ = json.loads(self.live.airflow.components.record.read_text())["scheduler"]
            if os.getsid(process.pid) != scheduler:  # a stranger, who was given its number
                return False
            if supervisor:
                process = process.parents()[0]
                if process.pid == scheduler:
                    return False
            os.kill(process.pid, signal.SIGKILL)
            return True
        return False

    def announced(self) -> Counter[Key]:
        """How many events each task has sent."""
        found = self.live.rows(ANNOUNCED)
        return Counter({Key(task, run, index): n for task, run, index, n in found})

    def watched(self) -> list[tuple[float, dict[str, Any]]]:
        """When the watcher has told what, oldest first."""
        return [(float(at), payload) for at, payload in self.live.rows(WATCHED)]

    def why(self, dag: str, run: str) -> str:
        """The ends of the logs of what did not go well."""
        bad = [t["task_id"] for t in self.tasks(dag, run) if t["state"] != "success"]
        log = self.live.airflow.log_tail
        return "\n".join(
            f"{dag} {run} {task}\n{log(dag, run, task)}" for task in dict.fromkeys(bad)
        )

    def _send_for_nothing(self, method: str, path: str) -> None:
        """Where the answer is empty."""
        with contextlib.suppress(json.JSONDecodeError):
            self.live.airflow.send(method, path, {})
