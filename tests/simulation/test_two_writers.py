"""Two and more writers of one bucket, with compactions beside them: commits count in their order.

Every merge engine, changelog producer, with and without deletion vectors and inline compaction.  Rows are
written and merged by the engine that ships; ``one_bucket`` folds them slowly beside it.
"""

from __future__ import annotations

import os
import random

import pytest

import table_core as tc
from tests.lanes import sampled
from tests.simulation.one_bucket import Bucket, Kind, Row, fold, kinds

DRAW = random.Random(7)
FIRST: list[Row] = [(k, DRAW.getrandbits(40), DRAW.getrandbits(40), 1, "+I") for k in range(400)]
"""Enough that a few new rows do not ask for all of them to be merged anew."""
EVERY = pytest.mark.parametrize("kind", sampled(kinds(), 3), ids=str)
COMPACTING = pytest.mark.parametrize(
    "kind", sampled([kind for kind in kinds() if not kind.write_only], 3, first=1), ids=str
)
SCHEDULES = int(os.environ.get("ROUNDS") or "0") or 1 + int(os.environ.get("BUDGET_S", "0")) // 20


def ours(n: int) -> list[Row]:
    """Rows of writer ``n``: key 0 is everybody's, one is its own, and one is older than others."""
    return [(0, 10 * n, 100 * n, n, "+I"), (n, 7, None, None, "+I"), (5, n, 5, 3 - n, "+I")]


def filled(kind: Kind) -> Bucket:
    """Rows on the top level, some of them replaced higher up."""
    bucket = Bucket(kind)
    bucket.write(FIRST)
    bucket.compact()
    bucket.write([(k, DRAW.getrandbits(40), None, 1, "+I") for k in range(100)])
    return bucket


@COMPACTING
def test_a_compaction_beside_a_write_and_its_compaction_is_dropped(kind: Kind) -> None:
    bucket = filled(kind)
    bucket.prepare("a", ours(1))
    bucket.write(ours(2))
    bucket.compact()
    bucket.commit("a")
    bucket.check()


@COMPACTING
def test_a_file_that_was_looked_into_may_be_compacted_away(kind: Kind) -> None:
    bucket = filled(kind)
    bucket.begin("c", "full")
    bucket.prepare("a", ours(1))
    bucket.end("c")
    bucket.commit("a")
    bucket.check()


@EVERY
def test_rows_of_the_later_commit_win_although_they_were_written_first(kind: Kind) -> None:
    bucket = filled(kind)
    bucket.prepare("a", ours(1))
    bucket.prepare("b", [*ours(2), (3, 0, 0, 0, "-D")])
    bucket.prepare("c", ours(3))
    bucket.commit("b")
    bucket.commit("a")
    bucket.commit("c")
    bucket.check()


@COMPACTING
def test_an_overwrite_beside_a_write_leaves_the_rows_of_the_write(kind: Kind) -> None:
    bucket = filled(kind)
    bucket.overwriting("o", FIRST[:3])
    bucket.write([(k, 1, 1, 1, "+I") for k in range(400)])
    bucket.compact()
    bucket.prepare("a", ours(1))
    bucket.overwrite("o")
    bucket.commit("a")
    bucket.check()


@COMPACTING
def test_rows_whose_compaction_was_dropped_are_read_at_once(kind: Kind) -> None:
    bucket = filled(kind)
    first, second = bucket.open("a", ours(1)), bucket.open("b", ours(2))
    second.commit()
    dropped = first.commit().compact_conflicts
    assert dropped or kind.producer == "none" or kind.engine == "first-row"
    head = bucket.table.latest_snapshot()
    assert head is not None
    assert bucket.read(head.id) == fold(kind, bucket.landed(head.id))
    bucket.check()


@COMPACTING
def test_writers_of_one_commit_that_each_compact_one_bucket_are_one_writer(kind: Kind) -> None:
    bucket = filled(kind)
    bucket.compact()
    rows: list[Row] = [(3, 10, 100, 5, "+I"), (300, 7, 5, 6, "+I")]
    results = []
    for row in rows:
        bucket.prepare("both", [row])
        results.append(bucket.prepared.pop("both"))
    bucket.rows["both"] = rows
    bucket.table.commit(results, tc.CommitAs(user="both"))
    bucket.check()


def test_rows_of_a_writer_that_does_not_look_again_are_not_passed_over_by_a_compaction() -> None:
    bucket = filled(Kind("partial-update", "none", vectors=False, write_only=True))
    bucket.prepare("foreign", [(0, 5, None, None, "+I")])
    bucket.write([(1, 1, None, None, "+I"), (0, None, 7, 7, "+I")])
    bucket.begin("c", "full")
    bucket.commit_as_others_do("foreign")
    head = bucket.table.latest_snapshot()
    assert head is not None
    before = bucket.read(head.id)
    assert before[0] == (5, 7, 7)
    assert not bucket.end("c")
    bucket.compact()
    assert bucket.read(head.id + 1) == before


@EVERY
@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_any_order_of_writes_and_compactions_is_the_order_of_commits(kind: Kind, seed: int) -> None:
    draw, bucket = random.Random(f"{kind} {seed}"), filled(kind)
    for step in range(14):
        writer, compaction = draw.choice("abc"), draw.choice("xy")
        chance = draw.random()
        if chance < 0.08:
            if "o" in bucket.prepared:
                bucket.overwrite("o")
            elif "o" not in bucket.rows:
                bucket.overwriting("o", FIRST[: draw.randrange(400)])
        elif chance < 0.3:
            if compaction in bucket.merging:
                bucket.end(compaction)
            else:
                bucket.begin(compaction, draw.choice(["full", "minor"]))
        elif any(user.startswith(writer) for user in bucket.prepared):
            bucket.commit(next(user for user in bucket.prepared if user.startswith(writer)))
        else:
            rows = [
                (
                    draw.randrange(6),
                    draw.choice([None, step]),
                    draw.choice([None, -step]),
                    draw.choice([None, *range(5)]),
                    draw.choice(["+I", "+I", "-D"]),
                )
                for _ in range(draw.randrange(1, 5))
            ]
            bucket.prepare(f"{writer}{step}", rows)
    bucket.check()
