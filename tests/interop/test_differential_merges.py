"""Goal: whatever versions meet, in whichever files, we and Apache Paimon make the same of them.

Method: a table from a seed, three times: written and compacted by us, by the jar, and by either in
turns.  After every step both read all three; in the end both read their streams of changes.  Where
picks do not depend on sizes, the three tables hold the same rows and tell the same changes.
``MERGES_SEED`` and ``MERGES_TABLES`` choose others; a failure names the seed.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from judge import Judge, JudgedTable, JudgeError, judged
from random_merges import RandomMerges
from sameness import assert_same

import table_core as tc
from tests.lanes import budget
from tests.tables import write_rows

pytestmark = pytest.mark.interop

FIRST = int(os.environ.get("MERGES_SEED", "1"))
TABLES = budget("MERGES_TABLES", ci=5, nightly=60)
STEPS = 8
WRITERS = ("ours", "theirs", "both")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_random_versions_merge_alike(seed: int, paimon: Judge, tmp_path: Path) -> None:
    made = RandomMerges(seed)
    catalog = tc.open_catalog(tmp_path.as_uri())
    tables = [Table(made, catalog, name, paimon.table(tmp_path, f"d.{name}")) for name in WRITERS]
    print(made.options, made.columns)
    for table in tables:
        table.create()
    chance = random.Random(seed)
    for _ in range(STEPS):
        batch = made.batch(tables[0].handle.arrow_schema)
        print(batch.to_pylist())
        refused = [table.write(batch, ours=chance.random() < 0.5) for table in tables]
        assert len(set(refused)) == 1, refused
        if refused[0]:
            return
        what = chance.choice(["full", "minor", "", "", ""])
        if what:
            refused = [table.compact(what, ours=chance.random() < 0.5) for table in tables]
            assert len(set(refused)) == 1, refused
            if refused[0]:
                return
        states = [table.same_state() for table in tables]
        if made.steady:
            for state in states[1:]:
                assert_same(states[0], judged(state), "twins", loose=made.loose)
        if made.steady and made.packs_alike:
            assert len({table.shape() for table in tables}) == 1, [t.shape() for t in tables]
    changes = [table.same_changes() for table in tables]
    if made.steady:
        for other in changes[1:]:
            assert_same(changes[0], judged(other), "changes of twins", loose=made.loose)


@dataclass
class Table:
    """One table, as we see it and as the jar sees it; ``name`` says who writes it."""

    made: RandomMerges
    catalog: Any
    name: str
    theirs: JudgedTable
    steps: list[str] = field(default_factory=list)

    def create(self) -> None:
        made = self.made
        keys = {"primary_key": made.keys, "partition_by": made.partitions}
        self.theirs.create(made.columns, **keys, **made.options)

    @property
    def handle(self) -> Any:
        return self.catalog.table(f"d.{self.name}")

    def _ours(self, ours: bool) -> bool:
        return self.name == "ours" or (self.name == "both" and ours)

    def write(self, batch: pa.Table, *, ours: bool) -> bool:
        """Write by whose turn it is; whether that was refused."""
        self.steps.append(f"write {'us' if self._ours(ours) else 'them'}")
        try:
            if self._ours(ours):
                write_rows(self.handle, batch)
            else:
                self.theirs.write(judged(batch))
        except tc.errors.UnsupportedFeatureError as error:  # times in ORC that none reads alike
            pytest.skip(str(error))
        except (tc.errors.DataError, JudgeError) as error:
            print(self.name, "refuses", error)
            return True
        return False

    def compact(self, what: str, *, ours: bool) -> bool:
        self.steps.append(f"{what} {'us' if self._ours(ours) else 'them'}")
        try:
            if self._ours(ours):
                self.handle.compact(what)
            else:
                self.theirs.compact(minor=what == "minor")
        except (tc.errors.DataError, JudgeError) as error:
            print(self.name, "refuses", error)
            return True
        return False

    def shape(self) -> tuple[Any, ...]:
        """Of every file its level and how much it holds.

        Not how its rows are numbered: ours go on from the largest number that there ever was, Paimon's from the largest
        that a compaction has left.
        """
        access = self.handle.access
        found = access.files_by_bucket(access.metadata.head())
        return tuple(
            sorted(
                (*bucket, f.level, f.row_count, f.delete_row_count)
                for bucket, entries in found.items()
                for f in (entry.file for entry in entries)
            )
        )

    def same_state(self) -> pa.Table:
        """Assert that both read the same rows; ours."""
        rows = self.handle.read().to_arrow()
        wanted = [["+I", *cells] for _, *cells in self.theirs.read()]  # it shows +U as stored
        assert_same(rows, wanted, (self.name, self.steps), loose=self.made.loose)
        return rows

    def same_changes(self) -> pa.Table:
        """Assert that both tell the same changes; ours."""
        newest = self.handle.latest_snapshot().id
        rows = self.handle.changes(after=0, to=newest).to_arrow()
        wanted = self.theirs.changes(0, newest)
        assert_same(rows, wanted, (self.name, "changes"), loose=self.made.loose)
        return rows
