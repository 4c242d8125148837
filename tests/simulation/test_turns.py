"""Commits beside rollbacks under every order of their steps: what is acknowledged is there, or a turn took it back.

Method: the shipped generators of three writers, a rollback or two and an expirer on a table in dictionaries.  At the end

- each acknowledged commit is on the line of the head, or a turn names its snapshot;
- no other commit is there;
- nothing is above the head, and the ids have no gap.

Mutants that these schedules catch: no look after the create; the look believes a predecessor of another state; a rollback
that lists once; that does not list after its end; that deletes before it notes; a writer that takes every
taken number for a lost race.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from table_core.commit import effects as cx
from table_core.commit import take_back as back
from table_core.commit.protocol import commit
from table_core.commit.request import CommitLimits, CommitPart, CommitRequest
from table_core.errors import CommitConflictError, ErrorKind
from table_core.expire.plan import Retention
from table_core.expire.protocol import expire_snapshots
from table_core.ondisk.line import end_of_line, is_stray
from table_core.ondisk.properties import WRITER_PREFIX
from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.testing.simulator import Actor, Steps, scripted, simulate
from tests.lanes import budget
from tests.simulation.fake_table import FakeTable

ROUNDS = budget("ROUNDS", ci=400, nightly=20_000)


class Turning(FakeTable):
    """Whose head may go back."""

    def head_id(self) -> int:
        ids = sorted(id for id in self.snapshots if id >= self.floor())
        while ids:
            end = end_of_line(ids, self.floor())
            snapshot, before = self.snapshot(end), self.snapshot(end - 1)
            assert snapshot is not None
            if before is None or not is_stray(snapshot, before):
                return end
            ids.remove(end)
        return 0

    def check(self) -> None:
        head = self.snapshot(self.head_id())
        if head is not None:
            self.assert_whole(head)


class World:
    """The actors on one table, and what they were told."""

    def __init__(self, first: int = 5) -> None:
        self.table = Turning()
        self.acknowledged: dict[str, Snapshot] = {}
        for n in range(first):
            for _ in self.run(commit(self.request(f"old{n}"), bounds=None)):
                pass

    def run(self, steps: Any) -> Iterator[Any]:
        """Drive ``steps`` on the table at once."""
        effect = next(steps)
        while True:
            yield effect
            try:
                effect = steps.send(self.table.perform(effect))
            except StopIteration:
                return

    def request(self, user: str) -> CommitRequest:
        new = self.table.new_file(Counter({(user, 0): 1}))
        return CommitRequest(
            table="t",
            user=user,
            identifier=0,
            fresh_user=True,
            append=CommitPart(kind=CommitKind.APPEND, entries=(new,)),
            writer_version=f"{WRITER_PREFIX}0",
            limits=CommitLimits(retries_max=20),
        )

    def writer(self, name: str) -> Actor:
        def run() -> Steps:
            outcome = yield from commit(self.request(name), bounds=None)
            assert outcome.append is not None
            self.acknowledged[name] = outcome.append.snapshot
            return outcome

        return Actor(name=name, start=run, faults=())

    def rollback(self, name: str, target: int) -> Actor:
        def run() -> Steps:
            try:
                yield back.Begin()
            except CommitConflictError:
                return None
            state: cx.Head | None = yield cx.ReadBack(target)
            if state is None:
                yield back.End()
                return None
            gone = yield from back.take_back(state.snapshot)
            yield back.End()
            yield from back.clean_after_end(state.snapshot, gone)
            return gone

        return Actor(name=name, start=run, faults=())

    def expirer(self, name: str) -> Actor:
        def run() -> Steps:
            return (yield from expire_snapshots(Retention(retained_min=2, retained_max=3)))

        return Actor(name=name, start=run, faults=())

    def judge(self) -> None:
        table = self.table
        head = table.snapshot(table.head_id())
        assert head is not None
        there = set(table.contents(head))
        gone = {state for _, states in table.turns for state in states}
        for name, snapshot in self.acknowledged.items():
            assert ((name, 0) in there) != (snapshot.state in gone), name
        known = {(name, 0) for name in self.acknowledged}
        assert {row for row in there if not row[0].startswith("old")} <= known
        ids = sorted(id for id in table.snapshots if id >= table.floor())
        assert ids == list(range(ids[0], head.id + 1))


def run(actors: list[Actor], world: World, choose: Any) -> None:
    for ended in simulate(actors, world.table, choose, faults_max=0):
        # An expiry begins anew, and a writer of which nobody knows has done nothing that is there.
        is_known = ended.error is None or ended.error.kind is not ErrorKind.CORRUPT
        assert is_known, ended
    world.judge()


@pytest.mark.parametrize("stop", ["Create", "ReadFloor", "ReadBack", "Announce"])
@pytest.mark.parametrize("pause", ["Note", "TakeBack", "ReadLater", "End"])
def test_a_writer_stops_at_a_step_and_a_rollback_at_another(stop: str, pause: str) -> None:
    world = World()
    actors = [world.writer("a"), world.rollback("r", 2), world.writer("b"), world.writer("c")]
    run(actors, world, scripted([f"a>{stop}", f"r>{pause}", "a>", "r>", "b>", "c>"]))


@pytest.mark.parametrize("stop", ["Create", "ReadFloor", "ReadBack", "Announce"])
def test_a_writer_sleeps_through_a_rollback_and_what_follows_it(stop: str) -> None:
    for more in range(5):
        world = World()
        later = [world.writer(f"b{n}") for n in range(more)]
        actors = [world.writer("a"), world.rollback("r", 2), *later]
        run(actors, world, scripted([f"a>{stop}", "r>", *(f"b{n}>" for n in range(more)), "a>"]))


@pytest.mark.parametrize("seed", range(4))
def test_any_order(seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(ROUNDS // 4):
        world = World()
        actors = [world.writer(name) for name in "abc"]
        actors += [world.rollback("r", chosen.randint(1, 4))]
        if chosen.random() < 0.5:
            actors.append(world.rollback("s", chosen.randint(1, 4)))
        run(actors, world, lambda options, _: chosen.choice(list(options)))
