"""A random table that Paimon and we write in turns, and the same questions to each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from judge import JudgedTable, JudgeError, judged
from peer import Peer, PeerError
from random_filters import names_in, ours, sql
from random_tables import RandomTable, our_changes
from sameness import NANOS, assert_same, roughly

import table_core as tc
from tests.tables import altered_elsewhere, write_rows

NAME = "default.t"
COMMITS = 5


def build(made: RandomTable, catalog: Any, theirs: JudgedTable) -> None:
    """Write the table: batches by both, schema changes, compactions, and a tag on the way."""
    theirs.create(
        made.columns,
        primary_key=made.keys,
        partition_by=made.partitions,
        **made.options,
    )
    chance = made.chance
    for number in range(COMMITS):
        table = catalog.table(NAME)
        batch = made.batch(table.arrow_schema)
        if chance.random() < 0.5:
            write(table, batch, theirs)
        else:
            theirs.write(judged(batch))
        if number == COMMITS // 2:
            theirs.tag("kept")
        what = chance.random()
        if what < 0.5:
            changes = made.alter()
            if chance.random() < 0.5:
                theirs.alter(changes)
            else:
                altered_elsewhere(catalog, NAME, *our_changes(changes))
        elif what < 0.65:
            theirs.compact()
        elif what < 0.8:
            compact(catalog.table(NAME), theirs)


def write(table: Any, batch: pa.Table, theirs: JudgedTable) -> None:
    """Write ``batch`` by us; by the jar where we name what we do not write."""
    try:
        write_rows(table, batch)
    except tc.errors.UnsupportedFeatureError:
        theirs.write(judged(batch))


def compact(table: Any, theirs: JudgedTable) -> None:
    """Compact by us; by the jar where we name what we do not write."""
    try:
        table.compact(strategy="full")
    except tc.errors.UnsupportedFeatureError:
        theirs.compact()


class Asked:
    """One table, and the three who read it."""

    def __init__(self, warehouse: Path, theirs: JudgedTable, pypaimon: Peer | None) -> None:
        self.table = tc.open_catalog(warehouse.as_uri()).table(NAME)
        self.warehouse, self.theirs, self.pypaimon = warehouse, theirs, pypaimon

    def same(
        self,
        columns: list[str] | None = None,
        where: Any = None,
        snapshot: int | None = None,
        tag: str | None = None,
    ) -> pa.Table:
        """Assert that all three give the same rows; ours."""
        options = {} if snapshot is None else {"scan__snapshot_id": str(snapshot)}
        if tag is not None:
            options = {"scan__tag_name": tag}
        asked, cut = columns, slice(None)
        if where is not None and columns is not None:  # others test only columns that they read
            asked = list(dict.fromkeys([*columns, *names_in(where)]))
            cut = slice(0, len(columns) + 1)
        wanted = [row[cut] for row in self.theirs.read(asked, where, **options)]
        whole = self.table.arrow_schema
        forms = [None] if where is None else [ours(where, whole), sql(where, whole)]
        for form in forms if where is None else [f for f in forms if f is not None]:
            rows = self.table.read(
                columns=columns, where=form, snapshot=snapshot, tag=tag
            ).to_arrow()
            assert_same(rows, wanted, ("jar", columns, where))
        whole = self.table.read(snapshot=snapshot, tag=tag).schema
        if self.pypaimon is None or not peer_knows(where, whole, self.table):
            return rows
        try:
            third = self.pypaimon.read(self.warehouse, NAME, asked, where, **options)
        except PeerError as error:
            print("pypaimon refuses", error)
            return rows
        third = [row[cut] for row in third]
        assert_same(rows, third, ("pypaimon", columns, where), roughly)
        return rows

    def same_changes(self, made: RandomTable) -> None:
        """Assert that a stream over all snapshots is the same."""
        newest = self.table.latest_snapshot().id
        try:
            wanted = self.theirs.changes(0, newest)
        except JudgeError as error:
            print("no changes from the jar:", error)
            return
        rows = self.table.changes(after=0, to=newest).to_arrow()
        assert_same(rows, wanted, ("jar", "changes", made.options))


def peer_knows(wish: Any, schema: pa.Schema, table: Any) -> bool:
    """Whether pypaimon answers right.

    To it NULL is not equal, moments have no nanoseconds, and an OR with a partition is no condition.
    """
    if wish is None:
        return True
    if "parts" in wish:
        if wish["op"] == "or" and not set(names_in(wish)).isdisjoint(table.partition_by):
            return False
        return all(peer_knows(part, schema, table) for part in wish["parts"])
    if wish["op"] in ("not_equal", "is_not_in"):
        return False
    return schema.field(wish["column"]).type not in NANOS
