"""Goal: a handle that is kept says where readers stand, though others rolled the table back and wrote on."""

from __future__ import annotations

import pyarrow as pa
import pytest

import table_core as tc
from table_core.table.metadata.positions import positions_of
from table_core.table.metadata.results import CommitAs
from tests.tables import foreign_commit, new_catalog, write_rows

NAME = "tc.stream.s"


def put(table: tc.Table, number: int, **properties: str) -> None:
    write_rows(table, pa.table({"id": [number]}), commit=CommitAs(properties=properties))


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("foreign", [0, 1, 2, 3, 4])
def test_a_kept_handle_notices_a_rollback_however_far_the_table_has_grown_since(
    own: int, foreign: int
) -> None:
    catalog = new_catalog()
    catalog.create_table("d.t", pa.schema([("id", pa.int64())]))
    kept, others = catalog.table("d.t"), catalog.table("d.t")
    for batch in range(5):
        put(others, batch, **{NAME: str(batch)})
        assert kept.position(NAME) == str(batch)
    others.rollback_to(snapshot=2)
    for number in range(own):
        put(others, number)
    for _ in range(foreign):
        foreign_commit(others)
    assert kept.position(NAME) == "1"
    assert positions_of(kept.access).properties[NAME] == "1"
    fresh = catalog.table("d.t")
    put(fresh, 9)
    assert kept.position(NAME) == fresh.position(NAME) == "1"


@pytest.mark.parametrize("foreign", [1, 3, 4])
def test_a_commit_by_a_kept_handle_carries_on_nothing_that_was_rolled_back(foreign: int) -> None:
    catalog = new_catalog()
    catalog.create_table("d.t", pa.schema([("id", pa.int64())]))
    kept, others = catalog.table("d.t"), catalog.table("d.t")
    for batch in range(5):
        put(others, batch, **{NAME: str(batch)})
    assert kept.position(NAME) == "4"
    others.rollback_to(snapshot=2)
    for _ in range(foreign):
        foreign_commit(others)
    put(kept, 9)
    assert catalog.table("d.t").position(NAME) == "1"
