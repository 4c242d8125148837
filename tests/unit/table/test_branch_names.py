"""What is asked of ``main`` as of a branch is refused: its folder is the whole table."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from table_core.table.api import state_jobs
from tests.tables import new_catalog, write_rows

NO_BRANCH = ("main", "", " ", "7", "a/b", "../x", "x/../..", "/", "a\\b", "a\nb")


@pytest.fixture
def catalog() -> tc.Catalog:
    catalog = new_catalog()
    table = catalog.create_table("d.t", pa.schema([("k", pa.int32())]), options={"bucket": "-1"})
    write_rows(table, pa.table({"k": pa.array([1], pa.int32())}))
    table.tags.create("one")
    table.branches.create("kept", tag="one")
    return catalog


ASKED: list[Callable[[tc.Table, str], object]] = [
    lambda table, name: table.branches.delete(name),
    lambda table, name: table.branches.delete(name, if_exists=True),
    lambda table, name: table.branches.delete(name, dry_run=True),
    lambda table, name: table.branches.rename(name, "x"),
    lambda table, name: table.branches.rename("kept", name),
    lambda table, name: table.branches.create(name, tag="one"),
    lambda table, name: table.branches.create(name, if_not_exists=True),
    lambda table, name: table.branches.fast_forward(name),
    lambda table, name: state_jobs.create_branch(table, {"name": name, "replace": True}),
    lambda table, name: state_jobs.fast_forward(table, {"branch": name, "force": True}),
]


@pytest.mark.parametrize("name", NO_BRANCH)
@pytest.mark.parametrize("ask", ASKED)
def test_a_name_that_no_branch_may_have_is_refused_and_the_table_stays(
    catalog: tc.Catalog, ask: Callable[[tc.Table, str], object], name: str
) -> None:
    files = {info.path for info in catalog.storage.walk("")}
    with pytest.raises(errors.ArgumentError):
        ask(catalog.table("d.t"), name)
    assert {info.path for info in catalog.storage.walk("")} == files
    assert catalog.table("d.t").read().to_arrow()["k"].to_pylist() == [1]


def test_a_folder_named_like_main_among_the_branches_does_not_make_it_one(
    catalog: tc.Catalog,
) -> None:
    """Whoever can write the warehouse can make such a folder."""
    storage = catalog.table("d.t").access.storage
    storage.write("branch/branch-main/schema/schema-0", storage.read("schema/schema-0"))
    with pytest.raises(errors.ArgumentError, match="main"):
        catalog.table("d.t").branches.delete("main")
    assert catalog.table("d.t").read().to_arrow()["k"].to_pylist() == [1]
