"""Goal: a table that falls back to a branch shows what Apache Paimon shows.

Method: random partitioned tables by seed, written on their main branch and on another one, by both in
turns; then whole reads, projections, conditions and older snapshots with ``scan.fallback-branch``.
``FALLBACK_SEED`` and ``FALLBACK_TABLES`` choose others; a failure names the seed.
"""

from __future__ import annotations

import itertools
import os
import random
from pathlib import Path

import pytest
from judge import Judge, judged
from random_filters import condition
from random_tables import RandomTable

import table_core as tc
from tests.interop.differential import NAME, Asked, write
from tests.lanes import budget

pytestmark = pytest.mark.interop

FIRST = int(os.environ.get("FALLBACK_SEED", "400"))
TABLES = budget("FALLBACK_TABLES", ci=2, nightly=20)
OTHER = f"{NAME}$branch_b"


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_a_fallback_branch_fills_in_alike(seed: int, paimon: Judge, tmp_path: Path) -> None:
    made = next(t for n in itertools.count() if (t := RandomTable(seed + 100_000 * n)).partitions)
    print(made.options, made.columns)
    theirs = {name: paimon.table(tmp_path, name) for name in (NAME, OTHER)}
    theirs[NAME].create(
        made.columns, primary_key=made.keys, partition_by=made.partitions, **made.options
    )
    catalog, chance = tc.open_catalog(tmp_path.as_uri()), made.chance

    def step(name: str) -> None:
        table = catalog.table(name)
        batch = made.batch(table.arrow_schema, rows=6)
        if chance.random() < 0.5:
            write(table, batch, theirs[name])
        else:
            theirs[name].write(judged(batch))
        if chance.random() < 0.3:
            theirs[name].compact()

    step(NAME)
    theirs[NAME].tag("kept")
    from_tag = {"tag": "kept"} if chance.random() < 0.5 else {}
    theirs[NAME].keep("branch", name="b", **from_tag)
    for _ in range(4):
        step(chance.choice([NAME, OTHER, OTHER]))
    theirs[NAME].alter([["option", "scan.fallback-branch", "b"]])
    step(OTHER)
    asked = Asked(tmp_path, theirs[NAME], None)
    chance = random.Random(seed)
    rows = asked.same()
    names = rows.column_names
    for _ in range(6):
        columns = chance.choice([None, chance.sample(names, chance.randint(1, len(names)))])
        asked.same(columns=columns, where=condition(chance, rows, made.misread))
    for snapshot in chance.sample(asked.table.snapshots(), 1):
        asked.same(snapshot=snapshot.id)
