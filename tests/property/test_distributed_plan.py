"""Goal: a plan that many tasks share has the splits of the plan that one process makes, whatever tasks there are.

Method: random lives of tables: writes, deletes, overwrites, compactions, files that take the place of others,
deletion vectors, merged manifests.  Then any snapshot and condition, any number of shares; pieces come in any
order, and the shuffle between the two steps is done here.
"""

from __future__ import annotations

import pickle
import random
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import table_core as tc
from table_core.table.read.distributed_plan import distributed
from tests.tables import new_catalog, write_rows

if TYPE_CHECKING:
    from pathlib import Path

    from table_core.scan.split import Split
    from table_core.table.read.distributed_plan import DistributedPlan, ManifestPiece
    from table_core.table.read.scan import Scan

SCHEMA = pa.schema(
    [
        pa.field("p", pa.int32(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        ("v", pa.string()),
    ]
)
OPTION = "scan.distributed-planning.min-manifests"
VECTORS = {"deletion-vectors.enabled": "true"}
KINDS: dict[str, dict[str, Any]] = {
    "key": {"primary_key": ("p", "id"), "options": {"bucket": "2"}},
    "write-only": {"primary_key": ("p", "id"), "options": {"bucket": "2", "write-only": "true"}},
    "key with vectors": {"primary_key": ("p", "id"), "options": {"bucket": "2", **VECTORS}},
    "first-row": {
        "primary_key": ("p", "id"),
        "options": {"bucket": "2", "merge-engine": "first-row"},
    },
    "append": {"options": {"bucket": "-1"}},
    "append with vectors": {"options": {"bucket": "-1", **VECTORS}},
    "append in buckets": {"options": {"bucket": "3", "bucket-key": "id"}},
}
WHERES = (
    None,
    "p = 1",
    "p IN (0, 2) AND id >= 10",
    "id = 7",
    "id < 20",
    "v = 'x3'",
    "p = 1 AND id = 9",
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "write", "delete", "compact", "minor", "overwrite"]),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=9,
)


def lived(folder: Path, kind: str, steps: list[tuple[str, int]], merge: int) -> tc.Table:
    arguments = KINDS[kind]
    options = {**arguments["options"], OPTION: "1", "manifest.merge-min-count": str(merge)}
    catalog = new_catalog(folder.as_uri())
    table = catalog.create_table(
        "d.t", SCHEMA, partition_by=("p",), **{**arguments, "options": options}
    )
    for number, (step, first) in enumerate(steps):
        ids = list(range(first, first + 15))
        rows = pa.table([[id % 3 for id in ids], ids, [f"x{number}"] * 15], schema=SCHEMA)
        match step:
            case "delete" if kind != "first-row":
                table.delete(f"id >= {first} AND id < {first + 6}")
            case "compact" | "minor":
                table.compact(strategy="full" if step == "compact" else "minor")
            case "overwrite":
                write_rows(
                    table, rows.filter(pc.equal(rows["p"], first % 3)), overwrite={"p": first % 3}
                )
            case _:
                write_rows(table, rows)
    return table


def in_order(splits: Any) -> list[Split]:
    return sorted(splits, key=lambda s: (s.partition, s.bucket, s.files[0].file_name))


def shared(
    plan: DistributedPlan, pieces: list[ManifestPiece], chosen: random.Random
) -> list[Split]:
    """What tasks plan: each sees what was pickled, in any order but for that of the places."""
    dealt = [row for piece in pieces for row in pickle.loads(pickle.dumps(plan)).deal(piece)]
    chosen.shuffle(dealt)
    shares = defaultdict(list)
    for share, place, body in dealt:
        assert 0 <= share < plan.shares
        shares[share].append((place, body))
    return [split for rows in shares.values() for split in plan.splits(sorted(rows))]


def pieces_of_one(pieces: list[ManifestPiece]) -> list[ManifestPiece]:
    """As many pieces as there are manifests."""
    alone = [replace(p, manifests=(one,)) for p in pieces for one in p.manifests]
    return alone + [piece for piece in pieces if piece.reads_index]


def compared(scan: Scan, shares: int, seed: int) -> int:
    assert scan.state is not None
    found = distributed(scan.state, lambda: 2)
    if found is None:
        assert scan.splits() == [], "everything that has a manifest is shared"
        return 0
    plan, pieces, size = found
    assert size >= 0
    plan = replace(plan, shares=shares)
    splits = shared(plan, pieces_of_one(pieces), random.Random(seed))
    assert in_order(splits) == in_order(scan.splits())
    assert in_order(shared(plan, pieces, random.Random(seed))) == in_order(splits)
    return len(splits)


@settings(deadline=None, max_examples=25)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    steps=STEPS,
    where=st.sampled_from(WHERES),
    merge=st.sampled_from([2, 30]),
    shares=st.integers(1, 7),
    chosen=st.randoms(use_true_random=False),
)
def test_tasks_plan_what_one_process_plans(
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    steps: list[tuple[str, int]],
    where: str | None,
    merge: int,
    shares: int,
    chosen: random.Random,
) -> None:
    table = lived(tmp_path_factory.mktemp("t"), kind, steps, merge)
    ids = table.access.snapshot_ids()
    if not ids:
        return
    for snapshot in {None, chosen.choice(ids)}:
        compared(table.read(where=where, snapshot=snapshot), shares, chosen.randrange(100))


@pytest.mark.parametrize("kind", ["write-only", "key with vectors", "append with vectors"])
def test_files_that_went_and_vectors_reach_their_share(tmp_path: Path, kind: str) -> None:
    """The lives above may have neither; these do."""
    steps = [
        ("write", 0),
        ("write", 5),
        ("compact", 0),
        ("write", 10),
        ("delete", 8),
        ("write", 40),
    ]
    table = lived(tmp_path, kind, steps, 30)
    marked = [split for split in table.read().splits() if split.deletions]
    assert bool(marked) or kind != "append with vectors"
    for shares in (1, 2, 5):
        assert compared(table.read(), shares, shares) > 2


def test_one_process_plans_what_is_small_or_in_order(tmp_path: Path) -> None:
    table = lived(tmp_path, "append", [("write", 0)], 30)
    for options in ({OPTION: "2"}, {"scan.plan-sort-partition": "true"}):
        scan = tc.open_table(table.uri, options=options).read()
        assert scan.state is not None
        assert distributed(scan.state, lambda: 2) is None
    changes = table.changes(after=0)
    assert changes.state is None


def test_a_limit_leaves_splits_out_of_each_share(tmp_path: Path) -> None:
    table = lived(tmp_path, "append", [("write", first) for first in range(0, 60, 15)], 30)
    scan = table.read(limit=1)
    found = distributed(scan.state, lambda: 2) if scan.state else None
    assert found is not None
    plan, pieces, _ = found
    splits = shared(replace(plan, shares=2), pieces, random.Random(0))
    assert 1 <= len(splits) <= 2
    assert len(in_order(table.read().splits())) == 3
