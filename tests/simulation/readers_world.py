"""A world of tables, folders and readers, and a plain model of what each reader must have by now.

Each row has a number of its own.  The model knows the history of each table as a list of versions, and
of each reader the last version that it has read.  What a run must do follows from these two: take what
came since, start, or be loud.
"""

from __future__ import annotations

import os
import random
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import table_core as tc
from table_core.errors import (
    CommitConflictError,
    PositionDivergedError,
    StorageUnavailableError,
)
from table_core.jobs.embedded import EmbeddedEngine, view_rows
from table_core.jobs.flow import run_flow
from table_core.ondisk import layout
from table_core.storage.stores.faults import Call, Crash, Fault, Faults, FaultyStorage
from table_core.table.api.catalog import Catalog
from table_core.table.api.file_rows import append_files
from table_core.table.api.table import Table
from tests.clocks import Impatient, WouldWaitError
from tests.simulation.stream_reader import Query
from tests.tables import write_rows

SCHEMA = pa.schema([("id", pa.int64())])
OPTIONS = {"snapshot.num-retained.min": "1"}
SOURCES = ("d.a", "d.b", "d.c")


@dataclass
class Ticking:
    """Each look at the clock takes a millisecond: nothing happens twice at one time."""

    at: int = 1_800_000_000_000

    def now_ms(self) -> int:
        self.at += 1
        return self.at

    def local_offset_ms(self, at_ms: int) -> int:
        return 0

    def sleep_ms(self, duration_ms: int) -> None:
        self.at += duration_ms


@dataclass(eq=False)
class Version:
    """One snapshot of a source."""

    added: frozenset[int]
    state: frozenset[int]
    overwrote: bool = False


@dataclass(eq=False)
class Line:
    """The history of a source as it is now; snapshot n is ``versions[n - 1]``."""

    versions: list[Version] = field(default_factory=list)
    reader_at: Version | None = None
    """The last one that the follower has read; its consumer lies in the table's folder."""

    @property
    def state(self) -> frozenset[int]:
        return self.versions[-1].state if self.versions else frozenset()

    def add(self, ids: frozenset[int], *, replaces: bool = False) -> None:
        state = ids if replaces else self.state | ids
        self.versions.append(Version(ids, state, overwrote=replaces and bool(ids)))


@dataclass(eq=False)
class Flow:
    """A flow of the model."""

    args: dict[str, Any]
    sources: tuple[str, ...]
    target: str
    expected: Counter[int] = field(default_factory=Counter)
    at: dict[str, Version | None] = field(default_factory=dict)
    """The last version that it has read of each source; None: the table had none."""
    moved: bool = False
    unheld: bool = False
    """A copy's, or one whose position was set by hand: nothing holds what it reads next until it has run."""


class Union(EmbeddedEngine):
    """All rows of all views: no SQL, so that many runs go by."""

    def __init__(self, before_write: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.before_write = before_write

    def query(self, sql: str, views: Any, parameters: Any = None) -> pa.Table:
        rows = [view_rows(view).read_all().select(["id"]) for view in views.values()]
        return pa.concat_tables(rows)

    def write(
        self, table: Any, rows: Any, commit: Any, overwrite: Any, *, is_new: bool = False
    ) -> Any:
        what, self.before_write = self.before_write, None
        if what is not None:
            what()
        return super().write(table, rows, commit, overwrite, is_new=is_new)


class World:
    """Tables, flows, a folder and a follower; ``step`` does something to one of them."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.clock = Ticking()
        catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
        self.catalog: Catalog = replace(catalog, clock=self.clock)
        self.catalog.create_database("d")
        self.numbers = iter(range(1, 1_000_000_000))
        self.lines = {name: self.made(name) for name in SOURCES}
        for name in ("d.out", "d.two", "d.files"):
            self.made(name)
        self.flows = [
            Flow({"name": "one"}, ("d.a",), "d.out"),
            Flow({"task": "dag.two"}, ("d.b",), "d.out"),
            Flow({"name": "both"}, ("d.a", "d.b"), "d.two"),
            Flow({"name": "other"}, ("d.a",), "d.two"),
        ]
        self.folder, self.taken = folder, Counter[int]()
        self.files: dict[Path, int] = {}
        self.seen: set[Path] = set()
        self.spoilt: set[Path] = set()
        self.loud = Counter[str]()
        self.query, self.with_request = Query(), random.Random(f"query {seed}")
        self.steps = 0

    # ------------------------------------------------------------------------------- sources
    def made(self, name: str) -> Line:
        self.catalog.create_table(name, SCHEMA, options=OPTIONS)
        return Line()

    def ids(self, most: int = 3) -> frozenset[int]:
        return frozenset(next(self.numbers) for _ in range(self.random.randint(1, most)))

    def write(self, name: str, ids: frozenset[int], overwrite: str | None = None) -> None:
        write_rows(
            self.catalog.table(name),
            pa.table({"id": sorted(ids)}, schema=SCHEMA),
            overwrite=overwrite,
        )

    def append(self, name: str) -> None:
        for _ in range(self.random.choice((1, 1, 3))):
            ids = self.ids()
            self.write(name, ids)
            self.lines[name].add(ids)

    def overwrite(self, name: str) -> None:
        if self.random.random() < 0.7:
            return
        ids = self.ids()
        self.write(name, ids, overwrite="table")
        self.lines[name].add(ids, replaces=True)

    def truncate(self, name: str) -> None:
        done = self.catalog.table(name).truncate()
        if done.snapshot_after != done.snapshot_before:
            self.lines[name].add(frozenset(), replaces=True)

    def rollback(self, name: str) -> None:
        table, line = self.catalog.table(name), self.lines[name]
        there = [s.id for s in table.snapshots()]
        if there:
            to = self.random.choice(there)
            table.rollback_to(snapshot=to)
            del line.versions[to:]
            if self.random.random() < 0.6:
                for _ in range(self.random.randint(1, 4)):
                    self.append(name)

    def fast_forward(self, name: str) -> None:
        table, line = self.catalog.table(name), self.lines[name]
        there = [s.id for s in table.snapshots()]
        if not there:
            return
        at, branch = self.random.choice(there), f"x{self.steps}"
        table.branches.create(branch, snapshot=at)
        theirs = Line(line.versions[:at])
        for _ in range(self.random.randint(1, 3)):
            ids = self.ids()
            self.write(f"{name}$branch_{branch}", ids)
            theirs.add(ids)
        table.branches.fast_forward(branch)
        table.branches.delete(branch)
        line.versions[:] = theirs.versions

    def make_anew(self, name: str) -> None:
        self.catalog.drop_table(name)
        self.lines[name] = self.made(name)
        for _ in range(self.random.randint(0, 6)):
            self.append(name)
        if self.random.random() < 0.5:
            self.expire(name)

    def swap(self, name: str) -> None:
        """Another table gets this one's name, and this one the other's."""
        other = self.random.choice([n for n in SOURCES if n != name])
        for source, target in ((name, "d.tmp"), (other, name), ("d.tmp", other)):
            self.catalog.rename_table(source, target)
        self.lines[name], self.lines[other] = self.lines[other], self.lines[name]

    def restore(self, name: str) -> None:
        """A copy takes the table's place."""
        if not self.lines[name].versions:
            return
        self.catalog.clone_table(name, "d.tmp")
        self.catalog.drop_table(name)
        self.catalog.rename_table("d.tmp", name)
        line = Line()
        if self.catalog.table(name).latest_snapshot() is not None:  # what is empty is copied empty
            line.versions.append(Version(self.lines[name].state, self.lines[name].state))
        self.lines[name] = line
        for _ in range(self.random.randint(0, 5)):
            self.append(name)

    def expire(self, name: str) -> None:
        self.catalog.table(name).expire_snapshots(retain_max=1, retain_min=1)

    def compact(self, name: str) -> None:
        done = self.catalog.table(name).compact()
        if done.snapshot_after != done.snapshot_before:
            self.lines[name].versions.append(Version(frozenset(), self.lines[name].state))

    # --------------------------------------------------------------------------------- flows
    def foreign(self, flow: Flow) -> None:
        """Another program commits to the target, without the properties of the one before."""
        table = self.catalog.table(flow.target)
        head = table.latest_snapshot()
        if head is not None:
            theirs = replace(
                head,
                id=head.id + 1,
                properties=None,
                commit_user="java",
                writer_version=None,
                uuid=None,
            )
            path = layout.snapshot_path(theirs.id, "main")
            assert table.access.storage.create(path, theirs.to_json())

    def call(self, flow: Flow, catalog: Catalog | None = None, **more: Any) -> Any:
        sources = {
            f"v{n}": {"table": name, "mode": "changes"} for n, name in enumerate(flow.sources)
        }
        engine, commit = more.get("engine") or Union(), more.get("commit") or tc.CommitAs()
        args = {"sql": "SELECT id", "sources": sources, **flow.args}
        home = catalog or self.catalog
        return run_flow(home, home.table(flow.target), args, commit, engine)

    def due(self, flow: Flow) -> frozenset[int] | None:
        """What a run takes; None: it must be loud.

        A table that was moved is known again where it is read under its new name.  If the snapshot that was
        read has expired since, nobody can tell, and the run may be loud.
        """
        found: set[int] = set()
        flow.moved = False
        for name in flow.sources:
            line, at = self.lines[name], flow.at.get(name)
            if at not in line.versions:
                moved = [one for one in flow.at.values() if one in line.versions]
                flow.moved |= bool(moved)
                at = moved[0] if moved else at
                if not moved and any(at in self.lines[n].versions for n in flow.sources):
                    flow.moved, at = True, None  # what stood here is read there; this is new
            if at is None:
                found |= line.state
                continue
            if at not in line.versions:
                return None
            since = line.versions[line.versions.index(at) + 1 :]
            if any(version.overwrote for version in since):
                return None
            found |= frozenset().union(*(version.added for version in since))
        return frozenset(found)

    def heads(self, flow: Flow) -> dict[str, Version | None]:
        found = {n: self.lines[n].versions[-1:] for n in flow.sources}
        return {n: (versions[0] if versions else None) for n, versions in found.items()}

    def took(
        self, flow: Flow, due: frozenset[int] | None, heads: dict[str, Version | None]
    ) -> None:
        assert due is not None, f"{flow.args}: a run went on over a source that is another by now"
        flow.expected.update(due)
        stands = set(heads.values()) == set(flow.at.values())  # then nothing is stored
        if not stands and (any(heads.values()) or due):
            flow.at = heads
        flow.unheld = False

    def run(self, flow: Flow) -> None:
        due, heads = self.due(flow), self.heads(flow)
        try:
            self.call(flow)
        except PositionDivergedError as error:
            self.allow(flow, due, error)
            self.decide(flow, str(error.facts["reason"]))
        else:
            self.took(flow, due, heads)

    def allow(self, flow: Flow, due: frozenset[int] | None, error: PositionDivergedError) -> None:
        """A run may refuse what nobody can tell, and what has expired because nothing held it yet."""
        expired = flow.unheld and error.facts["reason"] == "expired"
        assert due is None or flow.moved or expired, f"{flow.args}: loud for nothing: {error}"

    def decide(self, flow: Flow, reason: str) -> None:
        """A way out: go on after what is there; or empty the target and start all that feed it."""
        self.loud[reason] += 1
        table = self.catalog.table(flow.target)
        names = {str(f.args.get("name") or f.args.get("task")): f for f in self.feeding(flow)}
        if self.random.random() < 0.5:
            key = f"tc.flow.{flow.args.get('name') or flow.args.get('task')}"
            for name, head in self.heads(flow).items():
                source = self.catalog.table(name)
                at = source.latest_snapshot()
                table.positions.set(key, snapshot=at.id if at else 0, source=source)
                flow.at[name] = head
                flow.unheld = True
            return
        table.truncate()
        for name, one in names.items():
            one.expected.clear()
            for record in table.positions.list():
                if record["position"] == f"tc.flow.{name}":
                    source = next(
                        (self.catalog.table(n) for n in one.sources if self.is_at(n, record)), None
                    )
                    table.positions.reset(record["position"], source=source)
            one.at = {}

    def is_at(self, name: str, record: dict[str, Any]) -> bool:
        return self.catalog.table(name).uri == record["source"]

    def feeding(self, flow: Flow) -> list[Flow]:
        return [one for one in self.flows if one.target == flow.target]

    def crash(self, flow: Flow) -> None:
        """A run dies anywhere; its retry comes later, under the same name."""
        commit = tc.CommitAs(user=f"u{self.steps}", identifier=1)
        due, heads = self.due(flow), self.heads(flow)
        nth = self.random.randint(1, 12)
        kind = self.random.choice((Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ERROR_AFTER))
        seen = 0

        def decide(call: Call) -> Fault | None:
            nonlocal seen
            seen += call.name in {"create", "write", "delete"}
            return kind if seen == nth and call.name in {"create", "write", "delete"} else None

        faulty = replace(self.catalog, storage=FaultyStorage(self.catalog.storage, Faults(decide)))
        try:
            self.call(flow, faulty, commit=commit)
        except (Crash, StorageUnavailableError):
            pass
        except PositionDivergedError:
            return
        if self.random.random() < 0.5:
            self.append(self.random.choice(flow.sources))
        later, now = self.due(flow), self.heads(flow)
        try:
            done = self.call(flow, commit=commit)
        except PositionDivergedError as error:
            self.allow(flow, later, error)
            self.decide(flow, str(error.facts["reason"]))
            return
        if done.details["replayed"]:
            self.took(flow, due, heads)
        else:
            self.took(flow, later, now)

    def two(self, flow: Flow) -> None:
        """A second run goes through while the first has computed and not committed."""
        due, heads = self.due(flow), self.heads(flow)
        inner: list[Any] = []
        named = self.random.random() < 0.5
        commit = tc.CommitAs(user=f"u{self.steps}", identifier=1) if named else None

        def beside() -> None:
            inner.append(self.call(flow, commit=commit))
            if self.random.random() < 0.5:
                for name in flow.sources:
                    self.expire(name)

        try:
            outer = self.call(flow, engine=Union(beside), commit=commit)
        except PositionDivergedError as error:
            self.allow(flow, due, error)
            return
        except CommitConflictError:
            assert inner
        else:
            assert not inner or named or not outer.rows_written
        self.took(flow, due, heads)

    def rename_task(self, flow: Flow) -> None:
        """Its Dag has another name: the flow is known by what it does."""
        if "task" in flow.args and flow.at and self.due(flow) is not None and not flow.moved:
            flow.args["task"] = f"dag.t{self.steps}"
            self.append(flow.sources[0])
            self.run(flow)

    def copy_target(self, flow: Flow) -> None:
        """The table that is fed is restored from a copy of itself."""
        self.catalog.clone_table(flow.target, "d.tmp")
        self.catalog.drop_table(flow.target)
        self.catalog.rename_table("d.tmp", flow.target)
        for one in self.feeding(flow):
            one.unheld = True

    def check(self) -> None:
        for target in ("d.out", "d.two"):
            expected = sum((f.expected for f in self.flows if f.target == target), Counter[int]())
            rows = self.catalog.table(target).read().to_arrow()["id"].to_pylist()
            assert Counter(rows) == expected, (
                target,
                Counter(rows) - expected,
                expected - Counter(rows),
            )

    # --------------------------------------------------------------------------------- files
    def put_file(self) -> None:
        folder = self.folder / self.random.choice(("x", "y"))
        folder.mkdir(exist_ok=True)
        path = folder / f"{self.random.choice('abc')}{self.random.randint(0, 30)}.jsonl"
        if path in self.files and (path in self.spoilt or self.random.random() < 0.8):
            return
        id = next(self.numbers)
        path.write_text(f'{{"id": {id}}}\n')
        when = self.clock.now_ms() / 1000
        os.utime(path, (when, when))
        self.files[path] = id
        if path in self.seen:
            self.spoilt.add(path)

    def take_files(self) -> None:
        pattern = self.random.choice(("*/*.jsonl", "x/*.jsonl", "y/*.jsonl", "*/a*.jsonl"))
        found = [path for path in self.files if path.match(pattern)]
        args = {"rows_uri": f"file://{self.folder}/{pattern}", "rows_position": "tc.files.in"}
        try:
            append_files(self.catalog.table("d.files"), args, tc.CommitAs(), {})
        except PositionDivergedError:
            spoilt = [path for path in found if path in self.spoilt]
            assert spoilt
            self.loud["changed"] += 1
            for path in spoilt:  # what is new gets a name of its own
                moved = path.with_name(f"n{self.steps}-{path.name}")
                path.rename(moved)
                self.files[moved] = self.files.pop(path)
                self.spoilt.discard(path)
        else:
            assert not any(path in self.spoilt for path in found)
            self.taken.update(self.files[path] for path in found if path not in self.seen)
            self.seen.update(found)
        if len(self.files) > 40:
            for path in list(self.files):
                path.unlink()
            self.files.clear()
            self.spoilt.clear()
        rows = self.catalog.table("d.files").read().to_arrow()["id"].to_pylist()
        assert all(n == 1 for n in Counter(rows).values())
        assert Counter(rows) == self.taken

    # ------------------------------------------------------------------------------ followers
    def follow(self, name: str = "d.c") -> None:
        line = self.lines[name]
        if not line.versions:
            return
        access = self.catalog.table(name).access
        handle = Table(replace(access, clock=Impatient(self.clock)))
        lost = line.reader_at is not None and line.reader_at not in line.versions
        found: list[int] = []
        try:
            for rows in handle.follow(consumer="c"):
                found += rows["id"].to_pylist()
        except WouldWaitError:
            assert not lost, "a follower went on in a table that is another by now"
        except PositionDivergedError:
            assert lost
            self.loud["follower"] += 1
            self.catalog.table(name).consumers.delete("c")
            line.reader_at = None
            return
        if line.reader_at is None:
            assert set(found) == line.state
        else:
            since = line.versions[line.versions.index(line.reader_at) + 1 :]
            assert Counter(found) == Counter(
                id for version in since if not version.overwrote for id in version.added
            )
        line.reader_at = line.versions[-1]

    def stream(self, name: str = "d.b") -> None:
        if not self.query.step(
            self.catalog.table(name).access, self.lines[name].versions, self.with_request
        ):
            self.loud["query"] += 1

    # ----------------------------------------------------------------------------------- steps
    def step(self) -> None:
        self.steps += 1
        source, flow = self.random.choice(SOURCES), self.random.choice(self.flows)
        on_source = (
            (self.append, 12), (self.overwrite, 1), (self.truncate, 1), (self.rollback, 2),
            (self.fast_forward, 1), (self.make_anew, 1), (self.swap, 1), (self.restore, 1),
            (self.expire, 3), (self.compact, 1),
        )  # fmt: skip
        on_flow = (
            (self.run, 12), (self.crash, 2), (self.two, 2), (self.foreign, 1),
            (self.rename_task, 1), (self.copy_target, 1),
        )  # fmt: skip
        others = ((self.put_file, 6), (self.take_files, 4), (self.follow, 4))
        chosen = self.random.choices(
            [
                *((lambda verb=verb: verb(source)) for verb, _ in on_source),
                *((lambda verb=verb: verb(flow)) for verb, _ in on_flow),
                *(verb for verb, _ in others),
            ],
            [weight for _, weight in (*on_source, *on_flow, *others)],
        )[0]
        chosen()
        if self.with_request.random() < 0.08:
            self.stream()
        if self.steps % 5 == 0:
            self.check()


STEPS = 250


def lived(seed: int, folder: Path, steps: int = STEPS) -> World:
    """A world after ``steps``; an error says its seed and step."""
    folder.mkdir(parents=True)
    world = World(seed, folder)
    for _ in range(steps):
        try:
            world.step()
        except BaseException as error:
            error.add_note(f"seed {seed}, step {world.steps}")
            raise
    return world
