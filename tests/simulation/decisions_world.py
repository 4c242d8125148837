"""Tables, topics and folders that things happen to, and readers who know them by their positions alone.

No store and no rows: each snapshot, record and file is an object, and a reader's model is a list of those that
it has taken.  So a step costs microseconds, and what is decided (``position.what_next``) meets far more
histories than the world of real tables does.
"""

from __future__ import annotations

import random
import uuid
from collections import Counter
from dataclasses import dataclass, field

from table_core.position.decide import (
    Diverged,
    FilesNow,
    GoOn,
    Now,
    Start,
    TableNow,
    TopicsNow,
    what_next,
)
from table_core.position.document import Position, Positions
from table_core.position.files import FileFacts, FilesTaken
from table_core.position.lines import OffsetsPlace
from table_core.position.place import SnapshotPlace
from table_core.position.reader import Reader, ReaderKind
from table_core.position.source import FilesId, SourceId, TableId, TopicsId

NAMES = ("a", "b")


@dataclass(eq=False)
class Snap:
    """A snapshot."""

    id: int
    mark: str
    time_ms: int

    @property
    def place(self) -> SnapshotPlace:
        return SnapshotPlace(id=self.id, mark=self.mark, time_ms=self.time_ms)


@dataclass(eq=False)
class Table:
    """A table; what lies before ``first`` has expired."""

    birth: str
    snaps: list[Snap] = field(default_factory=list)
    first: int = 0


@dataclass(eq=False)
class Topic:
    """One partition of records."""

    id: str
    records: list[object] = field(default_factory=list)
    first: int = 0


@dataclass(eq=False)
class Follower:
    """A reader of a table: what it has taken, and its position as it is stored."""

    stored: str | None = None
    taken: list[Snap] = field(default_factory=list)


class Decisions:
    """One world; ``step`` does something to it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = 1_800_000_000_000
        self.tables = {name: self.new_table() for name in NAMES}
        self.followers = {name: Follower() for name in NAMES}
        self.cluster = self.new_id()
        self.topics: dict[str, Topic] = {"t": Topic(self.new_id())}
        self.topics_stored: str | None = None
        self.heard: dict[str, tuple[Topic, list[object]]] = {}
        self.files: dict[str, FileFacts] = {}
        self.taken: dict[str, FileFacts] = {}
        self.files_stored: str | None = None
        self.loud = Counter[str]()

    def new_id(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128)))

    def now(self) -> int:
        self.clock += 1
        return self.clock

    # ------------------------------------------------------------------------------- tables
    def new_table(self) -> Table:
        return Table(f"{self.now()}-{self.new_id()[:8]}")

    def append(self) -> None:
        table = self.tables[self.random.choice(NAMES)]
        for _ in range(self.random.choice((1, 1, 4))):
            table.snaps.append(Snap(len(table.snaps) + 1, self.new_id(), self.now()))

    def rollback(self) -> None:
        table = self.tables[self.random.choice(NAMES)]
        if len(table.snaps) > table.first:
            del table.snaps[self.random.randrange(table.first, len(table.snaps)) + 1 :]
            for _ in range(self.random.choice((0, 1, 3, 8))):
                table.snaps.append(Snap(len(table.snaps) + 1, self.new_id(), self.now()))

    def expire(self) -> None:
        """Of what the table's readers hold, nothing."""
        name = self.random.choice(NAMES)
        table = self.tables[name]
        held = [len(f.taken) for f in self.followers.values() if f.taken]
        table.first = max(table.first, min([*held, len(table.snaps)]) - 1, 0)

    def anew(self) -> None:
        self.tables[self.random.choice(NAMES)] = self.new_table()

    def swap(self) -> None:
        self.tables["a"], self.tables["b"] = self.tables["b"], self.tables["a"]

    def follow(self) -> None:
        name = self.random.choice(NAMES)
        follower = self.followers[name]
        last = (follower.taken or [None])[-1]
        moved = [n for n, t in self.tables.items() if last in t.snaps]
        if moved and self.random.random() < 0.5:
            name = moved[0]  # somebody has told it where its table is by now
        table = self.tables[name]
        snaps = table.snaps
        source = TableId(location=f"w/{name}", birth=table.birth)
        position = self.read(follower.stored)
        id = position.place.id if position is not None else 0  # type: ignore[union-attr]  # of a table
        there = table.first < id <= len(snaps)
        state = TableNow(
            source=source,
            head=snaps[-1].place if snaps else SnapshotPlace(id=0),
            at=snaps[id - 1].place if there else None,
            earliest=snaps[table.first].place if snaps and not there else None,
        )
        known = last is None or last in snaps
        if self.decided(position, state, fits=known) is None:
            follower.stored, follower.taken = None, []
            return
        if self.random.random() < 0.1:
            return  # it dies before its commit
        follower.taken = [*snaps]
        place = snaps[-1].place if snaps else SnapshotPlace(id=0)
        follower.stored = self.text(ReaderKind.CONSUMER, source, place)

    # ------------------------------------------------------------------------------- topics
    def produce(self) -> None:
        topic = self.random.choice([*self.topics.values()])
        topic.records += [object() for _ in range(self.random.randint(1, 4))]

    def retire(self) -> None:
        topic = self.random.choice([*self.topics.values()])
        topic.first = self.random.randint(topic.first, len(topic.records))

    def topic_anew(self) -> None:
        name = self.random.choice(["t", "u"])
        records: list[object] = [object() for _ in range(self.random.randint(0, 6))]
        self.topics[name] = Topic(self.new_id(), records)

    def cluster_anew(self) -> None:
        if self.random.random() < 0.2:
            self.cluster = self.new_id()

    def consume(self) -> None:
        ids = {name: topic.id for name, topic in self.topics.items()}
        source = TopicsId(cluster=self.cluster, topics=ids)
        ends = {(n, 0): (t.first, len(t.records)) for n, t in self.topics.items()}
        fits = all(
            self.topics[name] is topic and topic.records[: len(heard)] == heard
            for name, (topic, heard) in self.heard.items()
        )
        fits = fits and all(len(heard) >= topic.first for topic, heard in self.heard.values())
        position = self.read(self.topics_stored)
        fits = fits and (position is None or position.source.cluster == self.cluster)  # type: ignore[union-attr]  # of topics
        if self.decided(position, TopicsNow(source=source, ends=ends), fits=fits) is None:
            self.heard, self.topics_stored = {}, None
            return
        self.heard = {name: (topic, [*topic.records]) for name, topic in self.topics.items()}
        place = OffsetsPlace(offsets={at: end for at, (_, end) in ends.items()})
        self.topics_stored = self.text(ReaderKind.SYNC, source, place)

    # -------------------------------------------------------------------------------- files
    def put(self) -> None:
        """A new file, early or late, here or there."""
        path = f"{self.random.choice('xy')}/{self.random.randint(0, 10_000)}.jsonl"
        if path not in self.files:
            self.files[path] = FileFacts(
                path=path, size=self.random.randint(1, 99), modified_ms=self.now()
            )

    def spoil(self) -> None:
        if self.files and self.random.random() < 0.3:
            path = self.random.choice([*self.files])
            size = self.files[path].size + self.random.choice((-1, 0, 1))
            self.files[path] = FileFacts(path=path, size=size, modified_ms=self.now())

    def take(self) -> None:
        folder = self.random.choice(("x/", "y/", ""))
        listed = [f for path, f in self.files.items() if path.startswith(folder)]
        fits = all(self.taken.get(f.path, f) == f for f in listed)
        position = self.read(self.files_stored)
        state = FilesNow(source=FilesId(folder=f"w/{folder}"), listing=tuple(listed))
        place = self.decided(position, state, fits=fits)
        if place is None:
            self.taken, self.files_stored = {}, None
            return
        before = place if isinstance(place, FilesTaken) else FilesTaken()
        fresh = before.look(listed).new
        wanted = [f for f in listed if f.path not in self.taken]
        assert sorted(f.path for f in fresh) == sorted(f.path for f in wanted)
        self.taken |= {f.path: f for f in fresh}
        self.files_stored = self.text(ReaderKind.FLOW, state.source, before.after(fresh))
        if len(self.files) > 60:
            self.files.clear()

    # ----------------------------------------------------------------------------- decisions
    def read(self, stored: str | None) -> Position | None:
        found = Positions.parse(stored)
        return None if found is None else found.held[0]

    def text(self, kind: ReaderKind, source: SourceId, place: object) -> str:
        return Position(Reader(kind, "r", explicit=True), source, place).text  # type: ignore[arg-type]  # a place

    def decided(self, position: Position | None, state: Now, *, fits: bool) -> object | None:
        """The place that a reader goes on from; None where it was told that it cannot."""
        match what_next(position, state):
            case GoOn(place):
                assert fits, f"went on from {place}, and {state.source} is another by now"
                return place
            case Start():
                assert position is None
                return ()
            case Diverged() as found:
                assert not fits, f"loud for nothing: {found.why}"
                assert found.ways_out
                self.loud[f"{type(state).__name__} {found.reason}"] += 1
                return None
        raise AssertionError(state)

    def step(self) -> None:
        chosen = self.random.choices(
            (
                self.append, self.rollback, self.expire, self.anew, self.swap, self.follow,
                self.produce, self.retire, self.topic_anew, self.cluster_anew, self.consume,
                self.put, self.spoil, self.take,
            ),
            (6, 2, 2, 1, 1, 9, 6, 1, 1, 1, 6, 8, 1, 5),
        )[0]  # fmt: skip
        chosen()
