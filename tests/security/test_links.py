"""Attack: whoever may write into a table's folder.  Goal: files elsewhere, deleted or copied by upkeep."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import AccessDeniedError, OptionError, TableError
from table_core.storage.stores.local import LocalStorage
from table_core.table.api.catalog import Catalog

ROWS = pa.table({"p": ["a", "b"], "id": [1, 2]})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    found = tc.open_catalog((tmp_path / "wh").as_uri())
    found.create_database("d")
    found.create_table("d.t", ROWS.schema, partition_by=("p",), options={"bucket": "-1"})
    for _ in range(3):
        write(found)
    return found


def write(catalog: Catalog, overwrite: str | None = "table") -> None:
    with catalog.table("d.t").write(overwrite=overwrite) as writer:
        writer.write(ROWS)
        writer.commit()


def moved_behind_a_link(tmp_path: Path, what: str) -> tuple[Path, dict[str, bytes]]:
    """``what`` of the table is a link to a folder elsewhere that holds the same names."""
    inside, outside = tmp_path / "wh/d.db/t" / what, tmp_path / "victim" / what.replace("/", "_")
    outside.parent.mkdir(exist_ok=True)
    shutil.move(inside, outside)
    inside.symlink_to(outside)
    return outside, contents(outside)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("what", ["p=a", "p=a/bucket-0", "manifest"])
def test_expiry_deletes_nothing_behind_a_link_and_all_else(
    catalog: Catalog, tmp_path: Path, what: str
) -> None:
    outside, before = moved_behind_a_link(tmp_path, what)
    other = tmp_path / "wh/d.db/t/p=b"
    many = len(contents(other))
    with pytest.raises(AccessDeniedError, match="a link leads there"):
        catalog.table("d.t").expire_snapshots(retain_max=1, retain_min=1)
    assert contents(outside) == before
    if what != "manifest":
        assert len(contents(other)) < many, "the others went"
    assert catalog.table("d.t").read().to_arrow().num_rows == 2


VERBS: dict[str, Callable[[Catalog], object]] = {
    "orphans": lambda c: c.table("d.t").remove_orphan_files(
        older_than=4_000_000_000_000, allow_young=True
    ),
    "drop": lambda c: c.drop_table("d.t"),
    "drop-database": lambda c: c.drop_database("d", cascade=True),
    "partitions": lambda c: c.table("d.t").drop_partitions([{"p": "a"}]),
    "overwrite": lambda c: write(c),
    "clone": lambda c: c.clone_table("d.t", "d.copy"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_deletes_behind_a_link(catalog: Catalog, tmp_path: Path, verb: str) -> None:
    outside, before = moved_behind_a_link(tmp_path, "p=a/bucket-0")
    (outside / "data-stray.parquet").write_bytes(b"not ours")
    (outside / "empty").mkdir()
    try:
        VERBS[verb](catalog)
    except TableError as error:
        assert "link" in str(error)
    assert {**before, "data-stray.parquet": b"not ours"}.items() <= contents(outside).items()
    assert (outside / "empty").is_dir()


def test_a_clone_copies_nothing_that_a_link_leads_to(catalog: Catalog, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("planted")
    for path in list((tmp_path / "wh/d.db/t/p=a/bucket-0").iterdir()):
        path.unlink()
        path.symlink_to(secret)
    with pytest.raises(AccessDeniedError, match="a link leads there"):
        catalog.clone_table("d.t", "d.copy")
    copied = [p for p in (tmp_path / "wh/d.db/copy").rglob("*") if p.is_file()]
    assert "planted" not in "".join(p.read_bytes().decode("latin1") for p in copied)


def test_a_clone_writes_nothing_where_a_link_leads(catalog: Catalog, tmp_path: Path) -> None:
    outside = tmp_path / "victim"
    outside.mkdir()
    (tmp_path / "wh/d.db/copy").mkdir()
    (tmp_path / "wh/d.db/copy/p=a").symlink_to(outside)
    with pytest.raises(AccessDeniedError, match="a link leads there"):
        catalog.clone_table("d.t", "d.copy")
    assert list(outside.iterdir()) == []


def test_links_that_stay_in_the_table_and_above_it_are_no_matter(
    catalog: Catalog, tmp_path: Path
) -> None:
    shutil.move(tmp_path / "wh", tmp_path / "disk")
    (tmp_path / "wh").symlink_to(tmp_path / "disk")
    inner = tmp_path / "wh/d.db/t"
    shutil.move(inner / "p=a", inner / "kept")
    (inner / "p=a").symlink_to(inner / "kept")
    again = tc.open_catalog((tmp_path / "wh").as_uri())
    done = again.table("d.t").expire_snapshots(retain_max=1, retain_min=1)
    assert done.files_deleted > 0
    assert again.table("d.t").read().to_arrow().num_rows == 2
    again.clone_table("d.t", "d.copy")
    again.drop_table("d.t")
    assert again.table("d.copy").read().to_arrow().num_rows == 2


def test_a_link_itself_is_deleted_and_never_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "root/a").mkdir(parents=True)
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/x").write_text("x")
    (tmp_path / "root/a/x").symlink_to(tmp_path / "victim/x")
    (tmp_path / "root/b").symlink_to(tmp_path / "victim")
    store = LocalStorage(tmp_path / "root")
    assert store.delete(["a/x", "a/none"]) == 1
    (tmp_path / "root/a/y").write_text("y")
    with pytest.raises(AccessDeniedError):
        store.delete(["b/x", "a/y"])
    assert not (tmp_path / "root/a/y").exists(), "the others are deleted first"
    (tmp_path / "victim/folder").mkdir()
    for act in (
        lambda: store.delete_tree("b/folder"),
        lambda: store.delete_empty_folder("b/folder"),
        lambda: store.delete_empty_folder("b/none"),
    ):
        with pytest.raises(AccessDeniedError):
            act()
    store.delete_tree("b")
    assert not (tmp_path / "root/b").is_symlink()
    assert (tmp_path / "victim/folder").is_dir()
    (tmp_path / "root/b").symlink_to(tmp_path / "victim")
    for path in ("../victim/x", "a/../../victim/x", "..", "a/./x", "a//x"):
        for verb in (store.delete_tree, store.delete_empty_folder, lambda p: store.delete([p])):
            with pytest.raises(TableError):
                verb(path)
    assert (tmp_path / "victim/x").read_text() == "x"


@pytest.mark.parametrize("folder", ["../x", "a/../../x", "..", "a/./b", "a\nb", "a\\b", "a//b"])
def test_the_folder_of_data_files_is_below_the_table(catalog: Catalog, folder: str) -> None:
    with pytest.raises(OptionError, match="below the table"):
        catalog.create_table("d.x", ROWS.schema, options={"data-file.path-directory": folder})


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "a\nb", "a\x1b[2J", "", " "])
def test_tags_branches_and_consumers_have_names_and_no_paths(
    catalog: Catalog, tmp_path: Path, name: str
) -> None:
    table = catalog.table("d.t")
    before = contents(tmp_path / "wh")
    for act in (
        lambda: table.tags.create(name),
        lambda: table.branches.create(name),
        lambda: table.consumers.reset(name, 1),
    ):
        with pytest.raises(TableError):
            act()
    assert contents(tmp_path / "wh") == before
