"""Attack: whoever may write into a table's folder.  Goal: files elsewhere, deleted or copied by upkeep."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import AccessDeniedError, OptionError, TableError
from table_core.storage.stores import no_links
from table_core.storage.stores.local import LocalStorage
from table_core.storage.stores.locate import open_storage
from table_core.table.api.catalog import Catalog
from tests.tables import write_rows

ROWS = pa.table({"p": ["a", "b"], "id": [1, 2]})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    found = tc.open_catalog((tmp_path / "wh").as_uri())
    found.create_database("d")
    found.create_table("d.t", ROWS.schema, partition_by=("p",), options={"bucket": "-1"})
    for _ in range(3):
        write(found)
    return found


@pytest.fixture(params=["one call", "name by name"])
def opening(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to open a path: with the system's own call, and as where it has none or forbids it."""
    if request.param == "name by name":
        monkeypatch.setattr(no_links, "_openat2", lambda: None)
    elif no_links._openat2() is None:
        pytest.skip("this system cannot open a path without links in one call")


def write(catalog: Catalog, overwrite: str | None = "table") -> None:
    write_rows(catalog.table("d.t"), ROWS, overwrite=overwrite)


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
    with pytest.raises(AccessDeniedError, match="is a link"):
        catalog.table("d.t").expire_snapshots(retain_max=1, retain_min=1)
    assert contents(outside) == before
    if what != "manifest":
        assert len(contents(other)) < many, "the others went"
    with pytest.raises(AccessDeniedError, match=f"/{what.partition('/')[0]}.* is a link"):
        catalog.table("d.t").read().to_arrow()


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
    with pytest.raises(AccessDeniedError, match="is a link"):
        catalog.clone_table("d.t", "d.copy")
    copied = [p for p in (tmp_path / "wh/d.db/copy").rglob("*") if p.is_file()]
    assert "planted" not in "".join(p.read_bytes().decode("latin1") for p in copied)


def test_a_clone_writes_nothing_where_a_link_leads(catalog: Catalog, tmp_path: Path) -> None:
    outside = tmp_path / "victim"
    outside.mkdir()
    (tmp_path / "wh/d.db/copy").mkdir()
    (tmp_path / "wh/d.db/copy/p=a").symlink_to(outside)
    with pytest.raises(AccessDeniedError, match="is a link"):
        catalog.clone_table("d.t", "d.copy")
    assert list(outside.iterdir()) == []


def test_a_link_above_the_warehouse_is_no_matter_and_one_that_stays_in_the_table_is_refused(
    catalog: Catalog, tmp_path: Path
) -> None:
    shutil.move(tmp_path / "wh", tmp_path / "disk")
    (tmp_path / "wh").symlink_to(tmp_path / "disk")
    again = tc.open_catalog((tmp_path / "wh").as_uri())
    assert again.table("d.t").uri == (tmp_path / "wh/d.db/t").as_uri()
    done = again.table("d.t").expire_snapshots(retain_max=1, retain_min=1)
    assert done.files_deleted
    assert again.table("d.t").read().to_arrow().num_rows == 2
    again.clone_table("d.t", "d.copy")
    inner = tmp_path / "wh/d.db/t"
    shutil.move(inner / "p=a", inner / "kept")
    (inner / "p=a").symlink_to("kept")
    with pytest.raises(AccessDeniedError, match="p=a is a link"):
        again.table("d.t").read().to_arrow()
    assert again.table("d.copy").read().to_arrow().num_rows == 2


def test_where_a_warehouse_is_is_looked_at_once(catalog: Catalog, tmp_path: Path) -> None:
    """A link above it that is put elsewhere moves no handle that is open."""
    (tmp_path / "way").symlink_to(tmp_path / "wh")
    opened = tc.open_catalog((tmp_path / "way").as_uri())
    (tmp_path / "way").unlink()
    (tmp_path / "way").symlink_to(tmp_path / "empty")
    assert opened.table("d.t").read().to_arrow().num_rows == 2
    moved = pickle.loads(pickle.dumps(opened.storage))
    assert list(moved.list("")) == [], "another process looks for itself"


ACTS: dict[str, Callable[[LocalStorage, str], object]] = {
    "read": lambda s, p: s.read(p),
    "open_input": lambda s, p: s.open_input(p),
    "open_output": lambda s, p: s.open_output(p),
    "write": lambda s, p: s.write(p, b"x"),
    "create": lambda s, p: s.create(p, b"x"),
    "exists": lambda s, p: s.exists(p),
    "list": lambda s, p: list(s.list(p)),
    "walk": lambda s, p: list(s.walk(p)),
    "delete": lambda s, p: s.delete([p]),
    "delete_tree": lambda s, p: s.delete_tree(p),
    "delete_empty_folder": lambda s, p: s.delete_empty_folder(p),
    "make_folder": lambda s, p: s.make_folder(p),
    "move": lambda s, p: s.move(p, "elsewhere"),
    "move to": lambda s, p: s.move("mine", f"{p}/elsewhere"),
    "sync": lambda s, p: s.sync([p]),
    "refuse_links": lambda s, p: s.refuse_links(p),
    "within": lambda s, p: list(s.within(p).walk("")),
    "delete_tree within": lambda s, p: s.within(p).delete_tree(""),
    "create within": lambda s, p: s.within(p).create("new", b"x"),
}
ENDS = {
    "end": "b",
    "middle": "b/inner",
    "deep": "b/inner/none/x",
    "dangling": "c",
    "to a file": "f",
}


@pytest.mark.usefixtures("opening")
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("end", ENDS)
def test_every_verb_of_the_store_refuses_a_link_by_name(tmp_path: Path, act: str, end: str) -> None:
    victim = tmp_path / "victim"
    (victim / "inner").mkdir(parents=True)
    (victim / "x").write_text("x")
    root = tmp_path / "root"
    (root / "mine").mkdir(parents=True)
    (root / "b").symlink_to(victim)
    (root / "c").symlink_to(tmp_path / "none")
    (root / "f").symlink_to(victim / "x")
    with pytest.raises(AccessDeniedError, match=f"root/{ENDS[end][0]} is a link"):
        ACTS[act](LocalStorage(root), ENDS[end])
    assert contents(victim) == {"x": b"x"}
    assert {path.name for path in victim.iterdir()} == {"inner", "x"}
    assert not (tmp_path / "none").exists()
    assert {path.name for path in root.iterdir()} == {"mine", "b", "c", "f"}


def test_one_call_opens_what_has_no_link_and_nothing_else(tmp_path: Path) -> None:
    """Where the call is, it must serve: name by name costs a commit a tenth of its time."""
    if no_links._openat2() is None:
        pytest.skip("this system cannot open a path without links in one call")
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/x").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "a/loop").symlink_to("loop")
    for path in ("", "/a", "/a/b", "/a/b/x"):
        number = no_links.open_without_links(f"{tmp_path}{path}", os.O_RDONLY)
        assert number is not None
        assert os.readlink(f"/proc/self/fd/{number}") == f"{tmp_path}{path}"
        assert not os.get_inheritable(number)
        os.close(number)
    for path in ("link", "link/b/x", "link/none", "a/loop", "a/b/x/y", "a\0/none"):
        assert no_links.open_without_links(f"{tmp_path}/{path}", os.O_RDONLY) is None
    with pytest.raises(FileNotFoundError, match="a/none/x"):
        no_links.open_without_links(f"{tmp_path}/a/none/x", os.O_RDONLY)


@pytest.mark.usefixtures("opening")
def test_what_is_deleted_beside_a_link_goes_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/x").write_text("x")
    (tmp_path / "root/a/deep").mkdir(parents=True)
    (tmp_path / "root/a/deep/link").symlink_to(tmp_path / "victim")
    for name in ("a/y", "a/deep/z"):
        (tmp_path / "root" / name).write_text("y")
    store = LocalStorage(tmp_path / "root")
    with pytest.raises(AccessDeniedError, match="deep/link is a link"):
        store.delete(["a/deep/link", "a/deep/link/x", "a/y", "a/none"])
    assert not (tmp_path / "root/a/y").exists(), "the others are deleted first"
    with pytest.raises(AccessDeniedError, match="deep/link is a link"):
        store.delete_tree("a")
    assert [str(p.relative_to(tmp_path)) for p in (tmp_path / "root").rglob("*")] == [
        *("root/a", "root/a/deep", "root/a/deep/link")
    ]
    assert (tmp_path / "victim/x").read_text() == "x"
    for path in ("../victim/x", "a/../../victim/x", "..", "a/./x", "a//x"):
        for verb in (store.delete_tree, store.delete_empty_folder, lambda p: store.delete([p])):
            with pytest.raises(TableError):
                verb(path)


@pytest.mark.usefixtures("opening")
def test_a_link_that_is_swapped_in_while_verbs_run_leads_nowhere(tmp_path: Path) -> None:
    """A folder and a link change places without end; nothing is read, written or deleted behind it."""
    victim, root = tmp_path / "victim", tmp_path / "root"
    victim.mkdir()
    (victim / "x").write_text("planted")
    (root / "a").mkdir(parents=True)
    (root / "a/x").write_text("mine")
    (root / "link").symlink_to(victim)
    done = threading.Event()

    def swap() -> None:
        names = itertools.count()
        while not done.is_set():
            for one, other in (("a", "kept"), ("link", "a"), ("a", "link"), ("kept", "a")):
                with contextlib.suppress(OSError):  # a writer has made the folder meanwhile
                    os.rename(root / one, root / other)
            while (root / "kept").exists():
                with contextlib.suppress(OSError):
                    os.rename(root / "a", root / f"made-{next(names)}")
                with contextlib.suppress(OSError):
                    os.rename(root / "kept", root / "a")

    swapper = threading.Thread(target=swap)
    swapper.start()
    store = LocalStorage(root)
    seen = set()
    try:
        for number in range(1500):
            for act in (
                lambda: seen.add(store.read("a/x")),
                lambda n=number: store.create(f"a/s-{n}", b"s"),
                lambda n=number: store.open_output(f"a/o-{n}").close(),
                lambda n=number: store.delete([f"a/s-{n}"]),
                lambda: store.delete(["a/none"]),
            ):
                with contextlib.suppress(TableError, FileNotFoundError):
                    act()
    finally:
        done.set()
        swapper.join()
    assert seen == {b"mine"}
    assert contents(victim) == {"x": b"planted"}


WHOLE: dict[str, Callable[[Catalog, str], object]] = {
    "open": lambda c, n: c.table(n),
    "drop": lambda c, n: c.drop_table(n),
    "drop-if-exists": lambda c, n: c.drop_table(n, if_exists=True),
    "rename": lambda c, n: c.rename_table(n, "d.other"),
    "rename to": lambda c, n: c.rename_table("d.t", n),
    "clone": lambda c, n: c.clone_table(n, "d.copy"),
    "clone to": lambda c, n: c.clone_table("d.t", n),
    "create": lambda c, n: c.create_table(n, ROWS.schema, if_not_exists=True),
    "drop-database": lambda c, n: c.drop_database(n.partition(".")[0], cascade=True),
    "create-database": lambda c, n: c.create_database(f"{n.partition('.')[0]}x"),
}


@pytest.mark.parametrize("verb", WHOLE)
@pytest.mark.parametrize("what", ["table", "database"])
def test_a_table_or_a_database_that_is_a_link_is_no_way_into_another_warehouse(
    catalog: Catalog, tmp_path: Path, what: str, verb: str
) -> None:
    other = tc.open_catalog((tmp_path / "other").as_uri())
    other.create_database("prod")
    table = other.create_table("prod.orders", ROWS.schema, options={"bucket": "-1"})
    write_rows(table, ROWS)
    before = contents(tmp_path / "other")
    link = {"table": "d.db/mine", "database": "x.db"}[what]
    leads = {"table": "prod.db/orders", "database": "prod.db"}[what]
    (tmp_path / "wh" / link).symlink_to(tmp_path / "other" / leads)
    name = {"table": "d.mine", "database": "x.orders"}[what]
    with contextlib.suppress(*([] if verb != "create-database" else [TableError])):
        if verb == "create-database":
            WHOLE[verb](catalog, name)
        else:
            with pytest.raises(AccessDeniedError, match=f"{link} is a link"):
                WHOLE[verb](catalog, name)
    assert contents(tmp_path / "other") == before
    assert (tmp_path / "wh" / link).is_symlink()


def test_a_link_among_tables_is_told_and_hides_no_other(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "wh/d.db/mine").symlink_to(tmp_path)
    (tmp_path / "wh/x.db").symlink_to(tmp_path)
    assert catalog.tables("d") == ["mine", "t"]
    assert catalog.databases() == ["d", "x"]


@pytest.mark.parametrize("name", ["snapshot/snapshot-4", "snapshot/LATEST", "schema/schema-1"])
def test_a_link_among_documents_is_named_by_who_finds_it(
    catalog: Catalog, tmp_path: Path, name: str
) -> None:
    planted = tmp_path / "wh/d.db/t" / name
    planted.unlink(missing_ok=True)
    planted.symlink_to(tmp_path / "none")
    with pytest.raises(AccessDeniedError, match=f"{name} is a link"):
        write(tc.open_catalog((tmp_path / "wh").as_uri()))
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("opening")
@pytest.mark.parametrize("verb", ["read", "open_input", "open_output", "sync", "create", "write"])
def test_a_fifo_blocks_nobody(tmp_path: Path, verb: str) -> None:
    os.mkfifo(tmp_path / "f")
    store = LocalStorage(tmp_path)
    if verb == "write":
        store.write("f", b"x")
        assert store.read("f") == b"x"
    elif verb == "create":
        assert not store.create("f", b"x")
    else:
        with pytest.raises(AccessDeniedError, match="FIFO"):
            ACTS[verb](store, "f")


def test_a_fifo_among_sources_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.jsonl")
    (tmp_path / "g.jsonl").symlink_to("/dev/zero")
    for name in ("f.jsonl", "g.jsonl"):
        with pytest.raises(AccessDeniedError, match="no file"):
            open_storage(str(tmp_path)).open_input(name)


@pytest.mark.usefixtures("opening")
def test_folders_in_folders_without_end_are_refused(tmp_path: Path) -> None:
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    store = LocalStorage(tmp_path)
    for act in (lambda: list(store.walk("")), lambda: store.delete_tree("d")):
        with pytest.raises(TableError, match="folders deep"):
            act()
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


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
