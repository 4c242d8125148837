"""Processes that tests start and kill: writers, compactors and readers of one sum table.

A writer's commit n adds 1 to ``v`` and says n; so in every state of the table, for every writer,
``v == n + 1``: a lost commit makes the sum too small, a repeated one too large.  What a process has
to say it appends to a file, a line at a time, so that a kill loses nothing.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import time
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa

import table_core as tc

OPTIONS = {
    "bucket": "2",
    "merge-engine": "aggregation",
    "fields.n.aggregate-function": "max",
    "fields.v.aggregate-function": "sum",
    "fields.last.aggregate-function": "last_value",
    "num-sorted-run.compaction-trigger": "3",
    "commit.max-retries": "100",
}
NOBODY = "~"
ALL = "all"
"""A sum that every writer of a torture adds to."""
READER_REST_S = 0.1
"""Readers look all the while, and leave the processor to the writers."""
SCHEMA = pa.schema(
    [
        pa.field("writer", pa.string(), nullable=False),
        ("n", pa.int32()),
        ("v", pa.int64()),
        ("last", pa.string()),
    ]
)
FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(
    [
        "bench.run",
        "pytest",
        "s3fs",
        "table_core.storage.formats",
        "table_core.storage.parquet.format",
        "table_core.table.api.catalog",
        "table_core.table.compact.compact",
        "table_core.table.dml.overwrite",
        "table_core.table.read.scan",
        "tests.durability.bucket_rounds",
        "tests.servers",
    ]
)


Store = Mapping[str, Any] | None
"""Options of the store, where it needs any."""


def make_table(
    folder: Path | str, store: Store = None, name: str = "sums", **options: str
) -> tc.Table:
    catalog = tc.open_catalog(str(folder), store)
    catalog.create_database("d", if_not_exists=True)
    return catalog.create_table(
        f"d.{name}", SCHEMA, primary_key=("writer",), options={**OPTIONS, **options}
    )


def fill(table: tc.Table, count: int) -> None:
    """Rows of nobody, on the top level: compactions take their time, and look into large files."""
    names = [f"{NOBODY}{n:06}" for n in range(count)]
    with table.write() as writer:
        ns = pa.array([0] * count, pa.int32())
        writer.write(pa.table({"writer": names, "n": ns, "v": range(count)}))
        writer.commit()
    table.compact()


def sums(table: tc.Table) -> dict[str, tuple[int, int]]:
    """Writer to (n, v); not the rows of nobody."""
    rows = table.read(where=f"writer < '{NOBODY}'").to_arrow()
    found = dict(
        zip(
            rows["writer"].to_pylist(),
            zip(rows["n"].to_pylist(), rows["v"].to_pylist(), strict=True),
            strict=True,
        )
    )
    assert len(found) == rows.num_rows, "a key twice"
    return found


def replayed(table: tc.Table) -> dict[str, tuple[int, int]]:
    """``sums`` from the changelog: nothing is taken back that is not there, or brought twice."""
    state: dict[str, tuple[int, int]] = {}
    for snapshot in table.snapshots():
        own = f"writer < '{NOBODY}'"
        rows = table.changes(after=snapshot.id - 1, to=snapshot.id, where=own).to_arrow()
        for row in rows.to_pylist():
            user, values = row["writer"], (row["n"], row["v"])
            if row["_ROW_KIND"] in ("-U", "-D"):
                assert state.pop(user) == values, (snapshot.id, row)
            else:
                assert user not in state, (snapshot.id, row)
                state[user] = values
    return state


def write(
    uri: str,
    user: str,
    first: int,
    count: int,
    log: Path,
    store: Store = None,
    shared: tuple[str, ...] = (),
) -> None:
    """Commits ``first`` .. of ``user``: "n made|found snapshot:hash …" a line.

    ``shared``: sums that it adds 1 to as well; others do too.
    """
    table = tc.open_table(uri, storage_options=store)
    users = [user, *shared]
    with log.open("a", buffering=1) as out:
        for n in range(first, first + count):
            with table.write(commit=tc.CommitAs(user=user, identifier=n)) as writer:
                ns = pa.array([n] * len(users), pa.int32())
                last = [f"{user} {n}"] * len(users)
                columns = {"writer": users, "n": ns, "v": [1] * len(users), "last": last}
                writer.write(pa.table(columns))
                done = writer.commit()
            hashes = (f"{id}:{snapshot_hash(table, id)}" for id in done.snapshot_ids)
            print(n, "found" if done.replayed else "made", *hashes, file=out)


def snapshot_hash(table: tc.Table, id: int) -> str:
    return hashlib.sha256(table.access.metadata.snapshot_body(id)).hexdigest()


def compact(
    uri: str, rounds: int, log: Path, store: Store = None, stop: Path | None = None
) -> None:
    """Full compactions, at most so many and until ``stop``; a lost race is said and is no failure."""
    table = tc.open_table(uri, storage_options=store)
    with log.open("a", buffering=1) as out:
        for _ in range(rounds):
            if stop is not None and stop.exists():
                return
            try:
                table.compact()
                print("compacted", file=out)
            except tc.errors.CommitConflictError:
                print("conflict", file=out)
            if stop is not None:
                time.sleep(READER_REST_S)


def expire(uri: str, stop: Path, store: Store = None) -> None:
    """Expire all but a few snapshots, until ``stop`` is there."""
    table = tc.open_table(uri, storage_options=store)
    while not stop.exists():
        table.expire_snapshots(retain_max=30, retain_min=1)
        time.sleep(READER_REST_S)


def read(uri: str, stop: Path, log: Path, store: Store = None) -> None:
    """Read until ``stop`` is there: every state must add up, and none is older than the last.

    What all writers add to is the sum of what they add to their own.
    """
    table = tc.open_table(uri, storage_options=store)
    before: dict[str, tuple[int, int]] = {}
    with log.open("a", buffering=1) as out:
        while not stop.exists():
            now = sums(table)
            whole = now.get(ALL, (0, 0))[1]
            own = {user: row for user, row in now.items() if user != ALL}
            wrong = {user: row for user, row in own.items() if row[1] != row[0] + 1}
            if ALL in now and whole != sum(v for _, v in own.values()):
                wrong[ALL] = now[ALL]
            back = {user for user, row in before.items() if now.get(user, (-1, 0)) < row}
            print("wrong" if wrong or back else "right", wrong, back, file=out)
            before = now
            time.sleep(READER_REST_S)


def start(target: Callable[..., None], *args: object) -> BaseProcess:
    process = FORK.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def lines(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []
