"""What branches and tags share with a table's history outlives whoever forgets it first.

Method: files are looked for by name, so that nothing remembered hides one that is gone.  Mutants: only
the earliest snapshot of a branch holds files; main holds nothing for a branch; a tag's neighbours
ignored; the changelog of a tag searched for orphans.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import table_core as tc
from table_core.ondisk import layout
from table_core.table.metadata.documents import Metadata
from tests.clocks import Later
from tests.unit.key_tables import create, fresh, keys, on_branch, put


def data_files(table: Any) -> int:
    return sum("/data-" in info.path for info in table.access.storage.walk(""))


def test_a_branch_that_expires_leaves_main_what_main_needs() -> None:
    table = create()
    put(table, 1)
    put(table, 2)
    table.tags.create("t")
    table.branches.create("b", tag="t")
    branch = on_branch(table, "b")
    branch.tags.delete("t")
    table.tags.delete("t")
    put(branch, 3, overwrite="table")
    put(branch, 4, overwrite="table")
    branch.expire_snapshots(retain_max=1)
    assert keys(fresh(table)) == [1, 2]
    assert keys(on_branch(fresh(table), "b")) == [4]


def test_main_may_expire_after_a_fast_forward_and_the_branch_reads_on() -> None:
    table = create(changelog_producer="input")
    put(table, 1)
    table.tags.create("t")
    table.branches.create("b", tag="t")
    branch = on_branch(table, "b")
    for key in (2, 3, 4):
        put(branch, key, overwrite="table")
    put(branch, 5)
    table.branches.fast_forward("b")
    table.expire_snapshots(retain_max=1)
    copy = on_branch(fresh(table), "b")
    assert [keys(copy, snapshot=id) for id in (1, 2, 3, 4, 5)] == [[1], [2], [3], [4], [4, 5]]
    assert copy.changes(after=4, to=5).to_arrow()["k"].to_pylist() == [5]


def test_a_deleted_branch_holds_nothing() -> None:
    table = create()
    put(table, 1)
    table.tags.create("t")
    table.branches.create("b", tag="t")
    table.tags.delete("t")
    table.branches.delete("b")
    put(table, 2, overwrite="table")
    table.expire_snapshots(retain_max=1)
    assert data_files(table) == 1


@pytest.mark.parametrize("order", [("a", "b", "c"), ("b", "a", "c"), ("c", "a", "b")])
def test_a_tag_takes_along_what_no_neighbour_has(order: tuple[str, ...]) -> None:
    table = create()
    for name, key in zip("abc", (1, 2, 3), strict=True):
        put(table, key)
        put(table, 10 + key)
        table.tags.create(name)
        table.compact()
    put(table, 4, overwrite="table")
    table.expire_snapshots(retain_max=1)
    left = {"a": [1, 11], "b": [1, 2, 11, 12], "c": [1, 2, 3, 11, 12, 13]}
    for name in order:
        table.tags.delete(name)
        del left[name]
        copy = fresh(table)
        for tag, want in left.items():
            assert keys(copy, tag=tag) == want
    assert keys(fresh(table)) == [4]
    assert data_files(table) == 1
    on = tc.Table(replace(table.access, clock=Later()))
    assert on.remove_orphan_files().files_deleted == 0


@pytest.mark.parametrize("gone", ["a", "b"])
def test_a_tag_leaves_what_the_tag_beside_it_has(gone: str) -> None:
    table = create()
    for name, key in (("a", 1), ("b", 2)):
        put(table, key)
        table.tags.create(name)
    put(table, 3, overwrite="table")  # takes out the file that both tags have
    table.expire_snapshots(retain_max=1)
    table.tags.delete(gone)
    copy = fresh(table)
    left = {"a": [1], "b": [1, 2]}
    del left[gone]
    assert {tag: keys(copy, tag=tag) for tag in left} == left
    assert data_files(table) == 1 + len(left.popitem()[1])


def with_tag_of_expired() -> Any:
    """A table with two changes; of the first only the tag ``t`` is left."""
    table = create(changelog_producer="input")
    put(table, 1)
    table.tags.create("t")
    put(table, 2)
    table.expire_snapshots(retain_max=1)
    return table


def test_a_rollback_to_an_expired_snapshot_names_no_changelog_that_is_gone() -> None:
    table = with_tag_of_expired()
    table.rollback_to(tag="t")
    copy = fresh(table)
    assert (keys(copy), keys(copy, tag="t")) == ([1], [1])
    later = tc.Table(replace(copy.access, clock=Later()))
    assert later.remove_orphan_files().files_deleted > 0  # what only the later snapshot had
    assert keys(fresh(copy)) == [1]


def test_a_rollback_to_an_expired_snapshot_delivers_the_changelog_that_outlived_it() -> None:
    kept = {"changelog__num_retained__min": "9", "changelog__num_retained__max": "9"}
    table = create(changelog_producer="input", **kept)
    for key in range(3):
        put(table, key)
        if key == 1:
            table.tags.create("a")
    table.expire_snapshots(retain_max=1)
    before = fresh(table).changes(after=1, to=2).to_arrow()
    table.rollback_to(tag="a")
    assert before.num_rows == 1
    assert fresh(table).changes(after=1, to=2).to_arrow().equals(before)
    put(table, 7)
    table.expire_snapshots(retain_max=1)
    assert fresh(table).changes(after=1, to=2).to_arrow().equals(before)
    later = tc.Table(replace(table.access, clock=Later()))
    assert later.remove_orphan_files().files_deleted > 0  # what only the later snapshot had
    assert fresh(table).changes(after=1, to=2).to_arrow().equals(before)


def test_a_branch_of_an_expired_snapshot_names_no_changelog_that_is_gone() -> None:
    table = with_tag_of_expired()
    table.branches.create("b", tag="t")
    copy = fresh(table)
    later = tc.Table(replace(copy.access, clock=Later()))
    assert later.remove_orphan_files().files_deleted == 0
    assert keys(on_branch(fresh(copy), "b")) == [1]


def test_the_changelog_of_a_tag_is_asked_for_by_nobody() -> None:
    table = create(changelog_producer="input")
    for key, name in ((1, "a"), (2, "b"), (3, None)):
        put(table, key)
        if name is not None:
            table.tags.create(name)
    table.expire_snapshots(retain_max=1)
    copy = fresh(table)
    put(copy, 4)
    copy = fresh(copy)
    assert copy.expire_snapshots(retain_max=1).details["snapshots_expired"] == [3]
    copy = fresh(copy)
    copy.tags.delete("a")
    copy = fresh(copy)
    assert (keys(copy, tag="b"), keys(copy)) == ([1, 2], [1, 2, 3, 4])


def made_again(branch: str) -> Any:
    """A table with snapshot 2 as Apache Paimon makes it of a tag: with the changelog that has gone."""
    table = create(changelog_producer="input")
    for key in (1, 2, 3):
        put(table, key)
        if key == 2:
            table.tags.create("t")
    table.expire_snapshots(retain_max=1)
    storage, state = table.access.storage, table.tags.get("t").snapshot
    if branch == "main":
        storage.delete([layout.snapshot_path(3)])
    else:
        storage.write(layout.tag_path("t", branch), storage.read(layout.tag_path("t")))
        storage.write(layout.schema_path(0, branch), storage.read(layout.schema_path(0)))
    storage.write(layout.snapshot_path(2, branch), state.to_json())
    for which in ("EARLIEST", "LATEST"):
        storage.write(layout.hint_path("snapshot", which, branch), b"2")
    return fresh(table)


@pytest.mark.parametrize("branch", ["main", "b"])
def test_a_snapshot_made_again_of_a_tag_lacks_its_changelog_and_nothing_else(branch: str) -> None:
    table = made_again(branch)
    later = tc.Table(replace(table.access, clock=Later()))
    done = later.remove_orphan_files().details
    assert done["lost_changelogs"] == [layout.snapshot_path(2, branch)]
    copy = fresh(table)
    assert keys(on_branch(copy, branch)) == keys(copy, tag="t") == [1, 2]
    put(copy, 9)
    copy = fresh(copy)
    copy.expire_snapshots(retain_max=1)
    copy = fresh(copy)
    copy.tags.delete("t")
    copy = fresh(copy)
    assert keys(copy) == ([1, 2, 9] if branch == "main" else [1, 2, 3, 9])
    if branch != "main":
        assert keys(on_branch(copy, branch)) == [1, 2]


@pytest.mark.parametrize("which", ["delta_manifest_list", "base_manifest_list"])
def test_a_state_that_lacks_a_list_is_a_fault(which: str) -> None:
    table = made_again("main")
    storage, head = table.access.storage, table.latest_snapshot()
    storage.delete([layout.manifest_path(getattr(head, which)), layout.tag_path("t")])
    before = [info.path for info in storage.walk("")]
    later = tc.Table(replace(table.access, clock=Later()))
    with pytest.raises(tc.errors.FilesExpiredError):
        later.remove_orphan_files()
    assert [info.path for info in storage.walk("")] == before


def test_a_later_snapshot_that_lacks_its_changelog_is_a_fault() -> None:
    table = create(changelog_producer="input")
    put(table, 1)
    put(table, 2)
    gone = layout.manifest_path(table.latest_snapshot().changelog_manifest_list)
    table.access.storage.delete([gone])
    copy = fresh(table)
    later = tc.Table(replace(copy.access, clock=Later()))
    with pytest.raises(tc.errors.FilesExpiredError, match=gone):
        later.remove_orphan_files()


def test_a_tag_whose_snapshot_is_there_takes_nothing_along() -> None:
    table = create()
    put(table, 1)
    table.tags.create("a")
    before = data_files(table)
    table.tags.delete("a")
    assert data_files(table) == before
    assert keys(fresh(table), snapshot=1) == [1]


def test_two_tags_of_one_state_go_one_after_the_other() -> None:
    table = create()
    put(table, 1)
    table.tags.create("a")
    table.tags.create("b")
    put(table, 2, overwrite="table")
    table.expire_snapshots(retain_max=1)
    table.tags.delete("a")
    assert keys(fresh(table), tag="b") == [1]
    table.tags.delete("b")
    assert data_files(table) == 1


def test_a_replaced_tag_lets_its_old_state_go() -> None:
    table = create()
    put(table, 1)
    table.tags.create("a")
    put(table, 2, overwrite="table")
    table.expire_snapshots(retain_max=1)
    table.tags.replace("a")
    assert keys(fresh(table), tag="a") == [2]
    assert data_files(table) == 1
    with pytest.raises(tc.errors.NotFoundError):
        table.tags.replace("none")


def test_a_branch_keeps_the_state_of_a_deleted_tag() -> None:
    table = create()
    put(table, 1)
    table.tags.create("a")
    put(table, 2, overwrite="table")
    table.expire_snapshots(retain_max=1)
    table.branches.create("b", tag="a")
    table.tags.delete("a")
    assert keys(on_branch(fresh(table), "b")) == [1]


def test_orphans_are_found_though_the_changelog_of_a_tag_is_gone() -> None:
    table = create(changelog_producer="input")
    put(table, 1)
    table.tags.create("a")
    put(table, 2, overwrite="table")
    table.expire_snapshots(retain_max=1)
    copy = tc.Table(replace(fresh(table).access, clock=Later()))
    assert copy.remove_orphan_files().files_deleted == 0
    assert keys(copy, tag="a") == [1]


def test_a_snapshot_that_expires_while_it_is_tagged_is_not_tagged() -> None:
    table = create()
    put(table, 1)
    put(table, 2)
    access = table.access

    class Promised(Metadata):
        def floor(self) -> int:
            return 2

    late = tc.Table(replace(access, metadata=Promised(access.storage)))
    with pytest.raises(tc.errors.NotFoundError, match="expired while it was tagged"):
        late.tags.create("a", snapshot=1)
    assert table.tags.list() == []


def test_the_mark_of_a_tag_comes_and_goes_with_it() -> None:
    table = create(tag__create_success_file="true")
    put(table, 1)
    table.tags.create("a")
    path = "tag/tag-success-file/a_SUCCESS"
    assert table.access.storage.exists(path)
    table.tags.delete("a")
    assert not table.access.storage.exists(path)
