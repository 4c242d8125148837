"""A bucket of any number of runs is read and compacted with few of them open, and comes to the same rows."""

from __future__ import annotations

import gc
import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.datatypes.pieces import pieces
from table_core.errors import CorruptFileError, OptionError
from table_core.merge.engines.sort_only import SortOnly
from table_core.merge.sort import KeyOrder
from table_core.table.files.merging import MergeLimits, merge_in_passes, refuse_wide_row
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), ("n", pa.int64()), ("v", pa.string())]
)
KINDS = pa.field("_ROW_KIND", pa.string())
RUNS = 23
ENGINES = {
    "deduplicate": {},
    "sequence": {"sequence.field": "n"},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.n.aggregate-function": "sum",
        "fields.v.aggregate-function": "listagg",
    },
    "marked": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup"},
}


def runs_of(seed: int, *, retracts: bool) -> list[pa.Table]:
    draw = random.Random(seed)
    found = []
    for number in range(RUNS):
        rows = [
            {
                "k": draw.randint(0, 30),
                "n": draw.choice([None, number, draw.randint(0, 9)]),
                "v": draw.choice([None, f"v{number}"]),
                "_ROW_KIND": draw.choice(["+I", "-D"]) if retracts else "+I",
            }
            for _ in range(draw.randint(1, 20))
        ]
        found.append(pa.Table.from_pylist(rows, schema=pa.schema([*SCHEMA, KINDS])))
    return found


def filled(runs: list[pa.Table], options: dict[str, str]) -> tc.Table:
    catalog = new_catalog()
    table = catalog.create_table(
        "d.t",
        SCHEMA,
        primary_key=("k",),
        options={"bucket": "1", "write-only": "true", "file.format": "avro", **options},
    )
    for rows in runs:
        write_rows(table, rows)
    return table


def rows_of(table: tc.Table) -> list[dict[str, object]]:
    return sorted(table.read().to_arrow().to_pylist(), key=lambda row: row["k"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("threshold", ["2", "5"])
def test_few_runs_at_once_come_to_what_all_at_once_come_to(engine: str, threshold: str) -> None:
    options = ENGINES[engine]
    runs = runs_of(1, retracts=engine in {"deduplicate", "sequence", "marked", "lookup"})
    tables = [filled(runs, {**options, "sort-spill-threshold": n}) for n in ("1000", threshold)]
    merged = [rows_of(table) for table in tables]
    assert merged[0] == merged[1]
    for table in tables:
        table.compact(strategy="full")
    compacted = [rows_of(table) for table in tables]
    assert compacted[0] == compacted[1]
    assert len(compacted[0]) > 10


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 9, 10, 30])
def test_runs_are_merged_in_their_order_in_as_many_passes_as_it_takes(count: int) -> None:
    opened = closed = 0

    def run(number: int):
        nonlocal opened, closed
        opened += 1
        assert opened - closed <= 3
        try:
            for key in range(5):
                yield pa.record_batch(
                    {
                        "k": pa.array([key], pa.int64()),
                        "_SEQUENCE_NUMBER": pa.array([0], pa.int64()),
                        "_VALUE_KIND": pa.array([0], pa.int8()),
                        "run": pa.array([number]),
                    }
                )
        finally:
            closed += 1

    order = SortOnly(KeyOrder(("k",)))
    merged = merge_in_passes([run(n) for n in range(count)], order, at_once=3, memory=1 << 20)
    rows = pa.concat_tables(merged).to_pylist()
    assert [(row["k"], row["run"]) for row in rows] == [
        (k, n) for k in range(5) for n in range(count)
    ]
    assert opened == closed == count


def test_a_compaction_that_fails_gives_its_open_files_back_at_once(tmp_path: Path) -> None:
    catalog = new_catalog(tmp_path.as_uri())
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)
    for number in range(20):
        write_rows(table, pa.table([[1, 2], [number] * 2, ["x"] * 2], schema=SCHEMA))
    damaged = sorted(tmp_path.rglob("data-*.parquet"))[10]
    damaged.write_bytes(damaged.read_bytes()[:-30] + b"x" * 30)
    gc.disable()
    try:
        before = len(os.listdir("/proc/self/fd"))
        errors = []
        for verb in (lambda: table.read().to_arrow(), lambda: table.compact(strategy="full")):
            with pytest.raises(CorruptFileError) as caught:
                verb()
            errors.append(caught)
            assert len(os.listdir("/proc/self/fd")) <= before
    finally:
        gc.enable()


def test_a_row_that_does_not_fit_is_refused_and_the_option_is_named() -> None:
    refuse_wide_row(1 << 20, 1, "read.memory-limit", 4)
    with pytest.raises(OptionError, match=r"read\.memory-limit.*too small for one row") as caught:
        refuse_wide_row(100 << 20, 64 << 20, "read.memory-limit", 4)
    assert caught.value.facts["option"] == "read.memory-limit"
    limits = MergeLimits.of_read(new_options("1 mb"), shares=1)
    assert limits.batch_bytes(2) == 1 << 18


def test_of_wide_rows_fewer_runs_are_merged_at_once_before_a_row_is_refused() -> None:
    def at_once(row_bytes: int, limit: str) -> int:
        file = SimpleNamespace(file_size=4 * row_bytes, row_count=4)
        runs: Any = [SimpleNamespace(files=[file])] * 40
        limits = MergeLimits.of_read(new_options(limit), shares=1)
        return limits.at_once(runs, ())

    assert at_once(1_000, "256 mb") == 40
    assert 2 < at_once(1 << 20, "256 mb") < 40
    assert at_once(30 << 20, "256 mb") == 2
    assert at_once(1 << 20, "1 gb") == 40


def test_a_row_is_in_memory_more_often_where_changes_are_told_of_or_a_stripe_is_encoded() -> None:
    def copies(**options: str) -> int:
        return MergeLimits.of_compaction(new_options("1 gb", **options)).copies

    plain = copies()
    assert copies(**{"changelog-producer": "full-compaction"}) > plain
    assert copies(**{"deletion-vectors.enabled": "true"}) > plain
    assert copies(**{"file.format": "orc"}) > plain


def new_options(limit: str, **more: str):
    options = {"read.memory-limit": limit, "bucket": "1", **more}
    table = new_catalog().create_table("d.o", SCHEMA, primary_key=("k",), options=options)
    return table.access.options


def test_pieces_have_the_bytes_that_are_asked_for_however_uneven_the_rows() -> None:
    table = pa.table({"v": ["x" * (10_000 if number % 50 == 0 else 10) for number in range(1000)]})
    found = list(pieces(table, 20_000))
    assert pa.concat_tables(found) == table
    assert max(piece.nbytes for piece in found) <= 20_000
    assert [piece.num_rows for piece in pieces(table, 1)] == [1] * 1000
