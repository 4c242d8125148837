"""What can be done to tasks while their rows are computed, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable

from tests.live.backends import House, Write
from tests.live.slow_writes import LONG

__all__ = ["KILLS"]


def worker_killed(house: House) -> None:
    writes = house.begin("worker")
    writes.each_when_computing(Write.kill_worker)
    writes.end("success")
    writes.committed(1)
    writes.tried(lambda number, backend: (number > 1) == (backend != "deferred"))


def triggerer_killed(house: House) -> None:
    writes = house.begin("triggerer", LONG)
    writes.each_when_computing(lambda _: None)
    house.airflow.restart("triggerer")
    writes.end("success")
    writes.committed(1)
    writes.tried(lambda number, _: number == 1)


def scheduler_killed(house: House) -> None:
    writes = house.begin("scheduler", LONG)
    writes.each_when_computing(lambda _: None)
    house.airflow.restart("scheduler")
    writes.end("success")
    writes.committed(1)


def cleared(house: House) -> None:
    writes = house.begin("clear")
    writes.each_when_computing(Write.clear)
    writes.end("success")
    writes.committed(1)


def marked_failed(house: House) -> None:
    writes = house.begin("failed")
    writes.each_when_computing(lambda write: write.mark("failed"))
    writes.end("failed")
    writes.committed(0)
    for write in writes.runs:
        write.clear()
    house.wait("the runs go on", lambda: {w.state() for w in writes.runs}.isdisjoint({"failed"}))
    writes.end("success")
    writes.committed(1)


def marked_success(house: House) -> None:
    writes = house.begin("success")
    writes.each_when_computing(lambda write: write.mark("success"))
    writes.end("success")
    writes.committed(0)


def paused(house: House) -> None:
    writes = house.begin("pause")
    writes.each_when_computing(lambda write: write.pause(paused=True))
    house.wait("the jobs are over", lambda: {w.commits() for w in writes.runs} == {1})
    for write in writes.runs:
        write.pause(paused=False)
    writes.end("success")
    writes.committed(1)
    writes.tried(lambda number, _: number == 1)


KILLS: dict[str, Callable[[House], None]] = {
    "worker -9": worker_killed,
    "triggerer -9": triggerer_killed,
    "scheduler -9": scheduler_killed,
    "clear": cleared,
    "mark failed": marked_failed,
    "mark success": marked_success,
    "pause": paused,
}
