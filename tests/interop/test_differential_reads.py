"""Goal: three implementations, asked the same of the same random tables, answer the same.

Method: a table from a seed, written by Apache Paimon and by us in turns while its schema changes;
then whole reads, projections, conditions, time travel and changes, each asked of us, of the jar, and
of pypaimon where it takes the table.  ``DIFFERENTIAL_SEED`` and ``DIFFERENTIAL_TABLES`` choose
others; a failure names the seed.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from judge import KIND, Judge, JudgedTable, JudgeError, Rows, judged
from peer import Peer, PeerError
from random_filters import condition, ours, sql, tested
from random_tables import RandomTable, our_changes

import table_core as tc

pytestmark = pytest.mark.interop

NAME = "default.t"
FIRST = int(os.environ.get("DIFFERENTIAL_SEED", "1"))
TABLES = int(os.environ.get("DIFFERENTIAL_TABLES", "24"))
COMMITS = 5
FILTERS = 10


@pytest.fixture(scope="module")
def pypaimon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    peer = Peer(tmp_path_factory.mktemp("peer") / "stderr.log")
    yield peer
    peer.close()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_random_tables_read_alike(seed: int, paimon: Judge, pypaimon: Peer, tmp_path: Path) -> None:
    made = RandomTable(seed)
    theirs = paimon.table(tmp_path, NAME)
    build(made, tc.open_catalog(tmp_path.as_uri()), theirs)
    asked = Asked(tmp_path, theirs, pypaimon)
    chance = random.Random(seed)
    rows = asked.same()
    names = rows.column_names
    for _ in range(3):
        asked.same(columns=chance.sample(names, chance.randint(1, len(names))))
    for _ in range(FILTERS):
        wish = condition(chance, rows)
        columns = chance.sample(names, chance.randint(1, len(names)))
        asked.same(columns=chance.choice([None, columns]), where=wish)
    for snapshot in chance.sample(asked.table.snapshots(), 3):
        asked.same(snapshot=snapshot.id)
    asked.same(tag="kept")
    asked.same_changes(made)


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
                catalog.alter_table(NAME, our_changes(changes))
        elif what < 0.65:
            theirs.compact()
        elif what < 0.8:
            catalog.table(NAME).compact(strategy="full")


def write(table: Any, batch: pa.Table, theirs: JudgedTable) -> None:
    """Write ``batch`` by us; by the jar where we name what we do not write."""
    try:
        with table.write() as writer:
            writer.write(batch)
            writer.commit()
    except tc.errors.UnsupportedFeatureError:
        theirs.write(judged(batch))


class Asked:
    """One table, and the three who read it."""

    def __init__(self, warehouse: Path, theirs: JudgedTable, pypaimon: Peer) -> None:
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
            asked = list(dict.fromkeys([*columns, *tested(where)]))
            cut = slice(0, len(columns) + 1)
        wanted = [row[cut] for row in self.theirs.read(asked, where, **options)]
        whole = self.table.arrow_schema
        forms = [None] if where is None else [ours(where, whole), sql(where, whole)]
        for form in forms if where is None else [f for f in forms if f is not None]:
            rows = self.table.read(
                columns=columns, where=form, snapshot=snapshot, tag=tag
            ).to_arrow()
            assert_same(rows, wanted, ("jar", columns, where))
        try:
            third = self.pypaimon.read(self.warehouse, NAME, asked, where, **options)
        except PeerError as error:
            print("pypaimon refuses", error)
            return rows
        assert_same(rows, [row[cut] for row in third], ("pypaimon", columns, where))
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


def assert_same(rows: pa.Table, wanted: Rows, question: Any) -> None:
    kinds = [f.type for f in rows.schema if f.name != KIND]
    have, want = (
        Counter(json.dumps([row[0], *map(canonical, row[1:], kinds)]) for row in side)
        for side in (judged(rows), wanted)
    )
    only = ("only ours", list(have - want)[:5], "only theirs", list(want - have)[:5])
    assert have == want, (question, have.total(), want.total(), only)


def canonical(cell: Any, kind: pa.DataType) -> Any:
    """A value as one text, whoever printed it: floats as numbers, maps in order of their keys."""
    if cell is None:
        return None
    if pa.types.is_floating(kind):
        number = float(cell)
        return repr(float(np.float32(number)) if pa.types.is_float32(kind) else number)
    if pa.types.is_struct(kind):
        return [canonical(c, kind.field(i).type) for i, c in enumerate(cell)]
    if pa.types.is_map(kind):
        pairs = [[canonical(k, kind.key_type), canonical(v, kind.item_type)] for k, v in cell]
        return sorted(pairs, key=json.dumps)
    if pa.types.is_list(kind):
        return [canonical(c, kind.value_type) for c in cell]
    return cell
