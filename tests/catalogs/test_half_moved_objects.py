"""Goal: a rename on an object store that dies between two objects leaves whole tables alone, and ends when it
is called again; what is not a copy of ours is never replaced.

Method: our object store over fsspec's memory, whose n-th copy or deletion fails, before or after it happened.
"""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import table_core as tc
from table_core.errors import AlreadyExistsError, TableError
from table_core.storage.stores.object_store import ObjectStorage
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])


class Failing(MemoryFileSystem):
    """Copies and deletions are counted; one fails."""

    cachable = False

    def __init__(self, at: int = -1, after: bool = False) -> None:
        super().__init__()
        self.at, self.after, self.calls = at, after, 0

    def _then(self, do: Any) -> Any:
        self.calls, fails = self.calls + 1, self.calls == self.at
        if fails and not self.after:
            raise OSError("injected")
        found = do()
        if fails:
            raise OSError("injected")
        return found

    def cp_file(self, path1: str, path2: str, **options: Any) -> Any:
        return self._then(lambda: MemoryFileSystem.cp_file(self, path1, path2, **options))

    def rm(self, path: Any, recursive: bool = False, maxdepth: Any = None) -> Any:
        return self._then(lambda: MemoryFileSystem.rm(self, path, recursive, maxdepth))

    def rm_file(self, path: str) -> Any:
        return self._then(lambda: MemoryFileSystem.rm_file(self, path))


def over(fs: Failing, folder: str) -> tc.Catalog:
    like = tc.open_catalog(f"memory://{folder}")
    return replace(like, storage=ObjectStorage(fs, "memory", f"/{folder}"))


def filled(folder: str) -> tc.Catalog:
    catalog = over(Failing(), folder)
    catalog.storage.write(
        "d.db/.here", b"-"
    )  # a database is a folder, and an object store has none
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "1"})
    for key in (1, 2):
        write_rows(table, pa.table({"k": [key], "v": [key]}, schema=SCHEMA))
    return catalog


def failures() -> Iterator[tc.Catalog]:
    """The catalog after a rename has failed, at each of its requests."""
    for after in (False, True):
        for at in itertools.count():
            folder = uuid.uuid4().hex
            sound, fs = filled(folder), Failing(at, after)
            with contextlib.suppress(TableError):
                over(fs, folder).rename_table("d.t", "d.u")
            if fs.calls <= at:
                assert at > 5
                break
            yield sound


def test_a_rename_that_died_between_objects_leaves_whole_tables_alone_and_ends() -> None:
    """Both names are there for the moment between the last copy and the first deletion."""
    for catalog in failures():
        found = [name for name in ("t", "u") if name in catalog.tables("d")]
        assert found
        for name in found:
            assert catalog.table(f"d.{name}").read().to_arrow()["v"].to_pylist() == [1, 2]
        if len(found) == 2:
            with pytest.raises(AlreadyExistsError):
                catalog.rename_table("d.t", "d.u")
            catalog.drop_table("d.t")
        elif found == ["t"]:
            catalog.rename_table("d.t", "d.u")
        assert catalog.tables("d") == ["u"]
        assert catalog.table("d.u").read().to_arrow()["v"].to_pylist() == [1, 2]


def test_what_is_no_copy_of_the_table_is_not_replaced() -> None:
    catalog = filled(uuid.uuid4().hex)
    catalog.storage.write("d.db/u/notes.txt", b"mine")
    with pytest.raises(AlreadyExistsError):
        catalog.rename_table("d.t", "d.u")
    assert catalog.storage.read("d.db/u/notes.txt") == b"mine"
    assert catalog.table("d.t").read().to_arrow().num_rows == 2
