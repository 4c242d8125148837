"""Forty tables, each with one document broken: recover puts it right, or says why it cannot.

Each kind of document is cut short, emptied and removed.  What comes of it is written beside it: the rows that the table
has then, or that nothing can be done.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.ondisk import layout
from table_core.table.metadata import documents
from table_core.table.metadata.remembered import Remembered
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
ALL = list(range(1, 7))
BUT_LAST = ALL[:-1]
CANNOT = "cannot"


@dataclass
class House:
    """``d.t``: six commits of one row, tags at 2 and 4, a branch of 2, a reader; marked rows on request."""

    folder: Path
    marks: bool = False

    def __post_init__(self) -> None:
        self.catalog = new_catalog(self.folder.as_uri())
        options = {"bucket": "1", "snapshot.num-retained.max": "100", "write-only": "true"}
        key: tuple[str, ...] = ("k",)
        if self.marks:
            key, options = (), {"bucket": "-1", "deletion-vectors.enabled": "true"}
        table = self.catalog.create_table("d.t", SCHEMA, primary_key=key, options=options)
        for n in ALL[:-1]:
            self.put(table, n)
            if n == 2:
                table.tags.create("two")
                table.branches.create("side", tag="two")
                self.put(self.catalog.table("d.t$branch_side"), 50)
        if self.marks:
            write_rows(table, pa.table({"k": [98, 99], "v": [0, 0]}, schema=SCHEMA))
            table.delete("k = 99")
        table.tags.create("old", snapshot=4)
        table.consumers.reset("reader", next_snapshot=3)
        self.put(table, ALL[-1])
        self.root = self.folder / "d.db" / "t"

    def put(self, table: tc.Table, k: int) -> None:
        write_rows(table, pa.table({"k": [k], "v": [k]}, schema=SCHEMA))

    @property
    def head(self) -> Any:
        return self.catalog.table("d.t").latest_snapshot()

    def rows(self, **how: Any) -> list[int]:
        return sorted(self.catalog.table("d.t").read(**how).to_arrow()["k"].to_pylist())

    def files(self) -> dict[str, bytes]:
        return {
            str(p.relative_to(self.root)): p.read_bytes()
            for p in self.root.rglob("*")
            if p.is_file()
        }

    def recover(self, *, dry_run: bool) -> tc.ResultDocument:
        return self.catalog.recover_table("d.t", dry_run=dry_run)


def command(house: House, *words: str) -> Any:
    found = CliRunner().invoke(app, [*words, "-w", house.catalog.warehouse, "--json"])
    assert found.exit_code == 0, found.output
    return json.loads(found.output)


def manifest_of(house: House, which: str) -> str:
    metadata = house.catalog.table("d.t").access.metadata
    metas = metadata.manifest_list(getattr(house.head, which))
    return layout.manifest_path(metas[-1].file_name)


def data_file(house: House) -> str:
    access = house.catalog.table("d.t").access
    entry = next(e for e in access.live_entries(house.head) if e.file.row_count == 1)
    return layout.data_file_path(access.schema, entry.partition, entry.bucket, entry.file)


def masks(house: House) -> str:
    access = house.catalog.table("d.t").access
    return next(i.path for i in access.storage.walk("index"))


def altered(house: House) -> str:
    house.catalog.alter_table("d.t", [tc.AddColumn("more", "INT")])
    return "schema/schema-1"


def altered_and_used(house: House) -> str:
    path = altered(house)
    table = house.catalog.table("d.t")
    write_rows(table, pa.table({"k": [7], "v": [7], "more": [1]}, schema=table.arrow_schema))
    return path


def tagged_head(house: House) -> str:
    house.catalog.table("d.t").tags.create("newest")
    return "snapshot/snapshot-6"


def expired(house: House) -> str:
    house.catalog.table("d.t").expire_snapshots(retain_max=5)
    return "snapshot/EARLIEST"


Where = str | Callable[[House], str]
DOCUMENTS: dict[str, tuple[Where, list[int] | str]] = {
    "LATEST": ("snapshot/LATEST", ALL),
    "EARLIEST": (expired, ALL),
    "newest snapshot": ("snapshot/snapshot-6", BUT_LAST),
    "newest snapshot, with a tag": (tagged_head, ALL),
    "snapshot in the middle": ("snapshot/snapshot-3", ALL),
    "tagged snapshot in the middle": ("snapshot/snapshot-4", ALL),
    "oldest snapshot": ("snapshot/snapshot-1", ALL),
    "tag": ("tag/tag-old", ALL),
    "consumer": ("consumer/consumer-reader", ALL),
    "only schema": ("schema/schema-0", ALL),
    "unused schema": (altered, ALL),
    "used schema": (altered_and_used, CANNOT),
    "base list of the head": (lambda h: layout.manifest_path(h.head.base_manifest_list), BUT_LAST),
    "delta list of the head": (lambda h: layout.manifest_path(h.head.delta_manifest_list), BUT_LAST),
    "new manifest": (lambda h: manifest_of(h, "delta_manifest_list"), BUT_LAST),
    "old manifest": (lambda h: manifest_of(h, "base_manifest_list"), ALL[:-2]),
    "data file": (data_file, ALL[1:]),
    "snapshot of a branch": ("branch/branch-side/snapshot/snapshot-3", ALL),
    "schema of a branch": ("branch/branch-side/schema/schema-0", ALL),
}  # fmt: skip
DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[: len(path.read_bytes()) // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
}
NOT_MISSED = {
    "LATEST",
    "EARLIEST",
    "tag",
    "consumer",
    "unused schema",
    "schema of a branch",
    "oldest snapshot",
}
"""What is not there at all is missed by nobody."""


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MANIFESTS", Remembered(weight_max=0))
    monkeypatch.setattr(documents, "_COLUMNS", Remembered(weight_max=0))


def check(house: House, path: str, damage: str, expected: list[int] | str, *, missed: bool) -> None:
    """Recover twice: looking changes nothing, doing puts right all that it says."""
    DAMAGES[damage](house.root / path)
    before = house.files()
    said = house.recover(dry_run=True)
    assert house.files() == before
    found = said.details["damage"]
    assert bool(found) is missed, found
    done = house.recover(dry_run=False)
    assert done.details["damage"] == found
    json.dumps(done.to_document())
    if expected == CANNOT:
        assert [one["remedy"] for one in found] == ["none"]
        assert done.details["left"] == found
        assert house.files() == before, "nothing was done"
        return
    assert all(one["remedy"] != "none" for one in found), found
    assert done.details["left"] == []
    assert house.rows() == expected
    kept = done.details["kept_in"]
    for one in found:
        if one["remedy"] == "moved":
            assert (house.root / str(kept) / one["path"]).read_bytes() == before[one["path"]]
    table = house.catalog.table("d.t")
    if found and found[0]["remedy"] != "forgotten":
        for tag in table.tags.list():
            assert house.rows(tag=tag)
        for id in [s.id for s in table.snapshots()]:
            house.rows(snapshot=id)
    table.branches.list()
    names = table.arrow_schema.names
    write_rows(table, pa.table({n: [77] for n in names}, schema=table.arrow_schema))
    assert house.rows() == [*expected, 77]
    table.expire_snapshots(retain_max=1)
    table.remove_orphan_files()
    assert house.rows() == [*expected, 77]
    assert house.recover(dry_run=True).details["damage"] == []


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_broken_document_is_put_right_or_it_is_said_why_not(
    document: str, damage: str, tmp_path: Path
) -> None:
    house = House(tmp_path)
    where, expected = DOCUMENTS[document]
    path = where if isinstance(where, str) else where(house)
    missed = damage != "removed" or document not in NOT_MISSED
    if not missed and document == "unused schema":
        expected = ALL
    check(house, path, damage, expected, missed=missed)


@pytest.mark.parametrize(
    ("document", "read"),
    [
        ("newest snapshot", lambda t: t.read().to_arrow()),
        ("tag", lambda t: t.tags.get("old")),
        ("consumer", lambda t: t.consumers.get("reader")),
        ("old manifest", lambda t: t.read().to_arrow()),
        ("delta list of the head", lambda t: t.read().to_arrow()),
        ("newest snapshot", lambda t: t.rollback_to(snapshot=3)),
    ],
)
def test_an_error_about_a_broken_document_names_the_way_out(
    document: str, read: Callable[[tc.Table], object], tmp_path: Path
) -> None:
    house = House(tmp_path)
    where = DOCUMENTS[document][0]
    path = where if isinstance(where, str) else where(house)
    table = house.catalog.table("d.t")
    DAMAGES["cut short"](house.root / path)
    with pytest.raises(tc.errors.CorruptFileError, match="table-core recover"):
        read(table)


def test_the_command_looks_and_does_it_only_when_it_is_told_to(tmp_path: Path) -> None:
    house = House(tmp_path)
    DAMAGES["empty"](house.root / "snapshot/snapshot-6")
    before = house.files()
    said = command(house, "recover", "d.t")
    assert [one["path"] for one in said["details"]["damage"]] == ["snapshot/snapshot-6"]
    assert house.files() == before
    command(house, "recover", "d.t", "--apply")
    assert house.rows() == BUT_LAST


@pytest.mark.parametrize("damage", ["empty", "removed"])
def test_marks_of_deleted_rows_that_are_gone_bring_no_deleted_row_back(
    damage: str, tmp_path: Path
) -> None:
    house = House(tmp_path, marks=True)
    head = house.head
    DAMAGES[damage](house.root / layout.manifest_path(head.index_manifest))
    house.recover(dry_run=False)
    assert 99 not in house.rows() or house.head.id < head.id - 1
