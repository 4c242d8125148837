"""A random table whose versions must be merged: every engine, function and producer, by seed."""

from __future__ import annotations

import decimal
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import datasketches
import pyarrow as pa
from judge import KIND
from random_values import ATOMS, any_type, value
from sketches import BITMAPS, BITMAPS64, HLLS, THETAS

Column = tuple[str, Any]
KEYS = (*ATOMS, "TIMESTAMP(9) WITH LOCAL TIME ZONE", "TIME(3)", "DECIMAL(19, 0)")
PARTITIONS = ("STRING", "INT", "DATE", "BOOLEAN", "BIGINT", "VARCHAR(9)", "SMALLINT")
NUMBERS = ("INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(20, 3)", "DECIMAL(38, 6)")
ORDERED = (
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(18, 4)", "STRING"),
    *("DATE", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "VARCHAR(9)", "CHAR(6)", "TIME(0)"),
    *("DECIMAL(38, 10)", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
)
NESTED = {
    "type": "ARRAY",
    "element": {
        "type": "ROW",
        "fields": [
            {"id": 0, "name": "a", "type": "INT"},
            {"id": 1, "name": "b", "type": "STRING"},
            {"id": 2, "name": "c", "type": "BIGINT"},
        ],
    },
}
TIMED = {
    "type": "MAP",
    "key": "STRING NOT NULL",
    "value": {
        "type": "ROW",
        "fields": [
            {"id": 0, "name": "v", "type": "INT"},
            {"id": 1, "name": "at", "type": "STRING"},
        ],
    },
}
UNFIT = {
    "parquet": (),
    "avro": ("TIMESTAMP(9)",),
    "orc": ("TIME(", "MULTISET"),
}
"""Types that are not written in a format."""
ENGINES = ("deduplicate", "first-row", "partial-update", "partial-update", "aggregation")
TAKES_BACK = frozenset(
    {"sum", "product", "last_value", "last_non_null_value", "collect", "merge_map", "nested_update"}
)
PER_LEVEL = ("0:avro", "0:avro", "0:parquet,1:avro", "5:avro,4:parquet", "0:parquet,5:parquet")
STEADY = (
    {"compaction.size-ratio": "-100", "compaction.max-size-amplification-percent": "100000000"},
    {"compaction.size-ratio": "100000000"},
    {"compaction.size-ratio": "-100", "compaction.max-size-amplification-percent": "0"},
)
"""Options under which a pick does not depend on the sizes of files."""


def numbers(chance: random.Random, type_: Any) -> Any:
    """A small number: sums and products of many of them still fit, and are exact."""
    plain = chance.choice([None, 1, 2, -1, 2, 1, -2])
    if plain is None:
        return None
    root = type_.partition("(")[0]
    if root == "DECIMAL":
        scale = int(type_.partition(", ")[2][:-1])
        return decimal.Decimal(plain).quantize(decimal.Decimal(1).scaleb(-scale))
    return float(plain) if root in ("FLOAT", "DOUBLE") else plain


def nested_rows(chance: random.Random, _: Any) -> Any:
    def row() -> Any:
        return {
            "a": chance.choice([None, 1, 2, 3]),
            "b": chance.choice(["x", "y"]),
            "c": chance.choice([None, 1, 2, 3]),
        }

    return chance.choice([None, [row() for _ in range(chance.randint(0, 3))]])


def timed_map(chance: random.Random, _: Any) -> Any:
    def member() -> Any:
        return chance.choice(
            [None, {"v": chance.randint(0, 9), "at": chance.choice([None, "1", "2", "3"])}]
        )

    keys = chance.sample(["x", "y", "z"], chance.randint(0, 3))
    return chance.choice([None, [(key, member()) for key in keys]])


def few(chance: random.Random, type_: Any) -> Any:
    """Values that meet again."""
    return value(random.Random(chance.randrange(5)), type_, nulls=0.3)


def one_of(values: tuple[Any, ...]) -> Callable[[random.Random, Any], Any]:
    return lambda chance, _: chance.choice([None, *values])


def one_of_all(values: tuple[str, ...]) -> Callable[[random.Random, Any], Any]:
    return lambda chance, _: chance.choice(values)


def in_any_order(cells: Any) -> Any:
    return sorted(cells, key=json.dumps)


def estimate(cell: str) -> str:
    """What an HLL sketch counts: how it lists what it saw depends on the library."""
    sketch = datasketches.hll_sketch.deserialize(bytes.fromhex(cell[2:]))
    return f"{sketch.get_estimate():.0f}"


def texts(chance: random.Random, _: Any) -> Any:
    return chance.choice([None, "", " ", "x", "y", "x;y", "y,z", "ä"])


@dataclass
class RandomMerges:
    """Made from a seed alone."""

    seed: int
    chance: random.Random = field(init=False)
    columns: list[Column] = field(init=False)
    keys: list[str] = field(init=False)
    partitions: list[str] = field(init=False)
    options: dict[str, str] = field(init=False)
    loose: dict[str, Callable[[Any], Any]] = field(init=False, default_factory=dict)
    """What of a cell must be equal, of columns whose stored form nobody promises."""
    kinds: tuple[str, ...] = field(init=False, default=("+I", "+I", "+U"))
    sizes: tuple[int, ...] = field(init=False, default=(1, 3, 8, 8, 14))
    """Rows of a batch."""
    makers: dict[str, Callable[[random.Random, Any], Any]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        chance = self.chance = random.Random(self.seed)
        form = chance.choice(["parquet", "parquet", "orc", "avro"])
        self.avoid = UNFIT[form]
        fit = [t for t in KEYS if not t.startswith(self.avoid)]
        keys = [(f"k{i}", chance.choice(fit)) for i in range(chance.choice([1, 1, 2]))]
        parts = [("p", chance.choice(PARTITIONS))] * (chance.random() < 0.25)
        keys, parts = ([(n, f"{t} NOT NULL") for n, t in pairs] for pairs in (keys, parts))
        self.partitions = [name for name, _ in parts]
        self.keys = [name for name, _ in (*parts, *keys)]
        self.columns = [*parts, *keys]
        self.options = {"file.format": form, "bucket": chance.choice(["1", "1", "3", "-1"])}
        engine = self.options["merge-engine"] = chance.choice(ENGINES)
        self._levels()
        {
            "deduplicate": self._deduplicate,
            "first-row": self._first_row,
            "partial-update": self._partial_update,
            "aggregation": self._aggregation,
        }[engine]()
        self._producer(engine)
        chance.shuffle(self.columns)
        self.pools = [
            {name: self._key(name, type_) for name, type_ in (*parts, *keys)}
            for _ in range(chance.randint(2, 7))
        ]

    def _key(self, name: str, type_: Any) -> Any:
        while True:
            made = value(self.chance, type_, nulls=0)
            if name in self.partitions and "\0" in str(made):  # Java makes local files so named
                continue
            return made

    # ---------------------------------------------------------------------------- structure
    def _levels(self) -> None:
        chance, options = self.chance, self.options
        if options["bucket"] == "-1":
            options["dynamic-bucket.target-row-num"] = "3"
        options["num-sorted-run.compaction-trigger"] = chance.choice(["2", "3", "4"])
        options |= chance.choice([*STEADY, *STEADY, {}])
        for key, text, luck in (
            ("write-only", "true", 0.3),
            ("data-file.thin-mode", "true", 0.2),
            ("target-file-size", "1 kb", 0.2),
            ("num-levels", "3", 0.2),
            ("file.format.per.level", chance.choice(PER_LEVEL), 0.15),
            ("compaction.force-up-level-0", "true", 0.1),
        ):
            if chance.random() < luck:
                options[key] = text
        if "TIMESTAMP(9)" in str(self.columns):
            options.pop("file.format.per.level", None)
        if "avro" in options.get("file.format.per.level", ""):
            self.avoid = (*self.avoid, "TIMESTAMP(9)")

    @property
    def steady(self) -> bool:
        """Whether what is compacted depends on the number of runs alone.

        Not with dynamic buckets: who comes first decides which bucket a key is given.
        """
        return self.options["bucket"] != "-1" and any(
            step.items() <= self.options.items() for step in STEADY
        )

    @property
    def packs_alike(self) -> bool:
        """Whether it makes no difference how large a file came out."""
        return "target-file-size" not in self.options

    def _producer(self, engine: str) -> None:
        chance, options = self.chance, self.options
        made = ["none", "input", "full-compaction", "lookup", "lookup"]
        if engine == "first-row":
            made = ["none", "lookup"]
        producer = options["changelog-producer"] = chance.choice(made)
        if producer == "full-compaction":
            options["full-compaction.delta-commits"] = "1000"  # only when asked to
        elif engine != "first-row" and chance.random() < 0.35:
            options["deletion-vectors.enabled"] = "true"
            if chance.random() < 0.3:
                options["deletion-vectors.merge-on-read"] = "true"
            if chance.random() < 0.3:
                options["deletion-vectors.bitmap64"] = "true"
        if chance.random() < 0.15:
            options["force-lookup"] = "true"
        # Whether arrays with nulls are equal depends on the classes that Java holds them in.
        arrays = "ARRAY" in str(self.columns)
        if producer in ("lookup", "full-compaction") and chance.random() < 0.4 and not arrays:
            options["changelog-producer.row-deduplicate"] = "true"
            rest = [name for name, _ in self.columns if name not in self.keys]
            if chance.random() < 0.5 and len(rest) > 1:
                name = "changelog-producer.row-deduplicate-ignore-fields"
                options[name] = chance.choice(rest)

    # ------------------------------------------------------------------------------ engines
    def _plain_columns(self, count: int) -> None:
        for _ in range(count):
            type_ = any_type(self.chance, self.avoid)
            if isinstance(type_, str) and self.chance.random() < 0.15:
                type_ = f"{type_} NOT NULL"
            self._add(type_)

    def _add(self, type_: Any, make: Callable[[random.Random, Any], Any] = few) -> str:
        name = f"c{len(self.columns)}"
        self.columns.append((name, type_))
        self.makers[name] = make
        return name

    def _ordered_type(self) -> Any:
        fit = [t for t in ORDERED if not t.startswith(self.avoid)]
        return self.chance.choice(fit)

    def _sequence(self, luck: float) -> None:
        if self.chance.random() < luck:
            names = [self._add(self._ordered_type()) for _ in range(self.chance.choice([1, 1, 2]))]
            self.options["sequence.field"] = ",".join(names)
            if self.chance.random() < 0.4:
                self.options["sequence.field.sort-order"] = "descending"

    def _ignores(self) -> bool:
        if self.chance.random() < 0.2:
            self.options["ignore-update-before"] = "true"
        if self.chance.random() < 0.25:
            self.options["ignore-delete"] = "true"
            return True
        return False

    def _deduplicate(self) -> None:
        self._plain_columns(self.chance.randint(1, 3))
        self._sequence(0.5)
        self._ignores()
        self.kinds = ("+I", "+I", "+U", "-U", "-D", "-D")
        self._told_kinds()

    def _told_kinds(self) -> None:
        """With luck a column says what is done with its row."""
        if self.chance.random() < 0.15:
            name = self._add("STRING", one_of_all(self.kinds))
            self.options["rowkind.field"] = name

    def _first_row(self) -> None:
        self._plain_columns(self.chance.randint(1, 3))
        if self._ignores():
            self.kinds = ("+I", "+I", "+U", "-U", "-D")

    def _partial_update(self) -> None:
        chance, options = self.chance, self.options
        self._sequence(0.3)
        self._plain_columns(chance.randint(1, 3))
        what = chance.choice(["plain", "remove", "groups", "groups", "groups"])
        if what == "plain":
            if self._ignores():
                self.kinds = ("+I", "+I", "+U", "-U", "-D")
            return
        self.kinds = ("+I", "+I", "+U", "-D")
        if what == "remove":
            options["partial-update.remove-record-on-delete"] = "true"
            self.kinds = ("+I", "+I", "+U", "-U", "-D")
            return
        groups = []
        taken_back = True
        if chance.random() < 0.15:
            options["fields.default-aggregate-function"] = "last_non_null_value"
        for _ in range(chance.choice([1, 2])):
            fields = [self._add(self._ordered_type()) for _ in range(chance.choice([1, 1, 2]))]
            inside = [self._add(any_type(chance, self.avoid)) for _ in range(chance.choice([1, 2]))]
            for _ in range(chance.choice([0, 0, 1, 2])):
                name, back = self._aggregated()
                inside.append(name)
                taken_back &= back
            options[f"fields.{','.join(fields)}.sequence-group"] = ",".join(inside)
            groups.append(fields)
        if self._ignores():
            self.kinds = ("+I", "+I", "+U", "-U", "-D")
            return
        if not taken_back:
            self.kinds = ("+I", "+I", "+U")
        elif chance.random() < 0.5:
            self.kinds = ("+I", "+I", "+U", "-U", "-D")
        if "-D" in self.kinds and chance.random() < 0.4:
            some = chance.sample(groups, chance.randint(1, len(groups)))
            names = ",".join(group[0] for group in some)
            options["partial-update.remove-record-on-sequence-group"] = names

    def _aggregation(self) -> None:
        chance, options = self.chance, self.options
        self._sequence(0.3)
        removes = chance.random() < 0.25
        if removes:
            options["aggregation.remove-record-on-delete"] = "true"
        taken_back = True
        for _ in range(chance.randint(1, 4)):
            taken_back &= self._aggregated(plain=removes)[1]
        if chance.random() < 0.3:
            self._plain_columns(1)
            if chance.random() < 0.5:
                options["fields.default-aggregate-function"] = "last_value"
        ignored = not removes and self._ignores()
        if taken_back or ignored:
            self.kinds = ("+I", "+I", "+U", "-U", "-D")
        elif removes:
            self.kinds = ("+I", "+I", "+U", "-D")
        self._told_kinds()

    def _aggregated(self, *, plain: bool = False) -> tuple[str, bool]:
        """Add a column with a function; its name, and whether values can be taken back."""
        chance = self.chance
        function = chance.choice(FUNCTIONS)
        name, more = self._column_of(function)
        self.options[f"fields.{name}.aggregate-function"] = function
        for key, text in more.items():
            self.options[f"fields.{name}.{key}"] = text
        back = function in TAKES_BACK
        if not plain and chance.random() < (0.2 if back else 0.6):
            self.options[f"fields.{name}.ignore-retract"] = "true"
            back = True
        return name, back

    def _column_of(self, function: str) -> tuple[str, dict[str, str]]:
        chance = self.chance
        match function:
            case "sum" | "product":
                return self._add(chance.choice(NUMBERS), numbers), {}
            case "min" | "max":
                return self._add(self._ordered_type()), {}
            case "bool_and" | "bool_or":
                return self._add("BOOLEAN"), {}
            case "listagg":
                more = chance.choice([{}, {"list-agg-delimiter": ";"}, {"distinct": "true"}])
                return self._add("STRING", texts), more
            case "collect":
                element = chance.choice(["INT", "STRING", "DATE", "DECIMAL(5, 2)"])
                more = chance.choice([{}, {"distinct": "true"}])
                name = self._add({"type": "ARRAY", "element": element})
                if more:
                    self.loose[name] = in_any_order
                return name, more
            case "merge_map":
                key = chance.choice(["STRING NOT NULL", "INT NOT NULL"])
                return self._add({"type": "MAP", "key": key, "value": "INT"}), {}
            case "merge_map_with_keytime":
                more = chance.choice([{}, {"ts-field": "at"}])
                return self._add(TIMED, timed_map), more
            case "nested_update" | "nested_partial_update":
                return self._nested(function)
            case "theta_sketch" | "hll_sketch" | "rbm32" | "rbm64":
                pool = {
                    "theta_sketch": THETAS,
                    "hll_sketch": HLLS,
                    "rbm32": BITMAPS,
                    "rbm64": BITMAPS64,
                }
                name = self._add("BYTES", one_of(pool[function]))
                if function == "hll_sketch":
                    self.loose[name] = estimate
                return name, {}
            case _:
                return self._add(any_type(chance, self.avoid)), {}

    def _nested(self, function: str) -> tuple[str, dict[str, str]]:
        chance, name = self.chance, self._add(NESTED, nested_rows)
        more = {}
        if function == "nested_partial_update" or chance.random() < 0.6:
            more["nested-key"] = chance.choice(["a", "b", "a,b"])
            self.loose[name] = in_any_order
            if chance.random() < 0.4:
                more["nested-key-null-strategy"] = chance.choice(["merge", "ignore"])
            if function == "nested_update" and chance.random() < 0.4:
                more["nested-sequence-field"] = "c"
        if function == "nested_update" and chance.random() < 0.3 and "nested-key" not in more:
            more["count-limit"] = "3"
        return name, more

    # --------------------------------------------------------------------------------- rows
    def batch(self, schema: pa.Schema) -> pa.Table:
        """Rows with keys that repeat, in the batch too; with kinds unless a column has them."""
        chance = self.chance
        data = []
        for _ in range(chance.choice(self.sizes)):
            row = dict(chance.choice(self.pools))
            for name, type_ in self.columns:
                if name not in row:
                    row[name] = self.makers[name](chance, type_)
            data.append(row)
        arrays = [pa.array([r[f.name] for r in data], f.type) for f in schema]
        table = pa.Table.from_arrays(arrays, schema=schema)
        if "rowkind.field" in self.options:
            return table
        kinds = [chance.choice(self.kinds) for _ in data]
        return table.append_column(KIND, pa.array(kinds))


FUNCTIONS = (
    *("sum", "sum", "product", "max", "min", "first_value", "first_non_null_value"),
    *("first_not_null_value", "last_value", "last_non_null_value", "listagg", "bool_and"),
    *("bool_or", "collect", "collect", "merge_map", "merge_map_with_keytime", "nested_update"),
    *("nested_update", "nested_partial_update", "theta_sketch", "hll_sketch", "rbm32", "rbm64"),
)
