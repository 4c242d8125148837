"""Paimon's order of keys and of the versions of a key."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.merge.engines.engine import engine_for
from table_core.merge.ordinal import comparable, ordinals
from table_core.merge.sort import key_order, runs_of
from tests.merge_rows import kv, numbered, plain, schema_of

NAN = math.nan


@pytest.mark.parametrize(
    ("type_", "ascending"),
    [
        (pa.bool_(), [None, False, True]),
        (pa.int8(), [None, -128, 0, 127]),
        (pa.int64(), [None, -(2**63), -1, 0, 2**63 - 1]),
        (pa.float32(), [None, -math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, NAN]),
        (pa.float64(), [None, -math.inf, -1.5, -0.0, 0.0, 1e-300, math.inf, NAN]),
        (pa.string(), [None, "", "\0", "a", "a\0", "a\0b", "aa", "z", "é", "\uffff", "\U0001f600"]),
        (pa.string(), [None, "", "a" * 80, "a" * 81, "é" * 70]),
        (pa.binary(), [None, b"", b"\x00", b"\x00\x00", b"\x7f", b"\x80", b"\xff"]),
        (pa.binary(2), [None, b"\x00\x00", b"\x7f\xff", b"\x80\x00"]),
        (pa.decimal128(5, 2), [None, *map(decimal.Decimal, ("-1.50", "0.00", "9.99"))]),
        (pa.decimal128(38, 0), [None, *map(decimal.Decimal, (-(10**37), -1, 0, 1, 10**37))]),
        (pa.date32(), [None, dt.date(1969, 12, 31), dt.date(2026, 1, 1)]),
        (pa.time32("ms"), [None, dt.time(0), dt.time(23, 59)]),
        (pa.timestamp("us"), [None, dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)]),
    ],
)
def test_values_stand_in_paimons_order(type_: pa.DataType, ascending: list[Any]) -> None:
    column = pa.array(ascending, type_)
    filler = pa.array([ascending[-1]], type_)
    sliced = pa.concat_arrays([filler, column, filler]).slice(1, len(column))
    for array in (column, sliced):
        values = comparable([array])
        assert (values[1:] > values[:-1]).all()
        values = comparable([array.slice(1)])
        assert (values[1:] > values[:-1]).all()
        twice = comparable([array, array])
        assert (twice[1:] > twice[:-1]).all()
        rising = ordinals(array.slice(1))
        assert (rising[1:] > rising[:-1]).all()


pairs = st.tuples(
    st.none() | st.text(alphabet="a\0é", max_size=3),
    st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
)


@given(st.lists(pairs))
def test_composite_keys_compare_column_by_column(rows: list[tuple[str | None, int]]) -> None:
    columns = [
        pa.array([r[0] for r in rows], pa.string()),
        pa.array([r[1] for r in rows], pa.int64()),
    ]
    values = comparable(columns)
    ranked = [((), n) if t is None else ((t.encode(),), n) for t, n in rows]
    for i in range(len(rows)):
        for j in range(len(rows)):
            assert (values[i] < values[j]) == (ranked[i] < ranked[j])
            assert (values[i] == values[j]) == (ranked[i] == ranked[j])


def test_versions_of_a_key_stand_by_number_and_a_tie_ends_with_the_add() -> None:
    schema = schema_of({"k": "INT NOT NULL", "v": "INT"})
    rows = numbered(schema, [(5, "+I", 1, 5), (4, "+I", 1, 4), (5, "-D", 1, 0), (1, "+I", 0, 1)])
    assert key_order(rows, ["k"]).tolist() == [3, 1, 2, 0]


def winner(order: str, *versions: int | None) -> int | None:
    options = {"sequence__field": "s", "sequence__field__sort-order": order}
    schema = schema_of({"k": "INT NOT NULL", "s": "INT"}, **options)
    rows = kv(schema, [("+I", 1, s) for s in versions])
    engine = engine_for(schema)
    [(_, _, value)] = plain(engine.merge_runs(rows, runs_of(rows, engine.order)))
    return value


@pytest.mark.parametrize(
    ("order", "versions", "wins"),
    [
        ("ascending", (2, 1), 2),
        ("ascending", (2, None), 2),
        ("descending", (2, 1, 3), 1),
        ("descending", (2, None), 2),
        ("descending", (None, 2), 2),
    ],
)
def test_the_sequence_field_decides_and_null_is_always_oldest(
    order: str, versions: tuple[int | None, ...], wins: int
) -> None:
    assert winner(order, *versions) == wins


def test_equal_sequence_fields_go_to_the_later_arrival_and_late_deletes_lose() -> None:
    schema = schema_of({"k": "INT NOT NULL", "s": "INT", "v": "STRING"}, sequence__field="s")
    rows = kv(schema, [("+I", 1, 7, "a"), ("+I", 1, 7, "b"), ("+I", 2, 2, "c"), ("-D", 2, 1, "c")])
    engine = engine_for(schema)
    assert plain(engine.merge_runs(rows, runs_of(rows, engine.order))) == [
        ("+I", 1, 7, "b"),
        ("+I", 2, 2, "c"),
    ]


def test_several_sequence_fields_compare_in_turn() -> None:
    schema = schema_of({"k": "INT NOT NULL", "s": "INT", "t": "STRING"}, sequence__field="s,t")
    rows = kv(schema, [("+I", 1, 2, "a"), ("+I", 1, 2, None), ("+I", 1, 1, "z")])
    engine = engine_for(schema)
    assert plain(engine.merge_runs(rows, runs_of(rows, engine.order))) == [("+I", 1, 2, "a")]
