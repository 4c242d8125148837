"""Goal: what our writers make of buckets, marks and spilled runs is a table to Apache Paimon.

Method: we write, both read; Paimon compacts, both read again.
"""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from judge import Judge, agree, judged

import table_core as tc

pytestmark = pytest.mark.interop

NAME = "default.t"
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        ("n", pa.int64()),
        ("text", pa.string()),
    ]
)
ENGINES = {
    "deduplicate": {},
    "partial-update": {},
    "aggregation": {"fields.n.aggregate-function": "sum"},
    "first-row": {"changelog-producer": "lookup"},
}


def opened(folder: Path) -> tc.Catalog:
    catalog = tc.open_catalog(folder.as_uri())
    catalog.create_database("default")
    return catalog


def rows(draw: random.Random, count: int = 40) -> pa.Table:
    days = pa.array([draw.choice([19_000, 19_001, 19_002]) for _ in range(count)], pa.int32())
    return pa.table(
        {
            "k": pa.array([draw.randint(0, 60) for _ in range(count)], pa.int64()),
            "day": days.cast(pa.date32()),
            "n": pa.array(
                [draw.choice([None, draw.randint(-9, 9)]) for _ in range(count)], pa.int64()
            ),
            "text": pa.array([draw.choice([None, "a", "bb"]) for _ in range(count)]),
        }
    )


def put(table: tc.Table, *parts: pa.Table) -> None:
    with table.write() as writer:
        for part in parts:
            writer.write(part)
        writer.commit()


def both_agree(table: tc.Table, paimon: Judge, folder: Path) -> None:
    theirs = paimon.table(folder, NAME).read()
    assert theirs
    agree(table.read().to_arrow(), theirs)


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_that_move_between_partitions(engine: str, paimon: Judge, tmp_path: Path) -> None:
    catalog, draw = opened(tmp_path), random.Random(engine)
    table = catalog.create_table(
        NAME,
        SCHEMA,
        primary_key=("k",),
        partition_by=("day",),
        options={"bucket": "-1", "merge-engine": engine, **ENGINES[engine]},
    )
    for _ in range(4):
        put(table, rows(draw))
        both_agree(table, paimon, tmp_path)
    paimon.table(tmp_path, NAME).compact()
    both_agree(table, paimon, tmp_path)
    put(table, rows(draw))
    both_agree(table, paimon, tmp_path)


@pytest.mark.parametrize(
    ("engine", "producer"),
    [
        *(("deduplicate", producer) for producer in ("none", "lookup", "full-compaction")),
        *(("partial-update", "lookup"), ("aggregation", "lookup"), ("first-row", "lookup")),
    ],
)
def test_keys_that_both_move_between_partitions(
    engine: str, producer: str, paimon: Judge, tmp_path: Path
) -> None:
    catalog, draw = opened(tmp_path), random.Random(f"{engine} {producer}")
    options = {
        "bucket": "-1",
        "merge-engine": engine,
        "dynamic-bucket.target-row-num": "9",
        **ENGINES[engine],
        "changelog-producer": producer,
    }
    table = catalog.create_table(
        NAME, SCHEMA, primary_key=("k",), partition_by=("day",), options=options
    )
    theirs = paimon.table(tmp_path, NAME)
    for _ in range(6):
        given = rows(draw)
        if draw.random() < 0.5:
            put(table, given)
        else:
            theirs.write(judged(given))
        what = draw.random()
        if what < 0.2:
            table.compact()
        elif what < 0.4:
            theirs.compact()
        both_agree(table, paimon, tmp_path)
        found = table.read(columns=["k"]).to_arrow()["k"]
        assert len(found) == len(found.unique()), "a key in two partitions"
    newest = table.latest_snapshot().id
    agree(table.changes(after=0, to=newest).to_arrow(), theirs.changes(0, newest))


@pytest.mark.parametrize("bitmap64", ["false", "true"])
@pytest.mark.parametrize("options", [{"bucket": "-1"}, {"bucket": "2", "bucket-key": "k"}])
def test_marked_rows_of_a_table_without_key(
    options: dict[str, str], bitmap64: str, paimon: Judge, tmp_path: Path
) -> None:
    catalog, draw = opened(tmp_path), random.Random(1)
    marks = {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": bitmap64}
    table = catalog.create_table(NAME, SCHEMA, partition_by=("day",), options={**options, **marks})
    for first in (0, 20, 40):
        put(table, rows(draw))
        table.delete(f"k in ({first}, {first + 1}, {first + 7})")
        table.update({"n": "n + 1"}, f"k > {first} and k < {first + 9}")
        both_agree(table, paimon, tmp_path)
    paimon.table(tmp_path, NAME).compact()
    both_agree(table, paimon, tmp_path)
    table.delete("k < 30")
    both_agree(table, paimon, tmp_path)


def test_another_number_of_buckets(paimon: Judge, tmp_path: Path) -> None:
    catalog, draw = opened(tmp_path), random.Random(2)
    table = catalog.create_table(
        NAME, SCHEMA, primary_key=("k", "day"), partition_by=("day",), options={"bucket": "1"}
    )
    put(table, rows(draw))
    table.rescale(3)
    table = catalog.table(NAME)
    both_agree(table, paimon, tmp_path)
    put(table, rows(draw))
    paimon.table(tmp_path, NAME).compact()
    both_agree(table, paimon, tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
def test_spilled_rows(engine: str, paimon: Judge, tmp_path: Path) -> None:
    catalog, draw = opened(tmp_path), random.Random(3)
    options = {"bucket": "2", "merge-engine": engine, **ENGINES[engine]}
    table = catalog.create_table(
        NAME, SCHEMA, primary_key=("k", "day"), partition_by=("day",), options=options
    )
    small = catalog.table(NAME, options={"write-buffer-size": "1 b"})
    put(small, *(rows(draw) for _ in range(9)))
    both_agree(table, paimon, tmp_path)
    paimon.table(tmp_path, NAME).compact()
    both_agree(table, paimon, tmp_path)
