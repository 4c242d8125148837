"""Forty Dags fill seven days on a live Airflow while tasks and processes are killed and runs cleared.

Every number that a task or a watcher announces is compared with what the table's snapshots and rows say.  No
event is lost, and one that comes twice is the same in all members.  Values between tasks go through an XCom
backend of another kind.  ``SEED`` says what is killed and cleared.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.airflows import KILLED_OFTEN, Live, running
from tests.live.announced import Event, compared
from tests.live.file_xcoms import FOLDER
from tests.live.forty_dags import CASES, DAYS, WATCHED, dag_file, make_tables
from tests.live.user_screen import ENDED, Screen

pytestmark = [pytest.mark.airflow, pytest.mark.heavy, pytest.mark.timeout(5400)]

SEED = int(os.environ.get("SEED") or 1)
PATIENCE_S = 3600
ACTIONS = {"task": 30, "supervisor": 6, "clear": 24, "scheduler": 2, "triggerer": 2}
"""What is done how often, spread over all runs."""
RUNS = (
    "SELECT dag_id, run_id, state FROM dag_run WHERE run_type = 'backfill' ORDER BY dag_id, run_id"
)
WORKING = "SELECT pid FROM task_instance WHERE state = 'running' AND pid IS NOT NULL ORDER BY dag_id, run_id"
EVENTS = """
SELECT a.uri, e.source_dag_id, e.source_task_id, e.source_run_id, e.source_map_index, e.extra::text
FROM asset_event e JOIN asset a ON a.id = e.asset_id ORDER BY e.id
"""
RETURNED = (
    "SELECT dag_id, task_id, run_id, map_index, value::text FROM xcom WHERE key = 'return_value'"
)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("forty")
    values = tmp_path_factory.mktemp("values")
    environment = {
        **KILLED_OFTEN,
        "AIRFLOW__CORE__PARALLELISM": "8",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "120",
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "300",
        "AIRFLOW__CORE__XCOM_BACKEND": "tests.live.file_xcoms.FileXCom",
        FOLDER: str(values),
    }
    files = {"forty.py": dag_file()}
    dags = len(CASES) + len(WATCHED)
    with running(folder, files, dags=dags, environment=environment) as live:
        yield live


class Backfills:
    """Seven days of every Dag, and what happens to them meanwhile."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.screen = Screen(live)
        self.random = random.Random(SEED)
        self.have_ended: set[tuple[str, str]] = set()
        self.cleared: set[tuple[str, str]] = set()

    def run(self) -> None:
        """Fill all days, and do to them what ``ACTIONS`` says; until all has ended."""
        for case in CASES:
            assert self.screen.backfill(case.name, DAYS[0], DAYS[-1], again=False)
        total = len(CASES) * len(DAYS)
        actions = [what for what, times in ACTIONS.items() for _ in range(times)]
        self.random.shuffle(actions)
        for number, what in enumerate(actions):
            due = total * number // len(actions)
            self.wait(f"{due} runs have ended", lambda due=due: self._look() >= due)
            self.wait(f"{what} can be done", lambda what=what: self._act(what))
        self.wait("nothing is at work", lambda: self._look() == total and self._at_rest())

    def wait(self, what: str, ready: Callable[[], Any]) -> None:
        self.live.airflow.wait(what, ready, PATIENCE_S, every=1)

    def _look(self) -> int:
        """How many runs have ever ended."""
        self.have_ended |= {(d, r) for d, r, state in self.live.rows(RUNS) if state in ENDED}
        return len(self.have_ended)

    def _at_rest(self) -> bool:
        return all(state in ENDED for _, _, state in self.live.rows(RUNS))

    def _act(self, what: str) -> bool:
        """Do it; False if there is nobody to do it to, now."""
        if what in {"scheduler", "triggerer"}:
            self.live.airflow.restart(what)
            return True
        if what == "clear":
            ended = [(d, r) for d, r, state in self.live.rows(RUNS) if state in ENDED]
            chosen = sorted(set(ended) - self.cleared)
            if chosen:
                one = self.random.choice(chosen)
                self.screen.clear_run(*one)
                self.cleared.add(one)
            return bool(chosen)
        working = self.live.rows(WORKING)
        if not working:
            return False
        (pid,) = self.random.choice(working)
        return self.screen.kill({"pid": pid}, supervisor=what == "supervisor")


def announced(live: Live) -> list[Event]:
    return [Event(uri, tuple(source), json.loads(told)) for uri, *source, told in live.rows(EVENTS)]


def returned(live: Live) -> dict[tuple[Any, ...], Any]:
    """What each task has returned, by way of the files of the XCom backend."""
    return {
        tuple(source): json.loads(Path(json.loads(name)).read_text())
        for *source, name in live.rows(RETURNED)
    }


def test_what_is_announced_is_what_the_tables_say(live: Live, tmp_path: Path) -> None:
    begun = make_tables(live.catalog)
    backfills = Backfills(live)
    backfills.run()
    failed = [(dag, run) for dag, run, state in live.rows(RUNS) if state != "success"]
    assert failed == [], "\n".join(backfills.screen.why(*one) for one in failed[:5])
    for name in WATCHED:
        head = live.catalog.table(f"f.{name}").latest_snapshot()
        assert head is not None
        due = set(range(begun[name] + 1, head.id + 1))
        backfills.wait(
            f"{name}: a watcher has told all", lambda n=name, d=due: d <= told_of(live, n)
        )
    events, values = announced(live), returned(live)
    assert values, "the files of the XCom backend are there"
    (tmp_path / "seen.json").write_text(json.dumps([begun, events, [*values.items()]]))
    print(
        f"{len(backfills.have_ended)} runs, {len(backfills.cleared)} cleared; {len(events)} events, "
        f"{len(events) - len({(e.uri, e.told.get('snapshot_id')) for e in events})} of them repeated"
    )
    wrong = compared(live.catalog, begun, events, values)
    assert wrong == [], f"seed {SEED}, {len(wrong)} are wrong:\n" + "\n".join(wrong[:60])


def told_of(live: Live, table: str) -> set[int]:
    """The snapshots of which a watcher has told."""
    told = [e for e in announced(live) if not e.by_task and e.table == table]
    return {event.told["snapshot_id"] for event in told}
