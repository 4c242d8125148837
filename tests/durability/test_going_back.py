"""Real processes, no hooks: appenders, compactors, an expirer and a tagger beside rollbacks, and beside drops and creates.

Method: each process says what it was told: an appender the state (``Snapshot.state``) of each acknowledged commit and the
birth of the table that it landed in, the one that rolls back what its turns took back.  At the end each acknowledged
commit to the table that is there is in it once, or a turn took it back.  At night also on an S3 server that judges races,
and Apache Paimon reads the same.
"""

from __future__ import annotations

import random
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ondisk import layout
from table_core.ondisk.line import Link, Turn
from table_core.table.commit_io import committer
from tests.lanes import PROFILE, budget
from tests.servers import s3
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
OPTIONS = {"bucket": "1", "write-only": "true", "snapshot.time-retained": "1 ms"}
ROLLBACKS = budget("ROLLBACKS", ci=6, nightly=100)
DROPS = budget("DROPS", ci=3, nightly=50)
PARTS = 5
"""On a server, 100 rollbacks and 50 drops take an hour on two cores: each part of them has a table of its own."""
PLACES = ["local", *(f"s3-{n}" for n in range(PARTS))] if PROFILE == "nightly" else ["local"]
PATIENCE_S = 120
TAGS_MAX = 20
"""Whoever goes back, and whoever expires, reads each tag: more would be made than are read."""
RETRIED = (
    tc.errors.CommitConflictError,
    tc.errors.FilesExpiredError,
    tc.errors.GaveUpError,
    tc.errors.NotFoundError,
)
"""What another verb may do to one: it is asked again."""


@dataclass(frozen=True)
class Place:
    """A warehouse in which ``d.t`` comes and goes."""

    uri: str
    options: Mapping[str, Any] | None
    stop: str

    def catalog(self) -> tc.Catalog:
        return tc.open_catalog(self.uri, storage_options=self.options)

    def table(self) -> tc.Table:
        return self.catalog().table("d.t")

    def ended(self) -> bool:
        return Path(self.stop).exists()


@dataclass
class Told:
    """What an appender was told: key to state and birth; keys of which nobody knows."""

    landed: dict[int, tuple[str, str]] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)


def append(place: Place, first: int) -> Told:
    snapshots: list[Any] = []
    committer.tell = lambda _, outcome, __: snapshots.append(outcome.append.snapshot)
    told, key = Told(), first
    table: tc.Table | None = None
    while not place.ended():
        try:
            table = table or place.table()
            write_rows(table, pa.table({"k": [key], "v": [key]}, schema=SCHEMA))
            link = Link.of(snapshots[-1])
            assert link is not None
            told.landed[key] = (snapshots[-1].state, link.birth)
        except tc.errors.OutcomeUnknownError:
            told.unknown.add(key)
        except tc.errors.NotFoundError:
            table = None  # made anew in a moment
        except RETRIED:
            pass
        key += 1
    return told


def upkeep(place: Place, verb: str) -> int:
    done = n = 0
    while not place.ended():
        n += 1
        with suppress(*RETRIED, tc.errors.OutcomeUnknownError):
            table = place.table()
            if verb == "expire":
                table.expire_snapshots(retain_max=4, retain_min=2)
            elif verb == "compact":
                table.compact()
            else:
                table.tags.create(f"t{n}")
                for old in [tag for tag in table.tags if int(tag[1:]) <= n - TAGS_MAX]:
                    table.tags.delete(old, if_exists=True)
            done += 1
        time.sleep(0.02)
    return done


def roll_back(place: Place, rounds: int) -> tuple[int, set[str]]:
    """How many rollbacks went through, and the states that they, and removals of strays, took back."""
    gone, done, chosen = set[str](), 0, random.Random(1)
    while done < rounds:
        time.sleep(0.05)
        with suppress(*RETRIED, tc.errors.OutcomeUnknownError):  # the table was dropped meanwhile
            table = place.table()
            head = table.latest_snapshot()
            table.rollback_to(snapshot=max((head.id if head else 0) - chosen.randint(1, 2), 1))
            done += 1
            gone |= taken_back(table)
    return done, gone


def drop(place: Place, rounds: int) -> int:
    done = 0
    while done < rounds:
        time.sleep(0.3)
        place.catalog().drop_table("d.t", if_exists=True)
        made = False
        while not made:
            with suppress(tc.errors.AlreadyExistsError):  # somebody was late, and takes it away
                place.catalog().create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS)
                made = True
        done += 1
    return done


def taken_back(table: tc.Table) -> set[str]:
    """The states that turns note, and ``<id>/*`` of what had expired when one went below it, to a snapshot of a tag.

    Snapshot 1 has a tag, 1 and 2 expire, and a rollback goes to 1: it takes back 3, which it notes, and so 2, whose file is gone.
    """
    storage, gone = table.access.storage, set[str]()
    for info in list(storage.list(layout.line_folder())):
        if "turn-" in info.path:
            with suppress(tc.errors.NotFoundError):
                turn = Turn.from_json(storage.read(info.path), path=info.path)
                first = min((int(state.partition("/")[0]) for state in turn.gone), default=0)
                gone |= turn.gone | {f"{id}/*" for id in range(turn.target + 1, first)}
    return gone


def withdrawn(state: str, gone: set[str]) -> bool:
    return state in gone or f"{state.partition('/')[0]}/*" in gone


@contextmanager
def warehouse(where: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        stop = str(Path(folder) / "stop")
        if where == "local":
            yield Place((Path(folder) / "wh").as_uri(), None, stop)
            return
        with s3(races=True) as server:
            name = f"back-{uuid.uuid4().hex[:8]}"
            server.make_bucket(name)
            yield Place(f"s3://{name}/wh", server.options(), stop)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("is_dropped", [False, True], ids=["rollbacks", "rollbacks and drops"])
@pytest.mark.parametrize("where", PLACES)
def test_acknowledged_commits_are_there_or_a_rollback_took_them_back(
    where: str, is_dropped: bool, tmp_path: Path
) -> None:
    parts = 1 if where == "local" else PARTS
    rollbacks, drops = ROLLBACKS // parts, DROPS // parts if is_dropped else 0
    with warehouse(where) as place:
        catalog = place.catalog()
        catalog.create_database("d")
        catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=OPTIONS)
        verbs = ("compact", "compact", "expire", "tag")
        with ProcessPoolExecutor(8, mp_context=get_context("spawn")) as pool:
            began = time.monotonic()
            try:
                appenders = [pool.submit(append, place, n * 1_000_000) for n in (1, 2)]
                others: list[Future[int]] = [pool.submit(upkeep, place, verb) for verb in verbs]
                back = pool.submit(roll_back, place, rollbacks)
                dropped = pool.submit(drop, place, drops)
                done, gone = back.result()
                assert (done, dropped.result()) == (rollbacks, drops)
                until = time.monotonic() + PATIENCE_S
                while place.table().latest_snapshot() is None:
                    assert time.monotonic() < until
                    time.sleep(0.05)
            finally:
                Path(place.stop).touch()
            told = [one.result() for one in appenders]
            counts = [other.result() for other in others]
            landed = sum(len(one.landed) for one in told)
            print(
                where,
                done,
                drops,
                list(zip(verbs, counts, strict=True)),
                landed,
                f"{time.monotonic() - began:.0f} s",
            )
            assert sum(counts) > 0
        judge(place, told, gone)
        if PROFILE == "nightly":
            paimon_reads_the_same(place, tmp_path)


def judge(place: Place, told: list[Told], gone: set[str]) -> None:
    table = place.table()
    gone = gone | taken_back(table)
    there: list[Any] = table.read().to_arrow()["k"].to_pylist()
    assert len(set(there)) == len(there)
    birth = {link.birth for s in table.snapshots() if (link := Link.of(s)) is not None}
    acknowledged = {k: one for some in told for k, one in some.landed.items()}
    unknown = {k for some in told for k in some.unknown}
    here = {k: state for k, (state, born) in acknowledged.items() if {born} == birth}
    lost = [k for k, state in here.items() if k not in there and not withdrawn(state, gone)]
    back = [k for k, state in here.items() if k in there and state in gone]
    strange = set(there) - set(here) - unknown
    assert (lost, back, strange) == ([], [], set())
    ids = [snapshot.id for snapshot in table.snapshots()]
    assert ids == list(range(ids[0], ids[-1] + 1))
    assert table.access.metadata.snapshot_ids()[-1] == ids[-1]
    for name in table.tags:
        table.read(tag=name).to_arrow()
    assert acknowledged


def paimon_reads_the_same(place: Place, folder: Path) -> None:
    """Paimon has no client of S3 here: it reads a copy, file by file."""
    from tests.interop.judge import Judge

    storage, copy = place.table().access.storage, folder / "wh"
    for info in storage.walk(""):
        path = copy / "d.db" / "t" / info.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(storage.read(info.path))
    paimon = Judge(folder / "judge.log")
    try:
        theirs = paimon.table(copy, "d.t").read()
    finally:
        paimon.close()
    ours = place.table().read().to_arrow()["k"].to_pylist()
    assert sorted(row[1] for row in theirs) == sorted(ours)
