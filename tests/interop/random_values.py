"""Random types and values of every kind that Apache Paimon's Java can be handed as JSON.

A type is what ``DataTypeJsonParser`` reads: text such as ``DECIMAL(9, 2)``, or a dict for what nests.
A value is what ``pa.array`` takes for the type's Arrow form; moments, days and times are numbers.
"""

from __future__ import annotations

import decimal
import random
import re
import string
from typing import Any

ATOMS = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME(0)"),
    *("DECIMAL(5, 2)", "DECIMAL(18, 4)", "DECIMAL(38, 10)", "CHAR(6)", "VARCHAR(9)", "STRING"),
    *("BINARY(4)", "VARBINARY(7)", "BYTES"),
    *(f"TIMESTAMP({digits})" for digits in (0, 3, 6, 9)),
    *(f"TIMESTAMP({digits}) WITH LOCAL TIME ZONE" for digits in (3, 6)),
)
INTS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
FLOATS = (0.0, -0.0, 1.5, -2.25, 3e38, 1e-30, float("nan"), float("inf"), float("-inf"), 100.125)
TEXTS = ("", "x", "ä", "漢字", "𝄞𝄢", "a%b_", "\\", "'q'", 'tab\t"', "\u0000z", " ", "NULL")
WIDER = {
    "TINYINT": ("SMALLINT", "INT", "BIGINT"),
    "SMALLINT": ("INT", "BIGINT"),
    "INT": ("BIGINT", "STRING"),
    "FLOAT": ("DOUBLE",),
    "DECIMAL(5, 2)": ("DECIMAL(18, 4)", "STRING"),
    "VARCHAR(9)": ("STRING",),
    "BINARY(4)": ("BYTES",),
    "DATE": ("TIMESTAMP(3)",),
    "TIMESTAMP(3)": ("TIMESTAMP(6)",),
}
"""To what a column is changed; all readers do these alike."""
CASTS = {
    **WIDER,
    "TINYINT": ("SMALLINT", "BIGINT", "BOOLEAN", "DECIMAL(5, 2)", "FLOAT", "STRING"),
    "SMALLINT": ("TINYINT", "INT", "DECIMAL(5, 2)", "DOUBLE", "VARCHAR(9)"),
    "INT": ("BIGINT", "SMALLINT", "STRING", "FLOAT", "BOOLEAN", "DECIMAL(18, 4)", "TIMESTAMP(3)"),
    "BIGINT": ("INT", "TINYINT", "STRING", "DOUBLE", "FLOAT", "BOOLEAN", "DECIMAL(38, 10)"),
    "FLOAT": ("DOUBLE", "INT", "BIGINT", "STRING", "TINYINT"),
    "DOUBLE": ("FLOAT", "INT", "BIGINT", "STRING"),
    "BOOLEAN": ("INT", "STRING", "DECIMAL(5, 2)", "DOUBLE"),
    "DECIMAL(5, 2)": ("DECIMAL(18, 4)", "DECIMAL(5, 1)", "STRING", "INT", "DOUBLE", "TINYINT"),
    "DECIMAL(18, 4)": ("DECIMAL(5, 2)", "DECIMAL(38, 10)", "BIGINT", "INT", "FLOAT", "VARCHAR(9)"),
    "DECIMAL(38, 10)": ("DECIMAL(18, 4)", "BIGINT", "INT", "DOUBLE", "STRING"),
    "CHAR(6)": ("STRING", "VARCHAR(3)", "CHAR(4)", "BYTES"),
    "VARCHAR(9)": ("STRING", "VARCHAR(3)", "CHAR(6)", "BYTES"),
    "STRING": ("VARCHAR(9)", "CHAR(6)", "BYTES"),
    "BINARY(4)": ("BYTES", "VARBINARY(2)", "BINARY(6)"),
    "VARBINARY(7)": ("BYTES", "BINARY(4)"),
    "BYTES": ("VARBINARY(2)", "BINARY(4)"),
    "DATE": ("TIMESTAMP(3)", "STRING", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
    "TIME(0)": ("STRING", "TIMESTAMP(3)"),
    "TIMESTAMP(0)": ("TIMESTAMP(3)", "DATE", "STRING", "BIGINT"),
    "TIMESTAMP(3)": ("TIMESTAMP(6)", "TIMESTAMP(0)", "DATE", "STRING", "BIGINT"),
    "TIMESTAMP(6)": ("TIMESTAMP(3)", "DATE", "STRING", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
    "TIMESTAMP(9)": ("TIMESTAMP(3)", "STRING", "TIMESTAMP(6)"),
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": ("TIMESTAMP(3)", "STRING", "DATE"),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": ("TIMESTAMP(3)", "STRING"),
}
"""Further changes, which some values do not survive unchanged."""
INDEXED = (
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "CHAR(6)", "VARCHAR(9)", "STRING"),
    *("TIMESTAMP(3)", "TIMESTAMP(6)"),
)
"""What file indexes take."""


def atom(chance: random.Random, avoid: tuple[str, ...] = ()) -> str:
    return chance.choice([t for t in ATOMS if not t.startswith(avoid)] if avoid else ATOMS)


def any_type(chance: random.Random, avoid: tuple[str, ...] = (), depth: int = 2) -> Any:
    """A type, nested with luck; none that begins with one of ``avoid``."""
    if depth == 0 or chance.random() < 0.7:
        return atom(chance, avoid)

    def inner() -> Any:
        return any_type(chance, avoid, depth - 1)

    made: list[Any] = [
        lambda: {"type": "ARRAY", "element": inner()},
        lambda: {
            "type": "MAP",
            "key": chance.choice(["STRING NOT NULL", "INT NOT NULL"]),
            "value": inner(),
        },
        lambda: {
            "type": "ROW",
            "fields": [
                {"id": i, "name": name, "type": inner()}
                for i, name in enumerate(string.ascii_lowercase[: chance.randint(1, 3)])
            ],
        },
    ]
    if "MULTISET" not in avoid:
        made.append(lambda: {"type": "MULTISET", "element": "STRING NOT NULL"})
    return chance.choice(made)()


def value(chance: random.Random, type_: Any, nulls: float = 0.12) -> Any:
    """A value of ``type_``, None with the chance ``nulls`` where it may be."""
    if isinstance(type_, dict):
        return None if chance.random() < nulls else _nested(chance, type_)
    if chance.random() < nulls and "NOT NULL" not in type_:
        return None
    root = re.match(r"[A-Z]+", type_).group()  # type: ignore[union-attr]
    numbers = [int(n) for n in re.findall(r"\d+", type_)]
    if root in INTS:
        bound = 1 << (INTS[root] - 1)
        return chance.choice([chance.randint(-bound, bound - 1), chance.randint(-9, 9), bound - 1])
    match root:
        case "BOOLEAN":
            return chance.random() < 0.5
        case "FLOAT" | "DOUBLE":
            return chance.choice([*FLOATS, chance.randint(-100, 100) / 4])
        case "DECIMAL":
            top = 10 ** chance.randint(1, numbers[0]) - 1
            with decimal.localcontext(prec=50):
                return decimal.Decimal(chance.randint(-top, top)).scaleb(-numbers[1])
        case "CHAR" | "VARCHAR" | "STRING":
            long = [chance.choice("aäz") * chance.randint(20, 60)] if root == "STRING" else []
            text = chance.choice([*TEXTS, *long, str(chance.randint(0, 99))])
            return text[: numbers[0]] if numbers else text
        case "BINARY":
            return chance.randbytes(numbers[0])
        case "VARBINARY" | "BYTES":
            return chance.randbytes(chance.randint(0, min([6, *numbers])))
        case "DATE":
            return chance.choice([chance.randint(-50_000, 50_000), chance.randint(19_000, 19_010)])
        case "TIME":
            return chance.randint(0, 86_399) * 1000
        case _:
            return _moment(chance, numbers[0])


def _moment(chance: random.Random, digits: int) -> int:
    """Units of a timestamp since 1970, within what 64 bits hold as nanoseconds."""
    far = 9_000_000_000
    seconds = chance.choice([chance.randint(-2_000_000_000, far), chance.randint(0, 9)])
    return seconds * 10 ** _unit(digits) + (
        chance.randrange(10**digits) * 10 ** (_unit(digits) - digits)
    )


def _unit(digits: int) -> int:
    """Digits of the Arrow unit that holds so many; ours has no timestamps of whole seconds."""
    return next(unit for unit in (3, 6, 9) if digits <= unit)


def _nested(chance: random.Random, type_: dict[str, Any]) -> Any:
    size = chance.randint(0, 3)
    match type_["type"]:
        case "ARRAY":
            return [value(chance, type_["element"]) for _ in range(size)]
        case "MAP":
            keys = {value(chance, type_["key"]) for _ in range(size)}
            return [(key, value(chance, type_["value"])) for key in sorted(keys)]
        case "MULTISET":
            return [(key, chance.randint(1, 5)) for key in chance.sample(TEXTS, size)]
        case _:
            return {f["name"]: value(chance, f["type"]) for f in type_["fields"]}
