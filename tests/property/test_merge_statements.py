"""Goal: ``merge_into`` does what SQL's MERGE does, whatever clauses there are and in whatever order.

Method: random target and source rows and random clauses, given to us and, as one statement, to DuckDB.
"""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pytest

import table_core as tc
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), ("a", pa.int64()), ("b", pa.string())]
)
TABLES = {
    "key": (("k",), {"bucket": "2"}),
    "key-lookup": (("k",), {"bucket": "1", "changelog-producer": "lookup"}),
    "append": ((), {"bucket": "-1"}),
    "append-vectors": ((), {"bucket": "-1", "deletion-vectors.enabled": "true"}),
}
BOTH = ("source.a > target.a", "target.b = 'x'", "source.k % 2 = 0", "source.a IS NULL")
VALUES = (
    {"a": "target.a + source.a"},
    {"a": "source.k * 10", "b": "'new'"},
    {"b": "CASE WHEN source.a IS NULL THEN 'none' WHEN source.a > 1 THEN source.b END"},
    {
        "a": "coalesce(target.a, source.a, 0) + 1",
        "b": "CASE source.b WHEN 'x' THEN 'z' ELSE 'w' END",
    },
    {"a": "CASE WHEN target.a <> 0 THEN 12 % target.a ELSE source.a END"},
)


def rows(chance: random.Random, keys: list[int]) -> pa.Table:
    return pa.table(
        [
            pa.array(keys, pa.int32()),
            pa.array([chance.choice([None, *range(-3, 4)]) for _ in keys], pa.int64()),
            pa.array([chance.choice([None, "x", "y"]) for _ in keys]),
        ],
        schema=SCHEMA,
    )


def clause(chance: random.Random) -> tuple[tc.MergeClause, str]:
    """A clause, for us and as SQL."""

    def maybe(conditions: tuple[str, ...]) -> tuple[str | None, str]:
        said = chance.choice([None, *conditions])
        return said, f" AND {said}" if said else ""

    def updates(values: dict[str, str]) -> str:
        return "UPDATE SET " + ", ".join(f"{name} = {text}" for name, text in values.items())

    match chance.choice(["upsert", "upsert", "delete", "insert", "insert", "update", "remove"]):
        case "upsert":
            (condition, text), values = maybe(BOTH), chance.choice([None, *VALUES])
            told = values or {name: f"source.{name}" for name in ("a", "b")}
            return tc.MatchedUpsert(values=values, condition=condition), (
                f"WHEN MATCHED{text} THEN {updates(told)}"
            )
        case "delete":
            condition, text = maybe(BOTH)
            return tc.MatchedDelete(condition=condition), f"WHEN MATCHED{text} THEN DELETE"
        case "insert":
            condition, text = maybe(("source.a > 0", "source.b IS NULL"))
            values = chance.choice([None, {"k": "source.k", "b": "'in'"}])
            told = values or {name: f"source.{name}" for name in SCHEMA.names}
            names, made = ", ".join(told), ", ".join(told.values())
            return tc.NotMatchedInsert(values=values, condition=condition), (
                f"WHEN NOT MATCHED{text} THEN INSERT ({names}) VALUES ({made})"
            )
        case "update":
            condition, text = maybe(("target.a < 0", "target.b IS NOT NULL"))
            values = chance.choice([{"a": "0"}, {"a": "target.k + 1", "b": "'old'"}])
            return tc.NotMatchedBySourceUpsert(values=values, condition=condition), (
                f"WHEN NOT MATCHED BY SOURCE{text} THEN {updates(values)}"
            )
        case _:
            condition, text = maybe(("target.a < 0", "target.k > 4"))
            return tc.NotMatchedBySourceDelete(condition=condition), (
                f"WHEN NOT MATCHED BY SOURCE{text} THEN DELETE"
            )


def clauses(chance: random.Random) -> tuple[list[tc.MergeClause], str]:
    """Clauses, for us and as SQL; behind one without condition comes no other of its case."""
    ours, theirs, done = [], [], set()
    for _ in range(chance.randint(1, 5)):
        mine, text = clause(chance)
        case = text.partition(" THEN")[0].partition(" AND")[0]
        if case not in done:
            ours.append(mine)
            theirs.append(text)
        if mine.condition is None:
            done.add(case)
    return ours, " ".join(theirs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", TABLES)
def test_clauses_do_what_they_do_in_sql(kind: str, seed: int) -> None:
    chance, (key, options) = random.Random(f"{kind} {seed}"), TABLES[kind]
    catalog = new_catalog()
    table = catalog.create_table("d.t", SCHEMA, primary_key=key, options=options)
    with duckdb.connect() as sql:
        first = rows(chance, chance.sample(range(9), 6))
        sql.execute("CREATE TABLE target AS FROM first")
        write_rows(table, first)
        for _ in range(4):
            source = rows(chance, chance.sample(range(9), chance.randint(0, 7)))
            ours, statement = clauses(chance)
            sql.execute(f"MERGE INTO target USING source ON target.k = source.k {statement}")
            table.merge_into(source, ["k"], ours)
            want = sql.execute("SELECT * FROM target ORDER BY ALL").fetchall()
            found = [tuple(row.values()) for row in table.read().to_arrow().to_pylist()]
            assert sorted(found, key=repr) == sorted(want, key=repr), statement
