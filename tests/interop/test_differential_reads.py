"""Goal: three implementations, asked the same of the same random tables, answer the same.

Method: a table from a seed, written by Apache Paimon and by us in turns while its schema changes;
then whole reads, projections, conditions, time travel and changes, each asked of us, of the jar, and
of pypaimon where it takes the table.  ``DIFFERENTIAL_SEED`` and ``DIFFERENTIAL_TABLES`` choose
others; a failure names the seed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from judge import Judge
from peer import Peer
from random_filters import condition
from random_tables import RandomTable

import table_core as tc
from tests.interop.differential import NAME, Asked, build
from tests.lanes import budget

pytestmark = pytest.mark.interop

FIRST = int(os.environ.get("DIFFERENTIAL_SEED", "1"))
TABLES = budget("DIFFERENTIAL_TABLES", ci=8, nightly=100)
FILTERS = 10


@pytest.fixture(scope="module")
def pypaimon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    peer = Peer(tmp_path_factory.mktemp("peer") / "stderr.log")
    yield peer
    peer.close()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_random_tables_read_alike(seed: int, paimon: Judge, pypaimon: Peer, tmp_path: Path) -> None:
    made = RandomTable(seed)
    theirs = paimon.table(tmp_path, NAME)
    build(made, tc.open_catalog(tmp_path.as_uri()), theirs)
    asked = Asked(tmp_path, theirs, None if made.wild or made.folds_floats else pypaimon)
    chance = random.Random(seed)
    rows = asked.same()
    names = rows.column_names
    for _ in range(3):
        asked.same(columns=chance.sample(names, chance.randint(1, len(names))))
    for _ in range(FILTERS):
        wish = condition(chance, rows, made.misread)
        columns = chance.sample(names, chance.randint(1, len(names)))
        asked.same(columns=chance.choice([None, columns]), where=wish)
    for snapshot in chance.sample(asked.table.snapshots(), 3):
        asked.same(snapshot=snapshot.id)
    asked.same(tag="kept")
    asked.same_changes(made)
