"""Random statements on a table of each merge engine, beside a model that knows the engine's rule."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import table_core as tc
from table_core import errors
from tests.tables import write_rows

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("id", pa.int32(), nullable=False),
        ("s", pa.int32()),
        ("v", pa.int64()),
        ("w", pa.float64()),
        ("t", pa.string()),
    ]
)
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "deduplicate by sequence": {"sequence.field": "s"},
    "deduplicate downwards": {"sequence.field": "s", "sequence.field.sort-order": "descending"},
    "partial-update": {"merge-engine": "partial-update"},
    "partial-update that deletes": {
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
    },
    "partial-update by sequence": {
        "merge-engine": "partial-update",
        "sequence.field": "s",
        "partial-update.remove-record-on-delete": "true",
    },
    "partial-update in groups": {
        "merge-engine": "partial-update",
        "fields.s.sequence-group": "v,t",
        "fields.v.aggregate-function": "sum",
    },
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "fields.w.aggregate-function": "max",
        "fields.t.aggregate-function": "last_value",
    },
    "aggregation that deletes": {
        "merge-engine": "aggregation",
        "aggregation.remove-record-on-delete": "true",
        "sequence.field": "s",
        "fields.v.aggregate-function": "sum",
        "fields.t.aggregate-function": "listagg",
    },
    "first-row": {"merge-engine": "first-row"},
}
PRODUCERS = ("none", "input", "lookup", "full-compaction")
Row = dict[str, Any]
Key = tuple[str, int]


def cases() -> list[tuple[str, str, str]]:
    found = []
    for engine in ENGINES:
        for producer in PRODUCERS:
            if engine == "first-row" and producer in ("input", "full-compaction"):
                continue
            with_vectors = producer in ("none", "lookup") and engine != "first-row"
            found.append((engine, producer, "false"))
            if with_vectors and len(found) % 2:
                found[-1] = (engine, producer, "true")
    return found


def row(chance: random.Random, p: str, id: int) -> Row:
    return {
        "p": p,
        "id": id,
        "s": chance.choice([None, 1, 2, 3]),
        "v": chance.choice([None, 0, 1, 5]),
        "w": chance.choice([None, 0.5, -1.0, float("nan")]),
        "t": chance.choice([None, "x", "y"]),
    }


def table_of(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def state(table: tc.Table) -> dict[Key, str]:
    found = table.read().to_arrow().to_pylist()
    assert len({(r["p"], r["id"]) for r in found}) == len(found)
    return {(r["p"], r["id"]): repr(r) for r in found}


def told(model: dict[Key, Row]) -> dict[Key, str]:
    return {key: repr(row) for key, row in model.items()}


UPDATES: tuple[tuple[dict[str, str], Callable[[Row], Row]], ...] = (
    ({"v": "v + 1"}, lambda r: {"v": None if r["v"] is None else r["v"] + 1}),
    ({"v": "7", "t": "'z'"}, lambda r: {"v": 7, "t": "z"}),
    ({"v": "NULL"}, lambda r: {"v": None}),
    ({"w": "2.5"}, lambda r: {"w": 2.5}),
    ({"t": "'q'"}, lambda r: {"t": "q"}),
    ({"s": "s + 1", "v": "3"}, lambda r: {"s": None if r["s"] is None else r["s"] + 1, "v": 3}),
    ({"s": "1"}, lambda r: {"s": 1}),
    ({"s": "9", "t": "NULL"}, lambda r: {"s": 9, "t": None}),
)


class Step:
    """One statement: on the table, and on a copy of the model."""

    def __init__(self, chance: random.Random, model: dict[Key, Row]) -> None:
        self.model = {key: dict(row) for key, row in model.items()}
        kind = chance.choice(["update", "delete", "merge", "merge", "move", "by another column"])
        self.kind = kind
        self.run: Callable[[tc.Table], Any] = getattr(self, "_" + kind.replace(" ", "_"))(chance)

    def _update(self, chance: random.Random) -> Callable[[tc.Table], Any]:
        (values, change), below = chance.choice(UPDATES), chance.randint(1, 6)
        for row in self.model.values():
            if row["id"] < below:
                row |= change(row)
        return lambda table: table.update(values, f"id < {below}")

    def _delete(self, chance: random.Random) -> Callable[[tc.Table], Any]:
        id = chance.randint(0, 5)
        self.model = {key: row for key, row in self.model.items() if key[1] != id}
        return lambda table: table.delete(f"id = {id}")

    def _merge(self, chance: random.Random) -> Callable[[tc.Table], Any]:
        keys = chance.sample([(p, id) for p in "ab" for id in range(8)], 4)
        source = [row(chance, *key) for key in keys]
        chosen = chance.choice([None, *UPDATES])
        for new in source:
            key = (new["p"], new["id"])
            old = self.model.get(key)
            if old is None or chosen is None:
                self.model[key] = dict(new)
            else:
                old |= chosen[1](old)
        values = None
        if chosen is not None:
            values = {
                n: t.replace("s +", "target.s +").replace("v +", "target.v +")
                for n, t in chosen[0].items()
            }
        when = [tc.MatchedUpsert(values=values), tc.NotMatchedInsert()]
        return lambda table: table.merge_into(table_of(source), ["p", "id"], when)

    def _move(self, chance: random.Random) -> Callable[[tc.Table], Any]:
        """Keys and partitions change: all rows of one id go up by 100, or to the other partition."""
        id = chance.randint(0, 5)
        to = chance.choice([{"id": "target.id + 100"}, {"p": "'c'"}, {"id": "source.n", "v": "1"}])
        source = pa.table({"id": pa.array([id], pa.int32()), "n": pa.array([50], pa.int32())})
        moved = [key for key in self.model if key[1] == id]
        for key in moved:
            new = self.model.pop(key)
            if "p" in to:
                new["p"] = "c"
            elif "v" in to:
                new |= {"id": 50, "v": 1}
            else:
                new["id"] += 100
            where = (new["p"], new["id"])
            if where in self.model:
                self.model = {("collision", 0): new}
                break
            self.model[where] = new
        return lambda table: table.merge_into(source, ["id"], [tc.MatchedUpsert(values=to)])

    def _by_another_column(self, chance: random.Random) -> Callable[[tc.Table], Any]:
        """The source brings a key of its own: rows with that text get it."""
        source = pa.table({"t": ["z"], "ID": pa.array([chance.randint(0, 60)], pa.int32())})
        new_id = source["ID"][0].as_py()
        mine = [key for key, row in self.model.items() if row["t"] == "z"]
        for key in mine:
            new = self.model.pop(key) | {"id": new_id}
            if (new["p"], new_id) in self.model:
                self.model = {("collision", 0): new}
                break
            self.model[new["p"], new_id] = new
        return lambda table: table.merge_into(source, ["t"], [tc.MatchedUpsert()])


def walk(
    catalog: tc.Catalog,
    engine: str,
    producer: str,
    vectors: str,
    *,
    steps: int,
    by: Callable[[tc.Table], Any] = lambda table: table,
) -> Counter[str]:
    """Take ``steps`` statements on a new table, carried out ``by`` an engine; how they ended.

    After each the table is what the statement says, or it was refused and the table is as it was.
    """
    chance = random.Random(f"{engine} {producer} {vectors}")
    options = {
        "bucket": chance.choice(["1", "2"]),
        "changelog-producer": producer,
        "deletion-vectors.enabled": vectors,
        **ENGINES[engine],
    }
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("p", "id"), partition_by=("p",), options=options
    )
    for _ in range(2):
        write_rows(
            table, table_of([row(chance, p, id) for p in "ab" for id in chance.sample(range(6), 4)])
        )
    outcomes = Counter[str]()
    for _ in range(steps):
        before = state(table)
        model = {(r["p"], r["id"]): r for r in table.read().to_arrow().to_pylist()}
        step = Step(chance, model)
        head = table.latest_snapshot()
        try:
            step.run(by(table))
        except (errors.UnsupportedFeatureError, errors.DataError) as error:
            outcomes[type(error).__name__] += 1
            assert table.latest_snapshot() == head
            assert state(table) == before
            if engine == "deduplicate":
                assert isinstance(error, errors.DataError), error
                assert ("collision", 0) in step.model
            continue
        outcomes["done"] += 1
        assert state(table) == told(step.model), (step.kind, engine)
        if chance.random() < 0.3:
            table.compact(strategy="full")
            assert state(table) == told(step.model), f"compacted after {step.kind}"
    return outcomes
