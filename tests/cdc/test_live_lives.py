"""Random lives of a MariaDB: whatever its people do between syncs, the lake equals the source.

Some statements are refused by the server; that is a part of life.  Syncs are cut and die at any commit, and
so does the server.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cdc.mariadb_lives import live
from tests.cdc.servers import MariaDb
from tests.lanes import SEED, budget

LIVES = budget("LIVES", ci=4, nightly=300)
FIRST = SEED * 1000


@pytest.mark.parametrize("seed", range(FIRST, FIRST + LIVES))
def test_the_lake_equals_the_source_after_each_sync(
    mariadb: MariaDb, tmp_path: Path, seed: int
) -> None:
    live(mariadb, tmp_path, seed)
