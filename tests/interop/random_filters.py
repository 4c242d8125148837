"""Random conditions over the values of a table, in the three forms that the readers take."""

from __future__ import annotations

import decimal
import random
from typing import Any

import pyarrow as pa
from judge import cells

import table_core as tc

ORDERED = ("less_than", "less_or_equal", "greater_than", "greater_or_equal", "between")
EQUAL = ("equal", "not_equal", "is_in", "is_not_in")
TEXT = ("startswith", "endswith", "contains")
SIGNS = {
    "equal": "=",
    "not_equal": "<>",
    "less_than": "<",
    "less_or_equal": "<=",
    "greater_than": ">",
    "greater_or_equal": ">=",
}
Wish = dict[str, Any]


def condition(
    chance: random.Random, rows: pa.Table, avoid: frozenset[str] = frozenset(), depth: int = 2
) -> Wish | None:
    """A condition over columns of ``rows`` as ``Wishes.java`` takes it; None if none is left."""
    if depth and chance.random() < 0.45:
        parts = [condition(chance, rows, avoid, depth - 1) for _ in range(chance.randint(2, 3))]
        kept = [part for part in parts if part is not None]
        return {"op": chance.choice(["and", "or"]), "parts": kept} if len(kept) > 1 else None
    flat = [f for f in rows.schema if f.name not in avoid and not pa.types.is_nested(f.type)]
    if not flat:
        return None
    field = chance.choice(flat)
    known = [c for c in cells(rows[field.name]) if c is not None and _comparable(c, field.type)]
    ops = ["is_null", "is_not_null"]
    if known:
        ops += list(EQUAL)
        if not (pa.types.is_boolean(field.type) or pa.types.is_binary(field.type)):
            ops += ORDERED
        if pa.types.is_string(field.type):
            ops += TEXT
    op = chance.choice(ops)
    many = {"between": 2, "is_in": 3, "is_not_in": 3}.get(op, 0 if op.startswith("is_n") else 1)
    values = [chance.choice(known) for _ in range(many)]
    if op in TEXT:
        values = [values[0][: chance.randint(1, 3)]]
        if not values[0]:
            return {"op": "is_not_null", "column": field.name, "values": []}
    return {"op": op, "column": field.name, "values": values}


def names_in(wish: Wish | None) -> list[str]:
    """The columns of a condition."""
    if wish is None:
        return []
    if "parts" in wish:
        return [name for part in wish["parts"] for name in names_in(part)]
    return [wish["column"]]


def _comparable(cell: Any, kind: pa.DataType) -> bool:
    """Whether the three mean the same by comparing with it: they differ on signed zero."""
    return not pa.types.is_floating(kind) or float(cell) != 0


def ours(wish: Wish, schema: pa.Schema) -> Any:
    """As an expression of ``table_core``."""
    if "parts" in wish:
        first, *rest = (ours(part, schema) for part in wish["parts"])
        for part in rest:
            first = first & part if wish["op"] == "and" else first | part
        return first
    op, column = wish["op"], tc.col(wish["column"])
    kind = schema.field(wish["column"]).type
    values = [_literal(v, kind) for v in wish["values"]]
    match op:
        case "is_null":
            return column.is_null()
        case "is_not_null":
            return ~column.is_null()
        case "is_in":
            return column.isin(values)
        case "is_not_in":
            return ~column.isin(values)
        case "between":
            return column.between(*values)
        case "startswith" | "endswith" | "contains":
            text = "".join(f"\\{c}" if c in "%_\\" else c for c in wish["values"][0])
            return column.like(f"{'%' * (op != 'startswith')}{text}{'%' * (op != 'endswith')}")
        case "equal":
            return column == values[0]
        case "not_equal":
            return column != values[0]
        case "less_than":
            return column < values[0]
        case "less_or_equal":
            return column <= values[0]
        case "greater_than":
            return column > values[0]
        case _:
            return column >= values[0]


def _literal(cell: Any, kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        return decimal.Decimal(cell)
    if pa.types.is_floating(kind):
        return float(cell)
    if pa.types.is_binary(kind):
        return bytes.fromhex(cell[2:])
    return cell  # days, times and moments as text


def sql(wish: Wish, schema: pa.Schema) -> str | None:
    """As SQL text; None if a part of it has no text for all its values."""
    if "parts" in wish:
        parts = [sql(part, schema) for part in wish["parts"]]
        if None in parts:
            return None
        return "(" + f" {wish['op'].upper()} ".join(str(part) for part in parts) + ")"
    op, name, kind = wish["op"], _quoted(wish["column"]), schema.field(wish["column"]).type
    if op in TEXT or pa.types.is_floating(kind) or pa.types.is_binary(kind):
        return None
    values = [_sql_literal(v, kind) for v in wish["values"]]
    match op:
        case "is_null":
            return f"{name} IS NULL"
        case "is_not_null":
            return f"{name} IS NOT NULL"
        case "is_in":
            return f"{name} IN ({', '.join(values)})"
        case "is_not_in":
            return f"{name} NOT IN ({', '.join(values)})"
        case "between":
            return f"{name} BETWEEN {values[0]} AND {values[1]}"
        case _:
            return f"{name} {SIGNS[op]} {values[0]}"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _sql_literal(cell: Any, kind: pa.DataType) -> str:
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, int) or pa.types.is_decimal(kind):
        return str(cell)
    text = "'" + cell.replace("\\", "\\\\").replace("'", "\\'") + "'"
    word = (
        "DATE " if pa.types.is_date(kind) else "TIMESTAMP " if pa.types.is_timestamp(kind) else ""
    )
    return word + text
