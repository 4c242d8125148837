"""Folds of lists, maps, texts and products against folds of one value at a time, as Java does them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.kinds import STRING, Array, Field, Map, Row
from table_core.datatypes.text import parse_type
from table_core.errors import DataError
from table_core.merge.engines.engine import engine_for
from tests.merge_rows import kv, plain, schema_of, with_options

INT = parse_type("INT")
PAIR = Row((Field(7, "id", INT), Field(8, "seq", INT), Field(9, "q", STRING)))
kinds = st.sampled_from(["+I", "+I", "+U", "-D"])
Values = list[tuple[str, Any]]


def merged(type_: Any, options: dict[str, str], values: Values) -> Any:
    given_options = {f"fields.v.{name}": text for name, text in options.items()}
    schema = with_options(
        schema_of({"k": "INT NOT NULL", "v": type_}),
        {"merge-engine": "aggregation", **given_options},
    )
    table = kv(schema, [(kind, k, v) for k in (1, 2) for kind, v in values])
    first, second = plain(engine_for(schema).merge(table))
    assert first[2] == second[2]
    assert first[0] == "+I"
    return first[2]


def histories(value: st.SearchStrategy[Any], kind: Any = kinds) -> st.SearchStrategy[Values]:
    return st.lists(st.tuples(kind, st.none() | value), min_size=2, max_size=6)


ADD = st.just("+I")
ints = st.lists(st.none() | st.integers(0, 3), max_size=4)


@given(histories(ints), st.booleans())
def test_collect(values: Values, distinct: bool) -> None:
    state: list[Any] | None = None
    for kind, value in values:
        if kind[0] == "+":
            if value is not None:
                state = list(state or [])
                for element in value:
                    if not (distinct and element in state):
                        state.append(element)
        elif state is not None and value is not None:
            owed = list(value)
            left = []
            for element in state:
                if element in owed:
                    owed.remove(element)
                else:
                    left.append(element)
            state = left
    options = {"aggregate-function": "collect", "distinct": str(distinct).lower()}
    assert merged(Array(INT), options, values) == state


@given(histories(st.lists(st.lists(st.integers(0, 1), max_size=2), max_size=3), ADD))
def test_collect_knows_equal_lists(values: Values) -> None:
    state: list[Any] | None = None
    for _, value in values:
        for element in value or ():
            state = state or []
            if element not in state:
                state.append(element)
        if value is not None:
            state = state or []
    options = {"aggregate-function": "collect", "distinct": "true"}
    assert merged(Array(Array(INT)), options, values) == state


maps = st.dictionaries(st.text("ab", max_size=1), st.none() | st.integers(0, 3), max_size=3)


@given(histories(maps.map(lambda m: list(m.items()))))
def test_merge_map(values: Values) -> None:
    state: dict[str, Any] | None = None
    for kind, value in values:
        if kind[0] == "+" and value is not None:
            state = {**(state or {}), **dict(value)}
        elif state is not None and value is not None:
            state = {k: v for k, v in state.items() if k not in dict(value)}
    got = merged(Map(STRING, INT), {"aggregate-function": "merge_map"}, values)
    assert (got if got is None else dict(got)) == state


TIMED = Row((Field(7, "x", INT), Field(8, "ts", STRING)))
timed = st.none() | st.fixed_dictionaries(
    {"x": st.integers(0, 9), "ts": st.none() | st.sampled_from(["1", "2"])}
)
timed_maps = st.dictionaries(st.text("ab", max_size=1), timed, max_size=2)


@given(histories(timed_maps.map(lambda m: list(m.items())), ADD))
def test_merge_map_with_keytime(values: Values) -> None:
    state: dict[str, Any] | None = None
    for _, value in values:
        if value is None:
            continue
        if state is None:
            state = dict(value)
            continue
        for key, new in value:
            old = state.get(key)
            if new is None:
                state.pop(key, None)
            elif new["ts"] is not None and (
                old is None or old["ts"] is None or new["ts"] > old["ts"]
            ):
                state[key] = new
    options = {"aggregate-function": "merge_map_with_keytime", "ts-field": "ts"}
    got = merged(Map(STRING, TIMED), options, values)
    assert (got if got is None else dict(got)) == state


pairs = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(0, 2),
        "seq": st.none() | st.integers(0, 2),
        "q": st.none() | st.text("xy", max_size=1),
    }
)
tables = st.lists(st.none() | pairs, max_size=4)


def at_least(new: int | None, old: int | None) -> bool:
    return (-1 if new is None else new) >= (-1 if old is None else old)


@given(
    histories(tables),
    st.sampled_from([None, 1, 2, 3]),
    st.booleans(),
    st.sampled_from(["merge", "ignore"]),
)
def test_nested_update_by_key(
    values: Values, limit: int | None, sequenced: bool, nulls: str
) -> None:
    most = limit or math.inf
    state: dict[Any, Any] | None = None
    for kind, value in values:
        if value is None or (state is None and kind[0] == "-"):
            continue
        state = state or {}
        for row in value:
            if row is None or (row["id"] is None and nulls == "ignore"):
                continue
            if kind[0] == "-":
                state.pop(row["id"], None)
            elif row["id"] in state:
                if not sequenced or at_least(row["seq"], state[row["id"]]["seq"]):
                    state[row["id"]] = row
            elif len(state) < most:
                state[row["id"]] = row
    options = {
        "aggregate-function": "nested_update",
        "nested-key": "id",
        "nested-key-null-strategy": nulls,
        **({"count-limit": str(limit)} if limit else {}),
        **({"nested-sequence-field": "seq"} if sequenced else {}),
    }
    got = merged(Array(PAIR), options, values)
    want = None if state is None else sorted(state.values(), key=lambda r: repr(r["id"]))
    assert (got if got is None else sorted(got, key=lambda r: repr(r["id"]))) == want


@given(histories(tables), st.sampled_from([None, 1, 3]))
def test_nested_update_without_a_key(values: Values, limit: int | None) -> None:
    most = limit or math.inf
    state: list[Any] | None = None
    for kind, value in values:
        if value is None or (state is None and kind[0] == "-"):
            continue
        state = state or []
        for row in value:
            if row is None:
                continue
            if kind[0] == "-":
                state = [r for r in state if r != row]
            elif len(state) < most:
                state = [*state, row]
    options = {
        "aggregate-function": "nested_update",
        **({"count-limit": str(limit)} if limit else {}),
    }
    assert merged(Array(PAIR), options, values) == state


@given(histories(tables, ADD))
def test_nested_partial_update(values: Values) -> None:
    state: dict[Any, Any] | None = None
    for _, value in values:
        if value is not None:
            state = state or {}
            for row in value:
                if row is not None:
                    old = state.setdefault(row["id"], dict.fromkeys(row))
                    old.update({n: v for n, v in row.items() if v is not None})
    options = {"aggregate-function": "nested_partial_update", "nested-key": "id"}
    got = merged(Array(PAIR), options, values)
    assert got == (None if state is None else list(state.values()))


def test_a_null_in_a_nested_key_can_be_an_error() -> None:
    options = {
        "aggregate-function": "nested_update",
        "nested-key": "id",
        "nested-key-null-strategy": "error",
    }
    values = [("+I", [{"id": None, "seq": 1, "q": "x"}]), ("+I", [])]
    with pytest.raises(DataError, match="nested-key-null-strategy"):
        merged(Array(PAIR), options, values)


ROWS = [{"id": 1, "seq": 1, "q": "x"}, {"id": 1, "seq": None, "q": "y"}]
KEYED = {"fields.v.aggregate-function": "nested_update", "fields.v.nested-key": "id"}


@pytest.mark.parametrize(
    ("options", "versions"),
    [
        (
            {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"},
            [("+I", 1, []), ("-D", 1, ROWS), ("+I", 1, None), ("-U", 1, None)],
        ),
        (
            {
                "merge-engine": "partial-update",
                "fields.s.sequence-group": "v",
                "fields.v.ignore-retract": "true",
            },
            [("-D", None, ROWS), ("+I", 1, None), ("-U", 1, ROWS)],
        ),
    ],
    ids=["aggregation", "partial-update"],
)
def test_what_a_retract_left_stays_as_written_until_something_comes(
    options: dict[str, str], versions: list[tuple[str, int | None, Any]]
) -> None:
    schema = with_options(
        schema_of({"k": "INT NOT NULL", "s": "INT", "v": Array(PAIR)}), {**options, **KEYED}
    )

    def state(*more: tuple[str, int | None, Any]) -> Any:
        rows = kv(schema, [(kind, 1, s, v) for kind, s, v in (*versions, *more)])
        return plain(engine_for(schema).merge(rows))[0][3]

    assert state() == ROWS
    assert state(("+I", 2, [])) == ROWS[1:]


def test_a_null_makes_what_a_removal_left_distinct() -> None:
    options = {
        "merge-engine": "aggregation",
        "aggregation.remove-record-on-delete": "true",
        "fields.v.aggregate-function": "collect",
        "fields.v.distinct": "true",
    }
    schema = with_options(schema_of({"k": "INT NOT NULL", "v": Array(INT)}), options)
    rows = kv(schema, [("+I", 1, [3]), ("-D", 1, [2, 2]), ("+I", 1, None)])
    assert plain(engine_for(schema).merge(rows))[0][2] == [2]


@given(histories(st.text("a; ", max_size=4), ADD), st.booleans())
def test_listagg(values: Values, distinct: bool) -> None:
    state: str | None = None
    for _, value in values:
        if value is None or not value.strip():
            continue
        if state is None:
            state = value
        elif not distinct:
            state = f"{state};{value}"
        else:
            for token in value.split(";"):
                if token.strip() and token not in state.split(";"):
                    state = f"{state};{token}"
    options = {
        "aggregate-function": "listagg",
        "list-agg-delimiter": ";",
        "distinct": str(distinct).lower(),
    }
    assert merged("STRING", options, values) == state


@given(histories(st.integers(-3, 3)))
def test_product_of_integers(values: Values) -> None:
    state: int | None = None
    for kind, value in values:
        if value is None:
            continue
        if state is None:
            state = value if kind[0] == "+" else None
        elif kind[0] == "+":
            state *= value
        elif value == 0:
            with pytest.raises(DataError, match="cannot take 0 back"):
                merged("BIGINT", {"aggregate-function": "product"}, values)
            return
        else:
            state = int(Fraction(state, value))
    assert merged("BIGINT", {"aggregate-function": "product"}, values) == state


@given(histories(st.decimals(-20, 20, places=2)))
def test_product_of_decimals(values: Values) -> None:
    state: Decimal | None = None
    for kind, value in values:
        if value is None:
            continue
        if state is None:
            state = value if kind[0] == "+" else None
            continue
        exact = None if kind[0] == "-" and value == 0 else Fraction(state)
        if exact is not None:
            exact = exact / Fraction(value) if kind[0] == "-" else exact * Fraction(value)
        if exact is None or not is_decimal(exact):
            with pytest.raises(DataError):
                merged("DECIMAL(6, 2)", {"aggregate-function": "product"}, values)
            return
        sign = -1 if exact < 0 else 1
        rounded = sign * ((2 * abs(exact) * 100 + 1) // 2)
        state = Decimal(int(rounded)) / 100 if abs(rounded) < 10**6 else None
    assert merged("DECIMAL(6, 2)", {"aggregate-function": "product"}, values) == state


def is_decimal(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("TINYINT", [("+I", 16), ("+I", 8)]),
        ("BIGINT", [("+I", 2**62), ("+I", 2)]),
        ("BIGINT", [("+I", -(2**63)), ("+I", -1)]),
        ("BIGINT", [("+I", -(2**63)), ("-D", -1)]),
    ],
)
def test_an_integer_product_never_wraps(type_: str, values: Values) -> None:
    with pytest.raises(DataError, match="does not fit"):
        merged(type_, {"aggregate-function": "product"}, values)


def test_a_float_product_is_as_java_calculates_it() -> None:
    values = [("+I", 0.1), ("+I", 3.0), ("-D", 0.7)]
    assert merged("DOUBLE", {"aggregate-function": "product"}, values) == 0.1 * 3.0 / 0.7


def test_of_equal_times_the_first_stays() -> None:
    values = [("+I", [("a", {"x": x, "ts": "1"})]) for x in (1, 2)]
    options = {"aggregate-function": "merge_map_with_keytime"}
    assert merged(Map(STRING, TIMED), options, values) == [("a", {"x": 1, "ts": "1"})]
