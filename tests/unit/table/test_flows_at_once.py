"""Two processes run one flow at once, round after round: every row once, and nobody is stuck."""

from __future__ import annotations

import multiprocessing
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import CommitConflictError
from table_core.jobs.flow import run_flow
from tests.sql_here import SqlHere
from tests.tables import new_catalog, write_rows

ROUNDS = 18
SCHEMA = pa.schema([("id", pa.int64())])
FLOW = {
    "sources": {"src": {"table": "d.src", "mode": "changes"}},
    "pending": {"table": "d.wait", "sql": "SELECT id FROM src WHERE id % 2 = 1"},
    "sql": "SELECT id FROM src WHERE id % 2 = 0 UNION ALL SELECT id FROM wait",
    "name": "f",
}


def work(warehouse: str, barrier: Any, named: bool, told: Any) -> None:
    """One of the two: runs the flow in every round, as soon as the other does."""
    for number in range(ROUNDS):
        barrier.wait(60)
        catalog = tc.open_catalog(warehouse)
        commit = tc.CommitAs(user="u", identifier=number) if named else tc.CommitAs()
        try:
            run_flow(catalog, catalog.table("d.out"), FLOW, commit, SqlHere())
        except CommitConflictError:
            pass
        except Exception as error:
            told.put(f"round {number}: {error!r}")
        barrier.wait(60)


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork servers that are quick")
@pytest.mark.parametrize("named", [True, False], ids=["one name", "two names"])
def test_two_at_once_lose_nothing_and_leave_nobody_stuck(named: bool, tmp_path: Path) -> None:
    warehouse = f"file://{tmp_path}"
    catalog = new_catalog(warehouse)
    for name in ("d.src", "d.wait", "d.out"):
        catalog.create_table(name, SCHEMA, options={"snapshot.num-retained.min": "1"})
    context = multiprocessing.get_context("spawn")
    barrier, told = context.Barrier(3), context.Queue()
    both = [context.Process(target=work, args=(warehouse, barrier, named, told)) for _ in "ab"]
    for process in both:
        process.start()
    expected: list[int] = []
    try:
        for number in range(ROUNDS):
            write_rows(catalog.table("d.src"), pa.table({"id": [2 * number, 2 * number + 1]}))
            barrier.wait(60)
            barrier.wait(60)
            for name in ("d.src", "d.wait", "d.out"):
                catalog.table(name).expire_snapshots(retain_max=1, retain_min=1)
            # what was odd in the round before has waited until now
            expected += [2 * number] + ([2 * number - 1] if number else [])
    finally:
        for process in both:
            process.join(60)
    assert told.empty(), told.get()
    rows = catalog.table("d.out").read().to_arrow()["id"].to_pylist()
    assert Counter(rows) == Counter(expected)
