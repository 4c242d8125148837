"""Look at all task instances of the demo: which are red, skipped, or needed more than one try.

    python -m demo.verdict [HOME] [--minutes 30]

With ``--minutes`` it looks every half minute until the time is over, and ends early if a task is red.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from demo.airflow_home import AirflowHome, DemoError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Verdict", "await_end", "look", "verdict_on"]

WRONG: Final = frozenset({"failed", "upstream_failed", "skipped", "removed"})
UNDER_WAY: Final = frozenset({"queued", "running"})
"""States of a run that goes on."""
PAGE: Final = 100
LOOK_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the task instances.

    Args:
        counts: how many are in each state; ``none`` are those that wait.
        wrong: those that failed or were skipped, each as a line.
        again: those that needed more than one try, each as a line.
    """

    counts: Mapping[str, int]
    wrong: tuple[str, ...]
    again: tuple[str, ...]

    @property
    def text(self) -> str:
        """One line."""
        told = ", ".join(f"{count} {state}" for state, count in sorted(self.counts.items()))
        return f"{sum(self.counts.values())} task instances: {told or 'none yet'}"


def verdict_on(instances: Iterable[Mapping[str, Any]]) -> Verdict:
    """Judge task instances as Airflow's REST API lists them."""
    counts: Counter[str] = Counter()
    wrong, again = [], []
    for instance in instances:
        state = str(instance["state"] or "none")
        counts[state] += 1
        name = f"{instance['dag_id']}.{instance['task_id']} of {instance['dag_run_id']}"
        if state in WRONG:
            wrong.append(f"{name}: {state}")
        tries = int(instance["try_number"] or 0)
        if tries > 1:
            again.append(f"{name}: {state} after {tries} tries")
    return Verdict(dict(counts), tuple(wrong), tuple(again))


def look(airflow: AirflowHome) -> Verdict:
    """The verdict on every task instance of every run."""
    found: list[dict[str, Any]] = []
    while True:
        answer = airflow.get("/dags/~/dagRuns/~/taskInstances", limit=PAGE, offset=len(found))
        found += answer["task_instances"]
        if not answer["task_instances"] or len(found) >= answer["total_entries"]:
            return verdict_on(found)


def await_end(airflow: AirflowHome, seconds: float) -> None:
    """Wait until no run is under way.

    Raises:
        DemoError: one still is when the time is over.
    """

    def idle() -> bool:
        runs = airflow.get("/dags/~/dagRuns", state=sorted(UNDER_WAY), limit=1)["dag_runs"]
        return not runs

    airflow.wait("no run is under way", idle, seconds, every=1)


def main(arguments: list[str]) -> int:
    """Tell the states; 1 if a task is red or skipped."""
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=about)
    default = Path(__file__).resolve().parents[1] / ".demo"
    parser.add_argument("home", type=Path, nargs="?", default=default)
    parser.add_argument("--minutes", type=float, default=0)
    wish = parser.parse_args(arguments)
    until = time.monotonic() + 60 * wish.minutes
    try:
        airflow = AirflowHome.started_in(wish.home.resolve() / "airflow")
        while True:
            found = look(airflow)
            if found.wrong or time.monotonic() >= until:
                break
            time.sleep(LOOK_SECONDS)
    except (DemoError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    print(found.text, *found.wrong, *found.again, sep="\n")
    return int(bool(found.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
