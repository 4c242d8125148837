"""One bucket under every interleaving and fault that the budget allows, with real rows and real merges.

The shipped commit runs on a real table in memory; a schedule chooses who moves next, effect by effect,
what fails, who crashes and restarts, who is taken for dead while it lives, and when a write lands whose
writer heard nothing.  Writers write, and merge along, at a moment of their own; compactions begin and end
anywhere; an overwrite may come between.

Invariants: an acknowledged commit is in the table, once; each snapshot shows the rows of the commits so
far, in their order; a compaction changes nothing a reader sees; the changelog replays to the state.

Which checks they cannot do without: ``test_bucket_mutations.py``.
"""

from __future__ import annotations

import os

import pytest

from tests.simulation.bucket_races import race_of
from tests.simulation.one_bucket import Kind, kinds

ROUNDS = 1 + int(os.environ.get("BUDGET_S", "0")) // 10


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("kind", kinds(), ids=str)
def test_any_schedule_of_one_bucket(kind: Kind, seed: int) -> None:
    race_of(kind, [seed])
