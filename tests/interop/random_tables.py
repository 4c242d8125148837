"""A random table: how it is declared, what is written to it, how its schema changes meanwhile."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from judge import KIND
from random_engines import engine_options
from random_values import CASTS, INDEXED, WIDER, any_type, atom, value

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
WILD_KEYS = (
    *KEYS,
    *("TINYINT", "SMALLINT", "BOOLEAN", "CHAR(6)", "DECIMAL(38, 10)", "VARBINARY(7)", "TIME(0)"),
    *("DOUBLE", "TIMESTAMP(0)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "BINARY(4)", "DECIMAL(18, 4)"),
)
PARTITIONS = ("STRING", "INT", "DATE", "BOOLEAN", "BIGINT", "VARCHAR(9)", "SMALLINT")
WILD_PARTITIONS = (
    *PARTITIONS,
    *("TINYINT", "DECIMAL(5, 2)", "DECIMAL(38, 10)", "TIMESTAMP(3)", "TIMESTAMP(6)", "CHAR(6)"),
    *("DOUBLE", "FLOAT", "TIMESTAMP(0)", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
)
BLANKS = ("", " ", "a/b c", "süd", "x=1", "null", "__DEFAUL", "%20", "a:b?", "{[^]}", "q'\"#*\\")
FORMATS = ("parquet", "orc", "avro")
UNFIT = {
    "parquet": (),
    "avro": ("TIMESTAMP(9)",),  # Paimon's Avro has no nanoseconds
    "orc": ("TIME(", "MULTISET"),
}
"""Types that are not written in a format."""


@dataclass
class RandomTable:
    """Made from a seed alone.  ``columns`` change with ``alter``; keys and partitions stay."""

    seed: int
    chance: random.Random = field(init=False)
    columns: list[Column] = field(init=False)
    keys: list[str] = field(init=False)
    partitions: list[str] = field(init=False)
    options: dict[str, str] = field(init=False)
    wild: bool = field(init=False)
    """Whether it uses what pypaimon does not know, or does otherwise."""
    formats: list[str] = field(init=False)
    deletes: bool = False
    fresh: int = 0

    def __post_init__(self) -> None:
        chance = self.chance = random.Random(self.seed)
        self.wild = chance.random() < 0.6
        keyed = chance.random() < 0.7
        self.formats = [chance.choice(["parquet", *FORMATS])]
        if chance.random() < 0.4:
            self.formats = chance.sample(FORMATS, 2)
        self.partitions = [f"p{i}" for i in range(chance.choice([0, 0, 1, 2]))]
        kinds = (WILD_PARTITIONS, WILD_KEYS) if self.wild else (PARTITIONS, KEYS)
        self.avoid = tuple(t for name in self.formats for t in UNFIT[name])
        unfit = (*self.avoid, "FLOAT", "DOUBLE") if "orc" in self.formats else self.avoid
        fits = [[t for t in some if not t.startswith(unfit or "-")] for some in kinds]
        parts = [(name, chance.choice(fits[0])) for name in self.partitions]
        own = [(f"k{i}", chance.choice(fits[1])) for i in range(chance.choice([1, 1, 2]) * keyed)]
        rest = [(f"c{i}", any_type(chance, self.avoid)) for i in range(chance.randint(3, 8))]
        if keyed:
            parts, own = ([(n, f"{t} NOT NULL") for n, t in pairs] for pairs in (parts, own))
        self.keys = [name for name, _ in (*parts, *own)] if keyed else []
        self.columns = [*parts, *own, *rest]
        chance.shuffle(self.columns)
        self.options = {"file.format": self.formats[0], "bucket": str(chance.randint(1, 4))}
        if chance.random() < 0.5:
            self.options["write-only"] = "true"
        if chance.random() < 0.3:
            self.options["metadata.stats-mode"] = chance.choice(["none", "counts", "full"])
        if keyed:
            rest = [c for c in self.columns if c[0] not in self.keys]
            more, self.deletes = engine_options(chance, rest, wild=self.wild)
            self.options |= more
            if self.wild and chance.random() < 0.15:
                self.options["bucket"] = "-1"
        else:
            self._append()
        if self.wild:
            self.options |= self._layout()
        self.pools = {name: [value(chance, t) for _ in range(9)] for name, t in (*parts, *own)}
        for name, type_ in parts:
            if type_.startswith(("STRING", "VARCHAR")):
                self.pools[name] = self._texts()
            if not keyed:
                self.pools[name].append(None)
            named = [v for v in self.pools[name] if "\0" not in str(v)]  # Java names files so
            self.pools[name] = chance.sample(named, 3)

    def _texts(self) -> list[str]:
        """Values of a text partition; Paimon cannot look up old rows where one has a slash."""
        slashes = self.options.get("changelog-producer") == "lookup" or (
            "deletion-vectors.enabled" in self.options
        )
        return [text for text in BLANKS if not (slashes and "/" in text)]

    def _append(self) -> None:
        if self.chance.random() < 0.6:
            self.options["bucket"] = "-1"
        else:
            flat = [n for n, t in self.columns if isinstance(t, str) and n not in self.partitions]
            if flat:
                self.options["bucket-key"] = self.chance.choice(flat)
            else:
                self.options["bucket"] = "-1"

    def _layout(self) -> dict[str, str]:
        """How files are written and named."""
        chance = self.chance
        found = {}
        for likely, key, values in (
            (0.3, "file.compression", _codecs(self.formats)),
            (0.3, "partition.legacy-name", ("false",)),
            (0.1, "partition.default-name", ("none here",)),
            (0.1, "data-file.path-directory", ("data",)),
            (0.2, "file.suffix.include.compression", ("true",)),
            (0.2, "metadata.stats-dense-store", ("false",)),
            (0.2, "metadata.stats-keep-first-n-columns", ("2",)),
            (0.3, "data-file.thin-mode", ("true",)),
            (0.2, "source.split.target-size", ("1 kb",)),
            (0.2, "source.split.open-file-cost", ("1 b",)),
            (0.3, "manifest.merge-min-count", ("2",)),
        ):
            if chance.random() < likely and (self.keys or not key.endswith("thin-mode")):
                found[key] = chance.choice(values)
        if any("LOCAL" in str(type_) for name, type_ in self.columns if name in self.partitions):
            found.pop("partition.legacy-name", None)  # their folders would be named by each process
        if chance.random() < 0.3:
            flat = [n for n, t in self.columns if t in INDEXED and n not in self.partitions]
            if flat:
                kind = chance.choice(["bloom-filter", "bitmap", "bsi"])
                if kind == "bsi":
                    flat = [n for n, t in self.columns if t in ("INT", "BIGINT", "DATE")] or flat[
                        :0
                    ]
                if flat:
                    some = chance.sample(flat, chance.randint(1, len(flat)))
                    found[f"file-index.{kind}.columns"] = ",".join(some)
                    found["file-index.in-manifest-threshold"] = chance.choice(["1 b", "1 mb"])
        return found

    @property
    def fixed(self) -> set[str]:
        """Columns that stay as they are."""
        named = {k.split(".")[1] for k in self.options if k.startswith("fields.")}
        for key, text in self.options.items():
            if key.endswith((".sequence-group", ".columns", "sequence.field", "bucket-key")):
                named |= set(text.split(","))
        return {*self.keys, *self.partitions, *named}

    @property
    def folds_floats(self) -> bool:
        """Whether the least or greatest float is kept, of which pypaimon has an idea of its own."""
        floats = [n for n, t in self.columns if t in ("FLOAT", "DOUBLE")]
        folds = (self.options.get(f"fields.{name}.aggregate-function") for name in floats)
        return any(fold in ("min", "max") for fold in folds)

    @property
    def misread(self) -> frozenset[str]:
        """Columns that Paimon loses rows by: ORC pads CHAR, conditions and statistics do not."""
        padded = "orc" in self.formats
        return frozenset(n for n, t in self.columns if padded and str(t).startswith("CHAR"))

    def batch(self, schema: pa.Schema, rows: int = 24) -> pa.Table:
        """Rows in the table's present columns, some as deletes; of a plain table each key once."""
        chance, seen, data = self.chance, set(), []
        for _ in range(rows):
            row = {
                name: chance.choice(self.pools[name])
                if name in self.pools
                else value(chance, type_)
                for name, type_ in self.columns
            }
            key = tuple(str(row[name]) for name in self.keys)
            if not self.keys or self.wild or key not in seen:
                data.append(row)
            seen.add(key)
        arrays = [pa.array([r[f.name] for r in data], f.type) for f in schema]
        table = pa.Table.from_arrays(arrays, schema=schema)
        if not self.deletes:
            return table
        kinds = ["-D" if chance.random() < 0.15 else "+I" for _ in data]
        return table.append_column(KIND, pa.array(kinds))

    def alter(self) -> list[list[Any]]:
        """One schema change as the judge takes it, made in ``columns`` too; none if none fits."""
        chance = self.chance
        free = [(n, t) for n, t in self.columns if n not in self.fixed]
        what = chance.choice(["add", "add", "rename", "drop", "type", "move", "format", "inside"])
        if what == "format":
            self.formats.reverse()
            return [["option", "file.format", self.formats[0]]] if len(self.formats) > 1 else []
        if what == "inside":
            return self._inside(free)
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
            casts = CASTS if self.wild else WIDER
            free = [(n, t) for n, t in free if isinstance(t, str) and t in casts]
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
        self.columns[at] = (name, chance.choice(casts[type_]))
        return [["type", *self.columns[at]]]

    def _inside(self, free: Sequence[Column]) -> list[list[Any]]:
        """A change of a member of a row, however deep in arrays and maps."""
        chance = self.chance
        found = [(n, t, path) for n, t in free for path in rows_in(t)] if self.wild else []
        if not found:
            return []
        name, type_, path = chance.choice(found)
        changed = copy.deepcopy(type_)
        row = changed
        for step in path:
            row = row["fields"][step]["type"] if isinstance(step, int) else row[step]
        members = row["fields"]
        words = [name]
        walked = type_
        for step in path:
            if isinstance(step, int):
                words.append(walked["fields"][step]["name"])
                walked = walked["fields"][step]["type"]
            else:
                words.append(step)
                walked = walked[step]
        self.columns[[c[0] for c in self.columns].index(name)] = (name, changed)
        at = chance.randrange(len(members))
        old = members[at]["name"]
        match chance.choice(["add", "rename", "drop", "type"]):
            case "drop" if len(members) > 1:
                del members[at]
                return [["drop", [*words, old]]]
            case "rename":
                self.fresh += 1
                members[at]["name"] = f"m{self.fresh}"
                return [["rename", [*words, old], members[at]["name"]]]
            case "type" if isinstance(members[at]["type"], str) and members[at]["type"] in CASTS:
                members[at]["type"] = chance.choice(CASTS[members[at]["type"]])
                return [["type", [*words, old], members[at]["type"]]]
        self.fresh += 1
        fresh = {"id": 99, "name": f"m{self.fresh}", "type": atom(chance, self.avoid)}
        members.insert(at + 1, fresh)
        return [["add", [*words, fresh["name"]], fresh["type"], old]]


def _codecs(formats: Sequence[str]) -> tuple[str, ...]:
    """Codecs that Paimon writes in all of the formats."""
    return ("snappy", "zstd") if "avro" in formats else ("snappy", "none", "zstd", "lz4")


def rows_in(type_: Any) -> list[tuple[Any, ...]]:
    """Paths to the rows in a type: positions of members, ``element``, ``value``."""
    if not isinstance(type_, dict):
        return []
    if "fields" in type_:
        below = [
            (at, *path)
            for at, member in enumerate(type_["fields"])
            for path in rows_in(member["type"])
        ]
        return [(), *below]
    step = "value" if "value" in type_ else "element"
    return [(step, *path) for path in rows_in(type_[step])]


def our_changes(changes: Sequence[Sequence[Any]]) -> list[Any]:
    """The same schema changes as values of ours."""
    out: list[Any] = []
    for what, path, *more in changes:
        steps = [path] if isinstance(path, str) else path
        name = path if what == "option" else ".".join(map(_step, steps))
        match what:
            case "add":
                out.append(tc.AddColumn(name, _type(more[0]), after=more[1]))
            case "drop":
                out.append(tc.DropColumn(name))
            case "rename":
                out.append(tc.RenameColumn(name, more[0]))
            case "option":
                out.append(tc.SetOption(name, more[0]))
            case "type":
                out.append(tc.UpdateColumnType(name, _type(more[0])))
            case _:
                place = {"first": True} if more[0] is None else {"after": more[0]}
                out.append(tc.UpdateColumnPosition(name, **place))
    return out


def _step(name: str) -> str:
    """A step of a path: in backquotes where it would be several."""
    return f"`{name.replace('`', '``')}`" if set(name) & set(".`") else name


def _type(type_: Any) -> Any:
    return type_ if isinstance(type_, str) else type_from_json(type_)
