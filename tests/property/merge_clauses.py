"""Random MERGE statements: clauses, and the rows that meet."""

from __future__ import annotations

import random

import pyarrow as pa

import table_core as tc

SCHEMA = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), ("a", pa.int64()), ("b", pa.string())]
)
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
