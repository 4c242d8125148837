"""What destroys or moves refuses odd names and arguments before it changes a byte, and a dry run says so too.

Mutants: a branch that is deleted before its successor is checked; the option of a rescale that is set
before its partitions are; a copy that takes over the snapshots of a dropped table.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core import errors
from table_core.table.api import state_jobs
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("dt", pa.string(), nullable=False), ("v", pa.int64())])
SURROGATE = "\ud800"


@pytest.fixture
def catalog() -> tc.Catalog:
    catalog = new_catalog()
    table = catalog.create_table("d.t", SCHEMA, partition_by=["dt"], options={"bucket": "-1"})
    fixed = {"bucket": "2", "bucket-key": "v"}
    for handle in (table, catalog.create_table("d.fixed", SCHEMA, ["dt"][:0], ["dt"], fixed)):
        for number in range(3):
            write_rows(handle, pa.table({"dt": ["a"], "v": [number]}, schema=SCHEMA))
    table.tags.create("one", snapshot=1)
    table.tags.create("theirs-base", snapshot=1)
    table.branches.create("b", snapshot=2)
    table.consumers.reset("c", 2)
    left = catalog.create_table("d.left", SCHEMA)
    write_rows(left, pa.table({"dt": ["of a dropped table"], "v": [9]}, schema=SCHEMA))
    catalog.storage.delete_tree("d.db/left/schema")
    catalog.create_table("d.empty", SCHEMA)
    return catalog


def files(catalog: tc.Catalog) -> dict[str, bytes]:
    return {info.path: catalog.storage.read(info.path) for info in catalog.storage.walk("")}


def branch(catalog: tc.Catalog, handle: str = "d.t", **args: Any) -> object:
    return state_jobs.create_branch(catalog.table(handle), args)


Asked = Callable[[tc.Catalog, bool], object]
WITH_DRY_RUN: dict[str, Asked] = {
    "a branch replaced by one of a missing tag": lambda c, dry: branch(
        c, name="b", replace=True, tag="nope", dry_run=dry
    ),
    "a branch replaced by one of a missing snapshot": lambda c, dry: branch(
        c, name="b", replace=True, snapshot=99, dry_run=dry
    ),
    "a branch replaced by one of a tag and a snapshot": lambda c, dry: branch(
        c, name="b", replace=True, tag="one", snapshot=2, dry_run=dry
    ),
    "a branch replaced by one of the tag that goes with it": lambda c, dry: branch(
        c, name="b", replace=True, tag="b-base", dry_run=dry
    ),
    "a branch replaced on its own handle": lambda c, dry: branch(
        c, "d.t$branch_b", name="b", replace=True, from_head=True, dry_run=dry
    ),
    "a branch whose base tag is somebody's": lambda c, dry: c.table("d.t").branches.create(
        "theirs", snapshot=2, dry_run=dry
    ),
    "a copy over what is left of a table": lambda c, dry: c.clone_table(
        "d.t", "d.left", dry_run=dry
    ),
    "a copy to a missing database": lambda c, dry: c.clone_table("d.t", "nope.t", dry_run=dry),
    "a copy of a table to itself": lambda c, dry: c.clone_table("d.empty", "d.empty", dry_run=dry),
    "a copy among system tables": lambda c, dry: c.clone_table("d.t", "sys.tables", dry_run=dry),
    "copies of a missing database": lambda c, dry: c.clone_database("nope", "e", dry_run=dry),
    "copies of tables by no regular expression": lambda c, dry: c.clone_database(
        "d", "e", including="[", dry_run=dry
    ),
    "copies among system tables": lambda c, dry: c.clone_database("d", "sys", dry_run=dry),
    "a tag replaced for no length of time": lambda c, dry: c.table("d.t").tags.replace(
        "one", time_retained="-1 d", dry_run=dry
    ),
    "a rescale of no partition": lambda c, dry: c.table("d.fixed").rescale(
        4, [{"nope": 1}], dry_run=dry
    ),
    "a rescale of one partition, not in a list": lambda c, dry: c.table("d.fixed").rescale(
        4,
        {"dt": "a"},  # type: ignore[arg-type]
        dry_run=dry,
    ),
    "a partition as text": lambda c, dry: c.table("d.t").drop_partitions(
        ["dt=a"],  # type: ignore[list-item]
        dry_run=dry,
    ),
    "no partitions": lambda c, dry: c.table("d.t").drop_partitions(
        None,  # type: ignore[arg-type]
        dry_run=dry,
    ),
    "consumers by no regular expression": lambda c, dry: c.table("d.t").consumers.clear(
        "[", dry_run=dry
    ),
    "a tag that no tag can be": lambda c, dry: c.table("d.t").tags.delete(
        " ", if_exists=True, dry_run=dry
    ),
    "a consumer that no consumer can be": lambda c, dry: c.table("d.t").consumers.delete(
        "a/b", if_exists=True, dry_run=dry
    ),
    "a consumer without a name": lambda c, dry: c.table("d.t").consumers.reset("", 1, dry_run=dry),
    "a consumer named as a rollback's hold": lambda c, dry: c.table("d.t").consumers.reset(
        "rollback", 1, dry_run=dry
    ),
    "a consumer that is no Unicode": lambda c, dry: c.table("d.t").consumers.delete(
        SURROGATE, dry_run=dry
    ),
    "an expiry of fewer than no snapshots": lambda c, dry: c.table("d.t").expire_snapshots(
        retain_max=1, max_deletes=-1, dry_run=dry
    ),
    "a position that is no Unicode": lambda c, dry: c.table("d.t").positions.set(
        "tc.x", text=SURROGATE, dry_run=dry
    ),
    "a commit by nobody who can be spelled": lambda c, dry: c.table("d.t").truncate(
        tc.CommitAs(user=SURROGATE), dry_run=dry
    ),
    "a watermark that Java cannot read": lambda c, dry: c.table("d.t").truncate(
        tc.CommitAs(watermark=2**63), dry_run=dry
    ),
}
WITHOUT: dict[str, Callable[[tc.Catalog], object]] = {
    "a system table that is dropped": lambda c: c.drop_table("sys.tables", if_exists=True),
    "a system table that is renamed": lambda c: c.rename_table("sys.tables", "d.x"),
    "a table renamed among system tables": lambda c: c.rename_table("d.t", "sys.t"),
    "a branch without a name": lambda c: c.alter_table("d.t$branch_", [tc.SetOption("a", "b")]),
    "files of a branch without a name": lambda c: c.table("d.t$branch_$files"),
    "two branches at once": lambda c: c.table("d.t$branch_b", branch="x").delete("true"),
    "a branch, and main beside it": lambda c: c.table("d.t$branch_b", branch="main"),
    "nothing behind the dollar": lambda c: c.alter_table("d.t$", [tc.SetOption("a", "b")]),
    "a table that is no Unicode": lambda c: c.rename_table("d.t", f"d.{SURROGATE}"),
    "a database that is no Unicode": lambda c: c.create_database(SURROGATE),
    "a name among names that is missing": lambda c: c.table("d.t").delete_tags(["one", "x"]),
}
FALLBACK: dict[str, Callable[[tc.Catalog], object]] = {
    "deleted": lambda c: c.table("d.t").branches.delete("b"),
    "deleted on a handle of its own": lambda c: c.table("d.t", branch="b").branches.delete("b"),
    "renamed": lambda c: c.table("d.t").branches.rename("b", "x"),
    "replaced": lambda c: branch(c, name="b", replace=True, snapshot=3),
    "left behind by a copy": lambda c: c.clone_table("d.t", "d.u"),
    "another one, that is not there": lambda c: c.alter_table(
        "d.t", [tc.SetOption("scan.fallback-branch", "nope")]
    ),
}
REFUSALS = errors.ArgumentError, errors.NotFoundError, errors.AlreadyExistsError


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("asked", WITH_DRY_RUN)
def test_what_cannot_be_is_refused_in_a_dry_run_too_and_nothing_changes(
    catalog: tc.Catalog, asked: str, *, dry: bool
) -> None:
    before = files(catalog)
    with pytest.raises(REFUSALS):
        WITH_DRY_RUN[asked](catalog, dry)
    assert files(catalog) == before
    assert catalog.databases() == ["d"]


@pytest.mark.parametrize("asked", WITHOUT)
def test_a_name_that_stands_for_nothing_is_refused_and_nothing_changes(
    catalog: tc.Catalog, asked: str
) -> None:
    before = files(catalog)
    with pytest.raises(REFUSALS):
        WITHOUT[asked](catalog)
    assert files(catalog) == before


def test_a_branch_is_replaced_as_its_dry_run_says(catalog: tc.Catalog) -> None:
    asked = {"name": "b", "replace": True, "snapshot": 3}
    table = catalog.table("d.t")
    said = state_jobs.create_branch(table, {**asked, "dry_run": True})
    assert catalog.table("d.t", branch="b").latest_snapshot().id == 2  # type: ignore[union-attr]
    done = state_jobs.create_branch(table, asked)
    assert (
        said.details
        == done.details
        == {"branch": "b", "tag": "b-base", "snapshot": 3, "created": True}
    )
    assert catalog.table("d.t", branch="b").latest_snapshot().id == 3  # type: ignore[union-attr]


@pytest.mark.parametrize("how", FALLBACK)
def test_a_branch_that_the_table_is_read_with_is_not_taken_away(
    catalog: tc.Catalog, how: str
) -> None:
    """Apache Paimon refuses these too: nobody could read the table any more."""
    catalog.alter_table("d.t", [tc.SetOption("scan.fallback-branch", "b")])
    before, rows = files(catalog), catalog.table("d.t").read().to_arrow().num_rows
    with pytest.raises((*REFUSALS, errors.UnsupportedFeatureError), match="branch"):
        FALLBACK[how](catalog)
    assert files(catalog) == before
    catalog.alter_table("d.t", [tc.RemoveOption("scan.fallback-branch")])
    catalog.table("d.t").branches.delete("b")
    assert catalog.table("d.t").read().to_arrow().num_rows == rows == 3


def test_a_branch_that_deletes_itself_takes_the_tag_it_began_with(catalog: tc.Catalog) -> None:
    done = catalog.table("d.t", branch="b").branches.delete("b")
    assert done.details["tags"] == ["b-base"]
    assert catalog.table("d.t").tags.list() == ["one", "theirs-base"]


def test_a_tag_that_is_named_twice_is_deleted_once(catalog: tc.Catalog) -> None:
    done = catalog.table("d.t").delete_tags(["one", "one"])
    assert done.details["tags"] == ["one"]


def test_a_database_is_not_dropped_with_files_that_nobody_asked_about(catalog: tc.Catalog) -> None:
    """Rows of a table whose schema was lost, say."""
    catalog.create_database("half")
    catalog.storage.write("half.db/orders/bucket-0/data-x-0.parquet", b"rows")
    before = files(catalog)
    with pytest.raises(errors.ArgumentError, match=r"half\.db/orders"):
        catalog.drop_database("half")
    assert files(catalog) == before
    catalog.drop_database("half", cascade=True)
    assert catalog.databases() == ["d"]
    assert not list(catalog.storage.walk("half.db"))


@pytest.mark.parametrize("verb", [tc.Table.expire_tags, tc.Table.expire_changelogs])
def test_expiry_of_a_dropped_table_says_that_it_is_gone(
    catalog: tc.Catalog, verb: Callable[[tc.Table], object]
) -> None:
    table = catalog.table("d.t")
    catalog.drop_table("d.t")
    with pytest.raises(errors.NotFoundError):
        verb(table)


LONG: dict[str, Callable[[tc.Catalog, str], object]] = {
    "table": lambda c, name: c.rename_table("d.t", f"d.{name}"),
    "copy": lambda c, name: c.clone_table("d.t", f"d.{name}"),
    "database": lambda c, name: c.create_database(name),
    "tag": lambda c, name: c.table("d.t").tags.create(name),
    "branch": lambda c, name: c.table("d.t").branches.create(name),
    "consumer": lambda c, name: c.table("d.t").consumers.reset(name, 1),
}


@pytest.mark.parametrize("what", LONG)
def test_a_name_too_long_for_the_file_system_is_no_fault_to_try_again(
    tmp_path: Path, what: str
) -> None:
    catalog = new_catalog(str(tmp_path))
    write_rows(
        catalog.create_table("d.t", SCHEMA), pa.table({"dt": ["a"], "v": [1]}, schema=SCHEMA)
    )
    before = files(catalog)
    with pytest.raises(errors.ArgumentError, match="255 bytes"):
        LONG[what](catalog, "é" * 200)
    assert files(catalog) == before


def test_a_file_whose_name_is_no_unicode_stops_neither_a_listing_nor_a_drop(tmp_path: Path) -> None:
    catalog = new_catalog(str(tmp_path))
    catalog.create_table("d.t", SCHEMA)
    folder = os.path.join(os.fsencode(tmp_path), b"d.db", b"t", b"caf\xe9")
    os.mkdir(folder)
    Path(os.fsdecode(os.path.join(folder, b"\xff"))).write_bytes(b"theirs")
    assert catalog.table("d.t").remove_orphan_files().details["foreign_files"] == 1
    catalog.drop_table("d.t")
    assert not (tmp_path / "d.db" / "t").exists()
