"""The quick look at decoded values passes what Arrow's full validation passes, and nothing else.

Method: arrays put together from any buffers, so also such as only a damaged file gives.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from table_core.storage.columns import validity as soundness
from table_core.storage.columns.validity import check_values

LENGTHS = st.integers(0, 20)


@st.composite
def texts(draw):
    plain, any_, broken = st.text("ab", max_size=20), st.text(max_size=3), st.just("\udc80")
    pieces = draw(st.sampled_from([plain, plain | any_, plain | broken]))
    values = [draw(pieces).encode("utf-8", "surrogateescape") for _ in range(draw(LENGTHS))]
    places = np.cumsum([0, *map(len, values)], dtype=np.int32)
    if draw(st.booleans()):
        places[draw(st.integers(0, len(values)))] += draw(st.integers(-2, 2))
    buffers = [pa.py_buffer(places), pa.py_buffer(b"".join(values))]
    return sliced(draw, pa.string(), len(values), buffers)


@st.composite
def decimals(draw):
    digits = draw(st.integers(1, 19))
    near = st.builds(lambda power, more: power + more, st.just(10**digits), st.integers(-2, 2))
    number = st.one_of(
        st.integers(-9, 9), near, near.map(lambda n: -n), st.integers(-(2**127), 2**127 - 1)
    )
    count = draw(LENGTHS)
    body = b"".join(draw(number).to_bytes(16, "little", signed=True) for _ in range(count))
    return sliced(draw, pa.decimal128(digits, 0), count, [pa.py_buffer(body)])


def sliced(draw, type_, count, buffers):
    first = draw(st.integers(0, count))
    there = draw(st.none() | st.binary(min_size=3, max_size=3))
    validity = None if there is None else pa.py_buffer(there)
    try:
        return pa.Array.from_buffers(type_, count - first, [validity, *buffers], offset=first)
    except pa.ArrowInvalid:  # pyarrow itself looks at the first and the last offset
        reject()


def passes(check):
    try:
        check()
    except pa.ArrowException as error:
        return str(error)
    return None


@given(st.one_of(texts(), decimals()))
def test_it_finds_what_arrow_finds(column):
    assert passes(lambda: check_values(column)) == passes(lambda: column.validate(full=True))


@pytest.mark.parametrize("at", [0, 70_000, 199_999])
@pytest.mark.parametrize("wrong", [10**5, -(10**5), 1 << 64, -(1 << 64), (1 << 64) - 1])
def test_it_looks_at_every_part_of_a_long_column(at, wrong):
    words = np.zeros(400_000, np.int64)
    words[2 * at : 2 * at + 2] = np.frombuffer(wrong.to_bytes(16, "little", signed=True), np.int64)
    column = pa.Array.from_buffers(pa.decimal128(5, 0), 200_000, [None, pa.py_buffer(words)])
    with pytest.raises(pa.ArrowInvalid, match="does not fit in precision"):
        check_values(column)


@pytest.mark.parametrize(
    ("places", "body"),
    [
        ([0, 9, 5, 20], b"a" * 20),
        ([0, 3, 20], b"aa\xff" + b"a" * 17),
        ([0, 20], b"a" * 19 + b"\xff"),
    ],
)
def test_texts_that_overlap_or_are_no_utf8_are_found(places, body):
    buffers = [None, pa.py_buffer(np.array(places, np.int32)), pa.py_buffer(body)]
    column = pa.Array.from_buffers(pa.string(), len(places) - 1, buffers)
    with pytest.raises(pa.ArrowInvalid):
        check_values(column)


@pytest.mark.parametrize("type_", [pa.string(), pa.decimal128(18, 2), pa.decimal128(19, 2)])
def test_plain_values_are_found_sound_at_once(type_):
    column = pa.array(["12.25", "-7.5", None, "0"]).cast(type_)
    for part in (column, column.slice(1)):
        assert soundness._is_surely_sound(part, was_integer=False) == (
            type_ != pa.decimal128(19, 2)
        )
