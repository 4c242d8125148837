"""Real processes, no hooks: appenders, an expirer and a tagger beside rollbacks.

Method: each process says what it was told: an appender the state (``Snapshot.state``) of each acknowledged commit, the one that
rolls back what its turns took back.  At the end each acknowledged commit is there once, or a turn took it back.
"""

from __future__ import annotations

import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa

import table_core as tc
from table_core.ondisk import layout
from table_core.ondisk.line import Turn
from table_core.table.commit_io import committer
from tests.lanes import budget

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
ROLLBACKS = budget("ROLLBACKS", ci=6, nightly=100)
CONFLICTS = (tc.errors.CommitConflictError, tc.errors.GaveUpError, tc.errors.NotFoundError)


def append(uri: str, first: int, stop: str) -> list[tuple[int, str]]:
    """Keys that were acknowledged, each with the state of its snapshot."""
    landed: list[str] = []
    committer.tell = lambda _, outcome, __: landed.append(outcome.append.snapshot.state)
    table, done, key = tc.open_table(uri), list[tuple[int, str]](), first
    while not Path(stop).exists():
        with suppress(*CONFLICTS):
            with table.write() as writer:
                writer.write(pa.table({"k": [key], "v": [key]}, schema=SCHEMA))
                writer.commit()
            done.append((key, landed[-1]))
        key += 1
    return done


def upkeep(uri: str, verb: str, stop: str) -> int:
    table, n = tc.open_table(uri), 0
    while not Path(stop).exists():
        with suppress(*CONFLICTS, tc.errors.FilesExpiredError):
            if verb == "expire":
                table.expire_snapshots(retain_max=4, retain_min=2)
            else:
                table.tags.create(f"t{n}")
                n += 1
        time.sleep(0.02)
    return n


def roll_back(uri: str, rounds: int, stop: str) -> tuple[int, set[str]]:
    """How many rollbacks went through, and the states that they, and removals of strays, took back."""
    table, gone, done, chosen = tc.open_table(uri), set[str](), 0, random.Random(1)
    storage = table.access.storage
    try:
        while done < rounds:
            time.sleep(0.05)
            head = table.latest_snapshot()
            with suppress(*CONFLICTS):
                table.rollback_to(snapshot=max((head.id if head else 0) - chosen.randint(1, 2), 1))
                done += 1
            for info in list(storage.list(layout.line_folder())):
                if "turn-" in info.path:
                    with suppress(tc.errors.NotFoundError):
                        gone |= Turn.from_json(storage.read(info.path), path=info.path).gone
    finally:
        Path(stop).touch()
    return done, gone


def test_acknowledged_commits_are_there_or_a_rollback_took_them_back() -> None:
    with tempfile.TemporaryDirectory() as folder:
        stop = str(Path(folder) / "stop")
        catalog = tc.open_catalog(Path(folder).as_uri())
        catalog.create_database("d")
        options = {"bucket": "1", "write-only": "true", "snapshot.time-retained": "1 ms"}
        table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)
        uri = table.access.storage.uri
        with ProcessPoolExecutor(5, mp_context=get_context("spawn")) as pool:
            appenders = [pool.submit(append, uri, n * 1_000_000, stop) for n in (1, 2)]
            others = [pool.submit(upkeep, uri, verb, stop) for verb in ("expire", "tag")]
            done, gone = pool.submit(roll_back, uri, ROLLBACKS, stop).result()
            acknowledged = dict(pair for one in appenders for pair in one.result())
            for other in others:
                other.result()
        assert done == ROLLBACKS
        judge(uri, acknowledged, gone)


def judge(uri: str, acknowledged: dict[int, str], gone: set[str]) -> None:
    table = tc.open_table(uri)
    there: list[Any] = table.read().to_arrow()["k"].to_pylist()
    assert len(set(there)) == len(there)
    lost = [k for k, state in acknowledged.items() if k not in there and state not in gone]
    back = [k for k, state in acknowledged.items() if k in there and state in gone]
    assert (lost, back, set(there) - set(acknowledged)) == ([], [], set())
    ids = [snapshot.id for snapshot in table.snapshots()]
    assert ids == list(range(ids[0], ids[-1] + 1))
    assert table.access.metadata.snapshot_ids()[-1] == ids[-1]
    for name in table.tags:
        table.read(tag=name).to_arrow()
    assert len(acknowledged) > ROLLBACKS
