"""Attack: whoever may write into one table's folder.  Goal: no work on any other table of the database."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import CorruptFileError, TableError
from table_core.table.api.catalog import Catalog
from table_core.table.read.scan import Scan
from tests.lanes import sampled
from tests.tables import write_rows

ROWS = pa.table({"id": [1]})


def unknown_type(table: Path) -> None:
    schema = table / "schema/schema-0"
    schema.write_text(schema.read_text().replace('"BIGINT"', '"GEOMETRY"'))


def bad_option(table: Path) -> None:
    schema = table / "schema/schema-0"
    document = json.loads(schema.read_text())
    document["options"]["bucket"] = "many"
    schema.write_text(json.dumps(document))


def no_manifest_list(table: Path) -> None:
    for path in (table / "manifest").glob("manifest-list-*"):
        path.unlink()


def fifo(name: str) -> Callable[[Path], None]:
    def planted(table: Path) -> None:
        (table / name).unlink(missing_ok=True)
        os.mkfifo(table / name)

    return planted


def folder(name: str) -> Callable[[Path], None]:
    def planted(table: Path) -> None:
        (table / name).unlink(missing_ok=True)
        (table / name).mkdir()

    return planted


def file(name: str) -> Callable[[Path], None]:
    """In the place of a folder."""

    def planted(table: Path) -> None:
        shutil.rmtree(table / name)
        (table / name).write_text("x")

    return planted


def within(name: str) -> Callable[[Path], None]:
    """A link in the place of a part of the table, to another table's."""

    def planted(table: Path) -> None:
        shutil.rmtree(table / name)
        (table / name).symlink_to(table.with_name("a") / name)

    return planted


def cut(name: str) -> Callable[[Path], None]:
    def planted(table: Path) -> None:
        for path in table.glob(name):
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return planted


def link(table: Path) -> None:
    shutil.rmtree(table)
    table.symlink_to("/")


POISONS: dict[str, Callable[[Path], Any]] = {
    "unknown type": unknown_type,
    "bad option": bad_option,
    "broken schema": lambda t: (t / "schema/schema-0").write_text('{"x'),
    "deep schema": lambda t: (t / "schema/schema-0").write_text("[" * 100_000),
    "broken snapshot": lambda t: (t / "snapshot/snapshot-1").write_text("nonsense"),
    "no manifest list": no_manifest_list,
    "schema is a fifo": fifo("schema/schema-0"),
    "snapshot is a fifo": fifo("snapshot/snapshot-1"),
    "hint is a fifo": fifo("snapshot/LATEST"),
    "manifests are fifos": lambda t: [
        fifo(f"manifest/{p.name}")(t) for p in [*(t / "manifest").iterdir()]
    ],
    "schema is a folder": folder("schema/schema-0"),
    "snapshot is a folder": folder("snapshot/snapshot-1"),
    "hint is a folder": folder("snapshot/LATEST"),
    "a second schema is a folder": folder("schema/schema-1"),
    "schemas are a file": file("schema"),
    "snapshots are a file": file("snapshot"),
    "manifests are a file": file("manifest"),
    "schemas are a link": within("schema"),
    "snapshots are a link": within("snapshot"),
    "manifests are a link": within("manifest"),
    "cut schema": cut("schema/schema-0"),
    "cut snapshot": cut("snapshot/snapshot-1"),
    "cut manifests": cut("manifest/*"),
    "a link": link,
    "an escape in its name": lambda t: t.rename(t.with_name("b\x1b[2J")),
    "a dot in its name": lambda t: t.rename(t.with_name("b.b")),
    "a blank in its name": lambda t: t.rename(t.with_name(" b ")),
    "no unicode in its name": lambda t: os.rename(t, os.fsencode(t.parent) + b"/b\xff"),
}


NOT_ASKED = {
    "hint is a fifo", "hint is a folder", "no manifest list", "manifests are fifos", "manifests are a file",
    "cut manifests", "a second schema is a folder",
}  # fmt: skip
"""A collector knows a snapshot that it has seen, and does not open what it does not need."""


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    found = tc.open_catalog((tmp_path / "wh").as_uri())
    found.create_database("d")
    for name in ("a", "b", "c"):
        table = found.create_table(f"d.{name}", ROWS.schema, options={"bucket": "-1"})
        write_rows(table, ROWS)
    return found


def told(error: TableError) -> str:
    return f"{error} {getattr(error, '__notes__', '')}"


@pytest.mark.parametrize("poison", sampled(POISONS, 4))
def test_one_bad_table_stops_no_verb_over_many(
    catalog: Catalog, tmp_path: Path, poison: str
) -> None:
    POISONS[poison](tmp_path / "wh/d.db/b")
    names = [name for name in catalog.tables("d") if name not in ("a", "c")]
    assert len(names) == 1, "it is listed"
    catalog.table("sys.partitions").read().to_arrow()
    for system in ("tables", "all_table_options"):
        read = catalog.table(f"sys.{system}").read().to_arrow()["table_name"].to_pylist()
        assert {"a", "c"} <= {*read}
    shown = catalog.sql("SHOW TABLES IN d")
    assert isinstance(shown, Scan)
    assert {"a", "c"} <= {*shown.to_arrow()["tableName"].to_pylist()}
    acts: tuple[Callable[[], Any], ...] = (
        lambda: catalog.compact_database("d", strategy="full").details["tables"],
        lambda: catalog.clone_database("d", "copy").details["tables"],
    )
    for act in acts:
        try:
            done = act()
        except TableError as error:
            assert repr(names[0]) in told(error)
            assert "done for ['a', 'c']" in told(error)
        else:
            assert {"a", "c"} <= {*done}, "what it did not have to read does not matter"
    assert {"a", "c"} <= {*catalog.tables("copy")}


@pytest.mark.parametrize("poison", sampled(POISONS, 4))
def test_one_bad_table_stops_no_collector(catalog: Catalog, tmp_path: Path, poison: str) -> None:
    catalog.collect_metadata("d", "meta.history", "c")
    POISONS[poison](tmp_path / "wh/d.db/b")
    for name in ("a", "c"):
        write_rows(catalog.table(f"d.{name}"), ROWS)
    try:
        catalog.collect_metadata("d", "meta.history", "c", recheck="0 ms")
    except TableError as error:
        assert "done for ['a', 'c']" in told(error)
    else:
        assert poison in NOT_ASKED
    kept = catalog.table("meta.history").read(where="kind = 'line'").to_arrow().to_pylist()
    rows = {one["uri"]: json.loads(one["document"]).get("rows") for one in kept}
    assert (rows["paimon://c/d/a"], rows["paimon://c/d/c"]) == (2, 2)


@pytest.mark.parametrize(
    ("poison", "path", "due"),
    [
        ("schema is a folder", "schema/schema-0", "a file is due"),
        ("a second schema is a folder", "schema/schema-1", "a file is due"),
        ("snapshot is a folder", "snapshot/snapshot-1", "a file is due"),
        ("schemas are a file", "schema", "a folder is due"),
        ("snapshots are a file", "snapshot", "a folder is due"),
        ("manifests are a file", "manifest", "a folder is due"),
    ],
)
def test_a_file_in_place_of_a_folder_is_no_empty_table(
    catalog: Catalog, tmp_path: Path, poison: str, path: str, due: str
) -> None:
    """Nor is a folder in place of a file: whoever asks is told what is where."""
    POISONS[poison](tmp_path / "wh/d.db/b")
    opened = tc.open_catalog(catalog.warehouse)
    with pytest.raises(CorruptFileError, match=due) as caught:
        opened.table("d.b").read().to_arrow()
    assert caught.value.facts["path"].endswith(f"/d.db/b/{path}")


def test_tags_that_cannot_be_seen_keep_what_expiry_would_delete(
    catalog: Catalog, tmp_path: Path
) -> None:
    """As if there were none, the rows of a tag would be deleted."""
    table, root = catalog.table("d.b"), tmp_path / "wh/d.db/b"
    table.tags.create("kept")
    write_rows(table, ROWS)
    file("tag")(root)
    before = {*root.rglob("*")}
    with pytest.raises(CorruptFileError, match="b/tag: a file is there, and a folder is due"):
        catalog.table("d.b").expire_snapshots(retain_min=1, retain_max=1)
    assert before <= {*root.rglob("*")}


@pytest.mark.parametrize("poison", ["unknown type", "schema is a fifo", "a link"])
def test_the_command_line_lists_the_others_names_the_bad_one_and_ends_with_1(
    catalog: Catalog, tmp_path: Path, poison: str
) -> None:
    POISONS[poison](tmp_path / "wh/d.db/b")
    command = [sys.executable, "-m", "table_core.cli.main", "tables"]
    command += ["--warehouse", catalog.warehouse, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 1
    assert [one["table"] for one in json.loads(ran.stdout)] == ["d.a", "d.c"]
    assert "d.b" in json.loads(ran.stderr)["notes"][0]


def test_what_can_be_dropped_of_a_database_is_dropped(catalog: Catalog, tmp_path: Path) -> None:
    link(tmp_path / "wh/d.db/b")
    unknown_type(tmp_path / "wh/d.db/c")
    with pytest.raises(TableError, match="b is a link") as caught:
        catalog.drop_database("d", cascade=True)
    assert "done for ['a', 'c']" in told(caught.value)
    assert [path.name for path in (tmp_path / "wh/d.db").iterdir()] == ["b"]
    (tmp_path / "wh/d.db/b").unlink()
    catalog.drop_database("d", cascade=True)
    assert catalog.databases() == []
