"""Deduplicate, first-row and aggregation against oracles that are too slow to be wrong."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from table_core.errors import DataError
from table_core.merge.engines.aggregate import Aggregation
from table_core.merge.engines.engine import engine_for
from table_core.merge.engines.inserts import all_inserts
from table_core.merge.sort import runs_of
from tests.merge_rows import numbered, plain, schema_of, with_options

COLUMNS = {"k": "INT NOT NULL", "s": "INT", "n": "BIGINT", "d": "DECIMAL(20, 2)", "t": "STRING"}
PLAIN = schema_of(COLUMNS)
row = st.tuples(
    st.sampled_from(["+I", "-U", "+U", "-D"]),
    st.integers(0, 2),
    st.none() | st.integers(0, 2),
    st.none() | st.integers(-(2**40), 2**40),
    st.none() | st.decimals(-(10**16), 10**16, places=2),
    st.none() | st.text("aéz", max_size=2),
)
rows = st.lists(row, max_size=12)
Row = tuple[Any, ...]


def merged(schema: Any, table: pa.Table) -> pa.Table:
    engine = engine_for(schema)
    return engine.merge_runs(table, runs_of(table, engine.order))


def versions(given: list[Row]) -> list[list[Row]]:
    """Versions of each key, oldest first."""
    in_order = sorted(given, key=lambda r: r[1])
    return [list(g) for _, g in itertools.groupby(in_order, key=lambda r: r[1])]


@given(rows, st.booleans())
def test_deduplicate_keeps_the_last_of_each_key(given: list[Row], ignore: bool) -> None:
    schema = with_options(PLAIN, {"ignore-delete": str(ignore).lower()})
    want = []
    for group in versions(given):
        adds = group if len(group) == 1 or not ignore else [r for r in group if r[0][0] == "+"]
        want += adds[-1:]
    assert plain(merged(schema, numbered(schema, list(enumerate_rows(given))))) == want


def enumerate_rows(given: list[Row]) -> list[Row]:
    return [(i, *r) for i, r in enumerate(given)]


@given(rows, st.sampled_from(["ascending", "descending"]))
def test_deduplicate_by_sequence_field(given: list[Row], direction: str) -> None:
    schema = with_options(PLAIN, {"sequence.field": "s,n", "sequence.field.sort-order": direction})
    sign = -1 if direction == "descending" else 1

    def age(r: Row) -> Any:
        return [() if v is None else (sign * v,) for v in (r[2], r[3])]

    want = []
    for group in versions(given):
        group.sort(key=age)
        want.append(group[-1])
    assert plain(merged(schema, numbered(schema, enumerate_rows(given)))) == want


@given(rows)
def test_first_row_keeps_the_first_of_each_key(given: list[Row]) -> None:
    schema = with_options(PLAIN, {"merge-engine": "first-row"})
    table = numbered(schema, enumerate_rows(given))
    if any(len(g) > 1 and any(r[0][0] == "-" for r in g) for g in versions(given)):
        with pytest.raises(DataError, match="ignore-delete"):
            merged(schema, table)
    else:
        assert plain(merged(schema, table)) == [g[0] for g in versions(given)]
    ignoring = with_options(schema, {"ignore-delete": "true"})
    want = []
    for g in versions(given):
        want += g if len(g) == 1 else [r for r in g if r[0][0] == "+"][:1]
    assert plain(merged(ignoring, table)) == want


AGGREGATION = {
    "merge-engine": "aggregation",
    "fields.s.aggregate-function": "max",
    "fields.s.ignore-retract": "true",
    "fields.n.aggregate-function": "sum",
    "fields.d.aggregate-function": "sum",
    "fields.t.aggregate-function": "last_non_null_value",
}


def aggregated(group: list[Row], *, remove: bool) -> Row:
    """One row of the versions of a key, value by value."""
    if len(group) == 1:
        return group[0]
    k, s, n, d, t = group[0][1], None, None, None, None
    kind = "+I"
    for row_kind, _, s1, n1, d1, t1 in group:
        kind = "+I"
        if remove and row_kind == "-D":
            kind, s, n, d, t = "-D", s1, n1, d1, t1
            continue
        sign = -1 if row_kind[0] == "-" else 1
        if sign > 0:
            s = s1 if s is None else s if s1 is None else max(s, s1)
        n = n if n1 is None else sign * n1 + (n or 0)
        d = d if d1 is None else sign * d1 + (d or Decimal(0))
        t = t if t1 is None else t1 if sign > 0 else None
    return (kind, k, s, n, d, t)


@given(rows)
def test_aggregation_agrees_with_a_row_by_row_fold(given: list[Row]) -> None:
    schema = with_options(PLAIN, AGGREGATION)
    want = [aggregated(g, remove=False) for g in versions(given)]
    assert plain(merged(schema, numbered(schema, enumerate_rows(given)))) == want


INSERTED = {
    **AGGREGATION,
    "fields.s.aggregate-function": "min",
    "fields.t.aggregate-function": "first_non_null_value",
    "fields.d.aggregate-function": "last_value",
}


@given(st.lists(row, max_size=40))
def test_inserts_alone_are_folded_as_rows_one_by_one(given: list[Row]) -> None:
    """Mutants: gaps of one column taken for another's; a key with one version left out."""
    inserts = [("+I", *r[1:]) for r in given]

    def folded(group: list[Row]) -> Row:
        s, n, t = ([r[at] for r in group if r[at] is not None] for at in (2, 3, 5))
        total = sum(n) if n else None
        return ("+I", group[0][1], min(s, default=None), total, group[-1][4], t[0] if t else None)

    schema = with_options(PLAIN, INSERTED)
    table = numbered(schema, enumerate_rows(inserts))
    engine = engine_for(schema)
    assert isinstance(engine, Aggregation)
    assert all_inserts(table, engine.aggregators)
    assert plain(merged(schema, table)) == [folded(g) for g in versions(inserts)]


@given(rows)
def test_aggregation_with_removal_agrees_with_a_row_by_row_fold(given: list[Row]) -> None:
    options = {k: v for k, v in AGGREGATION.items() if not k.startswith("fields.s.")}
    options |= {"aggregation.remove-record-on-delete": "true", "sequence.field": "s"}
    schema = with_options(PLAIN, options)

    def age(r: Row) -> Any:
        return () if r[2] is None else (r[2],)

    want = []
    for g in versions(given):
        g.sort(key=age)
        result = list(aggregated(g, remove=True))
        last = g[-1]
        result[2] = last[2] if last[0] != "-U" or len(g) == 1 else None
        want.append(tuple(result))
    assert plain(merged(schema, numbered(schema, enumerate_rows(given)))) == want


LAWFUL = st.sampled_from(
    [
        {},
        {"sequence.field": "s"},
        {"merge-engine": "first-row"},
        {**AGGREGATION, "fields.t.aggregate-function": "first_value"},
        AGGREGATION,
    ]
)


@given(rows, st.integers(0, 12), LAWFUL)
def test_compacting_a_prefix_first_changes_nothing(
    given: list[Row], cut: int, options: dict[str, str]
) -> None:
    """Only adds: a lone retract passes through a compaction and is gone after it (format 7.5)."""
    added = [("+I", *r[1:]) for r in given]
    schema = with_options(PLAIN, options)
    everything = numbered(schema, enumerate_rows(added))
    early, late = everything.slice(0, cut), everything.slice(cut)
    halves = pa.concat_tables([merged(schema, early), merged(schema, late)])
    assert plain(merged(schema, halves)) == plain(merged(schema, everything))


@given(rows, LAWFUL)
def test_merging_twice_changes_nothing(given: list[Row], options: dict[str, str]) -> None:
    schema = with_options(PLAIN, options)
    once = merged(schema, numbered(schema, enumerate_rows([("+I", *r[1:]) for r in given])))
    assume(once.num_rows)
    assert merged(schema, once) == once
