"""Groups of values, empty ones among them, against lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.merge.ordinal import in_order, validity
from table_core.merge.runs import Groups
from table_core.merge.take_indices import taken


@given(st.lists(st.lists(st.booleans(), max_size=3), max_size=6))
def test_first_last_and_reduce_agree_with_lists(given: list[list[bool]]) -> None:
    groups = Groups.of_lengths(np.array([len(g) for g in given], np.int64))
    mask = np.array([b for g in given for b in g], np.bool_)
    starts = np.cumsum([0, *map(len, given)])
    hits = [[int(s) + i for i, b in enumerate(g) if b] for s, g in zip(starts, given, strict=False)]
    assert groups.first(mask).tolist() == [h[0] if h else -1 for h in hits]
    assert groups.last(mask).tolist() == [h[-1] if h else -1 for h in hits]
    assert groups.reduce(np.add, mask.astype(np.int64), 0).tolist() == [len(h) for h in hits]
    assert groups.ids.tolist() == [i for i, g in enumerate(given) for _ in g]


EDGES = st.integers(-5, 5) | st.sampled_from([2**63 - 1, -(2**63), 2**62])


@given(st.lists(st.lists(EDGES, min_size=1, max_size=4), min_size=1, max_size=6))
def test_sums_and_extremes_agree_with_lists_also_at_the_edges(given: list[list[int]]) -> None:
    """A sum that does not fit wraps, as those who call know."""
    groups = Groups.of_lengths(np.array([len(g) for g in given], np.int64))
    values = np.array([value for g in given for value in g], np.int64)
    wrapped = [(sum(g) + 2**63) % 2**64 - 2**63 for g in given]
    assert groups.reduce(np.add, values, 0).tolist() == wrapped
    assert groups.reduce(np.maximum, values, 0).tolist() == [max(g) for g in given]
    assert groups.reduce(np.minimum, values, 0).tolist() == [min(g) for g in given]


@given(st.lists(EDGES, max_size=20))
def test_an_order_is_stable_whatever_the_numbers(given: list[int]) -> None:
    order, marks = in_order(np.array(given, np.int64))
    assert order.tolist() == sorted(range(len(given)), key=given.__getitem__)
    ordered = [given[at] for at in order]
    assert np.array_equal(marks[1:] == marks[:-1], np.equal(ordered[1:], ordered[:-1]))


COLUMNS = st.sampled_from(
    [
        (pa.int64(), st.integers(-9, 9)),
        (pa.int8(), st.integers(-9, 9)),
        (pa.float32(), st.sampled_from([0.5, -1.0])),
        (pa.binary(), st.binary(max_size=3)),
        (pa.decimal128(30, 2), st.decimals(-9, 9, places=2)),
        (pa.timestamp("us"), st.integers(0, 9)),
        (pa.binary(2), st.binary(min_size=2, max_size=2)),
        (pa.bool_(), st.booleans()),
        (pa.string(), st.text(max_size=2)),
        (pa.list_(pa.int8()), st.lists(st.integers(0, 3), max_size=2)),
        (pa.null(), st.none()),
    ]
)


@given(COLUMNS, st.data())
def test_taken_and_validity_agree_with_lists(kind: tuple[pa.DataType, Any], data: Any) -> None:
    """Mutants: the offset of a slice forgotten, in the values or in the bits."""
    type_, values = kind
    given = data.draw(st.lists(st.none() | values, max_size=20))
    first = data.draw(st.integers(0, len(given)))
    column = pa.array(given, type_).slice(first, data.draw(st.integers(0, 20)))
    held = column.to_pylist()
    positions = data.draw(st.lists(st.integers(-1, len(held) - 1), max_size=9))
    found = taken(column, np.array(positions, np.int64))
    found.validate(full=True)
    assert found.type == type_
    assert found.to_pylist() == [None if at < 0 else held[at] for at in positions]
    valid = validity(column)
    assert (valid is None) == (None not in held)
    assert valid is None or valid.tolist() == [value is not None for value in held]


def test_a_row_that_is_not_there_is_an_error() -> None:
    for column in (pa.array([1, 2]), pa.array(["a", None]), pa.array([[1], None])):
        with pytest.raises(IndexError, match="row 2 of 2"):
            taken(column, np.array([0, 2]))
