"""Many processes commit to one table, some are killed and start again: ``make torture``.

    python -m tests.durability.torture [--processes 8] [--commits 200] [--kills 40] [--race 50]
                                       [--stores local,s3]
    python -m tests.durability.torture --rounds 200 [--cells vectors]

On a local folder and on a bucket of an S3 server that judges races (MinIO).  Each writer has a
user of its own and adds 1 to its sum, and to one that all add to, with each commit; a killed one starts
again under its name.  All compact along, and others compact beside them, in one bucket too, with
every way to find old values.  Checked: each sum is exact, the last commit's value is the one that is there, no snapshot was replaced (each writer keeps the
hashes of its own), ids have no gap, no reader ever saw a wrong sum, changelogs replay.  Before that, a race without kills: one row for each
commit, ours beside pypaimon, and how many rows of acknowledged commits are there in the end.

With ``--rounds`` instead every kind of table in turn (``bucket_rounds``): each merge engine, changelog producer, with and
without deletion vectors and inline compaction, or those whose name has the words of ``--cells``.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa

import table_core as tc
from bench.run import pypaimon_python
from table_core.ondisk.snapshot import CommitKind
from tests.durability import processes
from tests.durability.bucket_rounds import Rounds
from tests.servers import S3, s3
from tests.simulation.one_bucket import kinds
from tests.tables import write_rows

SEED = 41
RETRIES = {"commit.max-retries": "1000", "commit.max-retry-wait": "5 s"}
ROWS = pa.schema([("writer", pa.int32()), ("n", pa.int32())])
PEER = Path(__file__).with_name("pypaimon_writer.py")


@dataclass(frozen=True)
class Place:
    """A warehouse, and how ours and pypaimon get there."""

    name: str
    warehouse: str
    ours: dict[str, Any] | None
    theirs: dict[str, str]


@dataclass(frozen=True)
class Raced:
    """``acknowledged`` commits in ``seconds``; ``there`` of their rows can be read."""

    acknowledged: int
    there: int
    seconds: float

    def __str__(self) -> str:
        lost = self.acknowledged - self.there
        return (
            f"{self.acknowledged / self.seconds:6.1f} commits/s, {self.acknowledged} acknowledged, "
            f"{lost} of them lost"
        )


def start(target: Callable[..., None], *args: object) -> BaseProcess:
    process = processes.FORK.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def lines(log: Path) -> list[list[str]]:
    """Whole lines only: the last one may be half written."""
    body = log.read_text() if log.exists() else ""
    return [line.split() for line in body[: body.rfind("\n") + 1].splitlines()]


# ------------------------------------------------------------------------------------------- race
def append(uri: str, writer: int, count: int, store: Any, ready: Any) -> None:
    table = tc.open_table(uri, storage_options=store)
    ready.wait()
    for n in range(count):
        write_rows(table, pa.table({"writer": [writer], "n": [n]}, schema=ROWS))


def race_of_ours(place: Place, writers: int, count: int) -> Raced:
    catalog = tc.open_catalog(place.warehouse, place.ours)
    table = catalog.create_table("d.ours", ROWS, options=RETRIES)
    ready = processes.FORK.Barrier(writers + 1)
    all_of_them = [start(append, table.uri, w, count, place.ours, ready) for w in range(writers)]
    ready.wait()
    started = time.monotonic()
    for process in all_of_them:
        process.join()
        assert process.exitcode == 0
    seconds = time.monotonic() - started
    return Raced(writers * count, catalog.table("d.ours").read().to_arrow().num_rows, seconds)


def race_of_pypaimon(place: Place, writers: int, count: int) -> Raced:
    """The same table, made by us, through pypaimon's own writers in its own environment."""
    catalog = tc.open_catalog(place.warehouse, place.ours)
    catalog.create_table("d.theirs", ROWS)
    words = [str(pypaimon_python()), "-W", "ignore", str(PEER), json.dumps(place.theirs)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    peers = [
        subprocess.Popen([*words, str(w), str(count)], text=True, **pipes)  # type: ignore[call-overload]
        for w in range(writers)
    ]
    for peer in peers:
        assert peer.stdout.readline() == "ready\n"
    started = time.monotonic()
    for peer in peers:
        peer.stdin.write("go\n")
        peer.stdin.flush()
    acknowledged = sum(int(peer.stdout.readline() or 0) for peer in peers)
    seconds = time.monotonic() - started
    for peer in peers:
        peer.wait()
    rows = catalog.table("d.theirs").read().to_arrow()
    return Raced(acknowledged, rows.num_rows, seconds)


# ---------------------------------------------------------------------------------------- torture
KINDS: Mapping[str, Mapping[str, str]] = {
    "two buckets": {},
    "one bucket": {"bucket": "1"},
    "lookup": {"bucket": "1", "changelog-producer": "lookup"},
    "full-compaction": {"bucket": "1", "changelog-producer": "full-compaction"},
    "vectors": {"bucket": "1", "deletion-vectors.enabled": "true"},
    "vectors lookup": {
        "bucket": "1",
        "deletion-vectors.enabled": "true",
        "changelog-producer": "lookup",
    },
    "vectors, expiry": {"bucket": "1", "deletion-vectors.enabled": "true"},
}
"""The tables: how many compactions meet in a bucket, and what each of them looks into."""


def torture(
    place: Place,
    writers: int,
    commits: int,
    kills: int,
    folder: Path,
    readers: int = 2,
    compactors: int = 1,
    kind: str = "two buckets",
    rows: int = 20_000,
) -> str:
    """Run it and check everything; one line about it.  ``rows`` are there before."""
    name = "sums_" + "".join(c if c.isalpha() else "_" for c in kind)
    table = processes.make_table(place.warehouse, place.ours, name, **RETRIES, **KINDS[kind])
    processes.fill(table, rows)
    draw, stop = random.Random(SEED), folder / f"stop-{place.name}"
    stop.unlink(missing_ok=True)
    folder = folder / name
    folder.mkdir()
    logs = {f"w{w}": folder / f"{place.name}-w{w}" for w in range(writers)}
    reads = [folder / f"{place.name}-r{r}" for r in range(readers)]
    watching = [start(processes.read, table.uri, stop, log, place.ours) for log in reads]
    watching += [
        start(processes.compact, table.uri, 10_000, folder / f"c{c}", place.ours, stop)
        for c in range(compactors)
    ]
    if "expiry" in kind:
        watching.append(start(processes.expire, table.uri, stop, place.ours))

    def begin(user: str) -> BaseProcess:
        told = lines(logs[user])
        first = int(told[-1][0]) + 1 if told else 0
        left = commits - first
        given = (user, first, left, logs[user], place.ours, (processes.ALL,))
        return start(processes.write, table.uri, *given)

    started = time.monotonic()
    running = {user: begin(user) for user in logs}
    killed = 0
    while any(process.is_alive() for process in running.values()):
        time.sleep(0.1)
        done = sum(len(lines(log)) for log in logs.values())
        if killed < kills and done > (killed + 0.5) * writers * commits / (kills + 1):
            user = draw.choice([u for u, p in running.items() if p.is_alive()])
            time.sleep(draw.random() * 0.05)
            running[user].kill()
            running[user].join()
            running[user] = begin(user)
            killed += 1
    seconds = time.monotonic() - started
    stop.touch()
    for process in [*running.values(), *watching]:
        process.join()
        assert process.exitcode == 0
    table.compact()
    looked = check(table, logs, reads, commits, expires="expiry" in kind)
    return (
        f"{writers * commits / seconds:6.1f} commits/s in {seconds:.0f} s, {killed} processes killed; "
        f"{looked}"
    )


def check(
    table: tc.Table, logs: dict[str, Path], reads: list[Path], commits: int, *, expires: bool
) -> str:
    """Sums exact, snapshots as they were made, every read right; what was looked at."""
    sums = processes.sums(table)
    last, count = commits - 1, commits * len(logs)
    assert sums == {**dict.fromkeys(logs, (last, commits)), processes.ALL: (last, count)}, sums
    rows = table.read(where=f"writer = '{processes.ALL}'").to_arrow()
    newest = [s for s in table.snapshots() if s.commit_kind is CommitKind.APPEND][-1]
    wanted = f"{newest.commit_user} {newest.commit_identifier}"
    assert rows["last"].to_pylist() == [wanted], "the last commit counts"
    if table.options.get("changelog-producer", "none") != "none":
        assert processes.replayed(table) == sums
    ids = [snapshot.id for snapshot in table.snapshots()]
    assert ids == list(range(ids[0], ids[0] + len(ids))), "a gap"
    assert ids[0] == 1 or expires
    hashes = dict(
        pair.split(":") for log in logs.values() for line in lines(log) for pair in line[2:]
    )
    for id, hashed in hashes.items() if not expires else ():
        assert processes.snapshot_hash(table, int(id)) == hashed, f"snapshot {id} was replaced"
    seen = [line[0] for log in reads for line in lines(log)]
    assert seen
    assert set(seen) == {"right"}, [line for log in reads for line in lines(log)]
    found = sum(line[1] == "found" for log in logs.values() for line in lines(log))
    return (
        f"{len(ids)} snapshots, {len(hashes)} hashes as told, {found} commits found again after a "
        f"kill, {len(seen)} reads right"
    )


# ------------------------------------------------------------------------------------------ stores
@contextmanager
def places(names: list[str]) -> Iterator[list[Place]]:
    with ExitStack() as stack:
        found = []
        if "local" in names:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="torture"))
            found.append(Place("local", folder, None, {"warehouse": folder}))
        if "s3" in names:
            found.append(bucket(stack.enter_context(s3(races=True))))
        yield found


def bucket(server: S3) -> Place:
    name = f"torture-{uuid.uuid4().hex[:8]}"
    server.make_bucket(name)
    theirs = {
        "warehouse": f"s3://{name}/wh",
        "fs.s3.endpoint": server.endpoint,
        "fs.s3.accessKeyId": server.key,
        "fs.s3.accessKeySecret": server.secret,
        "fs.s3.region": "us-east-1",
    }
    return Place("s3", f"s3://{name}/wh", server.options(), theirs)


# ------------------------------------------------------------------------------------------- cells
AT_ONCE = 25
"""Rounds of one kind before the next kind has its turn."""


def every_cell(rounds: int, words: list[str]) -> int:
    """All kinds by turns, with two writers and with four, until each has its rounds."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="torture") as folder:
        cells = {
            str(kind): Rounds.on(kind, Path(folder, str(kind).replace(" ", "-")))
            for kind in kinds()
            if all(word in str(kind).split() for word in words)
        }
        for turn, first in enumerate(range(0, rounds, AT_ONCE)):
            for name, cell in list(cells.items()):
                try:
                    cell.run(min(AT_ONCE, rounds - first), writers=2 if turn % 2 == 0 else 4)
                except Exception as error:  # told, and the other kinds go on
                    print(f"{name:40} FAILED: {error!r}", flush=True)
                    del cells[name]
                    failed += 1
                else:
                    print(f"{name:40} {cell}", flush=True)
    print(f"{len(cells)} kinds passed, {failed} failed")
    return int(failed > 0)


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--processes", type=int, default=8)
    asked.add_argument("--commits", type=int, default=200)
    asked.add_argument("--kills", type=int, default=40)
    asked.add_argument("--race", type=int, default=50)
    asked.add_argument("--stores", default="local,s3")
    asked.add_argument("--rounds", type=int, default=0)
    asked.add_argument("--cells", default="")
    given = asked.parse_args()
    if given.rounds:
        return every_cell(given.rounds, given.cells.split())
    with places(given.stores.split(",")) as found, tempfile.TemporaryDirectory() as folder:
        for place in found:
            catalog = tc.open_catalog(place.warehouse, place.ours)
            catalog.create_database("d", if_not_exists=True)
            if given.race:
                for name, race in (("ours", race_of_ours), ("pypaimon", race_of_pypaimon)):
                    print(f"{place.name:6} race {name:9}", race(place, given.processes, given.race))
                    sys.stdout.flush()
            for kind in KINDS:
                sizes = (given.processes, given.commits, given.kills)
                told = torture(place, *sizes, Path(folder), kind=kind)
                print(f"{place.name:6} torture, {kind:16}", told, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
