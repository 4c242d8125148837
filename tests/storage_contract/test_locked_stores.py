"""The suite for stores that create under a lock, on fsspec's own local file system.

Its ``mv`` replaces what is there, as that of most stores does: without the lock two writers win.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import CorruptFileError, StorageUnavailableError, UnsupportedFeatureError
from table_core.options.budgets import DOCUMENT_BYTES, take_budgets
from table_core.ports import Storage
from table_core.storage.stores.local import LocalStorage
from table_core.storage.stores.locate import open_storage
from table_core.storage.stores.lock import FileLock, LockedStorage
from table_core.storage.stores.prefixed import PrefixedStorage
from table_core.testing.storage_contract import StorageContract
from tests.tables import write_rows


def foldered(root: Path) -> PrefixedStorage:
    import fsspec

    return PrefixedStorage(fsspec.filesystem("file"), "demo", str(root / "wh"), "host:1")


def lock(root: Path, timeout_ms: int = 60_000) -> FileLock:
    return FileLock(str(root / "locks"), 50, timeout_ms)


class TestFoldered(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return LockedStorage(foldered(tmp_path), lock(tmp_path), "d.t")


class TestLockedLocal(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return LockedStorage(LocalStorage(tmp_path / "wh"), lock(tmp_path), "d.t")

    @pytest.fixture(autouse=True)
    def _there(self, tmp_path: Path) -> None:
        (tmp_path / "wh").mkdir()


def test_no_more_comes_of_a_document_than_it_may_have(tmp_path: Path) -> None:
    storage = foldered(tmp_path)
    storage.write("d/empty", b"")
    storage.write("d/small", b"x" * 1000)
    storage.write("d/large", b"")
    os.truncate(tmp_path / "wh/d/large", 1 << 36)
    try:
        take_budgets({DOCUMENT_BYTES.variable: "1000 b"})
        assert storage.read("d/empty") == b""
        assert storage.read("d/small") == b"x" * 1000
        for read in (storage.read, lambda path: storage.open_input(path, size=1000)):
            with pytest.raises(CorruptFileError, match=DOCUMENT_BYTES.variable):
                read("d/large")
    finally:
        take_budgets(os.environ)


def test_a_file_in_place_of_a_folder_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    storage = foldered(tmp_path)
    storage.write("t/snapshot", b"")
    with pytest.raises(CorruptFileError, match="a folder is due") as caught:
        list(storage.list("t/snapshot"))
    assert caught.value.facts["path"].endswith("/wh/t/snapshot")


def race(root: Path, mine: bytes, rounds: int, results: object) -> None:
    storage = LockedStorage(foldered(root), lock(root), "d.t")
    won = [n for n in range(rounds) if storage.create(f"s/snapshot-{n}", mine)]
    results.put((mine, won))  # type: ignore[attr-defined]


def test_of_two_processes_one_creates(tmp_path: Path) -> None:
    context, rounds = multiprocessing.get_context("forkserver"), 40
    results = context.Queue()
    both = [
        context.Process(target=race, args=(tmp_path, name, rounds, results))
        for name in (b"a", b"b")
    ]
    for process in both:
        process.start()
    told = dict(results.get(timeout=100) for _ in both)
    for process in both:
        process.join()
    assert sorted(told[b"a"] + told[b"b"]) == list(range(rounds))
    storage = foldered(tmp_path)
    for name, won in told.items():
        assert all(storage.read(f"s/snapshot-{n}") == name for n in won)


def test_the_uri_keeps_the_host_and_the_store_travels(tmp_path: Path) -> None:
    storage = LockedStorage(foldered(tmp_path).within("d.db/t"), lock(tmp_path), "d.t")
    copy = pickle.loads(pickle.dumps(storage))
    assert copy.uri == storage.uri == f"demo://host:1/{str(tmp_path)[1:]}/wh/d.db/t"


def test_a_lock_that_is_held_is_unavailable_in_the_end(tmp_path: Path) -> None:
    second = LockedStorage(foldered(tmp_path), lock(tmp_path, 100), "d.t")
    started = time.monotonic()
    with (
        lock(tmp_path).held("d.t"),
        pytest.raises(StorageUnavailableError, match="another writer holds it"),
    ):
        second.create("x", b"")
    assert time.monotonic() - started < 20
    assert second.create("x", b"")


def test_a_branch_has_a_lock_of_its_own_as_java_takes_it(tmp_path: Path) -> None:
    storage = LockedStorage(foldered(tmp_path), lock(tmp_path, 100), "d.t")
    with lock(tmp_path).held("d.t"):
        assert storage.create("branch/branch-b/snapshot/snapshot-1", b"x")


def test_a_table_lives_on_a_store_behind_a_lock(tmp_path: Path) -> None:
    options = {"lock.type": "file", "lock.path": str(tmp_path / "locks")}
    uri = f"local://{tmp_path}/wh"
    with pytest.raises(UnsupportedFeatureError, match=r"lock\.type"):
        open_storage(uri)
    catalog = tc.open_catalog(uri, options)
    catalog.create_database("d")
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.string())])
    table = catalog.create_table(
        "d.t", schema, primary_key=("k",), options={"num-sorted-run.compaction-trigger": "2"}
    )
    for n in range(4):
        write_rows(table, pa.table({"k": [n], "v": ["x"]}, schema=schema))
    again = tc.open_table(f"{uri}/d.db/t", storage_options=options)
    assert again.read().to_arrow().num_rows == 4
    again.compact()
    again.expire_snapshots(retain_max=1, retain_min=1)
    assert again.read().to_arrow().num_rows == 4
    assert catalog.tables("d") == ["t"]
    assert (tmp_path / "locks" / "d.t.lock").exists()
