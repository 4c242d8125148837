"""Jobs of a task whose attempts a test plays: what Airflow keeps between them is a dictionary."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from paimon_provider.launchers.standalone import StandaloneLauncher
from paimon_provider.runs.cluster_jobs import ClusterJobs

__all__ = ["Store", "jobs"]


class Store(dict[str, Any]):
    """The state of a task."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value

    def delete(self, key: str) -> None:
        self.pop(key, None)


def jobs(on: StandaloneLauncher, store: Store, user: str, try_number: int) -> ClusterJobs:
    """As one of three attempts has them."""
    ti = SimpleNamespace(try_number=try_number, max_tries=2)
    context: Any = {"task_state_store": store, "ti": ti}
    return ClusterJobs(on, context, user)
