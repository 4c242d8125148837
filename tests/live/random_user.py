"""A user who does anything at any time to Dags, tasks, tables and machines, by a seed.

What is done next follows from the seed alone; to whom, from the seed and from what is there.  Now and then
the user waits until nothing is at work and compares tables and events with what they must be.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from table_core.table.api.table import Table
from tests.live.airflows import Live
from tests.live.user_dags import MAPPED, TABLES, TASKS, Names, dag_file
from tests.live.user_model import Key, Ledger
from tests.live.user_screen import ENDED, Screen

__all__ = ["User"]

PATIENCE = 900
TOO_MUCH = 6
"""Runs at work, beyond which the user waits for one to end."""
INDICES: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(TASKS, (-1,)),
    "mapped": tuple(range(MAPPED)),
    "g.load": (0, 1),
    "day": (-1,),
}
HOLDS = {"u.rows": ("plain", "mapped", "own"), "u.published": ("load",), "u.daily": ("day",)}
"""Tables, and the tasks whose rows are there."""


@dataclass
class Known:
    """A state of the tables that was looked at while nothing was at work."""

    snapshots: dict[str, int]
    rows: dict[str, dict[Key, tuple[int, int]]]


@dataclass
class User:
    """One user, and what must have come of all that was done."""

    live: Live
    seed: int
    names: Names = field(default_factory=Names)
    rows: dict[str, Ledger] = field(
        default_factory=lambda: {t: Ledger() for t in (*HOLDS, "u.counters")}
    )
    events: Ledger = field(default_factory=Ledger)
    days: set[str] = field(default_factory=set)
    """Runs of ``daily`` that are counted."""
    bad: set[str] = field(default_factory=set)
    """Runs whose rows must not pass the audit."""
    known: list[Known] = field(default_factory=list)
    taken_away: list[float] = field(default_factory=list)
    """When a watcher was paused, un-paused, or killed."""
    seen: set[tuple[int, int]] = field(default_factory=set)
    """Snapshots of ``u.rows`` that must be told: number and time."""
    done: list[str] = field(default_factory=list)
    random: random.Random = field(default_factory=random.Random)
    number: int = 0
    holds = HOLDS

    def __post_init__(self) -> None:
        self.screen = Screen(self.live)
        self.rows["u.counters"].counts[Key("bump", "")] = (0, 0)

    def act(self, number: int) -> None:
        """The action of this number."""
        self.number, self.random = number, random.Random(f"{self.seed}/{number}")
        action: Callable[[], str] = self.random.choices(
            [getattr(self, name) for name in WEIGHTS], [*WEIGHTS.values()]
        )[0]
        if len(self.screen.active(*self.dags)) >= TOO_MUCH:
            self.go_on()
            few = lambda: len(self.screen.active(*self.dags)) < TOO_MUCH  # noqa: E731
            self.wait("fewer runs at work", few)
        told = f"{number:4} {time.strftime('%H:%M:%S')} {action.__name__}: {action() or 'nothing'}"
        self.done.append(told)
        print(told, flush=True)
        time.sleep(self.random.uniform(0, 2))

    @property
    def dags(self) -> list[str]:
        """Those whose runs are counted, as they are called now."""
        return [self.names.of("loads"), self.names.of("flows"), "wap", "daily"]

    # ---------------------------------------------------------------- runs

    def load(self) -> str:
        run, fails = f"loads-{self.number}", self.random.choice([0, 0, 0, 1, 2])
        self.begin_loads(run, fails)
        return f"{run}, {fails} attempts die"

    def begin_loads(self, run: str, fails: int) -> None:
        self.screen.trigger(self.names.of("loads"), run, fails=fails)
        for task, table in TASKS.items():
            for index in INDICES[task]:
                self._count("begun", task, table, run, index)

    def flow(self) -> str:
        fails = self.random.choice([0, 0, 1])
        self.screen.trigger(self.names.of("flows"), f"flows-{self.number}", fails=fails)
        return f"{fails} attempts die"

    def publish(self) -> str:
        run, bad = f"wap-{self.number}", self.random.random() < 0.4
        self._begin_publishing(run, bad)
        return f"{run}{', with a bad row' if bad else ''}"

    def _begin_publishing(self, run: str, bad: bool) -> None:
        self.screen.trigger("wap", run, bad=bad, fails=self.random.choice([0, 0, 1]))
        self.bad = self.bad | {run} if bad else self.bad - {run}
        if not bad:
            self._count_published("begun", run)

    def fill(self) -> str:
        """A backfill, of days that are filled already or not."""
        first = date(2026, 1, 1) + timedelta(days=self.random.randrange(12))
        last, again = first + timedelta(days=self.random.randrange(3)), self.random.random() < 0.6
        wanted = {(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)}
        before = self.screen.runs("daily")
        if not self.screen.backfill("daily", str(first), str(last), again=again):
            return "another one is under way"
        for run in self._count_days():
            before.pop(run, None)
        for run, state in before.items():
            if again and any(day in run for day in wanted):
                self._count("cleared", "day", "u.daily", run, -1, done=state in ENDED)
        return f"{first} to {last}{', again' if again else ''}"

    def _count_days(self) -> set[str]:
        """Runs of ``daily`` that have come meanwhile are counted from now on."""
        new = set(self.screen.runs("daily")) - self.days
        for run in new:
            self._count("begun", "day", "u.daily", run, -1)
        self.days |= new
        return new

    def tidy(self) -> str:
        table = self.random.choice(["u.rows", "u.counters", "u.daily", "u.counted"])
        self.screen.trigger("tidy", f"tidy-{self.number}", table=table)
        return table

    # ---------------------------------------------------------------- clearing, deleting

    def clear_task(self) -> str:
        """One task, one index or all of a mapped one, with and without its run."""
        dag, run = self._some_run("loads")
        if not run:
            return ""
        states, reset = self.screen.states(dag, run), self.random.random() < 0.6
        task = self.random.choice([*TASKS])
        index = self.random.choice([*INDICES[task], -1])
        chosen = INDICES[task] if index == -1 else (index,)
        self.screen.clear(dag, run, task if index == -1 else (task, index), reset=reset)
        for one in chosen:
            done = states.get((task, one)) == "success"
            self._count("cleared", task, TASKS[task], run, one, done=done)
        if not reset and self.screen.runs(dag)[run] in ENDED:
            self.screen.go_on(dag, run)
        return f"{task}[{index}] of {run}{'' if reset else ', without the run'}: {states}"

    def clear_run(self) -> str:
        dag, run = self._some_run("loads")
        if not run:
            return ""
        states = self.screen.states(dag, run)
        self.screen.clear_run(dag, run)
        for task, table in TASKS.items():
            for index in INDICES[task]:
                done = states.get((task, index)) == "success"
                self._count("cleared", task, table, run, index, done=done)
        return f"{run}: {states}"

    def clear_group(self) -> str:
        """All of a publishing: it is done again."""
        dag, run = self._some_run("wap")
        if not run:
            return ""
        published = self.screen.states(dag, run).get(("g.publish", -1)) == "success"
        self.screen.clear_run(dag, run)
        if run not in self.bad:
            self._count_published("cleared", run, done=published)
        return f"{run}, {'published' if published else 'not published'}"

    def clear_published(self) -> str:
        """One task of a publishing that has ended: nothing more may come of it."""
        dag, run = self._some_run("wap", ended=True)
        if not run:
            return ""
        task = self.random.choice(["g.load", "g.audit", "g.publish", "g.clean_up"])
        self.screen.clear(dag, run, task)
        return f"{task} of {run}"

    def clear_flow(self) -> str:
        dag, run = self._some_run("flows")
        if run:
            self.screen.clear_run(dag, run)
        return run

    def delete(self) -> str:
        """A run, and make it again under its name."""
        which = self.random.choice(["loads", "loads", "wap", "daily"])
        dag, run = self._some_run(which)
        if not run:
            return ""
        states = self.screen.states(dag, run)
        if not self.screen.delete(dag, run):
            return f"{run} is at work"
        done = lambda task, index: states.get((task, index)) == "success"  # noqa: E731
        if which == "loads":
            for task, table in TASKS.items():
                for index in INDICES[task]:
                    self._count("deleted", task, table, run, index, done=done(task, index))
            self.begin_loads(run, 0)
        elif which == "daily":
            self._count("deleted", "day", "u.daily", run, -1, done=done("day", -1))
            self.days.discard(run)
        else:
            if run not in self.bad:
                self._count_published("deleted", run, done=done("g.publish", -1))
            self._begin_publishing(run, bad=self.random.random() < 0.4)
        return f"{run}: {states}"

    # ---------------------------------------------------------------- what goes wrong beneath

    def kill_task(self, *, supervisor: bool = False) -> str:
        """With -9; waits a little for one that is at work."""
        until = time.monotonic() + 8
        while time.monotonic() < until:
            working = self.screen.working(*self.dags)
            if working:
                task = self.random.choice(working)
                if self.screen.kill(task, supervisor=supervisor):
                    return f"{task['task_id']}[{task['map_index']}] of {task['dag_run_id']}"
            time.sleep(0.3)
        return ""

    def kill_worker(self) -> str:
        return self.kill_task(supervisor=True)

    def kill_component(self) -> str:
        name = self.random.choice(["scheduler", "triggerer", "triggerer"])
        if name == "triggerer":
            self.taken_away.append(time.time())
        self.live.airflow.restart(name)
        return name

    # ---------------------------------------------------------------- Dags and connections

    def pause(self) -> str:
        dag = self.random.choice([*self.dags, "woken"])
        paused = self.random.random() < 0.5
        self._pause(dag, paused=paused)
        return f"{dag} {'paused' if paused else 'goes on'}"

    def _pause(self, dag: str, *, paused: bool) -> None:
        if dag == "woken":
            self.taken_away.append(time.time())
        self.screen.pause(dag, paused=paused)

    def rename(self) -> str:
        """A Dag that rests; what it has done stays, and its runs are those of the old name."""
        which = self.random.choice(["loads", "flows"])
        self.rest()
        old, self.names = self.names.of(which), self.names.with_another(which)
        new = self.names.of(which)
        (self.live.airflow.dags / "user.py").write_text(dag_file(self.names))

        def known() -> bool:
            dags = {d["dag_id"] for d in self.live.airflow.get("/dags", limit=100)["dags"]}
            return new in dags and old not in dags

        self.wait(f"{new} is known", known)
        return f"{old} to {new}"

    def edit_connection(self) -> str:
        """The same warehouse, said otherwise."""
        warehouse = self.live.catalog.warehouse
        members: dict[str, Any] = self.random.choice(
            [
                {"host": warehouse},
                {"host": f"{warehouse}/"},
                {"host": warehouse.removeprefix("file://")},
                {"extra": {"warehouse": warehouse}},
                {"host": warehouse, "extra": {"sql_limits": {"threads": "2"}}},
            ]
        )
        self.screen.connect(**members)
        return str(members)

    # ---------------------------------------------------------------- tables

    def roll_back(self) -> str:
        """A table, to what it was when it was looked at; readers of it are loud, and begin again."""
        from tests.live.user_looks import settle, start_flows_again

        table = self.random.choice(["u.rows", "u.rows", "u.counted", "u.published", "u.counters"])
        settle(self)
        then = self.random.choice(self.known[-4:])
        self.run("back", table=table, snapshot=str(then.snapshots[table]))
        if table in self.rows:
            self.rows[table].counts = dict(then.rows[table])
        self.known = self.known[: self.known.index(then) + 1]
        if table == "u.rows":
            start_flows_again(self)
        settle(self)
        return f"{table} to snapshot {then.snapshots[table]}"

    # ---------------------------------------------------------------- helpers

    def go_on(self) -> None:
        """Let all Dags go on that are paused."""
        for dag in (*self.dags, "woken"):
            if self.live.airflow.get(f"/dags/{dag}")["is_paused"]:
                self._pause(dag, paused=False)

    def wait(self, what: str, ready: Callable[[], object]) -> None:
        """Look now and then, so that Airflow has time for its work."""
        self.live.airflow.wait(what, ready, PATIENCE, every=2)

    def rest(self) -> None:
        """Let everything go on, and wait until nothing is at work."""
        self.go_on()
        self.wait("nothing is at work", lambda: not self.screen.active(*self.dags, "tidy"))
        self._count_days()

    def run(self, dag: str, *, good: bool = True, **conf: Any) -> str:
        """Have a run of a Dag, to its end, which must be ``good`` or not."""
        run = f"{dag}-{self.number}-{time.monotonic_ns()}"
        self.screen.trigger(dag, run, **conf)
        self.wait(f"{run} ended", lambda: self.screen.runs(dag)[run] in ENDED)
        assert (self.screen.runs(dag)[run] == "success") == good, self.screen.why(dag, run)
        return run

    def _some_run(self, dag: str, *, ended: bool = False) -> tuple[str, str]:
        """One of the newest runs of a Dag; empty if it has none."""
        name = self.names.of(dag)
        runs = [r for r, state in self.screen.runs(name).items() if not ended or state in ENDED]
        return name, self.random.choice(runs[-6:]) if runs else ""

    def _count(self, what: str, task: str, table: str, run: str, index: int, **done: bool) -> None:
        key = Key(task, run, index)
        getattr(self.events, what)(key, **done)
        in_table = Key("bump", "") if task == "bump" else key
        getattr(self.rows[table], what)(in_table, **done)

    def _count_published(self, what: str, run: str, **done: bool) -> None:
        getattr(self.events, what)(Key("g.publish", run), **done)
        for index in INDICES["g.load"]:
            getattr(self.rows["u.published"], what)(Key("load", run, index), **done)

    def remember(self) -> None:
        """A state of the tables that a rollback may come back to."""
        heads = {name: self.table(name).latest_snapshot() for name in TABLES}
        snapshots = {name: head.id for name, head in heads.items() if head is not None}
        counts = {name: dict(ledger.counts) for name, ledger in self.rows.items()}
        self.known.append(Known(snapshots, counts))

    def table(self, name: str) -> Table:
        return self.live.catalog.table(name)


WEIGHTS = {
    "load": 18,
    "flow": 8,
    "publish": 9,
    "fill": 6,
    "tidy": 3,
    "clear_task": 12,
    "clear_run": 5,
    "clear_group": 4,
    "clear_published": 2,
    "clear_flow": 3,
    "delete": 7,
    "kill_task": 14,
    "kill_worker": 5,
    "kill_component": 3,
    "pause": 6,
    "rename": 2,
    "edit_connection": 4,
    "roll_back": 3,
}
