"""Goal: a key table that lives long, in strange places and many forms, is the same to both of us.

Method: a table from a seed (``random_lives.py``) that we and Apache Paimon write, compact, expire,
overwrite and delete from in turns.  After every step both read the same rows, and the same changes
since the last.  ``LIVES_SEED`` and ``LIVES_TABLES`` choose others; a failure names the seed.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from judge import Judge, JudgeError, judged
from random_lives import RandomLives
from sameness import assert_same

import table_core as tc

pytestmark = pytest.mark.interop

FIRST = int(os.environ.get("LIVES_SEED", "1"))
TABLES = int(os.environ.get("LIVES_TABLES", "8"))
STEPS = int(os.environ.get("LIVES_STEPS", "10"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_random_lives_are_told_alike(seed: int, paimon: Judge, tmp_path: Path) -> None:
    made = RandomLives(seed)
    print(made.options, made.columns, made.keys, made.partitions)
    life = Life(made, tmp_path, paimon)
    for _ in range(STEPS):
        if not life.go_on():
            return
        life.same_rows()
        life.same_changes()


class Life:
    def __init__(self, made: RandomLives, folder: Path, paimon: Judge) -> None:
        self.made, self.folder = made, folder
        self.theirs = paimon.table(folder, "d.t")
        keys = {"primary_key": made.keys, "partition_by": made.partitions}
        self.theirs.create(made.columns, **keys, **made.options)
        self.chance = random.Random(f"steps {made.seed}")
        self.seen = 0

    @property
    def ours(self) -> Any:
        return tc.open_catalog(self.folder.as_uri()).table("d.t")

    def go_on(self) -> bool:
        """Do one thing; whether it was not refused."""
        chance = self.chance
        step = chance.choice(
            ["write"] * 6 + ["compact"] * 3 + ["expire", "delete", "overwrite", "truncate"]
        )
        if self.seen == 0:
            step = "write"
        us = chance.random() < 0.5
        print("--", step, "us" if us else "them")
        try:
            getattr(self, f"_{step}")(us)
        except tc.errors.UnsupportedFeatureError as error:
            print("we do not", error)
            return False
        except (tc.errors.DataError, JudgeError) as error:
            print("refused", error)
            if "JudgeError" in type(error).__name__ and not self._known(str(error)):
                raise
            return False
        return True

    def _known(self, message: str) -> bool:
        return True

    def _write(self, us: bool) -> None:
        rows = self.made.batch(self.ours.arrow_schema)
        print(rows.to_pylist())
        if not us:
            self.theirs.write(judged(rows))
            return
        options = self.chance.choice([{}, {}, {"write-buffer-size": "1 b"}])
        table = tc.open_catalog(self.folder.as_uri()).table("d.t", options=options)
        with table.write() as writer:
            for start in range(0, rows.num_rows, 3):
                writer.write(rows.slice(start, 3))
            writer.commit()

    def _compact(self, us: bool) -> None:
        what = self.chance.choice(["full", "minor"])
        print(what)
        if us:
            self.ours.compact(what)
        else:
            self.theirs.compact(minor=what == "minor")

    def _expire(self, us: bool) -> None:
        if us:
            table = tc.open_catalog(self.folder.as_uri()).table(
                "d.t", options={"snapshot.time-retained": "1 ms"}
            )
            table.expire_snapshots(retain_max=2, retain_min=1)
        else:
            self.theirs.expire(2)

    def _delete(self, us: bool) -> None:
        rows = self.ours.read().to_arrow()
        plain = [
            k
            for k in self.made.keys
            if isinstance(rows[k][0].as_py() if rows.num_rows else None, int)
        ]
        if not plain or self.made.options["merge-engine"] == "first-row":
            return self._write(us)
        key = rows[plain[0]][0].as_py()
        try:
            self.ours.delete(tc.col(plain[0]) == key)
        except tc.errors.UnsupportedFeatureError as error:
            print("no delete", error)

    def _overwrite(self, us: bool) -> None:
        rows = self.made.batch(self.ours.arrow_schema)
        print(rows.to_pylist())
        what = self.chance.choice(["table", "partitions"])
        with self.ours.write(overwrite=what) as writer:
            writer.write(rows)
            writer.commit()

    def _truncate(self, us: bool) -> None:
        if self.chance.random() < 0.5:
            self.ours.truncate()

    # ------------------------------------------------------------------------------ comparing
    def same_rows(self) -> None:
        wanted = [["+I", *cells] for _, *cells in self.theirs.read()]
        assert_same(
            self.ours.read().to_arrow(), wanted, ("rows", self.made.seed), loose=self.made.loose
        )

    def same_changes(self) -> None:
        table = self.ours
        head = table.latest_snapshot()
        if head is None or head.id == self.seen:
            return
        after = max(self.seen, table.snapshots()[0].id - 1)
        wanted = self.theirs.changes(after, head.id)
        found = table.changes(after=after, to=head.id).to_arrow()
        assert_same(found, wanted, ("changes", self.made.seed, after), loose=self.made.loose)
        self.seen = head.id
