"""Random orders of two writers, a compactor and an expirer of one bucket."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import table_core as tc
from table_core.commit import effects as cx
from table_core.commit.protocol import commit
from table_core.commit.request import CommitRequest
from table_core.errors import ErrorKind, StorageUnavailableError
from table_core.ondisk.snapshot import CommitKind
from table_core.table.commit_io.commit_effects import CommitEffects
from table_core.table.commit_io.committer import _request, parts_of
from table_core.testing.simulator import Actor, Ended, simulate
from tests.simulation.one_bucket import Bucket, Kind, Row

REFUSED = {ErrorKind.CONFLICT, ErrorKind.UNAVAILABLE}
FIRST: list[Row] = [(k, k * 7919 % 6007, k * 104729 % 7907, 1, "+I") for k in range(300)]


@dataclass(frozen=True)
class Asked:
    """An effect, and who performs it."""

    performer: CommitEffects
    effect: Any


@dataclass
class Races:
    """The world of the simulator."""

    bucket: Bucket
    in_flight: list[Asked] = field(default_factory=list)

    def perform(self, effect: Any) -> Any:
        if isinstance(effect, Asked):
            return effect.performer.perform(effect.effect)
        return effect()

    def fail(self, effect: Any) -> Any:
        if isinstance(effect, Asked) and isinstance(effect.effect, cx.Create):
            self.in_flight.append(effect)
            return cx.Created.UNKNOWN
        return StorageUnavailableError("the store did not answer", path="", reason="fault")

    def spontaneous(self) -> Sequence[str]:
        return ["late"] if self.in_flight else []

    def act(self, name: str) -> None:
        assert name == "late"
        self.perform(self.in_flight.pop(0))

    def check(self) -> None:
        """In the end, all at once."""

    # -------------------------------------------------------------------------------- actors
    def committing(self, request: CommitRequest) -> Iterator[Any]:
        access = self.bucket.table.access
        performer, steps = CommitEffects(access), commit(request, bounds=access.bounds)
        reply: Any = None
        try:
            effect = next(steps)
            while True:
                try:
                    reply = yield Asked(performer, effect)
                except tc.errors.TableError as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(reply)
        except StopIteration as stop:
            return stop.value

    def request(self, user: str, **parts: Any) -> CommitRequest:
        request = _request(self.bucket.table.access, tc.CommitAs(user=user, identifier=0))
        return replace(request, limits=replace(request.limits, retries_max=4), **parts)

    def writer(self, name: str, rows: Sequence[Row]) -> Actor:
        """Numbers its rows at one moment, compacts along at a later one."""

        def run() -> Iterator[Any]:
            writer = yield lambda: self.bucket.open(name, rows)
            result = yield writer.prepare
            append, compact = parts_of([result])
            done = yield from self.committing(self.request(name, append=append, compact=compact))
            return done

        return Actor(name=name, start=run, restart=run)

    def overwriter(self, name: str, rows: Sequence[Row]) -> Actor:
        def run() -> Iterator[Any]:
            yield lambda: self.bucket.overwriting(name, rows)
            append, compact = self.bucket.parts_of_overwrite(name)
            done = yield from self.committing(self.request(name, append=append, compact=compact))
            return done

        return Actor(name=name, start=run, restart=run)

    def compactor(self, name: str, strategy: str) -> Actor:
        def run() -> Iterator[Any]:
            part = yield lambda: self.bucket.begin(name, strategy)
            request = replace(self.request(name), user=f"{name}-{id(part)}", fresh_user=True)
            return (yield from self.committing(replace(request, compact=part)))

        return Actor(name=name, start=run, restart=run)


def race(kind: Kind, draw: random.Random, *, writers: int, faults: int) -> None:
    bucket = Bucket(kind)
    bucket.write(FIRST)
    bucket.compact()
    bucket.write([(k, draw.getrandbits(30), None, 1, "+I") for k in range(80)])
    world = Races(bucket)

    def some(n: int) -> list[Row]:
        return [
            (
                draw.randrange(5),
                draw.choice([None, n]),
                draw.choice([None, -n]),
                draw.choice([None, *range(4)]),
                draw.choice(["+I", "+I", "-D"]),
            )
            for _ in range(draw.randrange(1, 5))
        ]

    actors = [world.writer(f"w{n}", some(n)) for n in range(writers)]
    actors += [world.compactor(f"c{n}", draw.choice(["full", "minor"])) for n in range(2)]
    if draw.random() < 0.3:
        actors.append(world.overwriter("o", FIRST[: draw.randrange(300)]))

    def choose(options: Sequence[str], asked: Mapping[str, Any]) -> str:
        plain = [name for name in options if "!" not in name]
        faulty = [name for name in options if "!" in name]
        return draw.choice(faulty if faulty and draw.random() < 0.04 else plain)

    ended = simulate(actors, world, choose, faults_max=faults)
    acknowledged(bucket, ended)
    bucket.check()


def race_of(kind: Kind, seeds: Iterable[int]) -> None:
    for seed in seeds:
        draw = random.Random(f"{kind} {seed}")
        race(kind, draw, writers=draw.choice([2, 2, 3]), faults=draw.choice([0, 0, 2]))


def acknowledged(bucket: Bucket, ended: Sequence[Ended]) -> None:
    """What was told is so."""
    users = [
        s.commit_user for s in bucket.table.snapshots() if s.commit_kind is not CommitKind.COMPACT
    ]
    for end in ended:
        name = end.name.rstrip("~")
        if name.startswith("c"):
            continue
        assert users.count(name) <= 1, f"{name} is there twice"
        if end.error is None:
            assert users.count(name) == 1, f"{name} was acknowledged and is not there"
        elif end.error.kind in REFUSED and sum(e.name.rstrip("~") == name for e in ended) == 1:
            assert users.count(name) == 0, f"{name} was refused and is there"
