"""What ``remove_orphan_files`` takes and what it leaves."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ondisk import layout
from table_core.storage.stores.faults import Faults, FaultyStorage
from table_core.table.maintenance.branches import Branches
from table_core.table.maintenance.tags import Tags
from table_core.table.metadata.documents import Metadata
from tests.clocks import SetClock
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
DAY_MS = 24 * 3_600_000
OPTIONS = {
    "bucket": "1",
    "write-only": "true",
    "changelog-producer": "input",
    "snapshot.time-retained": "1 ms",
    "snapshot.num-retained.min": "1",
}


class Elsewhere(FaultyStorage):
    """A store of another machine, which has a clock of its own."""

    uri = "elsewhere://d.db/t"


def create(**options: str) -> Any:
    catalog = new_catalog()
    given = OPTIONS | {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=given)


def later(table: Any) -> Any:
    """The same table two days on."""
    now_ms = table.access.clock.now_ms()
    return tc.Table(replace(table.access, clock=SetClock(now_ms + 2 * DAY_MS)))


def put(table: Any, *keys: int, **more: Any) -> None:
    write_rows(table, pa.table({"k": list(keys), "v": list(keys)}, schema=SCHEMA), **more)


def rows(table: Any, **which: Any) -> list[int]:
    return sorted(table.read(**which).to_arrow()["k"].to_pylist())


def paths(table: Any) -> set[str]:
    return {info.path for info in table.access.storage.walk("")}


def orphan(table: Any, path: str = "") -> str:
    path = path or f"bucket-0/data-{uuid.uuid4()}-0.parquet"
    table.access.storage.write(path, b"rest")
    return path


def test_what_nothing_names_goes_and_the_dry_run_said_so() -> None:
    table = create()
    put(table, 1)
    put(table, 2)
    table.compact()
    whole = paths(table)
    rests = {
        orphan(table),
        orphan(table, f"manifest/manifest-{uuid.uuid4()}-0"),
        orphan(table, f"manifest/manifest-list-{uuid.uuid4()}-3"),
        orphan(table, f"index/index-{uuid.uuid4()}-0"),
        orphan(table, f"statistics/stat-{uuid.uuid4()}-0"),
        orphan(table, f"snapshot/.snapshot-9.{uuid.uuid4()}.tmp"),
    }
    on = later(table)
    said = on.remove_orphan_files(dry_run=True).to_document()
    assert paths(table) == whole | rests
    done = on.remove_orphan_files().to_document()
    assert {**said, "seconds": 0, "dry_run": False} == {**done, "seconds": 0}
    assert paths(table) == whole
    assert (done["files_deleted"], done["bytes_deleted"]) == (6, 24)
    assert done["files_before"] - done["files_after"] == 6
    assert {file["path"] for file in done["details"]["deleted"]} == rests
    assert done["details"]["deleted_by_folder"] == {
        "data": 1,
        "index": 1,
        "manifest": 2,
        "other": 1,
        "statistics": 1,
    }
    assert rows(table) == [1, 2]
    assert later(table).remove_orphan_files().files_deleted == 0


def test_young_files_stay_and_less_than_a_day_needs_a_flag() -> None:
    table = create()
    put(table, 1)
    rest = orphan(table)
    assert table.remove_orphan_files().files_deleted == 0
    now = table.access.clock.now_ms()
    with pytest.raises(tc.errors.ArgumentError, match="allow_young"):
        table.remove_orphan_files(older_than=now)
    assert rest in paths(table)
    assert table.remove_orphan_files(older_than=now + 5_000, allow_young=True).files_deleted == 1
    assert rest not in paths(table)


def test_the_folder_of_a_job_goes_when_no_file_in_it_is_young(tmp_path: Path) -> None:
    catalog = tc.open_catalog(str(tmp_path))
    catalog.create_database("d")
    table = catalog.create_table("d.t", SCHEMA, options={"bucket": "-1"})
    storage, staging = table.access.storage, layout.staging_folder(str(uuid.uuid4()))
    storage.write(f"{staging}/_temporary/0/part-0.parquet", b"x")
    storage.make_folder(f"{staging}/_temporary/0/_temporary")
    assert table.remove_orphan_files().files_deleted == 0
    assert storage.exists(f"{staging}/_temporary/0/part-0.parquet")
    assert later(table).remove_orphan_files(dry_run=True).files_deleted == 1
    assert storage.exists(staging)
    assert later(table).remove_orphan_files().files_deleted == 1
    assert not storage.exists(staging)


def test_foreign_files_are_reported_and_stay() -> None:
    table = create()
    put(table, 1)
    foreign = [
        orphan(table, path) for path in ("bucket-0/notes.txt", "export/part-0.parquet", "README")
    ]
    done = later(table).remove_orphan_files()
    assert done.files_deleted == 0
    assert done.details["foreign"] == sorted(foreign)
    assert done.details["foreign_bytes"] == 12
    assert set(foreign) <= paths(table)


@pytest.mark.parametrize(("after_ms", "goes"), [(0, 0), (1, 1)])
def test_exactly_as_young_as_the_floor_is_young(after_ms: int, goes: int) -> None:
    table = create()
    path = orphan(table)
    (made,) = (info for info in table.access.storage.walk("") if info.path == path)
    clock = SetClock(made.modified_ms + DAY_MS + after_ms)
    done = tc.Table(replace(table.access, clock=clock)).remove_orphan_files()
    assert (done.files_deleted, done.details["young_files"]) == (goes, 1 - goes)


def test_a_clock_that_is_days_ahead_of_the_store_makes_no_file_old(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It would take what a writer is about to commit."""
    table = create()
    path = orphan(table)
    store = Elsewhere(table.access.storage, Faults.none())
    far = replace(later(table).access, storage=store, metadata=Metadata(store))
    assert tc.Table(far).remove_orphan_files().details["young_files"] == 1
    assert path in paths(table)
    assert "ahead of the store's" in caplog.text


def test_a_file_without_a_time_is_young() -> None:
    table = create()
    put(table, 1)
    path = table.access.storage._at(orphan(table))
    table.access.storage._disk.files[path] = (b"rest", 0, 0)
    assert later(table).remove_orphan_files().files_deleted == 0


def test_tags_branches_and_kept_changelogs_hold_what_they_name() -> None:
    table = create(changelog__num_retained__max="100", changelog__num_retained__min="100")
    put(table, 1)
    Tags(table.access).create("one")
    Branches(table.access).create("b", tag="one")
    branch = tc.open_catalog(table.uri.rpartition("/d.db")[0]).table("d.t", branch="b")
    put(branch, 7)
    put(table, 2)
    put(table, 3, overwrite="table")
    put(table, 4)
    table.expire_snapshots(retain_max=1)
    assert [s.id for s in table.snapshots()] == [4]
    changes = table.changes(after=0, to=4).to_arrow().num_rows
    whole = paths(table)
    assert later(table).remove_orphan_files().files_deleted == 0
    assert paths(table) == whole
    assert rows(table) == [3, 4]
    assert rows(table, tag="one") == [1]
    assert rows(branch) == [1, 7]
    assert table.changes(after=0, to=4).to_arrow().num_rows == changes == 3


def test_a_tag_alone_holds_its_manifests_and_files() -> None:
    table = create(manifest__merge_min_count="1", manifest__full_compaction_threshold_size="1 b")
    put(table, 1)
    Tags(table.access).create("one")
    for _ in range(3):
        put(table, 2, overwrite="table")
    table.expire_snapshots(retain_max=1)
    later(table).remove_orphan_files()
    assert rows(copied(table), tag="one") == [1]
    before = paths(table)
    Tags(table.access).delete("one")
    gone = {path.partition("/")[0] for path in before - paths(table)}
    assert gone == {"tag", "bucket-0", "manifest"}
    assert later(table).remove_orphan_files().files_deleted == 0
    assert rows(copied(table)) == [2]


def test_what_a_deleted_branch_and_tag_left_goes() -> None:
    table = create()
    put(table, 1)
    Tags(table.access).create("one")
    Branches(table.access).create("b", tag="one")
    branch = tc.open_catalog(table.uri.rpartition("/d.db")[0]).table("d.t", branch="b")
    put(branch, 7)
    put(table, 2, overwrite="table")
    table.expire_snapshots(retain_max=1)
    data = [path for path in paths(table) if path.startswith("bucket-0/data")]
    assert len(data) == 3
    Branches(table.access).delete("b")
    Tags(table.access).delete("one")
    later(table).remove_orphan_files()
    data = [path for path in paths(table) if path.startswith("bucket-0/data")]
    assert len(data) == 1
    assert rows(table) == [2]


def test_a_snapshot_that_names_what_is_gone_stops_the_run() -> None:
    table = create()
    put(table, 1)
    put(table, 2)
    rest = orphan(table)
    lost = table.snapshot(1).delta_manifest_list
    table.access.storage.delete([f"manifest/{lost}"])
    table = copied(table)
    with pytest.raises(tc.errors.FilesExpiredError):
        later(table).remove_orphan_files()
    assert rest in paths(table)


def test_what_a_cut_short_expiry_left_is_no_reason_to_stop() -> None:
    table = create()
    put(table, 1)
    put(table, 2)
    body = table.access.storage.read("snapshot/snapshot-1")
    table.expire_snapshots(retain_max=1)
    table.access.storage.write("snapshot/snapshot-1", body)
    rest = orphan(table)
    table = copied(table)
    assert later(table).remove_orphan_files().files_deleted == 1
    assert rest not in paths(table)
    assert rows(table) == [1, 2]


class Interrupted:
    """A store that lets something happen after a folder was listed."""

    def __init__(self, storage: Any, happening: Any) -> None:
        self.storage, self.happening = storage, happening

    def __getattr__(self, name: str) -> Any:
        return getattr(self.storage, name)

    def walk(self, folder: str) -> Any:
        found = list(self.storage.walk(folder))
        self.happening()
        yield from found


def test_a_commit_between_the_search_and_the_deletion_is_seen() -> None:
    """A writer prepared its files days ago and commits while the folder is listed."""
    table = later(create())
    put(table, 1)
    writer = table.write()
    writer.write(pa.table({"k": [2], "v": [2]}, schema=SCHEMA))
    prepared = writer.prepare()
    rest = orphan(table)
    storage = Interrupted(table.access.storage, lambda: table.commit([prepared]))
    beside = tc.Table(replace(table.access, storage=storage))
    assert beside.remove_orphan_files().files_deleted == 1
    assert rest not in paths(table)
    assert rows(table) == [1, 2]


def copied(table: Any) -> Any:
    """The same files under a root of which nothing is remembered."""
    uri = f"memory://{uuid.uuid4().hex}/t"
    target = tc.open_catalog(uri).storage
    for path in paths(table):
        target.write(path, table.access.storage.read(path))
    return tc.open_table(uri)
