"""Goal: in a bucket of any shape we compact what Apache Paimon compacts, to the same level.

Method: random shapes and settings, asked of the jar's ``UniversalCompaction`` and of ours.  The
jar's answers to the first of them are kept for ``tests/unit/lsm``, which needs no Java.
``PICKS`` chooses how many.
"""

from __future__ import annotations

import pytest
from judge import Judge
from random_picks import case

from tests.lanes import budget
from tests.unit.lsm.recorded_picks import RECORDED, ours

pytestmark = pytest.mark.interop

COUNT = budget("PICKS", ci=10_000, nightly=200_000)


def test_we_pick_what_the_jar_picks(paimon: Judge) -> None:
    cases = [case(seed) for seed in range(COUNT)]
    for one, theirs in zip(cases, paimon.picks(cases), strict=True):
        assert ours(one) == theirs, one


def test_the_recorded_picks_are_the_jars(paimon: Judge) -> None:
    cases, answers = zip(*RECORDED, strict=True)
    assert paimon.picks(cases) == list(answers)
