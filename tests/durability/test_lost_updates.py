"""Goal: of two processes that read rows and write them anew, neither loses what the other has done.

Method: on each merge engine both count up the same few rows, by statements of random kinds, and one of
them compacts now and then.  Each counts what it has done by key; the table must hold the sums, row by row.
``LOST_UPDATE_ROUNDS=1000`` runs longer than ``make test`` does.
"""

from __future__ import annotations

import multiprocessing
import random
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from tests.lanes import budget
from tests.property.engine_statements import ENGINES, PRODUCERS, SCHEMA
from tests.tables import new_catalog, write_rows

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = budget("LOST_UPDATE_ROUNDS", ci=4, nightly=100) // 2
"""Of each of the two processes on each kind of table."""
PATIENCE_S = 120 + 10 * ROUNDS
KEYS = range(4)
TABLES: dict[str, dict[str, str]] = {
    f"{engine}, {PRODUCERS[n % len(PRODUCERS)]}": {
        "bucket": "1",
        "changelog-producer": PRODUCERS[n % len(PRODUCERS)],
        **options,
    }
    for n, (engine, options) in enumerate(ENGINES.items())
    if engine != "first-row"  # keeps the first row: no statement may write another one
} | {
    "vectors": {"bucket": "1", "deletion-vectors.enabled": "true"},
    "vectors, lookup": {
        "bucket": "2",
        "deletion-vectors.enabled": "true",
        "changelog-producer": "lookup",
    },
    "dynamic": {"bucket": "-1"},
    "write-only": {"bucket": "1", "write-only": "true"},
}


def start(uri: str, options: dict[str, str]) -> None:
    catalog = new_catalog(uri)
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("p", "id"), partition_by=("p",), options=options
    )
    put(table, [(id, 0) for id in KEYS])


def put(table: tc.Table, rows: list[tuple[int, int]]) -> None:
    whole = [{"p": "a", "id": id, "s": 1, "v": v, "w": None, "t": None} for id, v in rows]
    write_rows(table, pa.Table.from_pylist(whole, schema=SCHEMA))


def values(table: tc.Table) -> dict[int, int]:
    found = table.read(columns=["id", "v"]).to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found), "a key twice"
    return {row["id"]: row["v"] for row in found}


class Counting:
    """One process: a way to count up a row that it has read, until it is done."""

    def __init__(self, uri: str, seed: int) -> None:
        self.table = tc.open_catalog(uri).table("d.t")
        self.chance = random.Random(seed)
        self.did: Counter[int] = Counter()
        self.ways = [self.update, self.merge, self.merge_from_read, self.delete_then_insert]

    def round(self) -> None:
        id = self.chance.choice(KEYS)
        while not self._tried(id):
            pass
        self.did[id] += 1

    def _tried(self, id: int) -> bool:
        way = self.chance.choice(self.ways)
        try:
            return way(id)
        except (errors.CommitConflictError, errors.GaveUpError):
            return False  # loud, and nothing was done
        except errors.UnsupportedFeatureError:
            self.ways.remove(way)  # this engine cannot, and says so
            return False

    def update(self, id: int) -> bool:
        return self.rows(self.table.update({"v": "v + 1"}, f"id = {id}")) == 1

    def merge(self, id: int) -> bool:
        source = pa.table({"id": pa.array([id], pa.int32()), "n": [1]})
        when = [tc.MatchedUpsert(values={"v": "target.v + source.n"})]
        return self.rows(self.table.merge_into(source, ["id"], when)) == 1

    def merge_from_read(self, id: int) -> bool:
        """Compare and swap: the row that was read before, if it is still so."""
        seen = values(self.table).get(id)
        if seen is None:
            return False  # the other one has taken it out, and will bring it back
        source = pa.table({"id": pa.array([id], pa.int32()), "seen": [seen], "new": [seen + 1]})
        when = [
            tc.MatchedUpsert(condition="target.v = source.seen", values={"v": "source.new"}),
        ]
        return self.rows(self.table.merge_into(source, ["id"], when)) == 1

    def delete_then_insert(self, id: int) -> bool:
        """Who has deleted the row as it was has it alone, and brings it back."""
        seen = values(self.table).get(id)
        if seen is None or self.rows(self.table.delete(f"id = {id} AND v = {seen}")) == 0:
            return False
        put(self.table, [(id, seen + 1)])
        return True

    @staticmethod
    def rows(done: tc.ResultDocument) -> int:
        found = done.to_document()["details"]
        return int(found.get("rows", sum(found.get("rows_by_clause", {}).values())))


def work(seed: int, uris: list[str], barrier: Any, told: Any) -> None:
    for uri in uris:
        counting = Counting(uri, seed)
        barrier.wait(PATIENCE_S)
        for n in range(ROUNDS):
            counting.round()
            if seed == 0 and n % 10 == 9:
                with suppress(errors.CommitConflictError):
                    counting.table.compact(strategy=counting.chance.choice(["full", "minor"]))
        told.put((uri, dict(counting.did)))  # before either begins with the next table


def counted(told: Any, uri: str) -> dict[int, int]:
    """How often both together have counted up each row of a table."""
    found = Counter[int]()
    for _ in range(2):
        where, counts = told.get(timeout=PATIENCE_S)
        assert where == uri
        found.update(counts)
    return {id: found[id] for id in KEYS}


@pytest.mark.timeout(PATIENCE_S * len(TABLES))
def test_two_processes_lose_no_update_on_any_engine(tmp_path: Path) -> None:
    uris = {kind: f"file://{tmp_path}/{n}" for n, kind in enumerate(TABLES)}
    for kind, options in TABLES.items():
        start(uris[kind], options)
    context = multiprocessing.get_context("spawn")
    barrier, told = context.Barrier(2), context.Queue()
    both = [
        context.Process(target=work, args=(seed, list(uris.values()), barrier, told))
        for seed in range(2)
    ]
    for one in both:
        one.start()
    for kind, uri in uris.items():
        expected = counted(told, uri)
        table = tc.open_catalog(uri).table("d.t")
        assert sum(expected.values()) == 2 * ROUNDS
        assert values(table) == expected, kind
        table.compact(strategy="full")
        assert values(table) == expected, f"{kind}, compacted"
        print(f"{kind}: {2 * ROUNDS} rounds, snapshot {table.latest_snapshot().id}", flush=True)
    for one in both:
        one.join()
    assert [one.exitcode for one in both] == [0, 0]
