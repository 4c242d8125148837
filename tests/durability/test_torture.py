"""A short run of ``make torture``: writers are killed and start again, on a folder and on S3."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.torture import places, torture


@pytest.mark.parametrize(
    ("store", "kind", "writers", "commits", "kills"),
    [
        ("local", "two buckets", 4, 20, 6),
        ("local", "lookup", 2, 12, 2),
        ("local", "full-compaction", 2, 12, 1),
        ("local", "vectors", 2, 12, 2),
        ("local", "vectors lookup", 2, 12, 2),
        ("local", "vectors, expiry", 2, 20, 2),
        ("s3", "lookup", 2, 5, 1),
    ],
)
def test_killed_writers_lose_nothing_and_repeat_nothing(
    store: str, kind: str, writers: int, commits: int, kills: int, tmp_path: Path
) -> None:
    with places([store]) as (place,):
        print(torture(place, writers, commits, kills, tmp_path, readers=1, kind=kind))
