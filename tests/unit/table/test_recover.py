"""Forty tables, each with one document broken: recover puts it right, or says why it cannot.

Each kind of document is cut short, emptied and removed.  What comes of it is written beside it: the rows that the table
has then, or that nothing can be done.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import table_core as tc
from table_core.cli.main import app
from table_core.ondisk import layout
from table_core.storage.stores.faults import Call, Crash, Fault, Faults, FaultyStorage
from table_core.table.maintenance.recover import recover
from table_core.table.metadata import documents
from table_core.table.metadata.refs.turns import turning
from table_core.table.metadata.remembered import Remembered
from tests.tables import foreign_commit, new_catalog, write_rows
from tests.unit.key_tables import between

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


def turned(house: House) -> str:
    house.catalog.table("d.t").rollback_to(snapshot=5)
    return "line/turn-1"


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
    "turn": (turned, BUT_LAST),
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
    "turn",
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


# ------------------------------------------------------------------------- other lines, and others at work
def put_back(house: House, at: int, commits: int) -> str:
    """Snapshot 6 comes again, after a rollback to ``at`` and so many commits: a writer slept."""
    path = house.root / "snapshot/snapshot-6"
    body = path.read_bytes()
    table = house.catalog.table("d.t")
    table.rollback_to(snapshot=at)
    for key in range(14, 14 + commits):
        house.put(table, key)
    path.write_bytes(body)
    return str(path.relative_to(house.root))


@pytest.mark.parametrize("hint", ["as it is", "removed"])
@pytest.mark.parametrize(("at", "commits"), [(3, 0), (3, 1), (3, 2)])
def test_a_snapshot_that_was_taken_back_does_not_become_the_newest(
    at: int, commits: int, hint: str, tmp_path: Path
) -> None:
    house = House(tmp_path)
    path = put_back(house, at, commits)
    expected = sorted([*ALL[:at], *range(14, 14 + commits)])
    if hint == "removed":
        (house.root / "snapshot/LATEST").unlink()
    said: Any = house.recover(dry_run=True).details["damage"]
    assert [(one["path"], one["remedy"]) for one in said] == [(path, "moved")]
    assert "taken back" in said[0]["problem"]
    assert house.recover(dry_run=False).details["left"] == []
    assert house.rows() == expected
    table = house.catalog.table("d.t")
    for key in range(20, 24):
        house.put(table, key)
    table.remove_orphan_files()
    assert house.rows() == [*expected, 20, 21, 22, 23]
    assert [p for p in house.files() if p.startswith("line/stray-6-")]


def test_a_snapshot_of_others_above_a_gap_is_kept_in_the_folder(tmp_path: Path) -> None:
    house = House(tmp_path)
    foreign_commit(house.catalog.table("d.t"))
    (house.root / "snapshot/snapshot-7").rename(house.root / "snapshot/snapshot-9")
    said: Any = house.recover(dry_run=False).details["damage"]
    assert [(one["path"], one["remedy"]) for one in said] == [("snapshot/snapshot-9", "moved")]
    assert "above a gap" in said[0]["problem"]
    assert house.rows() == ALL


def test_what_a_rollback_that_was_killed_has_left_stays(tmp_path: Path) -> None:
    """It is noted as taken back, and readers show it: somebody may have committed on it."""
    house = House(tmp_path)
    bodies = {n: (house.root / f"snapshot/snapshot-{n}").read_bytes() for n in (3, 4, 5)}
    house.catalog.table("d.t").rollback_to(snapshot=2)
    for n, body in bodies.items():
        (house.root / f"snapshot/snapshot-{n}").write_bytes(body)
    house.put(house.catalog.table("d.t"), 7)
    assert house.rows() == [*BUT_LAST, 7]
    assert house.recover(dry_run=False).details["damage"] == []
    assert house.rows() == [*BUT_LAST, 7]


def test_what_an_expiry_that_was_killed_has_left_is_no_damage(tmp_path: Path) -> None:
    house = House(tmp_path)
    body = (house.root / "snapshot/snapshot-2").read_bytes()
    house.catalog.table("d.t").expire_snapshots(retain_max=3, retain_min=1)
    (house.root / "snapshot/snapshot-2").write_bytes(body)
    assert house.recover(dry_run=False).details["damage"] == []
    assert house.rows() == ALL


def test_beside_a_rollback_it_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    house = House(tmp_path)
    DAMAGES["empty"](house.root / "snapshot/snapshot-6")
    with turning(house.catalog.table("d.t").access, "rollback", by="ada", target=5):
        before = house.files()
        with pytest.raises(tc.errors.CommitConflictError, match="rollback of 'ada' is under way"):
            house.recover(dry_run=False)
        assert house.files() == before
    house.recover(dry_run=False)
    assert house.rows() == BUT_LAST


def test_a_commit_on_what_is_taken_away_lands_on_what_stays(tmp_path: Path) -> None:
    house = House(tmp_path)

    def broken() -> None:
        DAMAGES["removed"](house.root / layout.manifest_path(house.head.delta_manifest_list))
        house.recover(dry_run=False)

    slow = between(house.catalog.table("d.t"), ("create", "snapshot/snapshot-7"), broken)
    house.put(slow, 7)
    assert house.rows() == [*BUT_LAST, 7]
    assert house.head.id == 6


def test_a_commit_while_it_looks_is_not_taken_away(tmp_path: Path) -> None:
    house = House(tmp_path)
    DAMAGES["removed"](house.root / "snapshot/snapshot-3")
    access = house.catalog.table("d.t").access

    def meanwhile(call: Call) -> None:
        if (call.name, call.path) == ("create", "line/turn-1"):
            house.put(house.catalog.table("d.t"), 7)

    storage = FaultyStorage(access.storage, Faults(meanwhile))
    with pytest.raises(tc.errors.CommitConflictError, match="snapshot-7 was changed"):
        recover("d.t", storage, access.clock, access.ids, dry_run=False)
    assert house.rows() == [*ALL, 7]
    house.recover(dry_run=False)
    assert house.rows() == [*ALL, 7]


def test_a_table_without_any_schema_is_left_alone(tmp_path: Path) -> None:
    house = House(tmp_path)
    for path in ("schema/schema-0", "branch/branch-side/schema/schema-0", "snapshot/snapshot-6"):
        DAMAGES["empty"](house.root / path)
    before = house.files()
    said: Any = house.recover(dry_run=False).details["damage"]
    assert {one["remedy"] for one in said} == {"none"}
    assert house.files() == before


@pytest.mark.parametrize("changes", [1, 3])
def test_a_change_of_a_table_that_was_dropped_meanwhile_is_moved_away(
    tmp_path: Path, changes: int
) -> None:
    """Its writer was killed before it could look.  Until then nobody builds on it."""
    house = House(tmp_path)
    for n in range(1, changes):
        house.catalog.alter_table("d.t", [tc.AddColumn(f"c{n}", "INT")])

    def meanwhile(call: Call) -> Fault | None:
        if f"{call.name} {call.path}" != f"create schema/schema-{changes}":
            return None
        house.catalog.drop_table("d.t")
        house.catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "2"})
        return Fault.CRASH_AFTER

    faulty = replace(house.catalog, storage=FaultyStorage(house.catalog.storage, Faults(meanwhile)))
    with pytest.raises(Crash):
        faulty.alter_table("d.t", [tc.AddColumn("late", "INT")])
    assert house.catalog.table("d.t").options["bucket"] == "1"
    with pytest.raises(tc.errors.CommitConflictError, match=r"in another table.*recover"):
        house.catalog.alter_table("d.t", [tc.AddColumn("new", "INT")])

    done = house.catalog.recover_table("d.t", dry_run=False)
    assert [d["path"] for d in done.details["damage"]] == [f"schema/schema-{changes}"]
    assert done.details["left"] == []
    assert house.catalog.table("d.t").options["bucket"] == "2"
    house.catalog.alter_table("d.t", [tc.AddColumn("new", "INT")])
    assert house.catalog.table("d.t").arrow_schema.names == ["k", "v", "new"]
