"""Goal: a table that Paimon wrote while all about it changed is the same to both of us, whatever is asked.

Method: a table from a seed (``random_histories.py``) that Apache Paimon alone writes, alters, compacts
and rolls back.  Then its state, conditions, each late snapshot, tags, ranges in each mode and system
tables.  ``HISTORIES_SEED`` and ``HISTORIES_TABLES`` choose others; a failure names the seed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from judge import Judge, JudgeError, Rows, judged
from random_filters import condition, ours, sql
from random_histories import Changing, ChangingAppends, ChangingMoves
from sameness import assert_same

import table_core as tc
from tests.interop.same_documents import DOCUMENTS, FILES
from tests.interop.same_documents import assert_same as assert_same_table
from tests.lanes import budget

pytestmark = pytest.mark.interop

FIRST = int(os.environ.get("HISTORIES_SEED", "1"))
TABLES = budget("HISTORIES_TABLES", ci=1, nightly=20)
STEPS, FILTERS, LATE = 10, 8, 4


@pytest.mark.parametrize("kind", [Changing, ChangingAppends, ChangingMoves])
@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_random_histories_are_read_alike(
    seed: int, kind: type[Changing], paimon: Judge, tmp_path: Path
) -> None:
    made = kind(seed)
    print(made.options, made.columns, made.keys, made.partitions)
    history = History(made, tmp_path, paimon)
    for deed in made.deeds(STEPS):
        if not history.go_on(deed):
            break
    history.same_states()
    history.same_conditions()
    history.same_ranges()
    history.same_system_tables()


class History:
    """One table, as both see it."""

    def __init__(self, made: Changing, folder: Path, paimon: Judge) -> None:
        self.made, self.folder, self.paimon = made, folder, paimon
        self.theirs = paimon.table(folder, "d.t")
        keys = {"primary_key": made.keys, "partition_by": made.partitions}
        self.theirs.create(made.columns, **keys, **made.options)
        self.chance = random.Random(f"history {made.seed}")
        self.tags: list[str] = []

    @property
    def ours(self) -> Any:
        return tc.open_catalog(self.folder.as_uri()).table("d.t")

    def go_on(self, deed: str) -> bool:
        """Let Paimon do one thing; False where it refuses."""
        dynamic = self.made.keys and self.made.options["bucket"] == "-1"
        print("--", deed)
        try:
            match deed:
                case "write":
                    self.theirs.write(judged(self._rows()))
                case "overwrite" if not dynamic:
                    what = self.chance.choice(["table", "partitions"])
                    self.theirs.write(judged(self._rows()), overwrite=what)
                case "alter" | "option":
                    changes = getattr(self.made, deed)()
                    print(changes)
                    self.theirs.alter(changes)
                case "compact":
                    self.theirs.compact(minor=self.chance.random() < 0.5)
                case "tag":
                    self.theirs.tag(f"t{len(self.tags)}")
                    self.tags = self.theirs.keep("tags")
                case "rollback" if len(ids := self._ids()) > 2:
                    self.theirs.keep("rollback", snapshot=self.chance.choice(ids[1:]))
                    self.tags = self.theirs.keep("tags")
        except JudgeError as error:
            print(error)
            return False
        return True

    def _rows(self) -> pa.Table:
        return self.made.batch(self.ours.arrow_schema)

    def _ids(self) -> list[int]:
        return [snapshot.id for snapshot in self.ours.snapshots()]

    # --------------------------------------------------------------------------- comparing
    def _same(self, ask: Callable[[], pa.Table], judge: Callable[[], Rows], what: Any) -> None:
        """Assert that both answer the same, where Paimon answers."""
        try:
            wanted = judge()
        except JudgeError as error:
            print(what, error)
            return
        assert_same(ask(), wanted, (what, self.made.seed), loose=self.made.loose)

    def _same_state(self, where: Any = None, form: Any = None, **state: Any) -> None:
        names = {"snapshot": "scan__snapshot_id", "tag": "scan__tag_name"}
        asked = {names[key]: str(value) for key, value in state.items()}
        self._same(
            lambda: self.ours.read(where=form, **state).to_arrow(),
            lambda: [["+I", *row[1:]] for row in self.theirs.read(None, where, **asked)],
            (state, where),
        )

    def same_states(self) -> None:
        self._same_state()
        for id in self._ids()[-LATE:]:
            self._same_state(snapshot=id)
        for tag in self.tags:
            self._same_state(tag=tag)

    def same_conditions(self) -> None:
        orc = self.made.options["file.format"] == "orc"  # whose statistics lose rows to Paimon
        lost = ("CHAR", "FLOAT", "DOUBLE") if orc else ()
        avoid = {n for n, t in self.made.columns if lost and str(t).startswith(lost)}
        rows = self.ours.read().to_arrow()
        for _ in range(FILTERS if rows.num_rows else 0):
            wish = condition(self.chance, rows, frozenset({*avoid, *self.made.loose}))
            for form in () if wish is None else (ours(wish, rows.schema), sql(wish, rows.schema)):
                if form is not None:
                    self._same_state(wish, form)

    def same_ranges(self) -> None:
        ids, log = self._ids(), self.paimon.table(self.folder, "d.t$audit_log")
        if len(ids) < 2:
            return
        for mode in ("delta", "changelog", "auto", "diff"):
            unordered = self.made.loose or "map<" in str(self.ours.arrow_schema)
            if mode == "diff" and unordered:
                continue  # to the jar cells differ that were stored in another order
            first, last = sorted(self.chance.sample(ids, 2))
            asked: Any = {
                "incremental_between": f"{first},{last}",
                "incremental_between_scan_mode": mode,
            }
            self._same(
                lambda a=first, b=last, m=mode: self.ours.changes(a, b, mode=m).to_arrow(),  # type: ignore[misc]
                lambda asked=asked: [row[1:] for row in log.read(**asked)],  # type: ignore[misc]
                asked,
            )

    def same_system_tables(self) -> None:
        blank = any(
            isinstance(v, str) and not v.strip() for p in self.made.pools for v in p.values()
        )
        catalog = tc.open_catalog(self.folder.as_uri())
        for name in (*DOCUMENTS, *FILES, "aggregation_fields"):
            theirs = self.paimon.table(self.folder, f"d.t${name}")
            if name == "partitions" and blank:
                continue  # Paimon counts deleted rows of blank partitions elsewhere
            try:
                wanted = theirs.read()
            except JudgeError as error:  # its own partitions of times do not parse
                assert name == "partitions", error
                continue
            rows = catalog.table(f"d.t${name}").read().to_arrow()
            assert_same_table(name, rows, wanted, [column for column, _ in theirs.columns()])
        for name in ("audit_log", "ro"):
            theirs = self.paimon.table(self.folder, f"d.t${name}")
            table = catalog.table(f"d.t${name}")
            self._same(
                lambda table=table: table.read().to_arrow(),  # type: ignore[misc]
                lambda theirs=theirs: [["+I", *row[1:]] for row in theirs.read()],  # type: ignore[misc]
                name,
            )
