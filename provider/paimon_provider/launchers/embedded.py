"""Runs a job on Arrow, inside the worker's own process."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from paimon_provider.launchers.job_log import ProgressLine
from table_core.errors import JobFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.jobs.job_spec import JobSpec

__all__ = ["EmbeddedLauncher"]


class EmbeddedLauncher:
    """No JVM and no second process: for small tables and for metadata."""

    def __init__(self) -> None:
        self._running = False

    def run(self, spec: JobSpec, *, log: Callable[[str], None]) -> dict[str, Any]:
        """Run ``spec`` here; its log is the worker's log."""
        from table_core.jobs.last_line import done_facts, failed_facts
        from table_core.jobs.run import run_embedded  # Arrow stays out of Dag parsing

        log(f"Running {spec.action} on {spec.table} in this process")
        self._running = True
        try:
            result = dict(run_embedded(spec, partial(_tell, log)))
        except Exception as error:
            _tell(log, "failed", **failed_facts(error))
            raise
        finally:
            self._running = False
        _tell(log, "done", **done_facts(spec.action, spec.table, result))
        return result

    def kill(self) -> None:
        """Leave the running call by an error: nothing it wrote is visible before its commit."""
        if self._running:
            raise JobFailedError("the job was stopped from outside", exit_code=None, log_tail="")


def _tell(log: Callable[[str], None], stage: str, **facts: object) -> None:
    """Progress, as a job in a process of its own tells it."""
    log(ProgressLine(json.dumps({"event": "progress", "stage": stage, **facts})))
