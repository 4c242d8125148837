"""Where keys are is looked up when rows are written; another commit must not have changed it meanwhile."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import CommitConflictError
from table_core.table.commit_io.prepared import WriteResult
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("p", pa.int64(), nullable=False),
        ("v", pa.int64()),
    ]
)
NUMBERS = itertools.count()
Row = tuple[int, int, int]


def table_of(*key: str, **options: str) -> tc.Table:
    catalog = new_catalog(f"memory://keys-that-moved-{next(NUMBERS)}")
    names = {"room": "dynamic-bucket.target-row-num", "merge_engine": "merge-engine"}
    given = {names[name]: value for name, value in options.items()}
    return catalog.create_table(
        "d.t", SCHEMA, primary_key=key, partition_by=("p",), options={"bucket": "-1", **given}
    )


def prepared(table: tc.Table, *rows: Row) -> WriteResult:
    with table.write() as writer:
        writer.write(pa.table(list(map(list, zip(*rows, strict=True))), schema=SCHEMA))
        return writer.prepare()


def write(table: tc.Table, *rows: Row) -> None:
    table.commit([prepared(table, *rows)])


def read(table: tc.Table) -> list[Row]:
    rows = table.read().to_arrow()
    return sorted(zip(*(rows[name].to_pylist() for name in SCHEMA.names), strict=True))


def refused(table: tc.Table, results: Sequence[WriteResult]) -> None:
    before = table.latest_snapshot()
    with pytest.raises(CommitConflictError, match="keys-moved"):
        table.commit(results)
    assert table.latest_snapshot() == before


# ------------------------------------------------------------- keys that move between partitions
@pytest.mark.parametrize(
    ("engine", "last"),
    [
        ("deduplicate", (1, 3, 3)),
        ("partial-update", (1, 2, 3)),
        ("first-row", (1, 2, 2)),
    ],
)
def test_the_second_of_two_writers_of_a_key_looks_again(engine: str, last: Row) -> None:
    table = table_of("k", merge_engine=engine)
    first, second = prepared(table, (1, 2, 2)), prepared(table, (1, 3, 3))
    table.commit([first])
    refused(table, [second])
    write(table, (1, 3, 3))
    table.compact(strategy="full")
    assert read(table) == [last]


def test_a_compaction_moves_no_key() -> None:
    table = table_of("k")
    write(table, (1, 1, 1), (2, 1, 1))
    waiting = prepared(table, (1, 2, 2))
    assert table.compact(strategy="full").snapshot_after == 2
    table.commit([waiting])
    assert read(table) == [(1, 2, 2), (2, 1, 1)]


def test_an_overwrite_looks_nothing_up() -> None:
    table = table_of("k")
    with table.write(overwrite="table") as writer:
        writer.write(pa.table([[1], [2], [2]], schema=SCHEMA))
        waiting = writer.prepare()
    write(table, (1, 1, 1))
    table.commit([waiting], overwrite="table")
    assert read(table) == [(1, 2, 2)]


@pytest.mark.parametrize("later", [0, 1, 2])
def test_nobody_can_tell_where_keys_are_after_a_rollback(later: int) -> None:
    table = table_of("k")
    write(table, (1, 1, 1))
    write(table, (2, 1, 1))
    waiting = prepared(table, (2, 2, 2))
    table.rollback_to(1)
    for n in range(later):
        write(table, (10 + n, 1, 1))
    refused(table, [waiting])


@pytest.mark.parametrize("key", [("k",), ("k", "p")])
@pytest.mark.parametrize("seed", range(6))
def test_whoever_was_refused_writes_again_and_each_key_is_there_once(
    key: tuple[str, ...], seed: int
) -> None:
    draw, table, wanted = random.Random(seed), table_of(*key, room="3"), {}
    waiting: dict[str, tuple[list[Row], WriteResult]] = {}
    for step in range(25):
        name = draw.choice("abc")
        if draw.random() < 0.15:
            table.compact(strategy="full")
        elif name in waiting:
            rows, result = waiting.pop(name)
            try:
                table.commit([result])
            except CommitConflictError:
                table.commit([prepared(table, *rows)])
            wanted |= {row[: len(key)]: row for row in rows}
        else:
            new = {n: (n, draw.randrange(2), step) for n in draw.sample(range(9), 3)}
            waiting[name] = list(new.values()), prepared(table, *new.values())
    assert read(table) == sorted(wanted.values())
    table.compact(strategy="full")
    assert read(table) == sorted(wanted.values())


# ------------------------------------------------------------------------------- dynamic buckets
def test_a_new_key_gets_one_bucket_although_two_writers_saw_it_first() -> None:
    table = table_of("k", "p", room="1")
    write(table, (1, 1, 1))
    first = prepared(table, (5, 1, 5))
    second = prepared(table, (6, 1, 6), (5, 1, 7))
    table.commit([first])
    refused(table, [second])
    write(table, (6, 1, 6), (5, 1, 7))
    assert read(table) == [(1, 1, 1), (5, 1, 7), (6, 1, 6)]


def test_two_writers_of_two_buckets_may_not_both_know_a_key_as_new() -> None:
    table = table_of("k", "p", room="2")
    write(table, (1, 1, 1))
    full, other = prepared(table, (2, 1, 2), (3, 1, 3)), prepared(table, (3, 1, 9))
    table.commit([other])
    refused(table, [full])


def test_known_keys_may_be_written_while_others_are_added() -> None:
    table = table_of("k", "p")
    write(table, (1, 1, 1))
    update, insert = prepared(table, (1, 1, 2)), prepared(table, (2, 1, 2))
    table.commit([insert])
    table.commit([update])
    assert read(table) == [(1, 1, 2), (2, 1, 2)]


def test_keys_may_be_added_to_two_partitions_at_once() -> None:
    table = table_of("k", "p")
    first, second = prepared(table, (1, 1, 1)), prepared(table, (1, 2, 2))
    table.commit([first])
    table.commit([second])
    assert read(table) == [(1, 1, 1), (1, 2, 2)]


def test_a_known_key_is_not_known_any_more_after_an_overwrite() -> None:
    table = table_of("k", "p")
    write(table, (1, 1, 1), (1, 2, 1))
    here, there = prepared(table, (1, 1, 2)), prepared(table, (1, 2, 2))
    write_rows(table, pa.table([[3], [1], [3]], schema=SCHEMA), overwrite={"p": 1})
    refused(table, [here])
    table.commit([there])
    assert read(table) == [(1, 2, 2), (3, 1, 3)]


def test_two_writers_of_one_commit_that_add_keys_to_one_bucket_are_refused() -> None:
    table = table_of("k", "p")
    write(table, (1, 1, 1))
    table.commit([prepared(table, (1, 1, 2)), prepared(table, (2, 1, 2))])
    with pytest.raises(CommitConflictError, match="index-replaced"):
        table.commit([prepared(table, (3, 1, 3)), prepared(table, (3, 1, 4))])
    write(table, (3, 1, 5), (4, 1, 5))
    assert read(table) == [(1, 1, 2), (2, 1, 2), (3, 1, 5), (4, 1, 5)]


@pytest.mark.parametrize("overwrite", [None, "table"])
def test_two_writers_of_one_commit_do_not_put_a_key_into_two_partitions(
    overwrite: str | None,
) -> None:
    table, results = table_of("k"), []
    write(table, (1, 1, 1))
    for partition in (2, 3):
        with table.write(overwrite=overwrite) as writer:
            writer.write(pa.table([[1], [partition], [partition]], schema=SCHEMA))
            results.append(writer.prepare())
    with pytest.raises(CommitConflictError, match="keys-moved"):
        table.commit(results, overwrite=overwrite)
    assert read(table) == [(1, 1, 1)]
