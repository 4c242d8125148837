"""What a sync made of a recorded stream, in the words of the source's own tables."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import table_core as tc
from table_core.cdc.source.postgres.types import postgres_type
from table_core.datatypes.kinds import Field
from table_core.schema.type_mapping import TypeMapping
from tests.golden import streams
from tests.tables import altered_elsewhere

RENAMED = frozenset({"sales_channel", "opens_at", "remark"})
UNTOLD = frozenset({"points", "fee"})
"""Defaults that PostgreSQL's events without schema do not tell."""
LOSSY = frozenset({"opens", "opens_at"})
"""24:00:00 and negative times, which these settings of the connector cannot carry."""


class Warehouse:
    """A stream, phase by phase, and the tables that it feeds."""

    def __init__(
        self, folder: Path, connector: str, flavour: str, form: str, *, merge: bool
    ) -> None:
        self.events = folder / "events"
        self.events.mkdir()
        self.catalog = tc.open_catalog(f"file://{folder}/wh")
        self.connector, self.flavour, self.form, self.merge = connector, flavour, form, merge

    def source(self) -> tc.FilesSource:
        return tc.FilesSource(f"file://{self.events}/*.jsonl")

    def put(self, phase: int, seed: int | None) -> None:
        ends = [p["lines"][self.flavour] for p in streams.phases(self.connector)]
        start = ends[phase - 1] if phase else 0
        part = streams.lines(self.connector, self.flavour, self.form)[start : ends[phase]]
        body = part if seed is None else streams.interleaved(part, seed)
        (self.events / f"{phase:02}.jsonl").write_bytes(b"".join(body))
        if self.form == "plain" and self.connector == "postgres":
            self.declare(streams.phases(self.connector)[phase].get("schema", {}))

    def declare(self, tables: dict[str, Any]) -> None:
        """Nothing in such a stream tells types; somebody has to."""
        self.catalog.create_database("shop", if_not_exists=True)
        for table, told in tables.items():
            name = f"shop.{self.target(table)}"
            fields = [
                Field(n, c["name"], postgres_type(c["type"], TypeMapping()))
                for n, c in enumerate(told["columns"])
            ]
            if self.target(table) not in self.catalog.tables("shop"):
                key = told["primary_key"]
                options = {"bucket": "1" if key else "-1"}
                self.catalog.create_table(name, fields, primary_key=key, options=options)
                continue
            there = {f.name for f in self.catalog.table(name).definition.fields}
            changes: list[Any] = [
                tc.UpdateColumnType(f.name, f.type)
                if f.name in there
                else tc.AddColumn(f.name, f.type)
                for f in fields
                if f.name not in told["primary_key"]
            ]
            altered_elsewhere(self.catalog, name, *changes)

    def target(self, table: str) -> str:
        database, _, name = table.partition(".")
        return name if self.merge else f"{database}_{name}"

    def sync(self) -> Any:
        return tc.sync_database(self.catalog, "shop", self.source(), merge_shards=self.merge)

    def differences(self, phase: int, only: str | None = None) -> dict[str, Any]:
        state = streams.state(self.connector, phase)
        columns = streams.columns(self.connector, phase)
        fed = defaultdict(list)
        for table in state if only is None else [only]:
            fed[self.target(table)].append(table)
        untold = UNTOLD if self.form == "plain" and self.connector == "postgres" else frozenset()
        lossy = LOSSY if self.flavour != "default" or untold else frozenset()
        found = {}
        for name, tables in fed.items():
            expected = [row for table in tables for row in state[table]]
            if not expected and name not in self.catalog.tables("shop"):
                continue
            if self.merge and name == "products":
                continue  # both shards have the same keys: the last one stands
            types = {c["name"]: c["type"] for table in tables for c in columns[table]["columns"]}
            for table in tables:
                names = {c["name"] for c in columns[table]["columns"]}
                types = {n: t for n, t in types.items() if n in names - lossy}
            rows = self.catalog.table(f"shop.{name}").read().to_arrow().to_pylist()
            digits = 3 if self.connector == "mariadb" and self.flavour != "default" else 6
            differ = streams.differences(
                rows, expected, types, maybe_null=RENAMED | untold, digits=digits
            )
            if differ:
                found[name] = differ[:2]
        return found
