"""What names one partition reads the manifests of that one, however many others there are."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ondisk import manifest
from table_core.storage.stores.faults import Faults, FaultyStorage
from table_core.table.api.system_table import SystemTable
from table_core.table.metadata import documents
from table_core.table.metadata.remembered import Remembered
from table_core.table.system_tables import partition_listing
from tests.tables import write_rows

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("p", pa.int32(), nullable=False),
        ("v", pa.int64()),
    ]
)
PARTITIONS = 24
COUNTS = ("record_count", "file_count", "total_buckets")


@pytest.fixture(scope="module")
def stored() -> dict[str, bytes]:
    """The files of a catalog with a table of two commits a partition, of which the manifests stay as they are."""
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    options = {"bucket": "1", "write-only": "true", "manifest.merge-min-count": "1000"}
    made = catalog.create_table(
        "d.t", SCHEMA, primary_key=("k", "p"), partition_by=("p",), options=options
    )
    for n in range(2 * PARTITIONS):
        write_rows(made, pa.table([[n], [n % PARTITIONS], [n]], schema=SCHEMA))
    return {info.path: catalog.storage.read(info.path) for info in catalog.storage.walk("")}


@pytest.fixture
def table(stored: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> tuple[tc.Table, Faults]:
    """A copy of that table; nothing is remembered."""
    faults = Faults.none()
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    for path, body in stored.items():
        catalog.storage.write(path, body)
    catalog = replace(catalog, storage=FaultyStorage(catalog.storage, faults))
    monkeypatch.setattr(documents, "_MANIFESTS", Remembered(weight_max=0))
    monkeypatch.setattr(documents, "_COLUMNS", Remembered(weight_max=0))
    return catalog.table("d.t"), faults


VERBS: dict[str, Callable[[tc.Table], Any]] = {
    "drop": lambda t: t.drop_partitions([{"p": 7}]),
    "drop, dry": lambda t: t.drop_partitions([{"p": 7}], dry_run=True),
    "compact": lambda t: t.compact(partitions=[{"p": 7}]),
    "compact, minor": lambda t: t.compact(strategy="minor", partitions=[{"p": 7}]),
    "compact, dry": lambda t: t.compact(strategy="minor", partitions=[{"p": 7}], dry_run=True),
    "compact where": lambda t: t.compact(where="p = 7"),
    "mark": lambda t: t.mark_done([{"p": 7}]),
    "state": lambda t: t.partition({"p": 7}),
    "read": lambda t: t.read(where="p = 7").to_arrow(),
    "overwrite": lambda t: overwrite(t),
}


def overwrite(table: tc.Table) -> None:
    write_rows(table, pa.table([[1], [7], [1]], schema=SCHEMA), overwrite={"p": 7})


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets an item for each entry of a manifest that becomes an object."""
    found: list[int] = []
    for name in ("_file_from_record", "_lean_file"):
        real = getattr(manifest, name)
        monkeypatch.setattr(manifest, name, lambda *told, real=real: found.append(1) or real(*told))
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_of_one_partition_decodes_the_entries_of_that_one(
    verb: str, table: tuple[tc.Table, Faults], decoded: list[int]
) -> None:
    """Its result counts the files of the whole table, as columns: that makes no object of any."""
    VERBS[verb](table[0])
    assert len(decoded) <= 12


@pytest.mark.parametrize("name", ["files", "file_key_ranges", "partitions", "buckets"])
@pytest.mark.parametrize("where", ["partition = '{one}'", "partition LIKE '{one}'"])
def test_a_condition_on_the_partition_decodes_the_entries_of_that_one(
    name: str, where: str, table: tuple[tc.Table, Faults], decoded: list[int]
) -> None:
    handle, _ = table
    shown = SystemTable.of(handle.access, name)
    one = "p=7" if name == "partitions" else "{7}"
    whole = shown.read().to_arrow()
    assert whole.num_rows in {PARTITIONS, 2 * PARTITIONS}
    decoded.clear()
    found = shown.read(where=where.format(one=one) + " AND record_count > 0")
    rows = [row for row in whole.to_pylist() if row["partition"] == one]
    assert found.to_arrow().to_pylist() == rows
    assert len(rows) in {1, 2}
    assert len(decoded) <= 6
    none = shown.read(where="partition = 'nowhere'").to_arrow()
    assert none.num_rows == 0
    assert none.schema == whole.schema


@pytest.mark.parametrize("name", ["partitions", "buckets"])
def test_sums_are_made_of_columns(
    name: str, table: tuple[tc.Table, Faults], decoded: list[int]
) -> None:
    assert SystemTable.of(table[0].access, name).read().to_arrow().num_rows == PARTITIONS
    assert not decoded


def test_truncate_empties_all(table: tuple[tc.Table, Faults]) -> None:
    handle, _ = table
    handle.truncate()
    assert handle.read().to_arrow().num_rows == 0
    assert handle.live_partitions() == []


def test_partitions_are_counted_without_an_object_for_each_file(
    table: tuple[tc.Table, Faults], decoded: list[int]
) -> None:
    rows = SystemTable.of(table[0].access, "partitions").read().to_arrow()
    assert decoded == []
    assert rows["partition"].to_pylist() == sorted(f"p={n}" for n in range(PARTITIONS))
    assert set(zip(*(rows[name].to_pylist() for name in COUNTS), strict=True)) == {(2, 2, 1)}


@pytest.mark.parametrize("name", ["files", "file_key_ranges"])
def test_files_are_listed_some_partitions_at_a_time(
    name: str,
    table: tuple[tc.Table, Faults],
    decoded: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = SystemTable.of(table[0].access, name)
    whole = shown.read().to_arrow()
    monkeypatch.setattr(partition_listing, "_FILES_AT_ONCE", 6)
    decoded.clear()
    batches = shown.read().to_batches()
    first = next(batches)
    assert 0 < first.num_rows == len(decoded) <= 6
    parts = pa.Table.from_batches([first, *batches])
    assert parts.sort_by("file_path") == whole.sort_by("file_path")
    assert shown.read().to_arrow().num_rows == whole.num_rows
