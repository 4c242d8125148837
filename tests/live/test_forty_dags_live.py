"""Forty Dags fill seven days on a live Airflow while tasks and processes are killed and runs cleared.

Every number that a task or a watcher announces is compared with what the table's snapshots and rows say.  No
event is lost, and one that comes twice is the same in all members.  Values between tasks go through an XCom
backend of another kind.  ``SEED`` says what is killed and cleared.
"""

from __future__ import annotations

import json
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.live.airflows import KILLED_OFTEN, Live, running
from tests.live.announced import History
from tests.live.file_xcoms import FOLDER
from tests.live.forty_dags import CASES, DAYS, LATER, TABLES, WATCHED, dag_file, make_tables
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


class Event(NamedTuple):
    """What was announced, and by which task; a watcher has none."""

    uri: str
    source: tuple[Any, ...]
    extra: dict[str, Any]

    @property
    def by_task(self) -> bool:
        return self.source[0] is not None


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("forty")
    values = tmp_path_factory.mktemp("values")
    environment = {
        **KILLED_OFTEN,
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
            self._wait(f"{due} runs have ended", lambda due=due: self._look() >= due)
            self._wait(f"{what} can be done", lambda what=what: self._act(what))
        self._wait("nothing is at work", lambda: self._look() == total and self._at_rest())

    def _wait(self, what: str, ready: Callable[[], Any]) -> None:
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


def payload(event: Event) -> dict[str, Any]:
    return event.extra if event.by_task else event.extra["payload"]


def test_what_is_announced_is_what_the_tables_say(live: Live) -> None:
    begun = make_tables(live.catalog)
    backfills = Backfills(live)
    backfills.run()
    failed = [(dag, run) for dag, run, state in live.rows(RUNS) if state != "success"]
    assert failed == [], "\n".join(backfills.screen.why(*one) for one in failed[:5])
    histories = {
        name: History(live.catalog.table(f"f.{name}"), kind) for name, kind in TABLES.items()
    }
    for name in WATCHED:
        due = set(histories[name].snapshots)
        backfills._wait(
            f"the watcher of {name} has told all", lambda n=name, d=due: d <= told_of(live, n)
        )
    events = announced(live)
    wrong = [*differ(events), *numbers(events, histories), *missing(events, histories, begun)]
    wrong += results(live, events)
    print(summary(events, backfills))
    assert wrong == [], f"seed {SEED}, {len(wrong)} are wrong:\n" + "\n".join(wrong[:60])


def told_of(live: Live, table: str) -> set[int]:
    """The snapshots of which a watcher has told."""
    told = [payload(e) for e in announced(live) if not e.by_task]
    return {one["snapshot_id"] for one in told if one["table"] == f"f.{table}"}


def differ(events: list[Event]) -> list[str]:
    """Events of one snapshot that are not equal: whoever counts would count them twice."""
    same: dict[Any, dict[str, Any]] = {}
    wrong = []
    for event in events:
        told = payload(event)
        first = same.setdefault((event.uri, told["snapshot_id"]), told)
        if first != told:
            wrong.append(f"{event.uri} {event.source}: {told}, and before {first}")
    return wrong


def numbers(events: list[Event], histories: dict[str, History]) -> list[str]:
    wrong = []
    for event in events:
        told = payload(event)
        name = told["table"].removeprefix("f.")
        every = not event.by_task or TABLES[name] not in LATER
        of = histories[name].of_event(told, every=every)
        for one in histories[name].wrong(told, of):
            wrong.append(f"{name} {event.source} #{told['snapshot_id']}: {one}")
    return wrong


def missing(events: list[Event], histories: dict[str, History], begun: dict[str, int]) -> list[str]:
    """Snapshots of tasks of which no task has told."""
    told: dict[str, set[int]] = defaultdict(set)
    for event in events:
        if event.by_task:
            name = event.extra["table"].removeprefix("f.")
            every = TABLES[name] not in LATER
            told[name] |= {s.id for s in histories[name].of_event(event.extra, every=every)}
    wrong = []
    for name, history in histories.items():
        due = {
            s.id
            for s in history.snapshots.values()
            if s.id > begun[name] and (TABLES[name] not in LATER or history.delivers(s))
        }
        wrong += [f"{name}: nobody has told of {n}" for n in sorted(due ^ told[name])]
    return wrong


def results(live: Live, events: list[Event]) -> list[str]:
    """What tasks returned, by way of the files of the XCom backend, is what their newest event says."""
    newest = {event.source: event.extra for event in events if event.by_task}
    wrong, seen = [], 0
    for dag, task, run, index, value in live.rows(RETURNED):
        path = Path(json.loads(value))
        returned = json.loads(path.read_text())
        event = newest.get((dag, task, run, index))
        if event is None or "result" not in event:
            continue
        seen += 1
        kept = {k: v for k, v in returned.items() if k != "commits"}
        if event["result"] != kept:
            wrong.append(f"{dag} {task} {run}: {event['result']}, returned {kept}")
    return wrong or ([] if seen else ["nobody has returned anything"])


def summary(events: list[Event], backfills: Backfills) -> str:
    by_task = [e for e in events if e.by_task]
    different = {(e.uri, payload(e)["snapshot_id"]) for e in events}
    return (
        f"{len(backfills.have_ended)} runs, {len(backfills.cleared)} cleared; {len(by_task)} events of tasks, "
        f"{len(events) - len(by_task)} of watchers, {len(events) - len(different)} repeated"
    )
