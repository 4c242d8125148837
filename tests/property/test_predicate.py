"""Conditions against an oracle that reads one row at a time, and against bounds.

Method: draw a table with nulls, NaN, both zeros and awkward text, draw a condition, and demand that the
kernels keep what three-valued logic in plain Python keeps.  Then take bounds of the same rows, cut them
as writers do, lose some, and demand that a file which holds a match is never ruled out.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.predicate.bind import bind
from table_core.predicate.by_stats import Range, equal_values, may_match
from table_core.predicate.expression import (
    And,
    Column,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
)
from table_core.predicate.to_arrow import mask

FIELDS = (
    Field(0, "i", parse_type("TINYINT")),
    Field(1, "f", parse_type("FLOAT")),
    Field(2, "s", parse_type("STRING")),
    Field(3, "p", parse_type("DECIMAL(4, 1)")),
)
SCHEMA = pa.schema(
    [("i", pa.int8()), ("f", pa.float32()), ("s", pa.string()), ("p", pa.decimal128(4, 1))]
)
FLOATS = st.sampled_from([0.0, -0.0, 1.5, -2.0, math.nan, math.inf, -math.inf])
TEXTS = st.text(alphabet="ab%_\n\U0010ffff", max_size=4)
VALUES = {
    "i": st.integers(-128, 127) | st.integers(-2, 2),
    "f": FLOATS,
    "s": TEXTS,
    "p": st.decimals(-9, 9, places=1),
}
LITERALS = {
    "i": st.integers(-3, 3) | st.decimals(-3, 3, places=1) | st.just(1000) | FLOATS,
    "f": FLOATS | st.integers(-2, 2),
    "s": TEXTS,
    "p": st.decimals(-9, 9, places=2) | st.just(99999) | st.integers(-2, 2),
}
NAMES = st.sampled_from(list(VALUES))
ROW = st.fixed_dictionaries({name: st.none() | v for name, v in VALUES.items()})


@st.composite
def leaves(draw: st.DrawFn) -> Any:
    name = draw(NAMES)
    column, value = Column((name,)), LITERALS[name]
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return IsNull(column)
    if kind == 1:
        values = draw(st.lists(st.none() | value, min_size=1, max_size=3))
        return In(column, tuple(Literal(v) for v in values))
    if kind == 2 and name == "s":
        return Like(column, draw(st.text(alphabet="ab%_", max_size=3)))
    op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]))
    literal = Literal(draw(st.none() | value))
    return Compare(op, *((column, literal) if draw(st.booleans()) else (literal, column)))


CONDITIONS = st.recursive(
    leaves(),
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.tuples(inner, inner))
        | st.builds(Or, st.tuples(inner, inner))
    ),
    max_leaves=6,
)


def rank(value: Any) -> Any:
    """Spark's order of numbers: NaN is greatest, both zeros are one."""
    if isinstance(value, float):
        return (1, 0) if math.isnan(value) else (0, value)
    return (0, value) if isinstance(value, int | Decimal) else value


def matches(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(matches(text[n:], pattern[1:]) for n in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and matches(text[1:], pattern[1:])


def oracle(node: Any, row: dict[str, Any]) -> bool | None:
    def value(term: Any) -> Any:
        return row[term.path[0]] if isinstance(term, Column) else term.value

    match node:
        case Not(part):
            found = oracle(part, row)
            return None if found is None else not found
        case And(parts):
            found = {oracle(p, row) for p in parts}
            return False if False in found else None if None in found else True
        case Or(parts):
            found = {oracle(p, row) for p in parts}
            return True if True in found else None if None in found else False
        case IsNull(operand):
            return value(operand) is None
        case Like(operand, pattern):
            text = value(operand)
            return None if text is None else matches(text, pattern)
        case In(operand, values):
            return oracle(Or(tuple(Compare("=", operand, v) for v in values)), row)
        case Compare(op, left, right):
            a, b = value(left), value(right)
            if op == "<=>" and (a is None or b is None):
                return a is b
            if a is None or b is None:
                return None
            a, b = rank(a), rank(b)
            return {"=": a == b, "<=>": a == b, "<>": a != b, "<": a < b, "<=": a <= b,
                    ">": a > b, ">=": a >= b}[op]  # fmt: skip
    raise AssertionError(node)


@given(st.lists(ROW, max_size=5), CONDITIONS)
def test_rows_kept_are_those_of_three_valued_logic(rows, condition) -> None:
    found = mask(bind(condition, FIELDS), pa.Table.from_pylist(rows, SCHEMA))
    assert found.to_pylist() == [oracle(condition, row) is True for row in rows]


def cut(low: Any, high: Any, size: int) -> tuple[Any, Any]:
    """Bounds of text as writers cut them (format 4.5)."""
    if isinstance(high, str) and len(high) > size:
        at = size - 1
        while at >= 0 and high[at] == "\U0010ffff":
            at -= 1
        if at < 0:
            return None, None
        high = high[:at] + chr(ord(high[at]) + 1)
    return (low[:size] if isinstance(low, str) else low), high


@st.composite
def bounds(draw: st.DrawFn, rows: list[dict[str, Any]]) -> dict[str, Range]:
    found = {}
    for name in VALUES:
        values = [r[name] for r in rows if r[name] is not None]
        if not draw(st.integers(0, 4)):
            continue
        numbers = [v for v in values if not (isinstance(v, float) and math.isnan(v))]
        low, high = (min(numbers), max(numbers)) if numbers else (None, None)
        low, high = cut(low, high, draw(st.integers(1, 3)))
        lost = draw(st.integers(0, 5))
        nulls = len(rows) - len(values)
        found[name] = Range(
            None if lost == 1 else low,
            None if lost == 2 else high,
            None if lost == 3 else nulls,
            None if lost == 4 else len(rows),
        )
    return found


@given(st.lists(ROW, min_size=1, max_size=4), CONDITIONS, st.data())
def test_bounds_never_lose_a_row(rows, condition, data) -> None:
    bound = bind(condition, FIELDS)
    ranges = data.draw(bounds(rows))
    kept = [oracle(condition, row) is True for row in rows]
    if any(kept):
        assert may_match(bound, ranges), ranges


@given(st.lists(ROW, min_size=1, max_size=4), CONDITIONS)
def test_enumerated_keys_never_lose_a_row(rows, condition) -> None:
    keys = equal_values(bind(condition, FIELDS), ["i", "s"])
    for row in rows:
        if keys is not None and oracle(condition, row) is True:
            assert (row["i"], row["s"]) in keys
