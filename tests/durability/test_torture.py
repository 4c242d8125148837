"""Short runs of ``make torture``: writers are killed and start again, on a folder and on S3."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.bucket_rounds import Rounds
from tests.durability.torture import places, torture
from tests.lanes import sampled
from tests.simulation.one_bucket import Kind, kinds

CELLS = (
    "deduplicate input",
    "deduplicate lookup vectors",
    "deduplicate full-compaction write-only",
    "deduplicate by g lookup",
    "partial-update full-compaction",
    "partial-update lookup vectors",
    "aggregation lookup",
    "aggregation none vectors write-only",
    "first-row lookup",
)
"""Each engine and each producer, with and without vectors and inline compaction; ``make torture`` has all."""


@pytest.mark.parametrize(
    "kind", sampled([kind for kind in kinds() if str(kind) in CELLS], 4, first=1), ids=str
)
def test_a_bucket_of_killed_writers_has_each_commit_once_and_compactions_change_nothing(
    kind: Kind, tmp_path: Path
) -> None:
    cell = Rounds.on(kind, tmp_path / "cell")
    cell.run(2, writers=2)
    cell.run(2, writers=4)
    print(cell)


@pytest.mark.parametrize(
    ("store", "kind", "writers", "commits", "kills"),
    sampled(
        [
            ("local", "two buckets", 4, 20, 6),
            ("local", "vectors lookup", 2, 12, 2),
            ("local", "vectors, expiry", 2, 20, 2),
            ("s3", "lookup", 2, 5, 1),
        ],
        4,
    ),
)
def test_killed_writers_lose_nothing_and_repeat_nothing(
    store: str, kind: str, writers: int, commits: int, kills: int, tmp_path: Path
) -> None:
    with places([store]) as (place,):
        print(torture(place, writers, commits, kills, tmp_path, readers=1, kind=kind))
