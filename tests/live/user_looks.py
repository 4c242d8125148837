"""What the random user looks at when nothing is at work: tables, positions, events."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.live.user_dags import TASKS
from tests.live.user_model import Key

if TYPE_CHECKING:
    from tests.live.random_user import User

__all__ = ["settle", "start_flows_again"]

GRANTED_S = (-10.0, 75.0)
"""What a watcher may tell twice: what it told shortly before it was taken away or killed."""
FLOWS = ("u.counted", "u.counted_too")
ANNOUNCING = {*TASKS, "day", "g.publish"}


def settle(user: User) -> None:
    """Wait until nothing is at work; everything must be as it must be then."""
    user.rest()
    user.run(user.names.of("flows"))
    wrong = [*_runs(user), *_tables(user), *_flows(user), *_events(user), *_watcher(user)]
    assert wrong == [], "\n".join([f"seed {user.seed}", *user.done[-40:], *wrong])
    user.remember()


def start_flows_again(user: User) -> None:
    """The source was rolled back: flows read nothing and say so; their targets are made again."""
    before = {name: _counted(user, name) for name in FLOWS}
    flows = user.names.of("flows")
    run = user.run(flows, good=_are_behind(user))
    if _are_behind(user):
        return
    assert {name: _counted(user, name) for name in FLOWS} == before
    assert user.screen.why(flows, run).count("rolled-back") >= len(FLOWS)
    positions = {name.partition(".")[2]: user.table(name).positions.list() for name in FLOWS}
    user.run("again", **{name: found[0]["position"] for name, found in positions.items()})


def _are_behind(user: User) -> bool:
    """Whether what the flows have read is still in their source."""
    head = user.table("u.rows").latest_snapshot()
    assert head is not None
    places = [user.table(name).positions.list()[0]["place"] for name in FLOWS]
    return all(int(place.rpartition(" ")[2]) <= head.id for place in places)


def _runs(user: User) -> list[str]:
    """Those that failed, though nothing in them may."""
    dags = (user.names.of("loads"), "daily")
    found = [(dag, run, state) for dag in dags for run, state in user.screen.runs(dag).items()]
    return [user.screen.why(dag, run) for dag, run, state in found if state == "failed"]


def _tables(user: User) -> list[str]:
    wrong = []
    for table, tasks in user.holds.items():
        seen = _work_in(user, table, tasks)
        wrong += [f"{table}: {one}" for one in user.rows[table].settle(seen)]
    (counter,) = user.table("u.counters").read().to_arrow().to_pylist()
    seen = Counter({Key("bump", ""): counter["times"]})
    return wrong + [f"u.counters: {one}" for one in user.rows["u.counters"].settle(seen)]


def _work_in(user: User, table: str, tasks: tuple[str, ...]) -> Counter[Key]:
    """How often the work of each task is there: both rows of it, in the same number."""
    halves: dict[int, Counter[Key]] = {0: Counter(), 1: Counter()}
    for row in user.table(table).read().to_arrow().to_pylist():
        task, _, run = row["who"].partition(" ")
        assert row["n"] in halves, f"{table}: a row that no audit lets through: {row}"
        assert task in tasks, f"{table}: {row}"
        halves[row["n"]][Key(task, run, row["idx"])] += row.get("times", 1)
    assert halves[0] == halves[1], (
        f"{table}: half of {halves[0] - halves[1]}, {halves[1] - halves[0]}"
    )
    return halves[0]


def _counted(user: User, table: str) -> Counter[Any]:
    rows = user.table(table).read().to_arrow().to_pylist()
    return Counter(tuple(row.values()) for row in rows)


def _flows(user: User) -> list[str]:
    source = _counted(user, "u.rows")
    wrong = []
    for name in FLOWS:
        found = _counted(user, name)
        if found != source:
            wrong += [f"{name}: too often {found - source}, not there {source - found}"]
    return wrong


def _events(user: User) -> list[str]:
    seen = Counter({k: n for k, n in user.screen.announced().items() if k.task in ANNOUNCING})
    return [f"events: {one}" for one in user.events.settle(seen)]


def _watcher(user: User) -> list[str]:
    """Each snapshot is told, once but for what is granted; nothing else than what happened is told."""
    user.seen |= {(s.id, s.time_millis) for s in user.table("u.rows").snapshots()}

    def told() -> list[tuple[float, tuple[int, int]]]:
        events = user.screen.watched()
        return [(at, (event["snapshot_id"], event["committed_at_ms"])) for at, event in events]

    user.wait("the watcher has told all", lambda: user.seen <= {one for _, one in told()})
    user.wait("and no more is to come", lambda: told()[-1][0] < time.time() - 3)
    wrong = []
    first: dict[tuple[int, int], float] = {}
    for at, one in told():
        before = first.setdefault(one, at)
        if before != at and not any(_granted(before, moment) for moment in user.taken_away):
            wrong.append(f"watcher: {one} told at {before:.0f} and again at {at:.0f}")
    resets = {event.get("reset") for _, event in user.screen.watched()} - {None, "rolled-back"}
    gaps = [event for _, event in user.screen.watched() if event.get("gap")]
    return wrong + [f"watcher: {one}" for one in (*sorted(resets), *gaps)]


def _granted(at: float, moment: float) -> bool:
    return GRANTED_S[0] < at - moment < GRANTED_S[1]
