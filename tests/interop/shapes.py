"""Tables of every shape that both sides must agree on, their rows by seed, and what they hold."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from judge import KIND, Rows, judged

CALM = {"write-only": "true"}
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string(), nullable=False),
        ("qty", pa.int32()),
        ("amount", pa.decimal128(12, 2)),
        ("ratio", pa.float64()),
        ("flag", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("ms")),
        ("note", pa.string()),
        ("raw", pa.binary()),
    ]
)
FOLDS = {"qty": "sum", "amount": "sum", "ratio": "max", "day": "min", "at": "max"}
LAST = "last_non_null_value"


@dataclass(frozen=True)
class Shape:
    """How a table is declared.  ``keys`` empty: an append table."""

    name: str
    options: dict[str, str]
    keys: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    deletes: bool = True

    def create(self, catalog: Any, name: str) -> Any:
        """Create it with ``table_core``; the handle."""
        catalog.create_database(name.partition(".")[0], if_not_exists=True)
        catalog.create_table(
            name,
            COLUMNS,
            primary_key=self.keys,
            partition_by=self.partitions,
            options=self.options,
        )
        return catalog.table(name)


AGGREGATION = {
    "merge-engine": "aggregation",
    "aggregation.remove-record-on-delete": "true",
    **{
        f"fields.{name}.aggregate-function": FOLDS.get(name, LAST)
        for name in COLUMNS.names
        if name not in ("id", "region")
    },
}
PARTIAL = {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}
FIRST = {"merge-engine": "first-row"}
LOOKUP = {"changelog-producer": "lookup"}
VECTORS = {"deletion-vectors.enabled": "true"}
SHAPES = (
    Shape("append", {"bucket": "-1"}, deletes=False),
    Shape("append-partitioned", {"bucket": "-1"}, (), ("region",), deletes=False),
    Shape("append-buckets", {"bucket": "3", "bucket-key": "id"}, deletes=False),
    Shape("dedup", {"bucket": "1"}, ("id",)),
    Shape("dedup-calm", {"bucket": "2", **CALM}, ("id",)),
    Shape("dedup-partitioned", {"bucket": "2"}, ("region", "id"), ("region",)),
    Shape("dedup-text-key", {"bucket": "4"}, ("region", "id")),
    Shape("aggregation", {"bucket": "1", **AGGREGATION}, ("id",)),
    Shape("input", {"bucket": "1", "changelog-producer": "input"}, ("id",)),
    Shape(
        "full-compaction",
        {
            "bucket": "1",
            "changelog-producer": "full-compaction",
            "full-compaction.delta-commits": "2",
        },
        ("id",),
    ),
    Shape(
        "full-compaction-aggregation",
        {"bucket": "1", "changelog-producer": "full-compaction", **AGGREGATION},
        ("id",),
    ),
    Shape("partial", {"bucket": "1", **PARTIAL}, ("id",)),
    Shape("partial-calm", {"bucket": "2", **PARTIAL, **CALM}, ("id",)),
    Shape("orc", {"bucket": "1", "file.format": "orc"}, ("id",)),
    Shape("avro", {"bucket": "1", "file.format": "avro"}, ("id",)),
    Shape("thin", {"bucket": "1", "data-file.thin-mode": "true"}, ("region", "id")),
    Shape(
        "levels",
        {
            "bucket": "1",
            "file.format.per.level": "0:avro,5:orc",
            "file.compression.per.level": "0:zstd,5:lz4",
            "num-sorted-run.compaction-trigger": "3",
            "num-levels": "6",
        },
        ("id",),
    ),
    Shape("first", {"bucket": "1", **FIRST}, ("id",), deletes=False),
    Shape("first-lookup", {"bucket": "2", **FIRST, **LOOKUP}, ("id",), deletes=False),
    Shape("lookup", {"bucket": "1", **LOOKUP}, ("id",)),
    Shape(
        "lookup-quiet",
        {"bucket": "2", "changelog-producer.row-deduplicate": "true", **LOOKUP},
        ("region", "id"),
        ("region",),
    ),
    Shape("lookup-aggregation", {"bucket": "1", **LOOKUP, **AGGREGATION}, ("id",)),
    Shape("lookup-partial", {"bucket": "1", **LOOKUP, **PARTIAL}, ("id",)),
    Shape("force-lookup", {"bucket": "1", "force-lookup": "true", **AGGREGATION}, ("id",)),
    Shape("vectors", {"bucket": "1", **VECTORS}, ("id",)),
    Shape("vectors-64", {"bucket": "2", "deletion-vectors.bitmap64": "true", **VECTORS}, ("id",)),
    Shape("vectors-lookup", {"bucket": "1", **VECTORS, **LOOKUP}, ("id",)),
    Shape("vectors-input", {"bucket": "1", **VECTORS, "changelog-producer": "input"}, ("id",)),
    Shape("dynamic", {"bucket": "-1", "dynamic-bucket.target-row-num": "7"}, ("id",)),
    Shape(
        "dynamic-partitioned",
        {"bucket": "-1", "dynamic-bucket.target-row-num": "5", **LOOKUP},
        ("region", "id"),
        ("region",),
    ),
    Shape("vectors-aggregation", {"bucket": "1", **VECTORS, **LOOKUP, **AGGREGATION}, ("id",)),
)


@dataclass
class Model:
    """What a table of ``shape`` must hold after the rows it was given: slow and obvious."""

    shape: Shape
    rows: list[list[Any]] = field(default_factory=list)
    by_key: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)

    def take(self, batch: pa.Table) -> None:
        for row in judged(batch):
            kind, *cells = row
            named = dict(zip(COLUMNS.names, cells, strict=True))
            key = tuple(named[k] for k in self.shape.keys)
            if not key:
                self.rows.append(row)
            elif kind in ("-D", "-U"):
                self.by_key.pop(key, None)
            elif key in self.by_key and self.shape.options.get("merge-engine") == "first-row":
                continue
            elif key in self.by_key and "merge-engine" in self.shape.options:
                self.by_key[key] = self._fold(self.by_key[key], cells)
            else:
                self.by_key[key] = cells

    def state(self) -> Rows:
        """The rows as the judge would print them."""
        if not self.shape.keys:
            return self.rows
        return [["+I", *cells] for cells in self.by_key.values()]

    def _fold(self, old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
        out = []
        for name, a, b in zip(COLUMNS.names, old, new, strict=True):
            folds = self.shape.options["merge-engine"] == "aggregation"
            how = FOLDS.get(name, LAST) if folds else LAST
            if a is None or b is None:
                out.append(a if b is None else b)
            elif how == "sum":
                out.append(
                    str(decimal.Decimal(a) + decimal.Decimal(b)) if name == "amount" else a + b
                )
            elif how in ("min", "max"):
                chosen = {"min": min, "max": max}[how]
                out.append(chosen((a, b), key=float if name == "ratio" else str))
            else:
                out.append(b)
        return out


def batch(shape: Shape, seed: int, *, rows: int = 60, keys: int = 40) -> pa.Table:
    """Rows of a batch; key tables get each key at most once, some of them as deletes.

    Deletes of an aggregation carry nothing but the key: Paimon goes on adding to what they carry.
    """
    chance = random.Random(seed)
    unique = chance.sample(range(keys), min(rows, keys))
    ids = unique if shape.keys else chance.choices(range(keys), k=rows)
    data = [_row(chance, id) for id in ids]
    if not (shape.keys and shape.deletes):
        return pa.Table.from_pylist(data, schema=COLUMNS)
    kinds = ["-D" if chance.random() < 0.15 else "+I" for _ in ids]
    if "merge-engine" in shape.options:
        data = [
            {"id": row["id"], "region": row["region"]} if kind == "-D" else row
            for row, kind in zip(data, kinds, strict=True)
        ]
    return pa.Table.from_pylist(data, schema=COLUMNS).append_column(KIND, pa.array(kinds))


def _row(chance: random.Random, id: int) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.1 else value

    start = dt.datetime(2026, 3, 1)
    return {
        "id": id,
        "region": ("north", "süd", "東")[id % 3],  # the same for a key: it may be part of it
        "qty": maybe(chance.randint(-100, 100)),
        "amount": maybe(decimal.Decimal(chance.randint(-(10**6), 10**6)).scaleb(-2)),
        "ratio": maybe(chance.choice([0.0, 1.5, -2.25, 1e300])),
        "flag": maybe(chance.random() < 0.5),
        "day": maybe(start.date() + dt.timedelta(days=chance.randint(-20_000, 400))),
        "at": maybe(start + dt.timedelta(milliseconds=chance.randint(-(10**9), 10**9))),
        "note": maybe(chance.choice(["", "x", "ä" * 40, 'tab\tquote"', "𝄞"])),
        "raw": maybe(chance.randbytes(chance.randint(0, 6))),
    }
