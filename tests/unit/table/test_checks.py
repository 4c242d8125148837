"""Checks tell what is wrong with rows, by the meaning of their bounds, and never pass by looking away."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.bounds import Bounds
from table_core.errors import ArgumentError, DataError
from table_core.table.api.checks import check
from table_core.table.api.opening import open_catalog
from table_core.table.api.table import Table
from tests.clocks import SetClock
from tests.tables import new_catalog, write_rows

_NUMBERS = itertools.count()


def table_of(kind: pa.DataType, values: list[Any]) -> Table:
    catalog = open_catalog(f"memory://{next(_NUMBERS)}-checks")
    catalog.create_database("a")
    schema = pa.schema([("v", kind), ("w", pa.int32())])
    table = catalog.create_table("a.t", schema)
    with table.write() as writer:
        rows = [pa.array(values, kind), pa.array([1] * len(values), pa.int32())]
        writer.write(pa.Table.from_arrays(rows, schema=schema))
        writer.commit()
    return catalog.table("a.t")


def failed(table: Table, **rules: Any) -> list[int]:
    done = check(table, rules, fail=False)
    return [one["failed_rows"] for one in done.details["checks"]]  # type: ignore[index, union-attr]  # of its document


def outside(kind: pa.DataType, values: list[Any], low: Any, high: Any) -> list[bool]:
    found: list[bool] = Bounds("v", low, high).outside(pa.array(values, kind)).to_pylist()
    return found


MONEY = pa.decimal128(12, 2)


@pytest.mark.parametrize(
    ("kind", "values", "bounds", "want"),
    [
        (MONEY, ["-0.01", "0.00", "5.00", None], [0, None], [True, False, False, False]),
        (MONEY, ["0.00", "0.01"], ["0.001", None], [True, False]),
        (MONEY, ["0.00", "0.01"], [None, 0.001], [False, True]),
        (MONEY, ["0.00"], [10**30, None], [True]),
        (MONEY, ["0.00"], [None, 10**30], [False]),
        (pa.int8(), [-128, 127, None], [-1000, 1000], [False, False, False]),
        (pa.int8(), [-128, 127, None], [1000, None], [True, True, False]),
        (pa.int32(), [1, 2], [1.5, None], [True, False]),
        (pa.int64(), [2**53, 2**53 + 1], [2**53 + 1, None], [True, False]),
        (pa.float64(), [0.1, math.nan, None, math.inf], ["0.1", 5], [False, True, False, True]),
        (pa.float64(), [0.1, math.nan], [None, 0.1], [False, True]),
        (pa.float64(), [2.0**53], [2**53 + 1, None], [True]),
        (pa.float32(), [0.1, 16777216.0], ["0.1", 16777217], [False, False]),
        (pa.float32(), [16777216.0], ["16777217", None], [True]),
        (pa.string(), ["a", "b", "07"], ["a", None], [False, False, True]),
        (pa.date32(), [date(2026, 1, 1)], ["2026-01-01", "2026-01-01"], [False]),
        (pa.date32(), [date(2026, 1, 1)], ["2026-01-01T00:00:01", None], [True]),
        (pa.date32(), [date(2026, 1, 1)], [date(2026, 1, 2), None], [True]),
        (
            pa.timestamp("ms"),
            [datetime(2026, 1, 1, 0, 0, 0, 1000)],
            ["2026-01-01T00:00:00.001500", None],
            [True],
        ),
        (pa.timestamp("ms"), [datetime(2026, 1, 1)], [None, "2025-12-31 23:59:59.9999"], [True]),
        (
            pa.timestamp("us", "UTC"),
            [datetime(2026, 1, 1)],
            ["2026-01-01T01:00:00+01:00", "2026-01-01"],
            [False],
        ),
        (pa.time32("ms"), [time(12)], ["12:00:00.0001", None], [True]),
    ],
)
def test_bounds_are_compared_by_what_they_mean(
    kind: pa.DataType, values: list[Any], bounds: list[Any], want: list[bool]
) -> None:
    if kind == MONEY:
        values = [None if value is None else Decimal(value) for value in values]
    assert outside(kind, values, *bounds) == want
    if kind != pa.time32("ms"):
        assert failed(table_of(kind, values), range={"v": bounds}) == [sum(want)]


numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-500, max_value=500),
    st.sampled_from([Decimal("0.001"), Decimal("127.5"), Decimal("-128.0001"), Decimal("1e-9")]),
)


@given(numbers, st.sampled_from(["int8", "int64", "decimal", "float64", "float32"]), st.data())
def test_exact_numbers_are_compared_as_fractions_are(
    bound: Any, name: str, data: st.DataObject
) -> None:
    near = [int(bound) + n for n in (-1, 0, 1)]
    kind: pa.DataType = pa.decimal128(9, 3)
    if name == "decimal":
        cents = st.integers(-(10**9) + 1, 10**9 - 1)
        values: list[Any] = [Decimal(n).scaleb(-3) for n in data.draw(st.lists(cents, max_size=5))]
    elif name.startswith("int"):
        kind = pa.int8() if name == "int8" else pa.int64()
        limit = 2 ** (kind.bit_width - 1)
        values = [n for n in [*near, 0, -limit, limit - 1] if -limit <= n < limit]
    else:
        kind = pa.float64() if name == "float64" else pa.float32()
        values = [kind.to_pandas_dtype()(n) for n in (*near, bound)]
        values = [float(n) for n in values]
    exact = [Fraction(v) for v in values]
    if name.startswith("float"):
        shown = [str(np.float32(v)) if name == "float32" else repr(v) for v in values]
        exact = [
            Fraction(Decimal(s)) if Decimal(s) == bound else f
            for s, f in zip(shown, exact, strict=True)
        ]
    wanted = Fraction(bound)
    assert outside(kind, values, str(bound), None) == [v < wanted for v in exact]
    assert outside(kind, values, None, str(bound)) == [v > wanted for v in exact]


def test_two_nulls_are_two_values() -> None:
    table = table_of(pa.string(), ["a", None, None, "b", "b"])
    assert failed(table, unique=["v"]) == [1]
    assert failed(table, unique=["v", "w"]) == [1]
    assert failed(table, not_null=["v"], unique=["w"]) == [2, 1]


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"where": "v = 'a'"},
        {"not_null": []},
        {"not_null": "v"},
        {"unique": []},
        {"unique": "v"},
        {"range": {}},
        {"range": ["v"]},
        {"range": {"v": [1]}},
        {"range": {"v": [None, None]}},
        {"range": {"v": 3}},
        {"range": {"w": ["many", None]}},
        {"range": {"w": [True, None]}},
        {"range": {"w": [math.nan, None]}},
        {"rows": []},
        {"rows": [1]},
        {"rows": [None, None]},
        {"rows": [-1, None]},
        {"rows": ["many", None]},
        {"rows": 3},
        {"sql": " "},
        {"change": [0.5, 2]},
        {"freshness": "2"},
        {"freshness": "soon"},
        {"freshness": 5},
        {"not_nul": ["v"]},
    ],
)
def test_a_rule_that_would_check_nothing_is_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        check(table_of(pa.string(), ["a"]), rules)


def test_all_rules_that_are_broken_are_told_with_rows() -> None:
    table = table_of(pa.int32(), [1, 2, None])
    with pytest.raises(DataError) as caught:
        check(table, {"not_null": ["v"], "range": {"v": [2, None]}, "rows": ["4", None]})
    told = caught.value.facts["checks"]
    assert [(one["rule"], one["failed_rows"]) for one in told] == [  # type: ignore[attr-defined]  # documents
        ("not_null v", 1),
        ("range v", 1),
        ("rows [4, None]", 3),
    ]


@pytest.mark.parametrize(
    ("at_most", "passes"), [(1, False), (2, True), ("2", True), ("40 %", True), ("39.9%", False)]
)
def test_so_many_rows_may_break_a_rule(at_most: Any, passes: bool) -> None:
    table = table_of(pa.int32(), [1, 2, 3, None, None])
    rules = {"not_null": ["v"], "at_most": at_most}
    (one,) = check(table, rules, fail=False).details["checks"]  # type: ignore[misc]  # a document
    assert (one["passed"], one["failed_rows"]) == (passes, 2)
    with pytest.raises(DataError):
        check(table, {"rows": [9, None], "at_most": "100 %"})
    for wrong in ("many", "1.5", -1, True, [1]):
        with pytest.raises(ArgumentError):
            check(table, {"not_null": ["v"], "at_most": wrong})


def test_rows_that_came_too_long_ago_are_told() -> None:
    table = table_of(pa.int32(), [1])
    assert failed(table, freshness="1 h") == [0]
    now = table.access.clock.now_ms()
    late = Table(replace(table.access, clock=SetClock(now + 3_600_001)))
    assert failed(late, freshness="1 h") == [1]
    table.analyze()
    assert failed(late, freshness="1 h") == [1], "statistics bring no rows"
    assert failed(late, freshness="2 h", rows=[1, None]) == [0, 0]
    catalog = open_catalog(f"memory://{next(_NUMBERS)}-checks")
    catalog.create_database("a")
    empty = catalog.create_table("a.t", pa.schema([("v", pa.int32())]))
    assert failed(empty, freshness="1 h") == [1]


@pytest.mark.parametrize(
    "options",
    [
        {"deletion-vectors.enabled": "true"},
        {"merge-engine": "first-row"},
        {"changelog-producer": "lookup"},
    ],
)
@pytest.mark.parametrize("rule", [{"not_null": ["v"]}, {"rows": [1, 1]}, {"sql": "…"}])
def test_rows_that_only_a_compaction_shows_are_checked(
    options: dict[str, str], rule: dict[str, Any]
) -> None:
    """A branch that passed is published, and then they are shown."""
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
    catalog = new_catalog()
    table = catalog.create_table(
        "d.hidden", schema, primary_key=("k",), options={"bucket": "1", **options}
    )
    write_rows(table, pa.table({"k": [1], "v": [1]}, schema=schema))
    table.branches.create("b", snapshot=1)
    branch = catalog.table("d.hidden$branch_b", options={"write-only": "true"})
    write_rows(branch, pa.table({"k": [2], "v": [None]}, schema=schema))

    def query(_: str, rows: pa.Table) -> pa.Table:
        return rows.filter(rows["v"].is_null())

    with pytest.raises(DataError, match="breaks 1 of 1"):
        check(branch, rule, query=query)


def test_a_branch_whose_rows_wait_for_their_bucket_cannot_be_checked() -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
    catalog = new_catalog()
    table = catalog.create_table("d.w", schema, primary_key=("k",), options={"bucket": "-2"})
    write_rows(table, pa.table({"k": [1], "v": [1]}, schema=schema))
    assert check(table, {"not_null": ["v"]}).details["rows"] == 0  # as any reader sees it
    table.branches.create("b", snapshot=1)
    branch = catalog.table("d.w$branch_b")
    with pytest.raises(ArgumentError, match="wait for their bucket"):
        check(branch, {"not_null": ["v"]})
    branch.compact()
    assert check(branch, {"not_null": ["v"]}).details["rows"] == 1


def test_rows_of_the_future_are_not_fresh() -> None:
    table = table_of(pa.int32(), [1])
    now = table.access.clock.now_ms()
    early = Table(replace(table.access, clock=SetClock(now - 86_400_000)))
    assert failed(early, freshness="1 h") == [1], "nobody knows how old they are"
    near = Table(replace(table.access, clock=SetClock(now - 60_000)))
    assert failed(near, freshness="1 h") == [0], "clocks are never quite the same"
