"""Hypothesis strategies: types, fields, and Arrow tables that hold any value of them."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from hypothesis import strategies as st

from table_core.datatypes.arrow import arrow_schema, arrow_type, timestamp_unit
from table_core.datatypes.kinds import (
    MAX_LENGTH,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Multiset,
    Root,
    Row,
    with_nullability,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["arrow_tables", "atomic_types", "data_types", "field_lists", "values"]

_PLAIN: Final = [
    Atomic(Root.BOOLEAN),
    Atomic(Root.TINYINT),
    Atomic(Root.SMALLINT),
    Atomic(Root.INT),
    Atomic(Root.BIGINT),
    Atomic(Root.FLOAT),
    Atomic(Root.DOUBLE),
    Atomic(Root.CHAR, length=5),
    Atomic(Root.VARCHAR, length=10),
    Atomic(Root.VARCHAR, length=MAX_LENGTH),
    Atomic(Root.BINARY, length=3),
    Atomic(Root.VARBINARY, length=MAX_LENGTH),
    Atomic(Root.DATE),
]
_BITS: Final = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}
_DAY_MS: Final = 86_400_000
_NANOS: Final = {"ms": 10**6, "us": 10**3, "ns": 1}


@st.composite
def atomic_types(draw: st.DrawFn, *, digits_max: int = 9) -> Atomic:
    """A type without parts; ``digits_max`` bounds the digits of a second of timestamps."""
    kind = draw(st.sampled_from(["plain", "decimal", "timestamp", "ltz", "time"]))
    if kind == "plain":
        return draw(st.sampled_from(_PLAIN))
    if kind == "decimal":
        precision = draw(st.sampled_from([1, 9, 10, 18, 19, 38]))
        scale = draw(st.integers(0, precision))
        return Atomic(Root.DECIMAL, precision=precision, scale=scale)
    if kind == "time":
        return Atomic(Root.TIME, precision=draw(st.integers(0, min(digits_max, 3))))
    root = Root.TIMESTAMP if kind == "timestamp" else Root.TIMESTAMP_LTZ
    return Atomic(root, precision=draw(st.integers(0, digits_max)))


@st.composite
def data_types(draw: st.DrawFn, *, depth: int = 2, digits_max: int = 9) -> DataType:
    """A type, nested up to ``depth`` levels."""
    kinds = ["atomic"] * 4 + (["array", "map", "multiset", "row"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    inner = data_types(depth=max(depth - 1, 0), digits_max=digits_max)
    made: DataType
    if kind == "array":
        made = Array(draw(inner))
    elif kind == "map":
        made = Map(draw(atomic_types(digits_max=digits_max).map(_required)), draw(inner))
    elif kind == "multiset":
        made = Multiset(draw(atomic_types(digits_max=digits_max).map(_required)))
    elif kind == "row":
        members = draw(st.lists(inner, min_size=1, max_size=3))
        made = Row(tuple(Field(100 + i, f"m{i}", member) for i, member in enumerate(members)))
    else:
        made = draw(atomic_types(digits_max=digits_max))
    return with_nullability(made, nullable=draw(st.booleans()))


def _required(type_: Atomic) -> Any:
    return with_nullability(type_, nullable=False)


@st.composite
def field_lists(
    draw: st.DrawFn, *, depth: int = 2, digits_max: int = 9, size_max: int = 4
) -> tuple[Field, ...]:
    """Columns of a table."""
    types = draw(
        st.lists(data_types(depth=depth, digits_max=digits_max), min_size=1, max_size=size_max)
    )
    return tuple(Field(i, f"c{i}", type_) for i, type_ in enumerate(types))


def values(type_: DataType, *, orc: bool = False) -> st.SearchStrategy[Any]:
    """Values of ``type_`` as ``pa.array`` takes them; timestamps and times as integers.

    With ``orc`` timestamps before 1970 are whole seconds: ORC files of ours hold no others.
    """
    strategy = _values(type_, orc)
    return st.none() | strategy if type_.nullable else strategy


def _values(type_: DataType, orc: bool) -> st.SearchStrategy[Any]:
    match type_:
        case Array(element):
            return st.lists(values(element, orc=orc), max_size=3)
        case Map(key, value):
            return _entries(key, values(value, orc=orc), orc)
        case Multiset(element):
            return _entries(element, st.integers(1, 5), orc)
        case Row(fields):
            return st.fixed_dictionaries({f.name: values(f.type, orc=orc) for f in fields})
        case Atomic(root):
            return _atoms(type_, root, orc)
    raise AssertionError(type_)


def _entries(key: DataType, value: st.SearchStrategy[Any], orc: bool) -> st.SearchStrategy[Any]:
    return st.lists(
        st.tuples(values(key, orc=orc), value), max_size=3, unique_by=lambda e: repr(e[0])
    )


def _atoms(type_: Atomic, root: Root, orc: bool) -> st.SearchStrategy[Any]:
    if root in _BITS:
        bound = 2 ** (_BITS[root] - 1)
        return st.integers(-bound, bound - 1)
    if root is Root.BOOLEAN:
        return st.booleans()
    if root in {Root.FLOAT, Root.DOUBLE}:
        return st.floats(width=32 if root is Root.FLOAT else 64)
    if root in {Root.CHAR, Root.VARCHAR}:
        return st.text(st.characters(codec="utf-8"), max_size=min(type_.length, 12))
    if root in {Root.BINARY, Root.VARBINARY}:
        return st.binary(max_size=min(type_.length, 12))
    if root is Root.DATE:
        return st.integers(-(10**5), 10**5)
    if root is Root.TIME:
        return st.integers(0, _DAY_MS - 1)
    if root is Root.DECIMAL:
        bound = 10**type_.precision - 1
        return st.integers(-bound, bound).map(
            lambda unscaled: decimal.Decimal(f"{unscaled}E-{type_.scale}")
        )
    unit = timestamp_unit(type_.precision)
    bound = (2**63 - 1) // _NANOS[unit]  # what nanoseconds can express, in every unit
    second = 10**9 // _NANOS[unit]
    before = st.integers(-bound // second + 1, -1).map(lambda seconds: seconds * second)
    return st.integers(0, bound) | before if orc else st.integers(-bound, bound)


@st.composite
def arrow_tables(
    draw: st.DrawFn, fields: Sequence[Field], *, rows_max: int = 20, orc: bool = False
) -> pa.Table:
    """A table with any rows.  Shape: ``arrow_schema(fields)``, in one chunk or two."""
    count = draw(st.integers(0, rows_max))
    columns = []
    for field in fields:
        column = draw(st.lists(values(field.type, orc=orc), min_size=count, max_size=count))
        columns.append(pa.array(column, arrow_type(field.type)))
    table = pa.Table.from_arrays(columns, schema=arrow_schema(fields))
    cut = draw(st.integers(0, count))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])
