"""Goal: a table that lives long, in strange places and many forms, is the same to both of us.

Method: a table from a seed (``random_lives.py``) that we and Apache Paimon write, compact and expire
in turns, and that we delete from, overwrite and empty.  After every step both read the same rows, and
the same changes since the last.  Neither refuses anything but a product that is divided by zero.
``LIVES_SEED`` and ``LIVES_TABLES`` choose others; a failure names the seed.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from judge import KIND, Judge, JudgeError, judged
from random_lives import RandomAppends, RandomLives, RandomMoves
from sameness import assert_same

import table_core as tc
from tests.lanes import budget
from tests.tables import write_rows

pytestmark = pytest.mark.interop

FIRST = int(os.environ.get("LIVES_SEED", "1"))
TABLES = budget("LIVES_TABLES", ci=3, nightly=30)
STEPS = int(os.environ.get("LIVES_STEPS", "8"))
DEEDS = (
    *("write",) * 6,
    *("compact",) * 3,
    *("expire", "delete", "merge", "overwrite", "truncate"),
)
CLAUSES = (
    [tc.MatchedUpsert(), tc.NotMatchedInsert()],
    [tc.MatchedDelete(), tc.NotMatchedInsert()],
    [tc.NotMatchedInsert()],
)
BUFFERS = (
    {},
    {"write-buffer-size": "1 b"},
    {"write-buffer-size": "9 kb"},
    {"lookup.cache-max-memory-size": "1 b", "lookup.cache-max-disk-size": "1 b"},
    {"lookup.cache.bloom.filter.enabled": "false", "lookup.cache-spill-compression": "lz4"},
)
BY_ZERO = ("/ by zero", "cannot take 0 back")
LIMITS = ({}, {"read.memory-limit": "1 b"}, {"read.memory-limit": "50 kb"})


@pytest.mark.parametrize("kind", [RandomLives, RandomAppends, RandomMoves])
@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_random_lives_are_told_alike(
    seed: int, kind: type[RandomLives], paimon: Judge, tmp_path: Path
) -> None:
    made = kind(seed)
    print(made.options, made.columns, made.keys, made.partitions)
    life = Life(made, tmp_path, paimon)
    for _ in range(STEPS):
        if not (life.go_on() and life.same_rows()):
            return
        life.same_changes()


class Life:
    """One table, as both see it."""

    def __init__(self, made: RandomLives, folder: Path, paimon: Judge) -> None:
        self.made, self.folder = made, folder
        self.theirs = paimon.table(folder, "d.t")
        keys = {"primary_key": made.keys, "partition_by": made.partitions}
        self.theirs.create(made.columns, **keys, **made.options)
        self.chance = random.Random(f"steps {made.seed}")
        self.seen = 0

    def ours(self, options: dict[str, str] | None = None) -> Any:
        return tc.open_catalog(self.folder.as_uri()).table("d.t", options=options)

    def go_on(self) -> bool:
        """Do one thing; False where we say that we do not do it."""
        deed = self.chance.choice(DEEDS) if self.seen else "write"
        us = self.chance.random() < 0.5
        print("--", deed, "us" if us else "them")
        try:
            getattr(self, f"_{deed}")(us)
        except tc.errors.UnsupportedFeatureError as error:
            print("we do not:", error)
            return False
        except (tc.errors.DataError, JudgeError) as error:
            print(error)
            assert any(zero in str(error) for zero in BY_ZERO)
            return False
        return True

    # ------------------------------------------------------------------------------- deeds
    def _write(self, us: bool) -> None:
        rows = self._rows()
        if not us:
            self.theirs.write(judged(rows))
            return
        size = max(3, rows.num_rows // self.chance.randint(1, 9))
        with self.ours(self.chance.choice(BUFFERS)).write() as writer:
            for start in range(0, rows.num_rows, size):
                writer.write(rows.slice(start, size))
            writer.commit()

    def _compact(self, us: bool) -> None:
        what = self.chance.choice(["full", "minor"])
        print(what)
        if us:
            self.ours().compact(what)
        else:
            self.theirs.compact(minor=what == "minor")

    def _expire(self, us: bool) -> None:
        if us:
            keeps = {"snapshot.time-retained": "1 ms"}
            self.ours(keeps).expire_snapshots(retain_max=2, retain_min=1)
        else:
            self.theirs.expire(2)

    def _delete(self, us: bool) -> None:
        if not self.made.keys:
            self._change()
            return
        rows = self.ours().read().to_arrow()
        whole = [n for n in self.made.keys if pa.types.is_integer(rows[n].type)]
        if not whole or not rows.num_rows or self.made.options["merge-engine"] != "deduplicate":
            self._write(us)
        elif "ignore-delete" not in self.made.options:
            self.ours().delete(tc.col(whole[0]) == rows[whole[0]][0].as_py())

    def _change(self) -> None:
        """Of a table without key: statements that find their rows by a column."""
        number = self.chance.randrange(9)
        if self.chance.random() < 0.5:
            self.ours().delete(f"n = {number}")
        else:
            self.ours().update({"n": "n + 1"}, f"n >= {number}")

    def _merge(self, us: bool) -> None:
        options = self.made.options
        refuses = {"ignore-delete", "rowkind.field"}.intersection(options)
        if not self.made.keys or options["merge-engine"] != "deduplicate" or refuses:
            self._write(us)
            return
        rows = self._rows().drop_columns([KIND])
        once = {
            str([row[k] for k in self.made.keys]): at for at, row in enumerate(rows.to_pylist())
        }
        source = rows.take(pa.array(list(once.values()), pa.int64()))
        self.ours().merge_into(source, on=self.made.keys, when=self.chance.choice(CLAUSES))

    def _overwrite(self, us: bool) -> None:
        rows, what = self._rows(), self.chance.choice(["table", "partitions"])
        dynamic = self.made.keys and self.made.options["bucket"] == "-1"
        if not us and not dynamic:
            self.theirs.write(judged(rows), overwrite=what)
            return
        write_rows(self.ours(), rows, overwrite=what)

    def _truncate(self, us: bool) -> None:
        if self.chance.random() < 0.5:
            self.ours().truncate()

    def _rows(self) -> pa.Table:
        rows = self.made.batch(self.ours().arrow_schema)
        print(rows.to_pylist() if rows.num_rows < 20 else f"{rows.num_rows} rows")
        return rows

    # --------------------------------------------------------------------------- comparing
    def same_rows(self) -> bool:
        """Assert that both read the same; False where neither can."""
        scan = self.ours(self.chance.choice(LIMITS)).read()
        try:
            wanted = [["+I", *cells] for _, *cells in self.theirs.read()]  # it shows +U as stored
        except JudgeError as error:
            assert BY_ZERO[0] in str(error)
            with pytest.raises(tc.errors.DataError, match=BY_ZERO[1]):
                scan.to_arrow()
            return False
        assert_same(scan.to_arrow(), wanted, ("rows", self.made.seed), loose=self.made.loose)
        return True

    def same_changes(self) -> None:
        table = self.ours()
        head = table.latest_snapshot()
        if head is None or head.id == self.seen:
            return
        after = max(self.seen, table.snapshots()[0].id - 1)
        wanted = self.theirs.changes(after, head.id)
        rows = table.changes(after=after, to=head.id).to_arrow()
        assert_same(rows, wanted, ("changes", self.made.seed, after), loose=self.made.loose)
        self.seen = head.id
