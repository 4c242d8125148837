"""Net changes against a dictionary before and a dictionary after."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_core.changelog.diff import net_changes, state_changes
from table_core.datatypes.kinds import STRING, Array, Field, Map, Row
from table_core.datatypes.text import parse_type
from table_core.merge.aggregators.equal import equal_rows
from tests.merge_rows import numbered, plain, schema_of

INT = parse_type("INT")
SCHEMA = schema_of(
    {
        "k": "INT NOT NULL",
        "v": "INT",
        "note": "STRING",
        "tags": Array(STRING),
        "marks": Map(STRING, INT),
        "part": Row((Field(9, "a", INT), Field(10, "b", Array(INT)))),
    }
)
values = st.tuples(
    st.none() | st.integers(0, 1),
    st.none() | st.text("ab", max_size=1),
    st.none() | st.lists(st.none() | st.text("ab", max_size=1), max_size=2),
    st.none()
    | st.lists(
        st.tuples(st.text("ab", max_size=1), st.none() | st.integers(0, 1)),
        max_size=3,
        unique_by=lambda entry: entry[0],
    ),
    st.none()
    | st.fixed_dictionaries(
        {
            "a": st.none() | st.integers(0, 1),
            "b": st.none() | st.lists(st.integers(0, 1), max_size=2),
        }
    ),
)
states = st.dictionaries(
    st.integers(0, 5), st.tuples(st.sampled_from(["+I", "+U", "-D", "-U"]), values)
)
State = dict[int, tuple[str, tuple[Any, ...]]]


def as_table(state: State, number: int) -> pa.Table:
    return numbered(SCHEMA, [(number, kind, k, *row) for k, (kind, row) in sorted(state.items())])


def unchanged(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    """But for the note; a null inside a list or a map equals nothing, entries have no order."""
    (v, _, tags, marks, part), (*others, more_marks, _) = old, new
    return (
        [v, tags, part] == [others[0], others[2], new[4]]
        and (marks is None) == (more_marks is None)
        and sorted(marks or [], key=str) == sorted(more_marks or [], key=str)
        and None not in (tags or [])
        and all(value is not None for _, value in marks or [])
    )


def oracle(before: State, after: State, *, deduplicate: bool) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for k in sorted({*before, *after}):
        old_kind, old = before.get(k, ("-D", ()))
        new_kind, new = after.get(k, ("-D", ()))
        was, now = old_kind[0] == "+", new_kind[0] == "+"
        if was and now and not (deduplicate and unchanged(old, new)):
            rows += [("-U", k, *old), ("+U", k, *new)]
        elif was and not now:
            rows.append(("-D", k, *old))
        elif now and not was:
            rows.append(("+I", k, *new))
    return rows


@given(states, states, st.booleans())
def test_agrees_with_two_dictionaries(before: State, after: State, deduplicate: bool) -> None:
    got = net_changes(
        as_table(before, 1), as_table(after, 2), ["k"], deduplicate=deduplicate, ignore=["note"]
    )
    assert plain(got) == oracle(before, after, deduplicate=deduplicate)
    numbers = got["_SEQUENCE_NUMBER"].to_pylist()
    assert numbers == [1 if row[0][0] == "-" else 2 for row in plain(got)]


def test_without_a_before_everything_is_new() -> None:
    after = as_table({1: ("+U", (1, None, None, None, None)), 2: ("-D", (None,) * 5)}, 0)
    got = net_changes(None, after, ["k"], deduplicate=True)
    assert plain(got) == [("+I", 1, 1, None, None, None, None)]


def test_identical_rows_are_an_update_unless_deduplicated() -> None:
    state = as_table({1: ("+I", (1, None, None, None, None))}, 0)
    assert [row[0] for row in plain(net_changes(state, state, ["k"], deduplicate=False))] == [
        "-U",
        "+U",
    ]
    assert net_changes(state, state, ["k"], deduplicate=True).num_rows == 0


def test_nan_is_nan_and_the_zeros_differ() -> None:
    left = pa.array([float("nan"), 0.0, 0.0, None])
    right = pa.array([float("nan"), -0.0, 0.0, None])
    assert equal_rows(left, right).tolist() == [True, False, True, True]
    lists = [pa.array([[x] for x in side.to_pylist()]) for side in (left, right)]
    assert equal_rows(*lists).tolist() == [True, False, True, False]


def test_a_list_that_grew_is_not_the_same() -> None:
    was = as_table({1: ("+I", (1, None, ["a"], None, None))}, 0)
    now = as_table({1: ("+I", (1, None, ["a", "b"], None, None))}, 1)
    for before, after in ((was, now), (now, was)):
        assert net_changes(before, after, ["k"], deduplicate=True).num_rows == 2


@given(states, states)
def test_states_differ_as_two_dictionaries_do(before: State, after: State) -> None:
    wanted = []
    was, now = (
        {k: (kind[0], cells) for k, (kind, cells) in side.items()} for side in (before, after)
    )
    for k in sorted({*before, *after}):
        if k in after and was.get(k) != now[k]:
            wanted.append((after[k][0], k, *after[k][1]))
        elif k not in after and before[k][0][0] == "+":
            wanted.append(("-D", k, *before[k][1]))
    assert plain(state_changes(as_table(before, 1), as_table(after, 2), ["k"])) == wanted


def test_a_row_that_is_added_in_another_kind_is_the_same() -> None:
    cells = (1, "a", None, None, None)
    kinds = ("+I", "+U", "-U", "-D")
    was = as_table({k: (kind, cells) for k, kind in enumerate(kinds)}, 1)
    now = as_table({k: (kind, cells) for k, kind in enumerate(("+U", "-D", "-D", "+I"))}, 2)
    found = plain(state_changes(was, now, ["k"]))
    assert [row[:2] for row in found] == [("-D", 1), ("+I", 3)]


def test_states_compare_floats_as_stored() -> None:
    schema = schema_of({"k": "INT NOT NULL", "v": "DOUBLE"})
    nan = float("nan")
    was = numbered(schema, [(1, "+I", 1, nan), (1, "+I", 2, 0.0)])
    now = numbered(schema, [(2, "+I", 1, nan), (2, "+I", 2, -0.0)])
    assert [row[1] for row in plain(state_changes(was, now, ["k"]))] == [2]
