"""A folder in place of a snapshot is refused; an object that a server lists as a folder for a moment is none.

MinIO keeps an object in a folder of its own, and lists that while the object is written or deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import table_core as tc
from table_core.ports import FileInfo
from table_core.storage.stores.faults import Faults, FaultyStorage
from table_core.table.metadata.documents import Metadata
from tests.tables import new_catalog
from tests.unit.key_tables import SCHEMA, create, keys, put


class Busy(FaultyStorage):
    """Snapshot 9 is listed as a folder, once."""

    listed = False

    def list(self, folder: str) -> Iterator[FileInfo]:
        yield from super().list(folder)
        if folder == "snapshot" and not self.listed:
            self.listed = True
            yield FileInfo(path="snapshot/snapshot-9", size=0, modified_ms=0, is_dir=True)


def test_an_object_that_is_deleted_and_listed_as_a_folder_is_neither() -> None:
    table = create()
    put(table, 1)
    put(table, 2)
    storage = Busy(table.access.storage, Faults.none())
    busy = tc.Table(replace(table.access, storage=storage, metadata=Metadata(storage)))
    assert busy.access.metadata.snapshot_ids() == [1, 2]
    assert storage.listed
    busy.rollback_to(snapshot=1)
    assert keys(table) == [1]


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_folder_in_place_of_a_snapshot_is_refused(tmp_path: Path, is_empty: bool) -> None:
    catalog = new_catalog(tmp_path.as_uri())
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    put(table, 1)
    folder = tmp_path / "d.db" / "t" / "snapshot" / "snapshot-9"
    folder.mkdir()
    if not is_empty:
        (folder / "file").write_bytes(b"x")
    with pytest.raises(tc.errors.CorruptFileError, match="a folder is there, and a file is due"):
        table.access.metadata.snapshot_ids()
