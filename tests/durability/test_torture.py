"""A short run of ``make torture``: writers are killed and start again, on a folder and on S3."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.torture import places, torture


@pytest.mark.parametrize(
    ("store", "writers", "commits", "kills"), [("local", 4, 20, 6), ("s3", 2, 5, 1)]
)
def test_killed_writers_lose_nothing_and_repeat_nothing(
    store: str, writers: int, commits: int, kills: int, tmp_path: Path
) -> None:
    with places([store]) as (place,):
        print(torture(place, writers, commits, kills, tmp_path, readers=1))
