"""Goal: what the public suites of Apache Paimon and pypaimon promise holds here, or is refused by name.

Method: the cases of this folder, played on a handle in memory; the day takes each eighth, the night every one.  The table of
``docs/compatibility.md`` is made from a run of all; it must count these cases.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.lanes import sampled
from tests.upstream.every import CASES, counts
from tests.upstream.play import Case, holds
from tests.upstream.run import RESULTS

AT_LEAST = 500
"""Cases that there must be."""


@pytest.mark.parametrize(
    "one",
    sampled(CASES, 8),
    ids=lambda one: f"{one.area}: {one.promise}".encode("ascii", "replace").decode(),
)
def test_a_promise_of_the_public_suites_is_kept_or_refused_by_name(one: Case) -> None:
    holds(one)


def test_there_are_enough_cases_and_none_is_there_twice() -> None:
    assert len(CASES) >= AT_LEAST
    twice = [
        name for name, times in Counter((c.area, c.promise) for c in CASES).items() if times > 1
    ]
    assert twice == []


def test_the_page_counts_these_cases_and_none_is_wrong() -> None:
    assert json.loads(RESULTS.read_text()) == counts(CASES), "run python -m tests.upstream.run"
