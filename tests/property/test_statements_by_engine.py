"""Goal: after a statement the table is what the statement says, on every merge engine and producer.

Method: random statements on random rows, and the same on a plain dictionary.  Either both hold the same
rows then, before and after a compaction, or the statement was refused by name and nothing has changed.
"""

from __future__ import annotations

import pytest

from tests.lanes import sampled
from tests.property.engine_statements import SCHEMA, cases, walk
from tests.row_by_row import row_by_row
from tests.tables import new_catalog

NAMES = SCHEMA.names


@pytest.mark.parametrize(("engine", "producer", "vectors"), sampled(cases(), 3))
def test_a_table_is_what_its_statements_say(
    engine: str, producer: str, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if producer == "none":
        row_by_row(monkeypatch)
    outcomes = walk(new_catalog(), engine, producer, vectors, steps=8)
    assert outcomes["done"] >= (0 if engine == "first-row" else 2), outcomes
