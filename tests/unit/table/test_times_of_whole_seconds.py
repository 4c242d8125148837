"""Stores whose listing has times of whole seconds, as S3's has: two files of one second are two files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

import table_core as tc
from table_core.ports import FileInfo
from table_core.storage.stores.faults import Faults, FaultyStorage
from table_core.table.maintenance.after_commit import run_maintenance
from tests.clocks import SetClock
from tests.tables import new_catalog, write_rows

NOW_MS = 1_800_000_000_000


class WholeSeconds(FaultyStorage):
    """A store that lists all files with one time; ``tags``: and with what else tells them apart."""

    tags = True

    def within(self, path: str) -> WholeSeconds:
        return type(self)(self.inner.within(path), self.faults)

    def list(self, folder: str) -> Iterator[FileInfo]:
        return map(self._seen, super().list(folder))

    def walk(self, folder: str) -> Iterator[FileInfo]:
        return map(self._seen, super().walk(folder))

    def _seen(self, info: FileInfo) -> FileInfo:
        return replace(info, modified_ms=NOW_MS, tag=info.tag if self.tags else "")


class WithoutTags(WholeSeconds):
    tags = False


def catalog_on(kind: type[WholeSeconds]) -> tc.Catalog:
    plain = new_catalog()
    return replace(plain, storage=kind(plain.storage, Faults.none()), clock=SetClock(NOW_MS))


@pytest.mark.parametrize("kind", [WholeSeconds, WithoutTags])
def test_an_old_handle_meets_a_table_that_was_made_anew_within_a_second(
    kind: type[WholeSeconds],
) -> None:
    catalog = catalog_on(kind)
    first = pa.schema([("k", pa.int64()), ("v", pa.string())])
    second = pa.schema([("k", pa.int64()), ("w", pa.string())])
    old = catalog.create_table("d.t", first)
    write_rows(old, pa.table({"k": [1], "v": ["a"]}, schema=first))
    catalog.drop_table("d.t")
    catalog.clock.at_ms += 5  # type: ignore[attr-defined]
    new = catalog.create_table("d.t", second)
    with pytest.raises(tc.errors.NotFoundError, match="another one is in its place"):
        write_rows(old, pa.table({"k": [2], "v": ["b"]}, schema=first))
    write_rows(new, pa.table({"k": [3], "w": ["c"]}, schema=second))
    assert new.read().to_arrow().to_pylist() == [{"k": 3, "w": "c"}]


def test_a_tag_that_was_replaced_within_a_second_expires_when_it_says_so() -> None:
    catalog = catalog_on(WholeSeconds)
    table = catalog.create_table("d.t", pa.schema([("k", pa.int64())]))
    write_rows(table, pa.table({"k": [1]}))
    table.tags.create("a", time_retained="9 d")
    run_maintenance(table.access, 1, frozenset())
    table.tags.replace("a", time_retained="2 d")
    catalog.clock.at_ms += 3 * 24 * 3_600_000  # type: ignore[attr-defined]
    run_maintenance(table.access, 1, frozenset())
    assert table.tags.list() == []
