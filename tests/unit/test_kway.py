"""Merging runs as a stream: right at every edge, and never more than a batch of each in hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_core.merge.engines.engine import engine_for
from table_core.merge.engines.kway import merge_runs
from table_core.merge.sort import runs_of
from tests.merge_rows import kv, numbered, plain, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = schema_of({"k": "INT NOT NULL", "v": "INT"})
ENGINE = engine_for(SCHEMA)


def stream(table: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    return iter(table.to_batches(max_chunksize=size))


def rows_of(tables: Iterator[pa.Table]) -> list[tuple[Any, ...]]:
    return [row for table in tables for row in plain(table)]


runs = st.lists(st.lists(st.integers(0, 12), max_size=12).map(sorted), max_size=5)


@given(runs, st.integers(1, 4), st.randoms(use_true_random=False))
def test_agrees_with_a_merge_of_everything_at_once(
    keys: list[list[int]], size: int, random: Any
) -> None:
    """Keys repeat inside a run, across batches and across runs; runs come in any order."""
    number = 0
    tables = []
    for run in keys:
        rows = []
        for k in run:
            rows.append((number, random.choice(["+I", "-D"]), k, number))
            number += 1
        tables.append(numbered(SCHEMA, rows))
    everything = pa.concat_tables([kv(SCHEMA, []), *tables])
    want = plain(ENGINE.merge_runs(everything, runs_of(everything, ENGINE.order)))
    random.shuffle(tables)
    for window_bytes in (None, 1):
        streams = [stream(t, size) for t in tables]
        assert rows_of(merge_runs(streams, ENGINE, window_bytes=window_bytes)) == want


def test_holds_no_more_than_a_batch_of_each_run() -> None:
    held = peak = 0

    def counted(table: pa.Table) -> Iterator[pa.RecordBatch]:
        nonlocal held, peak
        for batch in table.to_batches(max_chunksize=100):
            held += batch.num_rows
            peak = max(peak, held)
            yield batch

    tables = [
        numbered(SCHEMA, [(i, "+I", k, i) for i, k in enumerate(range(run, 20_000, 4))])
        for run in range(4)
    ]
    total = 0
    for window in merge_runs([counted(t) for t in tables], ENGINE):
        held -= window.num_rows  # every key is unique here: what comes out was let go
        total += window.num_rows
    assert total == 20_000
    assert peak <= 4 * 200


def test_where_a_run_ends_no_window_does() -> None:
    tables = [
        numbered(SCHEMA, [(run * 1_000 + k, "+I", k, run) for k in range(500 - 7 * run)])
        for run in range(5)
    ]
    for size, count in ((500, 1), (250, 2)):
        windows = list(merge_runs([stream(t, size) for t in tables], ENGINE))
        assert len(windows) == count
        assert [row[1] for row in rows_of(iter(windows))] == list(range(500))


def test_a_window_is_as_large_as_asked_for_and_cuts_no_key() -> None:
    rows = [(i, "+I", i // 8, i) for i in range(8_000)]
    table = numbered(SCHEMA, rows)
    windows = list(merge_runs([stream(table, 8_000)], ENGINE, window_bytes=table.nbytes // 10))
    assert [key for _, key, _ in rows_of(iter(windows))] == list(range(1_000))
    assert len(windows) >= 5


def test_composite_keys_with_nulls_in_some_batches_only_come_in_order() -> None:
    schema = schema_of({"a": "INT", "b": "STRING", "v": "INT"}, key=("a", "b"))
    engine = engine_for(schema)
    keys = [(None, "x"), (1, None), (1, "a"), (1, "b"), (2, "a"), (2, "é")]
    tables = [
        numbered(schema, [(run, "+I", *key, run) for key in keys[run::2]]) for run in range(2)
    ]
    got = rows_of(merge_runs([stream(t, 1) for t in tables], engine, window_bytes=1))
    assert [row[1:3] for row in got] == keys


def test_a_single_run_passes_through_untouched() -> None:
    table = kv(SCHEMA, [("+I", k, k) for k in range(10)])
    [window] = merge_runs([stream(table, 100)], ENGINE)
    assert window == table


def test_nothing_gives_nothing() -> None:
    assert list(merge_runs([], ENGINE)) == []
    assert list(merge_runs([stream(kv(SCHEMA, []), 5)], ENGINE)) == []


def test_keys_with_nulls_zeros_and_nan_come_in_order() -> None:
    schema = schema_of({"k": "DOUBLE", "v": "INT"})
    engine = engine_for(schema)
    keys = [None, -1.0, -0.0, 0.0, 1.0, float("nan")]
    tables = [
        numbered(schema, [(run, "+I", k, run) for k in keys[run::2] + ([] if run else keys[5:])])
        for run in range(2)
    ]
    got = rows_of(merge_runs([stream(t, 1) for t in tables], engine))
    assert [str(k) for _, k, _ in got] == ["None", "-1.0", "-0.0", "0.0", "1.0", "nan"]
    assert got[-1][2] == 1
