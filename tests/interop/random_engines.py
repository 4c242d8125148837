"""Random options of a key table: its engine, and what that needs of the columns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Column = tuple[str, Any]
ENGINES = ("deduplicate", "deduplicate", "aggregation", "partial-update", "first-row")
FOLDS = (
    *("sum", "min", "max", "last_value", "last_non_null_value", "first_value"),
    *("first_non_null_value", "product", "listagg", "bool_and", "bool_or", "collect", "merge_map"),
)
RETRACTS = ("sum", "last_value", "last_non_null_value", "collect", "merge_map")
"""Functions that take a value back."""
UNORDERED = ("ARRAY", "MAP", "ROW", "MULTISET", "BOOLEAN", "BINARY", "BYTES", "VARBINARY")


def is_ordered(type_: Any) -> bool:
    return isinstance(type_, str) and not type_.startswith(UNORDERED)


def engine_options(
    chance: random.Random, rest: Sequence[Column], *, wild: bool
) -> tuple[dict[str, str], bool]:
    """Options, and whether batches may hold ``-D``; ``rest`` are the columns beside the key."""
    engine = chance.choice(ENGINES)
    options = {"merge-engine": engine}
    producers = ["none", "full-compaction", "lookup"]
    if engine == "deduplicate":
        producers += ["input"]
    elif engine == "first-row":
        producers = ["none", "lookup"]
    options["changelog-producer"] = chance.choice(producers)
    deletes = engine == "deduplicate"
    if engine == "aggregation":
        deletes = _aggregation(chance, rest, options, wild=wild)
    elif engine == "partial-update" and wild:
        deletes = _partial_update(chance, rest, options)
    elif engine == "first-row" and wild and chance.random() < 0.3:
        options["ignore-delete"] = "true"
        deletes = True
    elif engine == "deduplicate" and wild and chance.random() < 0.15:
        options["ignore-delete"] = "true"
    if engine != "first-row" and not any(k.endswith("sequence-group") for k in options):
        _sequence(chance, rest, options, wild=wild)
    if wild and engine != "first-row" and options["changelog-producer"] != "full-compaction":
        _vectors(chance, options)
    return options, deletes


def _sequence(
    chance: random.Random, rest: Sequence[Column], options: dict[str, str], *, wild: bool
) -> None:
    folded = {key.split(".")[1] for key in options if key.startswith("fields.")}
    ordered = [n for n, t in rest if is_ordered(t) and t not in ("FLOAT", "DOUBLE")]
    ordered = [n for n in ordered if n not in folded]
    if not ordered or chance.random() < 0.6:
        return
    if options["merge-engine"] != "deduplicate" and not wild:
        return
    many = min(len(ordered), 2 if wild and chance.random() < 0.4 else 1)
    options["sequence.field"] = ",".join(chance.sample(ordered, many))
    if wild and chance.random() < 0.4:
        options["sequence.field.sort-order"] = "descending"


def _vectors(chance: random.Random, options: dict[str, str]) -> None:
    if chance.random() < 0.3:
        options["deletion-vectors.enabled"] = "true"
        if chance.random() < 0.5:
            options["deletion-vectors.bitmap64"] = "true"
        if chance.random() < 0.3:
            options["deletion-vectors.merge-on-read"] = "true"


def _fold_of(chance: random.Random, type_: Any) -> str:
    """A function that takes values of the type."""
    fold = chance.choice(FOLDS)
    nested = type_["type"].split(" ")[0] if isinstance(type_, dict) else ""
    root = nested or type_.partition("(")[0].partition(" ")[0]
    fits = {
        "sum": type_ == "DECIMAL(38, 10)",  # shorter sums leave their type, integers overflow
        "product": root == "DECIMAL" and type_.startswith("DECIMAL(5"),
        "min": is_ordered(type_),
        "max": is_ordered(type_),
        "listagg": root == "STRING",
        "bool_and": root == "BOOLEAN",
        "bool_or": root == "BOOLEAN",
        "collect": root == "ARRAY",
        "merge_map": root == "MAP",
    }
    if not fits.get(fold, True):
        return "last_value"
    return fold


def _aggregation(
    chance: random.Random, rest: Sequence[Column], options: dict[str, str], *, wild: bool
) -> bool:
    options["fields.default-aggregate-function"] = "last_non_null_value"
    removes = wild and chance.random() < 0.25
    if removes:
        options["aggregation.remove-record-on-delete"] = "true"
    deletes = removes or (wild and chance.random() < 0.4)
    for name, type_ in rest:
        if chance.random() < 0.6:
            fold = _fold_of(chance, type_)
            options[f"fields.{name}.aggregate-function"] = fold
            if deletes and not removes and fold not in RETRACTS:
                options[f"fields.{name}.ignore-retract"] = "true"
    return deletes


def _partial_update(chance: random.Random, rest: Sequence[Column], options: dict[str, str]) -> bool:
    names = [name for name, _ in rest]
    ordered = [n for n, t in rest if is_ordered(t) and t not in ("FLOAT", "DOUBLE")]
    match chance.choice(["plain", "ignore", "remove", "groups", "groups"]):
        case "ignore":
            options["ignore-delete"] = "true"
            return True
        case "remove":
            options["partial-update.remove-record-on-delete"] = "true"
            return True
        case "groups" if ordered and len(names) > 1:
            types = dict(rest)
            sequence = chance.choice(ordered)
            left = [n for n in names if n != sequence]
            protected = chance.sample(left, chance.randint(1, len(left)))
            options[f"fields.{sequence}.sequence-group"] = ",".join(protected)
            for name in protected:
                if chance.random() < 0.3:
                    fold = _fold_of(chance, types[name])
                    options[f"fields.{name}.aggregate-function"] = fold
                    if fold not in RETRACTS:
                        options[f"fields.{name}.ignore-retract"] = "true"
            return True
    return False
