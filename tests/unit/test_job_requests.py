"""How many requests a job makes of its store when its process has read nothing yet.

All steps of a job share one look at its table, and so does each handle: what is read twice shows here, before it shows
in a bill.  The table has one commit, its source two.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.jobs.action import Job
from table_core.jobs.embedded import EmbeddedEngine, view_rows
from table_core.jobs.registry import action_of
from table_core.storage.stores.faults import Faults, FaultyStorage
from table_core.storage.stores.memory import MemoryStorage
from table_core.storage.system import SystemClock, SystemIds
from tests.interleave.lake import forget
from tests.tables import write_rows

READS = {"read", "open_input", "exists"}
LISTS = {"list", "walk"}
ROWS = pa.schema([("id", pa.int64()), ("v", pa.int64())])
ONE = pa.table([[1], [7]], schema=ROWS)


class OneRow(EmbeddedEngine):
    """Reads its views, and gives one row: no process for SQL."""

    def query(self, sql: str, views: Any, parameters: Any = None) -> pa.Table:
        for view in views.values():
            view_rows(view).read_all()
        return ONE


class Jobs:
    """Jobs on one warehouse, each by a catalog and handles of its own."""

    def __init__(self) -> None:
        self.storage = MemoryStorage("jobs")
        self.numbers = itertools.count()
        self.calls: list[str] = []
        catalog = self.catalog(Faults.none())
        catalog.create_database("d")
        for table in ("d.s", "d.t", "d.k"):
            key = ("id",) if table == "d.k" else ()
            options = {"bucket": "1" if key else "-1"}
            write_rows(catalog.create_table(table, ROWS, primary_key=key, options=options), ONE)

    def catalog(self, faults: Faults) -> tc.Catalog:
        return tc.Catalog(
            storage=FaultyStorage(self.storage, faults), clock=SystemClock(), ids=SystemIds()
        )

    def run(self, action: str, table: str = "d.t", **args: Any) -> None:
        """A job under a name of its own; its requests are counted."""
        forget()
        faults, verb = Faults.none(), action_of(action)
        commit = tc.CommitAs(user=f"job {next(self.numbers)}", identifier=0)
        verb.run(
            Job(
                action=action,
                catalog=self.catalog(faults),
                target=table,
                args=verb.checked(args),
                commit=commit,
                engine=OneRow(),
            )
        )
        self.calls = [call.name for call in faults.calls]

    def flow(self, mode: str) -> None:
        source = {"table": "d.s", "mode": mode}
        self.run("write", sql="SELECT 1", sources={"s": source}, name=mode)

    def news(self) -> None:
        write_rows(self.catalog(Faults.none()).table("d.s"), ONE)

    def counts(self) -> tuple[int, int]:
        """Reads and listings of the last job."""
        return sum(c in READS for c in self.calls), sum(c in LISTS for c in self.calls)


def changes(jobs: Jobs, *, news: bool) -> None:
    """A flow by changes that has run before."""
    jobs.flow("changes")
    if news:
        jobs.news()
    jobs.flow("changes")


def compacted(jobs: Jobs, table: str) -> None:
    for _ in range(2):
        jobs.run("compact", table, strategy="full")


NEW = {"columns": {"id": "BIGINT"}, "options": {"bucket": "-1"}, "if_not_exists": True}
OPTION = {"change": "SetOption", "key": "snapshot.num-retained.max", "value": "100"}
UPSERT = {
    "source": {"sql": "SELECT 1"},
    "on": ["id"],
    "when": [{"action": "matched-upsert", "values": {"v": "source.v"}}],
}
JOBS: dict[str, Callable[[Jobs], object]] = {
    "a row": lambda jobs: jobs.run("write", sql="SELECT 1"),
    "a row of a key": lambda jobs: jobs.run("write", "d.k", sql="SELECT 1"),
    "a flow by states": lambda jobs: jobs.flow("snapshot"),
    "a flow by changes": lambda jobs: changes(jobs, news=True),
    "a flow without news": lambda jobs: changes(jobs, news=False),
    "a new table": lambda jobs: jobs.run("create-table", "d.u", **NEW),
    "a table that is there": lambda jobs: jobs.run("create-table", **NEW),
    "an option": lambda jobs: jobs.run("alter-table", changes=[OPTION]),
    "nothing to compact": lambda jobs: compacted(jobs, "d.t"),
    "nothing to compact of a key": lambda jobs: compacted(jobs, "d.k"),
    "nothing to expire": lambda jobs: jobs.run("expire-snapshots"),
    "delete": lambda jobs: jobs.run("delete", where="id = 1"),
    "delete of a key": lambda jobs: jobs.run("delete", "d.k", where="id = 1"),
    "update": lambda jobs: jobs.run("update", values={"v": "v + 1"}, where="id = 1"),
    "merge": lambda jobs: jobs.run("merge-into", **UPSERT),
}
COUNTS = {
    "a row": (16, 4),
    "a row of a key": (22, 4),
    "a flow by states": (25, 5),
    "a flow by changes": (29, 5),
    "a flow without news": (16, 3),
    "a new table": (0, 2),
    "a table that is there": (8, 5),
    "an option": (12, 2),
    "nothing to compact": (8, 2),
    "nothing to compact of a key": (9, 2),
    "nothing to expire": (12, 6),
    "delete": (17, 5),
    "delete of a key": (24, 5),
    "update": (17, 6),
    "merge": (20, 6),
}
"""Reads and listings of each."""


@pytest.mark.parametrize("name", JOBS)
def test_a_job_reads_nothing_twice(name: str) -> None:
    jobs = Jobs()
    JOBS[name](jobs)
    assert jobs.counts() == COUNTS[name]
