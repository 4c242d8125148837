"""Partial update, with and without sequence groups, against a fold of one row at a time."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.errors import DataError
from table_core.merge.engines.engine import engine_for
from table_core.merge.sort import runs_of
from tests.merge_rows import kv, plain, schema_of, with_options

NAMES = ("g", "h", "a", "s", "j", "b", "t", "c")
SCHEMA = with_options(
    schema_of({"k": "INT NOT NULL", **dict.fromkeys(NAMES, "INT")}),
    {"merge-engine": "partial-update"},
)
GROUPS = {
    "fields.g,h.sequence-group": "a,s",
    "fields.j.sequence-group": "b,t",
    "fields.s.aggregate-function": "sum",
    "fields.t.aggregate-function": "last_non_null_value",
}
PARTS = ((("g", "h"), ("a", "s")), (("j",), ("b", "t")))
small = st.none() | st.integers(0, 2)
row = st.tuples(
    st.sampled_from(["+I", "+U", "-U", "-D", "+I", "+U"]),
    st.integers(0, 1),
    *[small for _ in NAMES],
)
rows = st.lists(row, max_size=10)
Row = tuple[Any, ...]


def merged(schema: Any, table: pa.Table) -> pa.Table:
    engine = engine_for(schema)
    return engine.merge_runs(table, runs_of(table, engine.order))


def versions(given: list[Row]) -> list[list[Row]]:
    in_order = sorted(given, key=lambda r: r[1])
    return [list(g) for _, g in itertools.groupby(in_order, key=lambda r: r[1])]


def retracted(function: str, so_far: Any, value: Any) -> Any:
    if function == "sum":
        return so_far if value is None else -value if so_far is None else so_far - value
    return so_far if value is None else None


def added(function: str, so_far: Any, value: Any) -> Any:
    if function == "sum":
        return value if so_far is None else so_far if value is None else so_far + value
    return so_far if value is None else value


FUNCTIONS = {"s": "sum", "t": "last_non_null_value"}


def oracle(group: list[Row], removing: set[str], *, ignore: bool, grouped: bool) -> Row:
    """The row of a key, version by version, as the specification tells it."""
    if len(group) == 1:
        return group[0]
    row: dict[str, Any] = dict.fromkeys(NAMES)
    met_add = filled = gone = False
    for kind, _, *values in group:
        new = dict(zip(NAMES, values, strict=True))
        gone = False
        if kind[0] == "-" and not filled:
            row, filled = dict(new), True
        if kind[0] == "-" and ignore:
            continue
        if not grouped:
            if kind[0] == "+":
                row.update({n: v for n, v in new.items() if v is not None})
            elif kind == "-D":
                row, gone = dict(new), True
        else:
            row, gone = step(kind, row, new, removing)
        if kind[0] == "+":
            met_add = filled = True
    return ("-D" if gone or not met_add else "+I", group[0][1], *(row[n] for n in NAMES))


def step(
    kind: str, row: dict[str, Any], new: dict[str, Any], removing: set[str]
) -> tuple[dict[str, Any], bool]:
    row = dict(row)
    for sequence, protected in PARTS:
        if all(new[n] is None for n in sequence):
            continue
        wins = age(new, sequence) >= age(row, sequence)
        if wins and kind == "-D" and removing.intersection(sequence):
            return dict(new), True
        for n in protected:
            function = FUNCTIONS.get(n)
            if kind[0] == "-":
                if function is not None:
                    row[n] = retracted(function, row[n], new[n])
                elif wins:
                    row[n] = None
            elif function is not None:
                row[n] = (
                    added(function, row[n], new[n]) if wins else added(function, new[n], row[n])
                )
            elif wins:
                row[n] = new[n]
        if wins:
            row.update({n: new[n] for n in sequence})
    if kind[0] == "+" and new["c"] is not None:
        row["c"] = new["c"]
    return row, False


def age(row: dict[str, Any], names: tuple[str, ...]) -> list[tuple[int, ...]]:
    return [() if row[n] is None else (row[n],) for n in names]


def check(options: dict[str, str], given: list[Row], removing: set[str] = frozenset()) -> None:
    schema = with_options(SCHEMA, options)
    ignore = options.get("ignore-delete") == "true"
    grouped = any(name.endswith("sequence-group") for name in options)
    want = [oracle(g, removing, ignore=ignore, grouped=grouped) for g in versions(given)]
    assert plain(merged(schema, kv(schema, given))) == want


@given(rows)
def test_plain_with_removal_on_delete(given: list[Row]) -> None:
    check({"partial-update.remove-record-on-delete": "true"}, given)


@given(st.lists(row, max_size=30))
def test_plain_where_every_row_is_an_insert(given: list[Row]) -> None:
    """Mutants: a column has the rows of another with other gaps; null is taken from the last row."""
    check({}, [("+I", *r[1:]) for r in given])


@given(rows)
def test_plain_ignoring_deletes(given: list[Row]) -> None:
    check({"ignore-delete": "true"}, given)


@given(rows)
def test_plain_refuses_deletes_that_it_has_to_merge(given: list[Row]) -> None:
    table = kv(SCHEMA, given)
    if any(len(g) > 1 and any(r[0][0] == "-" for r in g) for g in versions(given)):
        with pytest.raises(DataError, match="ignore-delete"):
            merged(SCHEMA, table)
    else:
        check({}, given)


@given(rows)
def test_sequence_groups(given: list[Row]) -> None:
    check(GROUPS, given)


@given(rows)
def test_sequence_groups_ignoring_deletes(given: list[Row]) -> None:
    check({**GROUPS, "ignore-delete": "true"}, given)


@given(rows, st.sampled_from(["h", "j", "g,j"]))
def test_sequence_groups_that_remove_the_record(given: list[Row], removing: str) -> None:
    options = {**GROUPS, "partial-update.remove-record-on-sequence-group": removing}
    check(options, given, set(removing.split(",")))


@given(rows, st.integers(0, 10), st.sampled_from([{}, GROUPS]))
def test_compacting_a_prefix_first_changes_nothing(
    given: list[Row], cut: int, options: dict[str, str]
) -> None:
    """Adds only.  The later rows come one by one, as a writer brings them."""
    schema = with_options(SCHEMA, options)
    everything = kv(schema, [("+I", *r[1:]) for r in given])
    early = merged(schema, everything.slice(0, cut))
    both = pa.concat_tables([early, everything.slice(cut)])
    assert plain(merged(schema, both)) == plain(merged(schema, everything))


@given(rows, st.sampled_from([(), ("c",), ("a",), ("s", "b")]))
def test_a_projection_gives_the_same_values(given: list[Row], wanted: tuple[str, ...]) -> None:
    options = {**GROUPS, "partial-update.remove-record-on-sequence-group": "j"}
    schema = with_options(SCHEMA, options)
    table = kv(schema, given)
    names = engine_for(schema).required_columns(wanted)
    few = engine_for(schema, names)
    part = table.select(["_SEQUENCE_NUMBER", "_VALUE_KIND", *names])
    columns = ["_VALUE_KIND", "k", *wanted]
    want = merged(schema, table).select(columns)
    assert few.merge_runs(part, runs_of(part, few.order)).select(columns).equals(want)
