"""What a read opens, counted: manifests by partition, data files and row groups by key."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.storage.stores.local import LocalStorage
from table_core.table.metadata.documents import Metadata
from table_core.table.read.split_reader import SplitReader
from tests.tables import new_catalog, write_rows

if TYPE_CHECKING:
    from pathlib import Path

KEYED = pa.schema([pa.field("id", pa.int64(), nullable=False)])
DAYS = pa.schema([("day", pa.string()), ("id", pa.int64())])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each kind of file is read."""
    found: Counter[str] = Counter()

    def counted(name: str) -> None:
        plain = getattr(LocalStorage, name)

        def read(self: Any, path: str, *args: Any) -> Any:
            found[path.rpartition("/")[2].rpartition("-")[0].partition("-")[0]] += 1
            return plain(self, path, *args)

        monkeypatch.setattr(LocalStorage, name, read)

    counted("read")
    counted("open_input")
    return found


def day(number: int) -> str:
    return f"d{number:05}"


@pytest.fixture
def days(tmp_path: Path) -> tc.Table:
    """Ten commits of twenty partitions each, one file a partition."""
    catalog = new_catalog(tmp_path.as_uri())
    catalog.create_table("d.t", DAYS, partition_by=("day",), options={"bucket": "-1"})
    for commit in range(10):
        with catalog.table("d.t").write() as writer:
            names = [day(commit * 20 + number) for number in range(20)]
            writer.write(pa.table([names, range(20)], schema=DAYS))
            writer.commit()
    return catalog.table("d.t")


@pytest.mark.parametrize(
    ("where", "manifests", "files"),
    [
        ("day = 'd00045'", 1, 1),
        ("day IN ('d00045', 'd00199')", 2, 2),
        ("day >= 'd00190' AND id < 15", 1, 5),
        ("day = 'd99999'", 0, 0),
        ("id = 3", 10, 10),
    ],
)
def test_only_manifests_and_files_that_match_are_opened(
    days: tc.Table, opened: Counter[str], where: str, manifests: int, files: int
) -> None:
    found = tc.open_table(days.uri).read(where=where).to_arrow()
    assert opened["data"] == files == len(set(found["day"].to_pylist()))
    assert opened["manifest"] - opened["manifest-list"] == manifests + 2, "and two lists"


def test_a_manifest_is_read_again_whole_once_and_then_remembered(
    days: tc.Table, opened: Counter[str]
) -> None:
    counts = []
    for number in (45, 46, 47, 47):
        before = opened["manifest"]
        assert days.read(where=f"day = '{day(number)}'").to_arrow().num_rows == 1
        counts.append(opened["manifest"] - before)
    assert counts[1] >= 1
    assert counts[2:] == [0, 0]


class Remote(LocalStorage):
    """The same files, told to be elsewhere; they come once eight are asked for at a time."""

    together = Barrier(8)

    @property
    def uri(self) -> str:
        return f"far://{self.root}"

    def read(self, path: str) -> bytes:
        if path.startswith("manifest/manifest-") and "list" not in path:
            self.together.wait(30)
        return super().read(path)

    def open_input(self, path: str, size: int | None = None) -> Any:
        self.together.wait(30)
        return super().open_input(path, size)


def elsewhere(table: tc.Table) -> tc.Table:
    """``table`` in a remote store."""
    storage = Remote(table.access.storage.root)
    return tc.Table(replace(table.access, storage=storage, metadata=Metadata(storage)))


def test_a_remote_store_is_asked_for_several_files_at_once(days: tc.Table) -> None:
    scan = elsewhere(days).read(where="day >= 'd00040'")
    assert scan.to_arrow() == days.read(where="day >= 'd00040'").to_arrow()
    assert scan.explain().manifests - scan.explain().manifests_pruned == 8


def test_what_is_merged_is_not_read_so_often_at_once_for_each_takes_memory(tmp_path: Path) -> None:
    catalog = new_catalog(tmp_path.as_uri())
    options = {"bucket": "16", "write-only": "true"}
    keyed = catalog.create_table("d.k", KEYED, primary_key=("id",), options=options)
    for _ in range(2):
        write_rows(keyed, pa.table([range(100)], schema=KEYED))
    scan = elsewhere(keyed).read()
    assert isinstance(scan.own_reader, SplitReader)
    assert scan.own_reader.at_once(keyed.read().splits()) == 4
    keyed.compact(strategy="full")
    assert scan.own_reader.at_once(keyed.read().splits()) == 8
