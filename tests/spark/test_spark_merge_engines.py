"""Goal: a merge by tasks is what the statement says on every merge engine, as the embedded one is.

Method: the same merge on two equal tables, one by each engine: equal rows, or refused by both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core import errors
from tests.tables import write_rows

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("id", pa.int32(), nullable=False),
        ("v", pa.int64()),
        ("t", pa.string()),
    ]
)
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {"bucket": "2"},
    "dynamic": {"bucket": "-1"},
    "sequence": {"bucket": "1", "sequence.field": "v"},
    "partial-update": {"bucket": "2", "merge-engine": "partial-update"},
    "aggregation": {
        "bucket": "2",
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "aggregation.remove-record-on-delete": "true",
    },
    "first-row": {"bucket": "1", "merge-engine": "first-row"},
}
SOURCE = pa.table(
    {"p": ["a", "a", "b"], "id": [1, 9, 2], "v": [100, 900, 200], "t": ["x", "y", None]},
    schema=COLUMNS,
)
MOVE = pa.table({"id": pa.array([1], pa.int32()), "n": pa.array([50], pa.int32())})
STATEMENTS: dict[str, tuple[pa.Table, Any, list[tc.MergeClause]]] = {
    "upsert": (SOURCE, ["p", "id"], [tc.MatchedUpsert(), tc.NotMatchedInsert()]),
    "one column": (SOURCE, ["p", "id"], [tc.MatchedUpsert(values={"t": "'z'"})]),
    "add": (SOURCE, ["p", "id"], [tc.MatchedUpsert(values={"v": "target.v + source.v"})]),
    "lower": (SOURCE, ["p", "id"], [tc.MatchedUpsert(values={"v": "target.v - 1"})]),
    "null": (SOURCE, ["p", "id"], [tc.MatchedUpsert(values={"v": "NULL"})]),
    "move": (MOVE, ["id"], [tc.MatchedUpsert(values={"id": "source.n"})]),
    "partition": (MOVE, ["id"], [tc.MatchedUpsert(values={"p": "concat(target.p, 'x')"})]),
    "collide": (MOVE, ["id"], [tc.MatchedUpsert(values={"id": "2"})]),
    "delete": (MOVE, ["id"], [tc.MatchedDelete()]),
}


def made(catalog: tc.Catalog, name: str, engine: str) -> tc.Table:
    table = catalog.create_table(
        name, COLUMNS, primary_key=("p", "id"), partition_by=("p",), options=ENGINES[engine]
    )
    rows = {"p": list("aabb"), "id": [1, 2, 1, 2], "v": [1, 2, 3, 4], "t": ["k", "l", None, "m"]}
    write_rows(table, pa.table(rows, schema=COLUMNS))
    return table


def outcome(table: tc.Table, do: Callable[[], Any]) -> Any:
    head = table.latest_snapshot()
    try:
        done = do()
    except (errors.UnsupportedFeatureError, errors.DataError) as error:
        assert table.latest_snapshot() == head
        return type(error).__name__
    rows = table.read().to_arrow().to_pylist()
    return sorted(map(repr, rows)), done.details["rows_by_clause"]


CASES = {
    "deduplicate": ("upsert", "move", "collide"),
    "dynamic": ("move", "delete"),
    "sequence": ("lower",),
    "partial-update": ("one column", "null"),
    "aggregation": ("one column", "add", "partition"),
    "first-row": ("null",),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_merge_by_tasks_does_what_the_embedded_one_does(
    spark: Any, catalog: tc.Catalog, engine: str
) -> None:
    for number, name in enumerate(CASES[engine]):
        source, on, when = STATEMENTS[name]
        one, two = (made(catalog, f"d.{side}{number}", engine) for side in ("one", "two"))
        told = "concat(target.p, 'x')"
        if any(told in (getattr(c, "values", None) or {}).values() for c in when):
            embedded = [
                tc.MatchedUpsert(values={"p": "CASE target.p WHEN 'a' THEN 'ax' ELSE 'bx' END"})
            ]
        else:
            embedded = when
        expected = outcome(one, lambda: one.merge_into(source, on, embedded))  # noqa: B023
        frame = spark.createDataFrame(source)
        found = outcome(two, lambda: tcs.merge_into(spark, two, frame, on, when))  # noqa: B023
        assert found == expected, name


def test_null_and_kinds_are_stored_as_they_are(spark: Any, catalog: tc.Catalog) -> None:
    table = made(catalog, "d.t", "deduplicate")
    catalog.alter_table("d.t", [tc.UpdateColumnDefault("t", "new")])
    table = catalog.table("d.t")
    source = spark.createDataFrame(pa.table({"p": ["b", "c"], "id": pa.array([1, 7], pa.int32())}))
    when = [tc.MatchedUpsert(values={"v": "9"}), tc.NotMatchedInsert()]
    tcs.merge_into(spark, table, source, ["p", "id"], when)
    found = {(r["p"], r["id"]): (r["v"], r["t"]) for r in table.read().to_arrow().to_pylist()}
    assert found["b", 1] == (9, None)
    assert found["c", 7] == (None, "new")
