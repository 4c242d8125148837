"""A random table: how it is declared, what is written to it, how its schema changes meanwhile."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from judge import KIND
from random_values import INTS, WIDER, any_type, value

import table_core as tc
from table_core.datatypes.text import type_from_json

Column = tuple[str, Any]
KEYS = (
    "BIGINT",
    "INT",
    "STRING",
    "DATE",
    "DECIMAL(5, 2)",
    "TIMESTAMP(3)",
    "VARCHAR(9)",
    "TIMESTAMP(6)",
)
PARTITIONS = ("STRING", "INT", "DATE", "BOOLEAN", "BIGINT", "VARCHAR(9)", "SMALLINT")
BLANKS = ("", " ", "a/b c", "süd", "x=1", "null", "__DEFAUL")
ENGINES = ("deduplicate", "deduplicate", "aggregation", "partial-update", "first-row")
FOLDS = ("sum", "min", "max", "last_value", "last_non_null_value", "first_value")
UNFIT = {
    "parquet": (),
    "avro": ("TIMESTAMP(9)",),  # Paimon's Avro has no nanoseconds
    "orc": ("TIME(", "MULTISET"),
}
"""Types that are not written in a format."""
UNORDERED = ("ARRAY", "MAP", "ROW", "MULTISET", "BOOLEAN", "BINARY", "BYTES", "VARBINARY")


@dataclass
class RandomTable:
    """Made from a seed alone.  ``columns`` change with ``alter``; keys and partitions stay."""

    seed: int
    chance: random.Random = field(init=False)
    columns: list[Column] = field(init=False)
    keys: list[str] = field(init=False)
    partitions: list[str] = field(init=False)
    options: dict[str, str] = field(init=False)
    fresh: int = 0

    def __post_init__(self) -> None:
        chance = self.chance = random.Random(self.seed)
        keyed = chance.random() < 0.7
        file_format = chance.choice(["parquet", "parquet", "orc", "avro"])
        self.partitions = [f"p{i}" for i in range(chance.choice([0, 0, 1, 2]))]
        parts = [(name, chance.choice(PARTITIONS)) for name in self.partitions]
        own = [(f"k{i}", chance.choice(KEYS)) for i in range(chance.choice([1, 1, 2]) * keyed)]
        self.avoid = UNFIT[file_format]
        rest = [(f"c{i}", any_type(chance, self.avoid)) for i in range(chance.randint(3, 8))]
        if keyed:
            parts, own = ([(n, f"{t} NOT NULL") for n, t in pairs] for pairs in (parts, own))
        self.keys = [name for name, _ in (*parts, *own)] if keyed else []
        self.columns = [*parts, *own, *rest]
        chance.shuffle(self.columns)
        self.options = {"file.format": file_format, "bucket": str(chance.randint(1, 4))}
        if chance.random() < 0.5:
            self.options["write-only"] = "true"
        if chance.random() < 0.3:
            self.options["metadata.stats-mode"] = chance.choice(["none", "counts", "full"])
        self._engine(own) if keyed else self._append()
        self.pools = {name: [value(chance, t) for _ in range(9)] for name, t in (*parts, *own)}
        for name, type_ in parts:
            if type_.startswith(("STRING", "VARCHAR")):
                self.pools[name] = list(BLANKS)
            if not keyed:
                self.pools[name].append(None)
            self.pools[name] = chance.sample(self.pools[name], 3)

    def _append(self) -> None:
        if self.chance.random() < 0.6:
            self.options["bucket"] = "-1"
        else:
            flat = [n for n, t in self.columns if isinstance(t, str) and n not in self.partitions]
            if flat:
                self.options["bucket-key"] = self.chance.choice(flat)
            else:
                self.options["bucket"] = "-1"

    def _engine(self, own: Sequence[Column]) -> None:
        engine = self.options["merge-engine"] = self.chance.choice(ENGINES)
        producers = {"deduplicate": ["none", "input", "full-compaction", "lookup"]}
        producer = self.chance.choice(producers.get(engine, ["none", "full-compaction", "lookup"]))
        if engine == "first-row":
            producer = self.chance.choice(["none", "lookup"])
        self.options["changelog-producer"] = producer
        rest = [c for c in self.columns if c[0] not in self.keys]
        if engine == "aggregation":
            self.options["fields.default-aggregate-function"] = "last_non_null_value"
            for name, type_ in rest:
                root = type_.partition("(")[0].partition(" ")[0] if isinstance(type_, str) else ""
                if self.chance.random() < 0.6:
                    fold = self.chance.choice(FOLDS)
                    numeric = root in (*INTS, "DECIMAL")
                    ordered = isinstance(type_, str) and not type_.startswith(UNORDERED)
                    if (fold == "sum" and not numeric) or (fold in ("min", "max") and not ordered):
                        fold = "last_value"
                    if fold != "sum" or root == "DECIMAL":  # sums of integers may overflow
                        self.options[f"fields.{name}.aggregate-function"] = fold
        elif engine == "deduplicate" and self.chance.random() < 0.4:
            ordered = [n for n, t in rest if isinstance(t, str) and not t.startswith(UNORDERED)]
            ordered = [n for n in ordered if dict(rest)[n] not in ("FLOAT", "DOUBLE")]
            if ordered:
                self.options["sequence.field"] = self.chance.choice(ordered)

    @property
    def fixed(self) -> set[str]:
        """Columns that stay as they are."""
        named = {k.split(".")[1] for k in self.options if k.startswith("fields.")}
        others = {self.options.get("sequence.field"), self.options.get("bucket-key")}
        return {*self.keys, *self.partitions, *named, *(o for o in others if o)}

    @property
    def folds_floats(self) -> bool:
        """Whether the least or greatest float is kept, of which pypaimon has an idea of its own."""
        floats = [n for n, t in self.columns if t in ("FLOAT", "DOUBLE")]
        folds = (self.options.get(f"fields.{name}.aggregate-function") for name in floats)
        return any(fold in ("min", "max") for fold in folds)

    def batch(self, schema: pa.Schema, rows: int = 24) -> pa.Table:
        """Rows in the table's present columns; of a key table each key once, some as deletes."""
        chance, seen, data = self.chance, set(), []
        for _ in range(rows):
            row = {
                name: chance.choice(self.pools[name])
                if name in self.pools
                else value(chance, type_)
                for name, type_ in self.columns
            }
            key = tuple(row[name] for name in self.keys)
            if not self.keys or key not in seen:
                data.append(row)
            seen.add(key)
        arrays = [pa.array([r[f.name] for r in data], f.type) for f in schema]
        table = pa.Table.from_arrays(arrays, schema=schema)
        if self.options.get("merge-engine") != "deduplicate":
            return table
        kinds = ["-D" if chance.random() < 0.15 else "+I" for _ in data]
        return table.append_column(KIND, pa.array(kinds))

    def alter(self) -> list[list[Any]]:
        """One schema change as the judge takes it, made in ``columns`` too; none if none fits."""
        chance = self.chance
        free = [(n, t) for n, t in self.columns if n not in self.fixed]
        what = chance.choice(["add", "add", "rename", "drop", "type", "move"])
        if what == "add":
            self.fresh += 1
            name, type_ = f"n{self.fresh}", any_type(chance, self.avoid)
            after = chance.choice([c[0] for c in self.columns])
            self.columns.insert([c[0] for c in self.columns].index(after) + 1, (name, type_))
            return [["add", name, type_, after]]
        if what == "move":
            moved = chance.choice(self.columns)
            others = [c for c in self.columns if c is not moved]
            at = chance.randint(0, len(others))
            if self.columns.index(moved) == at:
                return []
            self.columns = [*others[:at], moved, *others[at:]]
            return [["move", moved[0], others[at - 1][0] if at else None]]
        if what == "type":
            free = [(n, t) for n, t in free if isinstance(t, str) and t in WIDER]
        if not free or (what == "drop" and len(free) < 2):
            return []
        name, type_ = chance.choice(free)
        at = [c[0] for c in self.columns].index(name)
        if what == "drop":
            del self.columns[at]
            return [["drop", name]]
        if what == "rename":
            self.fresh += 1
            self.columns[at] = (f"r{self.fresh}", type_)
            return [["rename", name, f"r{self.fresh}"]]
        self.columns[at] = (name, chance.choice(WIDER[type_]))
        return [["type", *self.columns[at]]]


def our_changes(changes: Sequence[Sequence[Any]]) -> list[Any]:
    """The same schema changes for ``Catalog.alter_table``."""
    out: list[Any] = []
    for what, name, *more in changes:
        match what:
            case "add":
                out.append(tc.AddColumn(name, _type(more[0]), after=more[1]))
            case "drop":
                out.append(tc.DropColumn(name))
            case "rename":
                out.append(tc.RenameColumn(name, more[0]))
            case "type":
                out.append(tc.UpdateColumnType(name, _type(more[0])))
            case _:
                place = {"first": True} if more[0] is None else {"after": more[0]}
                out.append(tc.UpdateColumnPosition(name, **place))
    return out


def _type(type_: Any) -> Any:
    return type_ if isinstance(type_, str) else type_from_json(type_)
