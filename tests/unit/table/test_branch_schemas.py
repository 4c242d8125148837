"""What changes in a table's schema while a branch is at work: it holds on the branch, or is not undone."""

from __future__ import annotations

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from table_core.table.api import state_jobs
from table_core.table.api.catalog import Catalog
from tests.tables import new_catalog, write_rows

NOTE = [tc.AddColumn("note", "STRING")]
PUBLISHED = {"branch": "b", "force": False}


@pytest.fixture
def catalog() -> Catalog:
    made = new_catalog()
    table = made.create_table("d.t", pa.schema([("k", pa.int32())]), options={"bucket": "-1"})
    put(table, 1)
    return made


def put(table: tc.Table, key: int, **more: str) -> None:
    values = {"k": pa.array([key], pa.int32())}
    write_rows(table, pa.table({**values, **{name: [text] for name, text in more.items()}}))


def branch(catalog: Catalog, **how: object) -> tc.Table:
    state_jobs.create_branch(catalog.table("d.t"), {"name": "b", **how})
    return catalog.table("d.t$branch_b")


def columns(catalog: Catalog, name: str = "d.t") -> list[str]:
    return list(catalog.table(name).arrow_schema.names)


@pytest.mark.parametrize("how", [{"from_head": True}, {"snapshot": 1}, {"tag": "t"}])
def test_a_branch_of_the_newest_state_has_the_newest_schema(
    catalog: Catalog, how: dict[str, object]
) -> None:
    catalog.table("d.t").tags.create("t")
    catalog.alter_table("d.t", NOTE)
    put(branch(catalog, **how), 2, note="new")
    state_jobs.fast_forward(catalog.table("d.t"), PUBLISHED)
    rows = catalog.table("d.t").read().to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: row["k"]) == [
        {"k": 1, "note": None},
        {"k": 2, "note": "new"},
    ]


def test_a_branch_of_an_older_state_has_the_schemas_up_to_it(catalog: Catalog) -> None:
    catalog.table("d.t").tags.create("t")
    catalog.alter_table("d.t", NOTE)
    put(catalog.table("d.t"), 2, note="new")
    assert branch(catalog, tag="t").arrow_schema.names == ["k"]


@pytest.mark.parametrize("also", [False, True])
def test_what_changed_in_mains_schema_meanwhile_is_not_undone(catalog: Catalog, also: bool) -> None:
    """``also``: the branch has another schema of the same number."""
    made = branch(catalog, from_head=True)
    catalog.alter_table("d.t", NOTE)
    if also:
        catalog.alter_table("d.t$branch_b", [tc.AddColumn("other", "INT")])
    put(made, 2)
    table = catalog.table("d.t")
    with pytest.raises(errors.ArgumentError, match=r"new schemas .* \[1\] would be lost"):
        state_jobs.fast_forward(table, PUBLISHED)
    assert columns(catalog) == ["k", "note"]
    told = state_jobs.fast_forward(table, {**PUBLISHED, "force": True, "dry_run": True})
    assert told.details["schemas_lost"] == [1]
    state_jobs.fast_forward(table, {**PUBLISHED, "force": True})
    assert columns(catalog) == (["k", "other"] if also else ["k"])


def test_a_schema_that_the_branch_has_without_rows_is_taken_too(catalog: Catalog) -> None:
    branch(catalog, from_head=True)
    catalog.alter_table("d.t$branch_b", NOTE)
    for replayed in (False, True):
        done = state_jobs.fast_forward(catalog.table("d.t"), PUBLISHED)
        assert done.details["replayed"] is replayed
        assert columns(catalog) == ["k", "note"]
    catalog.alter_table("d.t", [tc.AddColumn("later", "INT")])
    state_jobs.fast_forward(catalog.table("d.t"), PUBLISHED)
    assert columns(catalog) == ["k", "note", "later"]
