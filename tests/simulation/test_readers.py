"""Each row of a source is counted exactly once in each target, or somebody is told first.

Method: random worlds (``readers_world``) beside a plain model; each seed is one world.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.lanes import SEED, budget
from tests.simulation.readers_world import STEPS, lived

WORLDS = budget("WORLDS", ci=4, nightly=200)
LOUD = (0, 8)
"""Worlds that are loud for every reason between them."""
BUDGET_S = float(os.environ.get("BUDGET_S", "0"))
MORE = int(os.environ.get("STEPS") or "0")
"""So many steps, however long they take; without it, as many as there is time for."""


def test_each_row_is_counted_once_or_somebody_is_told_first(tmp_path: Path) -> None:
    loud = Counter[str]()
    first = 10 + SEED * WORLDS
    for seed in (*LOUD, *range(first, first + WORLDS)):
        loud += lived(seed, tmp_path / str(seed)).loud
    assert {"rolled-back", "made-anew", "overwritten", "changed", "follower", "query"} <= set(loud)


def test_a_reader_is_not_told_of_what_expired_before_anything_held_it(tmp_path: Path) -> None:
    """World 10011 was loud for nothing at step 131: a flow met a snapshot that was expired before it began."""
    assert lived(10_011, tmp_path / "10011", steps=140).steps == 140


@pytest.mark.skipif(not (BUDGET_S or MORE), reason="make simulate")
def test_the_same_for_as_many_steps_as_are_asked_for(tmp_path: Path) -> None:
    until, done = time.monotonic() + BUDGET_S, 0
    while done < MORE if MORE else time.monotonic() < until:
        seed = 10_000 + done // STEPS
        lived(seed, tmp_path / str(seed))
        done += STEPS
        if done % 10_000 == 0:
            print(f"{done} steps", flush=True)
    print(f"{done} steps")
