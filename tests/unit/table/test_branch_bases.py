"""The tag that a branch was made for goes with it, and no other."""

from __future__ import annotations

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from table_core.table.api import state_jobs
from tests.tables import new_catalog, write_rows


@pytest.fixture
def table() -> tc.Table:
    catalog = new_catalog()
    made = catalog.create_table("d.t", pa.schema([("k", pa.int32())]), options={"bucket": "-1"})
    for n in range(3):
        write_rows(made, pa.table({"k": pa.array([n], pa.int32())}))
    return made


def test_a_tag_of_the_user_stays_when_the_branch_that_began_with_it_goes(table: tc.Table) -> None:
    table.tags.create("x-base", snapshot=2)
    table.branches.create("x", tag="x-base")
    assert table.branches.delete("x").details["tags"] == []
    assert table.tags.list() == ["x-base"]
    for done in (
        state_jobs.create_branch(table, {"name": "x", "tag": "x-base"}),
        table.branches.delete("x", if_exists=True),
    ):
        assert done.action
    assert table.tags.list() == ["x-base"]


def test_a_tag_that_was_made_for_a_branch_goes_with_it(table: tc.Table) -> None:
    table.branches.create("x", snapshot=2)
    assert table.tags.list() == ["x-base"]
    table.branches.rename("x", "y")
    table.remove_orphan_files(older_than=2**42, allow_young=True)
    assert table.branches.delete("y").details["tags"] == ["x-base"]
    assert table.tags.list() == []


def test_a_branch_is_not_begun_with_a_tag_that_somebody_else_made(table: tc.Table) -> None:
    table.tags.create("x-base", snapshot=1)
    for make in (
        lambda: table.branches.create("x", snapshot=3),
        lambda: state_jobs.create_branch(table, {"name": "x", "from_head": True}),
        lambda: state_jobs.create_branch(table, {"name": "x", "from_head": True, "replace": True}),
    ):
        with pytest.raises(errors.AlreadyExistsError):
            make()
    assert table.tags.list() == ["x-base"]
    assert table.branches.list() == []
    table.tags.delete("x-base")
    table.branches.create("x", snapshot=3)
    assert table.branches.delete("x").details["tags"] == ["x-base"]


def test_a_branch_whose_making_was_cut_short_is_made_from_what_was_tagged_then(
    table: tc.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_short(*_: object) -> None:
        raise errors.StorageUnavailableError("no answer", path="", reason="")

    with monkeypatch.context() as patch:
        patch.setattr("table_core.table.maintenance.branches.Branches._make", cut_short)
        with pytest.raises(errors.StorageUnavailableError):
            state_jobs.create_branch(table, {"name": "x", "from_head": True})
    assert table.tags.list() == ["x-base"]
    write_rows(table, pa.table({"k": pa.array([9], pa.int32())}))
    done = state_jobs.create_branch(table, {"name": "x", "from_head": True})
    assert (done.details["snapshot"], done.details["created"]) == (3, True)
    assert table.branches.delete("x").details["tags"] == ["x-base"]
