"""One bucket of every kind of table, with processes that are killed: ``make torture``.

Two or four writers, a compactor and an expirer work on one table.  A round is a handful of commits, then
one of them dies with ``kill -9``, wherever it is, and another one takes its place.  Every snapshot is
read, while all stand still, and compared with a slow fold of the commits in the order in which they landed:
each commit once, none left out, no key twice, the same rows before and after each compaction.
In the end all are killed at once, and when what waits is compacted the rows are those of the fold, and
the changelog has replayed to them.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import table_core as tc
from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.scan.split import hides_level0
from table_core.table.metadata.refs.consumers import set_consumer
from tests.durability import bucket_workers as workers
from tests.durability import processes
from tests.simulation.one_bucket import SCHEMA, Kind, Row, Values, arrow, fold, replay, rows_of
from tests.tables import new_catalog, write_rows

FILLED = 400
"""Rows on the top level: a few new ones do not ask for all of them to be merged anew."""
HANDFUL = 4
"""Snapshots of a round, at least."""
REST_S = 0.05
HELD_BY = "audit"
RETRIES = {
    "commit.max-retries": "1000",
    "commit.min-retry-wait": "5 ms",
    "commit.max-retry-wait": "50 ms",
}
PATIENCE_S = 300.0


@dataclass
class Audit:
    """Reads every snapshot of a table beside the fold of what has landed."""

    kind: Kind
    table: tc.Table
    at: int
    """The last snapshot that was looked at."""
    state: dict[int, Values]
    """The fold."""
    told: dict[int, Values]
    """What the changelog has replayed to."""
    seen: dict[int, Values]
    """What is read at ``at``."""
    next_of: Counter[str] = field(default_factory=Counter)
    """Of each writer the number of the commit that must land next."""
    kinds: Counter[str] = field(default_factory=Counter)
    hashes: dict[int, str] = field(default_factory=dict)

    def go_on(self) -> None:
        """Look at all snapshots that are there."""
        head = self.table.access.metadata.head_id() or 0
        while self.at < head:
            self._look(self.table.access.metadata.snapshot(self.at + 1))
        set_consumer(self.table.access, HELD_BY, self.at + 1)

    def _look(self, snapshot: Snapshot) -> None:
        body = self.table.access.metadata.snapshot_body(snapshot.id)
        self.hashes[snapshot.id] = hashlib.sha256(body).hexdigest()
        self.kinds[snapshot.commit_kind.value] += 1
        rows = rows_of(self.table.read(snapshot=snapshot.id).to_arrow())
        seen = dict(rows)
        where = f"{self.kind}: snapshot {snapshot.id}, {snapshot.commit_kind.value} of {snapshot.commit_user}"
        assert len(seen) == len(rows), f"{where}: a key twice: {rows}"
        if snapshot.commit_kind is CommitKind.APPEND:
            user, number = snapshot.commit_user, snapshot.commit_identifier
            assert number == self.next_of[user], f"{where}: commit {number} lost, repeated or mixed"
            self.next_of[user] += 1
            self.state = self._folded(workers.rows_of(self.kind, user, number))
            unchanged = self.seen if self.hides else self.state
        else:
            assert snapshot.commit_kind is CommitKind.COMPACT, where
            unchanged = seen if self.hides else self.seen
        assert seen == unchanged, f"{where}: {differing(seen, unchanged)}"
        if self.kind.producer != "none":
            self.told = replay(self.kind, self._changes(snapshot), self.told)
        self.seen, self.at = seen, snapshot.id

    @property
    def hides(self) -> bool:
        access = self.table.access
        return hides_level0(access.schema, access.options)

    def _folded(self, rows: list[Row]) -> dict[int, Values]:
        before: list[Row] = [(k, *values, "+I") for k, values in self.state.items()]
        return fold(self.kind, [*before, *rows])

    def _changes(self, snapshot: Snapshot) -> Iterator[tuple[str, int, Values]]:
        rows = self.table.changes(after=snapshot.id - 1, to=snapshot.id).to_arrow()
        signs = rows["_ROW_KIND"].to_pylist()
        yield from ((sign, *row) for sign, row in zip(signs, rows_of(rows), strict=True))

    def settle(self) -> None:
        """Nobody else is there: when all is compacted, readers and the changelog have all of it."""
        self.go_on()
        self.table.compact()
        self.go_on()
        assert self.seen == self.state, f"{self.kind}: {differing(self.seen, self.state)}"
        if self.kind.producer != "none":
            assert self.told == self.state, (
                f"{self.kind}: changelog: {differing(self.told, self.state)}"
            )
        for snapshot in self.table.snapshots():
            body = self.table.access.metadata.snapshot_body(snapshot.id)
            known = self.hashes.get(snapshot.id)
            assert known in (None, hashlib.sha256(body).hexdigest()), f"{snapshot.id} was replaced"


def differing(found: dict[int, Values], wanted: dict[int, Values]) -> str:
    keys = sorted(k for k in {*found, *wanted} if found.get(k) != wanted.get(k))
    return ", ".join(f"{k}: {found.get(k)}, should be {wanted.get(k)}" for k in keys[:5])


@dataclass
class Rounds:
    """A table with its audit and the processes that work on it."""

    audit: Audit
    folder: Path
    draw: random.Random
    running: dict[str, BaseProcess] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    seconds: float = 0

    @classmethod
    def on(cls, kind: Kind, folder: Path) -> Rounds:
        """A new table with rows on its top level."""
        folder.mkdir(parents=True)
        catalog = new_catalog(str(folder / "wh"))
        options = {**kind.options, **RETRIES}
        table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)
        draw = random.Random(str(kind))
        rows: list[Row] = [
            (k, draw.getrandbits(40), draw.getrandbits(40), 1, "+I") for k in range(FILLED)
        ]
        write_rows(table, arrow(rows, kind))
        table.compact()
        state, head = fold(kind, rows), table.latest_snapshot()
        assert head is not None
        assert dict(rows_of(table.read().to_arrow())) == state
        set_consumer(table.access, HELD_BY, head.id + 1)
        return cls(Audit(kind, table, head.id, state, dict(state), dict(state)), folder, draw)

    def start(self, name: str) -> None:
        audit, uri = self.audit, self.audit.table.uri
        target: Callable[..., None] = workers.write
        given: tuple[object, ...] = (uri, audit.kind, name, self.folder / name)
        if name == "compactor":
            target, given = workers.compact, (uri, f"{audit.kind} {self.killed.total()}", REST_S)
        elif name == "expirer":
            target, given = workers.expire, (uri, REST_S)
        process = processes.FORK.Process(target=target, args=given, daemon=True)
        process.start()
        self.running[name] = process

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        assert process.is_alive(), f"{self.audit.kind}: {name} failed with {process.exitcode}"
        process.kill()
        process.join()
        self.killed["writers" if name[0] == "w" else f"{name}s"] += 1

    def go_round(self) -> None:
        """A handful of snapshots, and a kill; what came of it is looked at while nothing moves."""
        audit, until = self.audit, time.monotonic() + PATIENCE_S
        while (audit.table.access.metadata.head_id() or 0) < audit.at + HANDFUL:
            for name, process in self.running.items():
                assert process.is_alive(), f"{audit.kind}: {name} failed with {process.exitcode}"
            assert time.monotonic() < until, f"{audit.kind}: nobody commits"
            time.sleep(0.002)
        name = self.draw.choice(sorted(self.running))
        time.sleep(self.draw.random() * 0.02)
        self.kill(name)
        with self.paused():
            audit.go_on()
        self.start(name)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """All stand still, wherever they are."""
        ids = [process.pid for process in self.running.values() if process.pid]
        for id in ids:
            os.kill(id, signal.SIGSTOP)
        yield
        for id in ids:
            os.kill(id, signal.SIGCONT)

    def run(self, rounds: int, writers: int) -> None:
        """So many rounds with so many writers; then all are killed at once, and looked at."""
        started = time.monotonic()
        try:
            for name in (*(f"w{w}" for w in range(writers)), "compactor", "expirer"):
                self.start(name)
            for _ in range(rounds):
                self.go_round()
            self.settle()
        finally:
            for process in self.running.values():
                process.kill()
                process.join()
            self.running.clear()
        self.rounds += rounds
        self.seconds += time.monotonic() - started

    def __str__(self) -> str:
        killed = ", ".join(f"{count} {name}" for name, count in sorted(self.killed.items()))
        made = ", ".join(f"{count} {kind}" for kind, count in sorted(self.audit.kinds.items()))
        return f"{self.rounds} rounds, snapshots {made}; killed {killed}; {self.seconds:.0f} s"

    def settle(self) -> None:
        """All are killed at once; what was acknowledged has landed."""
        for name in list(self.running):
            self.kill(name)
        self.audit.settle()
        for log in self.folder.glob("w[0-9]"):
            told = [int(line) for line in log.read_text().split("\n")[:-1]]
            assert told == list(range(len(told))), f"{log.name} was told {told}"
            landed = self.audit.next_of[log.name]
            assert len(told) <= landed, f"{log.name}: acknowledged and lost"
            # A writer that rests for long learns it now: later its last commit is expired, and named no more.
            log.write_text("".join(f"{number}\n" for number in range(landed)))
