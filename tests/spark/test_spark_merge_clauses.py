"""Goal: ``merge_into`` by tasks does what it does embedded, on every engine, also where ``on`` is not the key.

Method: twins that are written alike; one is merged into by Spark, the other by the embedded engine, with random rows
and clauses.  Both must hold the same rows before and after a full compaction, or refuse alike.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.errors import TableError
from tests.lanes import sampled
from tests.property.merge_clauses import SCHEMA, clauses, rows
from tests.tables import write_rows

if TYPE_CHECKING:
    from collections.abc import Callable

ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "partial-update": {
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
    },
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.default-aggregate-function": "last_value",
        "aggregation.remove-record-on-delete": "true",
    },
    "sums": {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"},
    "first-row": {"merge-engine": "first-row"},
}
CASES = [
    case
    for case in itertools.product(
        ENGINES, ("none", "lookup", "full-compaction"), ("-2", "-1", "2"), ("k", "b", "a")
    )
    if case[:2] != ("first-row", "full-compaction")  # which is no table
]


def outcome(merge: Callable[..., Any], *said: Any) -> str:
    """Why it was refused; nothing if it was not."""
    try:
        merge(*said)
    except TableError as error:
        return f"{type(error).__name__}: {error.kind}"
    return ""


def rows_of(table: tc.Table) -> list[str]:
    return sorted(map(repr, table.read().to_arrow().to_pylist()))


@pytest.mark.parametrize(("engine", "producer", "bucket", "on"), sampled(CASES, 6))
def test_clauses_do_what_they_do_embedded(
    spark: Any, catalog: tc.Catalog, engine: str, producer: str, bucket: str, on: str
) -> None:
    chance = random.Random(f"{engine} {producer} {bucket} {on}")
    options = {**ENGINES[engine], "changelog-producer": producer, "bucket": bucket}
    tasks, embedded = (
        catalog.create_table(f"d.{name}", SCHEMA, primary_key=("k",), options=options)
        for name in ("tasks", "embedded")
    )
    first = rows(chance, chance.sample(range(9), 6))
    for table in (tasks, embedded):
        write_rows(table, first)
        table.compact(strategy="full")
    for _ in range(2):
        source = rows(chance, chance.sample(range(9), chance.randint(0, 7)))
        when, said = clauses(chance)
        want = outcome(embedded.merge_into, source, [on], when)
        frame = spark.createDataFrame(source)
        assert outcome(tcs.merge_into, spark, tasks, frame, [on], when) == want, said
        assert rows_of(tasks) == rows_of(embedded), said
        for table in (tasks, embedded):
            table.compact(strategy="full")
        assert rows_of(tasks) == rows_of(embedded), said


@pytest.mark.parametrize(
    ("type_", "keys", "moved"),
    [
        (pa.int64(), [7, 2**53 + 1], "CAST(source.n AS DOUBLE)"),
        (pa.int64(), [7, 8], "CAST(source.n AS STRING)"),
        (pa.date32(), [dt.date(2026, 1, 1), dt.date(2026, 1, 2)], "'2026-01-03'"),
        (pa.string(), ["07", "x"], "source.n"),
    ],
)
def test_rows_that_move_keep_the_keys_of_others(
    spark: Any, catalog: tc.Catalog, type_: pa.DataType, keys: list[Any], moved: str
) -> None:
    """A new key meets the old one, in which Spark would make both of one type, with loss."""
    schema = pa.schema([pa.field("k", type_, nullable=False), ("n", pa.int64())])
    tasks, embedded = (
        catalog.create_table(f"d.{name}", schema, primary_key=("k",), options={"bucket": "2"})
        for name in ("tasks", "embedded")
    )
    for table in (tasks, embedded):
        write_rows(table, pa.table([pa.array(keys, type_), [5, 9]], schema=schema))
    source = pa.table({"n": [9]})
    when = [tc.MatchedUpsert(values={"k": moved})]
    want = outcome(embedded.merge_into, source, ["n"], when)
    frame = spark.createDataFrame(source)
    assert outcome(tcs.merge_into, spark, tasks, frame, ["n"], when) == want
    assert rows_of(tasks) == rows_of(embedded)


@pytest.mark.parametrize("b", [[1], [2, 2], [3]])
def test_a_new_row_has_the_key_that_a_default_completes(
    spark: Any, catalog: tc.Catalog, b: list[int]
) -> None:
    schema = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in "abv"])
    for name in ("tasks", "embedded"):
        table = catalog.create_table(
            f"d.{name}", schema, primary_key=("a", "b"), options={"bucket": "2"}
        )
        write_rows(table, pa.table({"a": [5, 6], "b": [1, 1], "v": [10, 20]}, schema=schema))
        catalog.alter_table(table.name, [tc.UpdateColumnDefault("a", "5")])
    tasks, embedded = catalog.table("d.tasks"), catalog.table("d.embedded")
    source = pa.table(
        {"a": pa.array([None, 5][: len(b)], pa.int64()), "b": b, "v": [98, 99][: len(b)]}
    )
    when = [tc.NotMatchedInsert()]
    want = outcome(embedded.merge_into, source, ["a", "b"], when)
    assert outcome(tcs.merge_into, spark, tasks, source, ["a", "b"], when) == want
    assert rows_of(tasks) == rows_of(embedded)


def test_rows_of_arrow_are_those_that_the_embedded_engine_takes(
    spark: Any, catalog: tc.Catalog
) -> None:
    """As rows of files come to ``merge_into`` of a job, on either engine."""
    schema = pa.schema(
        [
            *[pa.field("k", pa.int64(), nullable=False), ("at", pa.timestamp("us"))],
            *[("z", pa.timestamp("us", tz="UTC")), ("n", pa.int64()), ("v", pa.string())],
        ]
    )
    tasks, embedded = (
        catalog.create_table(f"d.{name}", schema, primary_key=("k",), options={"bucket": "1"})
        for name in ("tasks", "embedded")
    )
    when = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
    night = dt.datetime(2026, 3, 29, 2, 30)
    for name, column in (
        ("at", pa.array([night, None], pa.timestamp("us"))),
        ("at", pa.array([1_000, None], pa.timestamp("ns"))),
        ("at", pa.array([1_001, None], pa.timestamp("ns"))),
        ("z", pa.array([1_001, None], pa.timestamp("ns", tz="UTC"))),
        ("z", pa.array([1_001, None], pa.timestamp("ms", tz="Europe/Berlin"))),
        ("n", pa.array([2**32 - 1, None], pa.uint32())),
        ("n", pa.nulls(2)),
        ("v", pa.array(["a", None], pa.string_view())),
        ("v", pa.array(["b", None]).dictionary_encode()),
    ):
        source = pa.table({"k": pa.array([1, 2], pa.int64()), name: column})
        want = outcome(embedded.merge_into, source, ["k"], when)
        assert outcome(tcs.merge_into, spark, tasks, source, ["k"], when) == want, column.type
        assert rows_of(tasks) == rows_of(embedded), column.type
    assert want == ""
