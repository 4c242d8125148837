"""A catalog of small tables, and flows between them."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa

import table_core as tc
from table_core.jobs.flow import run_flow
from table_core.table.metadata.results import ResultDocument
from tests.sql_here import SqlHere
from tests.tables import write_rows

SCHEMA = pa.schema([("id", pa.int64())])
SHORT = {"snapshot.num-retained.min": "1"}


class House:
    """Tables of ids; flows that take them."""

    def __init__(self) -> None:
        self.catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
        for database in ("d", "wait"):
            self.catalog.create_database(database)
        for name in ("d.src", "d.other", "d.out", "wait.src", "wait.rest"):
            self.make(name)

    def make(self, name: str) -> None:
        self.catalog.create_table(name, SCHEMA, options=SHORT)

    def put(self, *ids: int, name: str = "d.src", overwrite: Any = None) -> None:
        write_rows(
            self.catalog.table(name), pa.table({"id": ids}, schema=SCHEMA), overwrite=overwrite
        )

    def ids(self, name: str = "d.out") -> list[int]:
        return sorted(self.catalog.table(name).read().to_arrow()["id"].to_pylist())

    def run(
        self, sql: str = "SELECT id FROM src", commit: tc.CommitAs | None = None, **args: Any
    ) -> ResultDocument:
        sources = args.pop("sources", {"src": {"table": "d.src", "mode": "changes"}})
        target = self.catalog.table(args.pop("target", "d.out"))
        engine = args.pop("engine", None) or SqlHere()
        given = {"sql": sql, "sources": sources, **args}
        return run_flow(self.catalog, target, given, commit or tc.CommitAs(), engine)


def grown_again(house: House) -> None:
    """The source was rolled back, and has as many snapshots again and one more."""
    house.catalog.table("d.src").rollback_to(snapshot=1)
    for id in (20, 21, 22):
        house.put(id)


def fast_forwarded(house: House) -> None:
    """A branch of the source's first snapshot took its place."""
    table = house.catalog.table("d.src")
    table.branches.create("b", snapshot=1)
    for id in (20, 21, 22):
        house.put(id, name="d.src$branch_b")
    table.branches.fast_forward("b")


def made_anew(house: House) -> None:
    """The source was dropped, and is another table of its name."""
    house.catalog.drop_table("d.src")
    house.make("d.src")
    for id in (20, 21, 22, 23):
        house.put(id)
