"""Old values come from the cache as they come from the files; and the cache keeps its limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_core as tc
from table_core.bucketing.key_filter import KeyFilter
from table_core.table.compact.lookup_cache import CACHE
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])
ROWS = 60_000


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    CACHE.clear()
    yield
    CACHE.clear()


def table(tmp_path: Path, name: str, **options: str) -> Any:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("d", if_not_exists=True)
    return catalog.create_table(
        f"d.{name}",
        SCHEMA,
        primary_key=("id",),
        options={
            "bucket": "1",
            **{k.replace("__", ".").replace("_", "-"): v for k, v in options.items()},
        },
    )


def write(table: Any, ids: Any, value: Any, kinds: str = "+I") -> None:
    rows = pa.table({"id": ids, "v": np.broadcast_to(value, len(ids))}, schema=SCHEMA)
    write_rows(table, rows.append_column("_ROW_KIND", pa.array([kinds] * len(ids))))


def filled(table: Any) -> Any:
    write(table, np.arange(0, 2 * ROWS, 2), np.random.default_rng(5).integers(0, 2**60, ROWS))
    for turn in range(1, 7):
        write(table, np.arange(turn, 2 * ROWS, 997), turn, "-D" if turn == 2 else "+U")
    return table


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_changes_are_the_same_with_the_cache_and_without(tmp_path: Path, vectors: str) -> None:
    options = {"changelog_producer": "lookup", "deletion_vectors__enabled": vectors}
    plain = filled(table(tmp_path, "plain", lookup__cache_max_memory_size="0 b", **options))
    assert CACHE.disk_bytes == 0
    cached = filled(table(tmp_path, "cached", **options))
    assert CACHE.disk_bytes > ROWS * 16
    ours, theirs = (
        t.changes(after=0, to=t.latest_snapshot().id).to_arrow() for t in (cached, plain)
    )
    assert ours.equals(theirs)
    assert ours.num_rows > ROWS
    assert cached.read().to_arrow().sort_by("id").equals(plain.read().to_arrow().sort_by("id"))


def test_what_is_too_much_or_too_old_goes(tmp_path: Path) -> None:
    producer = {"changelog_producer": "lookup"}
    filled(table(tmp_path, "small", lookup__cache_max_disk_size="1 kb", **producer))
    assert CACHE.disk_bytes == 0
    brief = filled(table(tmp_path, "brief", lookup__cache_file_retention="1 ms", **producer))
    CACHE._forget(brief.access.options, brief.access.clock.now_ms() + 60_000)
    assert CACHE.disk_bytes == 0
    filled(table(tmp_path, "unfiltered", lookup__cache__bloom__filter__enabled="false", **producer))
    assert CACHE.disk_bytes > 0


@given(st.sets(st.integers(-(2**31), 2**31 - 1), max_size=200))
def test_a_filter_holds_what_was_added(hashes: set[int]) -> None:
    keys = np.array(sorted(hashes), np.int32)
    known = KeyFilter.empty(len(keys), 0.05)
    known.add(keys)
    assert known.may_hold(keys).all()


def test_a_filter_holds_few_others() -> None:
    keys = np.random.default_rng(3).integers(-(2**31), 2**31, 20_000).astype(np.int32)
    known = KeyFilter.empty(10_000, 0.05)
    known.add(keys[:10_000])
    assert known.may_hold(keys[10_000:]).mean() < 0.08
    assert known.nbytes < 10_000
