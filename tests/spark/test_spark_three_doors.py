"""Goal: the handle, ``tcs.read`` and ``format("paimon")`` are three doors to one reader.

Method: every golden table, plain and with what chance picks of its states, branches, changes, ranges,
system tables, filters and of what it has not: equal columns and rows, or a refusal in the same words.
``THREE_DOORS=all`` asks everything that there is to ask, at both doors of Spark, for hours.
"""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import table_core as tc
from table_core.spark import register
from tests.golden import corpus
from tests.spark.doors import Ask, by_format, by_handle, by_read, difference, questions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL = os.environ.get("THREE_DOORS") == "all"
CASES = sorted({name for name, _ in corpus.reads()})
BOTH = (by_read, by_format)


@pytest.mark.timeout(0 if ALL else 1200)
def test_what_one_door_answers_the_others_answer(spark: Any, tmp_path: Path) -> None:
    register(spark)

    def differences(number: int) -> list[str]:
        case = corpus.unpack(CASES[number], tmp_path)
        catalog = tc.open_catalog((case.folder / "warehouse").as_uri())
        name = case.about["table"]
        found = []
        for ask, doors in _asked(catalog.table(name), number):
            answer = by_handle(ask, catalog, name)
            for door in doors:
                told = difference(answer, door(ask, catalog, name, spark))
                if told:
                    found.append(f"{CASES[number]}, {door.__name__}: {ask}: {told}")
        assert corpus.digest(case.folder / "warehouse") == case.digest, "reading changed a file"
        return found

    with ThreadPoolExecutor(2) as pool:  # a door is mostly waited for
        found = [each for some in pool.map(differences, range(len(CASES))) for each in some]
    assert not found, "\n".join(found)


def _asked(table: tc.Table, number: int) -> Iterator[tuple[Ask, tuple[Any, ...]]]:
    """What ``table`` is asked, and at which doors but its own."""
    yield Ask(), BOTH
    families = questions(table, random.Random(number))
    if ALL:
        yield from ((ask, BOTH) for asks in families.values() for ask in asks)
        return
    yield from ((ask, (by_read,)) for ask in families.pop("filters")[:1])
    turn = [asks for asks in families.values() if asks]
    yield turn[number % len(turn)][0], BOTH
