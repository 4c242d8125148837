"""A write compacts beside another compaction and a strict expiry, which take the files that it reads.

Mutants: the compaction is not begun again; what the first try wrote stays; a file that is lost is tried for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.storage.stores.faults import Call, Faults, FaultyStorage
from table_core.table.metadata.documents import Metadata
from tests.tables import rows_of
from tests.unit.key_tables import create, put

EAGER = {"num-sorted-run.compaction-trigger": "2", "write-only": "false"}


def rival(table: Any) -> None:
    """Another one compacts, and an expiry keeps nothing of before."""
    table.compact(strategy="full")
    table.expire_snapshots(retain_max=1, retain_min=1)


def taken(table: Any, other: Callable[[int], object], *, times: int) -> tc.Table:
    """``table`` as a writer sees it that compacts; before it opens a data file, ``other`` runs, so many times."""
    met, running = 0, False

    def meanwhile(call: Call) -> None:
        nonlocal met, running
        if not running and call.name == "open_input" and met < times:
            met, running = met + 1, True
            other(met)
            running = False

    storage = FaultyStorage(table.access.storage, Faults(meanwhile))
    access = replace(table.access, storage=storage, metadata=Metadata(storage))
    return tc.Table(access.with_options(EAGER))


def data_files(table: Any) -> set[str]:
    names = (info.path.rpartition("/")[2] for info in table.access.storage.walk("bucket-0"))
    return {name for name in names if name.startswith("data-")}


@pytest.mark.parametrize("producer", ["none", "lookup", "full-compaction"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_write_compacts_what_is_there_after_an_expiry_took_what_it_read(
    producer: str, times: int
) -> None:
    table = create(changelog_producer=producer)
    put(table, 1)
    put(table, 2)

    def other(met: int) -> None:
        put(table, 10 + met)
        rival(table)

    put(taken(table, other, times=times), 3)
    keys = [1, 2, 3, *(11 + n for n in range(times))]
    assert rows_of(table) == [(key, key) for key in sorted(keys)]
    if producer == "lookup":  # others need not compact the one file that is there with the new one
        assert table.latest_snapshot().commit_kind.value == "COMPACT"
    table.expire_snapshots(retain_max=1, retain_min=1)
    live = {file["file_path"].rpartition("/")[2] for file in files_of(table)}
    assert data_files(table) == live


def files_of(table: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.system("files").to_arrow().to_pylist()
    return rows


def test_rows_are_committed_although_others_are_always_first() -> None:
    table = create()
    put(table, 1)
    put(table, 2)

    def other(met: int) -> None:
        put(table, 10 + met)
        rival(table)

    put(taken(table, other, times=5), 3)
    assert (3, 3) in rows_of(table)
    assert table.latest_snapshot().commit_kind.value == "APPEND"


def test_a_file_that_the_newest_snapshot_needs_and_is_lost_is_an_error() -> None:
    table = create()
    put(table, 1)
    put(table, 2)
    [lost, *_] = [info.path for info in table.access.storage.walk("bucket-0")]
    table.access.storage.delete([lost])
    with pytest.raises(tc.errors.FilesExpiredError, match="the newest snapshot needs it"):
        put(taken(table, lambda _: None, times=0), 3)
    assert table.latest_snapshot().id == 2
    assert len(data_files(table)) == 1


def test_one_row_is_still_one_row() -> None:
    """The compacted state has the newest version of a key, whichever try wrote it."""
    table = create()
    put(table, 1)
    put(table, 1)

    def other(_: int) -> None:
        put(table, 1)
        rival(table)

    put(taken(table, other, times=1), 1)
    assert pa.table({"k": [1], "v": [1]}).to_pylist() == table.read().to_arrow().to_pylist()
