"""Writers, compactors, flows, readers and expirers on a table in dictionaries, and the schedules that they meet on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from table_core.commit import effects as cx
from table_core.commit.outcome import Outcome
from table_core.commit.protocol import commit
from table_core.commit.request import CommitLimits, CommitPart, CommitRequest
from table_core.errors import ErrorKind, TableError
from table_core.expire.plan import Retention
from table_core.expire.protocol import expire_snapshots
from table_core.ondisk.properties import WRITER_PREFIX
from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.testing.simulator import Actor, Choose, Ended, scripted, simulate
from tests.simulation.fake_table import FakeTable, Logical

POSITION = "tc.position"
Bounds = tuple[int, int]


class Model:
    """The actors on one fake table, and what they were told."""

    def __init__(self) -> None:
        self.table = FakeTable()
        self.fresh: set[str] = set()

    def request(
        self,
        user: str,
        *,
        fresh: bool,
        resume_from: int | None,
        compacts: bool = False,
        **more: Any,
    ) -> CommitRequest:
        rows: Counter[Logical] = Counter({(user, 0): 1})
        new = self.table.new_file(rows)
        if fresh:
            self.fresh.add(user)
        compact = None
        if compacts:
            compact = CommitPart(kind=CommitKind.COMPACT, entries=self.table.compaction([new]))
        return CommitRequest(
            table="t",
            user=user,
            identifier=0,
            fresh_user=fresh,
            append=CommitPart(kind=CommitKind.APPEND, entries=(new,)),
            compact=compact,
            resume_from=resume_from,
            writer_version=f"{WRITER_PREFIX}0",
            limits=CommitLimits(retries_max=3),
            **more,
        )

    def writer(self, name: str, *, fresh: bool = False, compacts: bool = False) -> Actor:
        """Writes a row; restarts under its name with new files, as a retried task does."""
        recorded: list[int] = []

        def run() -> Iterator[Any]:
            head_id = yield self.table.head_id
            recorded.append(head_id)  # outside the process; the first record counts
            request = self.request(name, fresh=fresh, resume_from=recorded[0], compacts=compacts)
            return (yield from commit(request, bounds=_bounds))

        return Actor(name=name, start=run, restart=None if fresh else run)

    def compactor(self, name: str) -> Actor:
        def run() -> Iterator[Any]:
            entries = yield self.table.compaction
            request = CommitRequest(
                table="t",
                user=name,
                identifier=0,
                fresh_user=True,
                compact=CommitPart(kind=CommitKind.COMPACT, entries=entries),
                writer_version=f"{WRITER_PREFIX}0",
                limits=CommitLimits(retries_max=3),
            )
            return (yield from commit(request, bounds=_bounds))

        return Actor(name=name, start=run)

    def flow(self, name: str) -> Actor:
        """Reads the position, commits one step further; two of them must not both do it."""

        def run() -> Iterator[Any]:
            at = yield self.position
            request = self.request(
                name,
                fresh=True,
                resume_from=None,
                expect={POSITION: at},
                properties={POSITION: str(int(at or 0) + 1)},
                start_anew=True,
            )
            return (yield from commit(request, bounds=_bounds))

        return Actor(name=name, start=run)

    def position(self) -> str | None:
        found = self.table.do_LookupProperties(cx.LookupProperties(self.table.head_id()))
        value: str | None = found.properties.get(POSITION)
        return value

    def foreign(self, name: str) -> Actor:
        """A well-behaved writer that repeats no properties."""

        def run() -> Iterator[Any]:
            entry = self.table.new_file(Counter({(name, 0): 1}))

            def append() -> bool:
                head = self.table.do_ReadHead(cx.ReadHead()).head
                written = self.table.do_WriteManifests(
                    cx.WriteManifests(head=head, delta=(entry,), changelog=(), index=None)
                )
                return self.table.create(
                    Snapshot(
                        id=head.id + 1 if head else 1,
                        schema_id=0,
                        base_manifest_list=written.base_manifest_list,
                        delta_manifest_list=written.delta_manifest_list,
                        commit_user=name,
                        commit_identifier=0,
                        commit_kind=CommitKind.APPEND,
                        time_millis=self.table.now_ms,
                        total_record_count=(head.snapshot.total_record_count if head else 0) + 1,
                        delta_record_count=1,
                    )
                )

            yield append
            return "foreign"

        return Actor(name=name, start=run, faults=())

    def expirer(self, name: str, retained: int = 1) -> Actor:
        """Runs again and again, and after every crash."""

        def run() -> Iterator[Any]:
            for _ in range(3):
                yield from expire_snapshots(
                    Retention(retained_min=retained, retained_max=retained, time_retained_ms=0)
                )
            return None

        return Actor(name=name, start=run, restart=run, faults=("before", "after", "crash"))

    def java_expirer(self, name: str) -> Actor:
        """Deletes first and says so afterwards, as Java does."""

        def run() -> Iterator[Any]:
            table = self.table

            table.floor_is_late = True

            def delete() -> None:
                for id in sorted(table.snapshots)[:-1]:
                    del table.snapshots[id]
                    table.checked.pop(id)

            def say(id: int) -> None:
                table.earliest_hint = id

            yield lambda: say(1)
            yield delete
            yield lambda: say(table.head_id())

        return Actor(name=name, start=run, faults=())

    def reader(self, name: str) -> Actor:
        """Opens a snapshot and reads it file by file; what is missing must have been expired."""

        def run() -> Iterator[Any]:
            table = self.table
            head = yield lambda: table.snapshot(table.head_id())
            if head is None:
                return None
            try:
                live = yield lambda: table.live(head)
                for entry in live.values():
                    yield lambda e=entry: table.data[e.file.file_name]
            except Expired:
                assert head.id < table.floor(), f"snapshot {head.id} lost a file it was promised"
            return None

        return Actor(name=name, start=run, faults=())

    # -------------------------------------------------------------------------- running
    def perform(self, effect: Any) -> Any:
        try:
            return self.table.perform(effect)
        except KeyError as gone:
            raise Expired(str(gone), path=str(gone), snapshot=None) from None

    def fail(self, effect: Any) -> Any:
        return self.table.fail(effect)

    def spontaneous(self) -> list[str]:
        return self.table.spontaneous()

    def act(self, name: str) -> None:
        self.table.act(name)

    def check(self) -> None:
        self.table.check()

    def judge(self, ended: Sequence[Ended]) -> None:
        head = self.table.snapshot(self.table.head_id())
        applied = self.table.contents(head) if head else Counter()
        assert all(count == 1 for count in applied.values()), applied
        for end in ended:
            user = end.name.rstrip("~")
            there = applied[user, 0]
            if isinstance(end.result, Outcome) and (end.result.append or end.result.replayed):
                assert there == 1, f"{end.name} was told that it landed"
            elif end.error is not None:
                told_absent = end.error.kind in {ErrorKind.CONFLICT, ErrorKind.UNAVAILABLE}
                assert told_absent or end.error.kind is ErrorKind.UNKNOWN_OUTCOME, end.error
                # Another run of the same user may have landed; a fresh one has no other run.
                assert not (told_absent and user in self.fresh and there), end
        flows = sum(count for (user, _), count in applied.items() if user.startswith("flow"))
        assert int(self.position() or 0) == flows, (self.position(), flows)


class Expired(TableError):
    """A file is gone."""

    kind = ErrorKind.NOT_FOUND


def _bounds(_: object) -> Bounds:
    return (0, 0)


def run(model: Model, actors: Sequence[Actor], choose: Choose, faults_max: int = 3) -> list[Ended]:
    ended = simulate(actors, model, choose, faults_max=faults_max)
    model.judge(ended)
    return ended


def everyone(model: Model) -> list[Actor]:
    return [
        model.writer("a"),
        model.writer("b", compacts=True),
        model.writer("c", fresh=True, compacts=True),
        model.flow("flow1"),
        model.flow("flow2"),
        model.compactor("compactor"),
        model.foreign("java"),
        model.reader("reader"),
        model.expirer("expirer"),
    ]


def at_random(seed: int) -> int:
    """One run; returns its steps.  Where one goes on alone for long, the others are stalled."""
    dice = random.Random(seed)
    steps, last = 0, ""
    goes_on = dice.choice([0, 0.8, 0.97])
    weights = {"expirer": dice.choice([0.2, 1, 4]), "java": 0.3}
    fault_weight = dice.choice([0, 0.05, 0.3])

    def choose(options: Sequence[str], asked: object) -> str:
        nonlocal steps, last
        steps += 1
        if last in options and dice.random() < goes_on:
            return last
        odds = [weights.get(o, 1) if "!" not in o else fault_weight for o in options]
        chosen = dice.choices(options, odds)[0]
        last = chosen.partition("!")[0]
        return chosen

    model = Model()
    actors = everyone(model)
    dice.shuffle(actors)
    try:
        run(model, actors[: dice.randint(3, len(actors))], choose, dice.randint(0, 5))
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise
    return steps


def cast(model: Model, names: Sequence[str]) -> list[Actor]:
    """Actors by what their names begin with."""
    made = {
        "compacting": lambda name: model.writer(name, compacts=True),
        "fresh": lambda name: model.writer(name, fresh=True),
        "flow": model.flow,
        "compactor": model.compactor,
        "java": model.foreign,
        "jexpirer": model.java_expirer,
        "expirer": model.expirer,
        "reader": model.reader,
        "w": model.writer,
    }
    return [next(m for key, m in made.items() if n.startswith(key))(n) for n in names]


SCHEDULES = {
    "a stalled writer reuses a dead id": (
        "fresh>Create wb> wc> expirer> fresh>",
        {"fresh": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "a stalled writer meets an expiry half-way": (
        "fresh>Create wb> wc> expirer>Promise fresh> expirer>",
        {},
    ),
    "a restart finds its own resurrected snapshot": (
        "wa>Create wb> wc> expirer> wa wa!crash wa>",
        {"wa": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "a restart after an unacknowledged success": ("wa>Create wa wa!crash wa>", {"wa": None}),
    "a restart after its proof expired": (
        "wa>Create wa wa!crash java expirer> wa>",
        {"wa": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "a restart while Java expires its proof": (
        "wa>Create wa wa!crash java jexpirer jexpirer wa> jexpirer>",
        {"wa": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "a dead id hides the proof": (
        "wa>Create fresh>Create wa wa!crash java expirer> fresh wa>",
        {"wa": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "a lost reply is read back": ("fresh>Create fresh!after fresh>", {"fresh": None}),
    "a lost reply is read back after the id died and was used again": (
        "fresh1>Create fresh2>Create fresh1!after wb> expirer> fresh2 fresh1>",
        {"fresh1": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "a reply is lost and the write lands late": (
        "fresh>Create fresh!before fresh>Wait late fresh>",
        {"fresh": None},
    ),
    "a reply is lost and then the store is gone": (
        "fresh>Create fresh!after fresh!before",
        {"fresh": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "a wait is cut short and the write lands late": (
        "fresh>Create fresh!before fresh>Wait late fresh!before",
        {"fresh": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "the store's client repeats a create": ("fresh>Create fresh!again fresh>", {"fresh": None}),
    "a process taken for dead comes second": ("wa>Create wa!twin wa~> wa>", {"wa": None}),
    "a process taken for dead wakes after its twin's proof expired": (
        "wa>Create wa!twin wa~> wa>Wait java1 java2 expirer> wa>",
        {"wa": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "a process taken for dead before it began wakes last": (
        "wa!twin wa>ReadHead wa~> java expirer> wa>",
        {"wa": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "two flows read the same position": (
        "flow1>ReadHead flow2>ReadHead flow1> flow2>",
        {"flow1": None, "flow2": ErrorKind.CONFLICT},
    ),
    "a foreign commit drops the position": ("flow1> java wa> flow2>", {"flow2": None}),
    "a flow that slept uses a dead id, and its position is nobody's": (
        "flow1>Create wa> java expirer> flow1> wb>",
        {"flow1": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "two compactions of the same files": (
        "wa> wb> compactor1>ReadHead compactor2>ReadHead compactor1> compactor2>",
        {"compactor1": None, "compactor2": ErrorKind.CONFLICT},
    ),
    "a compact half loses and the rows are in": (
        "wa> compacting>Create compactor>ReadHead compactor> compacting>",
        {"compactor": None, "compacting": None},
    ),
    "an upgraded file survives expiry": ("compacting> wb> expirer>", {"compacting": None}),
    "a crash between the halves": (
        "compacting>Announce compacting compacting>Create compacting!crash compacting>",
        {"compacting": None},
    ),
    "what a writer saw expired and its number was used again": (
        "wb>Create java fresh>Create wc> fresh>Wait wd> expirer> wb> fresh>",
        {"fresh": None, "wb": ErrorKind.UNKNOWN_OUTCOME},
    ),
    "a crash after both halves, and the first one expires": (
        "compacting>Announce compacting compacting>Announce compacting!crash expirer> compacting>",
        {"compacting": None},
    ),
    "a restart after its proof expired, which the head names": (
        "wa>Create wa wa!crash wb> expirer> wa>",
        {"wa": None},
    ),
    "a process taken for dead wakes, and the head names its twin": (
        "wa>Create wa!twin wa~> wa>Wait wb> wc> expirer> wa>",
        {"wa": None},
    ),
    "a crash between the halves, and the first one expires": (
        "compacting>Announce compacting compacting>Create compacting!crash wb> expirer> compacting>",
        {"compacting": None},
    ),
    "a reader keeps what it was promised": ("wa> reader compactor> reader expirer reader>", {}),
}


def play(name: str) -> None:
    """Run a schedule by its name."""
    words, expected = SCHEDULES[name]
    model = Model()
    names = {w.partition(">")[0].partition("!")[0] for w in words.split()} - {"late"}
    actors = cast(model, sorted(n for n in names if "~" not in n))
    ended = run(model, actors, scripted(words.split()), faults_max=9)
    kinds = {e.name: e.error.kind if e.error else None for e in ended}
    assert expected.items() <= kinds.items(), kinds
