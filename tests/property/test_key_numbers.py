"""Texts as numbers keep Paimon's order, and sums that fit 64 bits are those that do not, only faster."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.errors import DataError
from table_core.merge.aggregators.numeric import Sum
from table_core.merge.ordinal import comparable
from table_core.merge.runs import Groups

prefixes = st.sampled_from(["", "abc", "customer-", "é"])
ending = st.sampled_from(["", "\0", "a", "a\0", "a\0\0", "é"]) | st.text("a\0bé\x7f", max_size=9)
endings = st.lists(ending, min_size=1, max_size=8)


@given(prefixes, endings, st.booleans())
def test_texts_compare_by_their_bytes(prefix: str, ends: list[str], as_bytes: bool) -> None:
    bodies = [(prefix + end).encode() for end in ends]
    column = pa.array(bodies, pa.binary()) if as_bytes else pa.array([prefix + e for e in ends])
    found = comparable([column])
    assert [bodies[at] for at in np.argsort(found, kind="stable")] == sorted(bodies)
    assert np.array_equal(
        found[:, None] == found[None, :], [[a == b for b in bodies] for a in bodies]
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.text("ab", max_size=3)), min_size=1))
def test_composite_keys_compare_column_by_column(rows: list[tuple[int, str]]) -> None:
    numbers, texts = zip(*rows, strict=True)
    found = comparable([pa.array(numbers), pa.array(texts)])
    assert [rows[at] for at in np.argsort(found, kind="stable")] == sorted(rows)


edges = st.sampled_from([2**63 - 1, -(2**63), 2**62, -(2**62) - 1])
values = st.none() | st.integers(-5, 5) | edges
groups = st.lists(st.lists(st.tuples(values, st.booleans()), max_size=4), min_size=1, max_size=5)


@given(groups, st.booleans())
def test_a_sum_is_that_of_python(drawn: list[list[tuple[int | None, bool]]], decimal: bool) -> None:
    flat = [pair for group in drawn for pair in group]
    type_ = pa.decimal128(38, 0) if decimal else pa.int64()
    column = pa.array([None if v is None else Decimal(v) if decimal else v for v, _ in flat], type_)
    lengths = np.array([len(group) for group in drawn], np.int64)
    retract = np.array([taken for _, taken in flat], np.bool_)
    want = [
        sum(-v if taken else v for v, taken in group if v is not None)
        if any(v is not None for v, _ in group)
        else None
        for group in drawn
    ]
    aggregator, ranges = Sum("c"), Groups.of_lengths(lengths, retract)
    if not decimal and any(w is not None and not -(2**63) <= w < 2**63 for w in want):
        with pytest.raises(DataError):
            aggregator.aggregate(column, ranges)
        return
    assert [
        None if v is None else int(v) for v in aggregator.aggregate(column, ranges).to_pylist()
    ] == want
