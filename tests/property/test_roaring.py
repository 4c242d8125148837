"""Bitmaps hold exactly the numbers given, in the bytes that Paimon writes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.errors import UnsupportedFeatureError
from table_core.ondisk.deletion_vector import (
    decode_deletion_vector,
    encode_deletion_vector,
    encode_index_file,
)
from table_core.ondisk.roaring import decode32, encode32

RUNS = st.tuples(st.integers(0, 1 << 21), st.integers(1, 70_000), st.integers(1, 5))


@st.composite
def positions(draw, high: int):
    single = draw(st.lists(st.integers(0, high), max_size=20))
    runs = [np.arange(a, a + n, step) for a, n, step in draw(st.lists(RUNS, max_size=3))]
    return np.unique(np.concatenate([np.array(single, np.int64), *runs]))


@given(positions(high=(1 << 31) - 1))
def test_32_bit_vectors_come_back(rows: np.ndarray) -> None:
    block = encode_deletion_vector(rows)
    assert np.array_equal(decode_deletion_vector(block, path="p"), rows)


@given(positions(high=(1 << 62)))
def test_64_bit_vectors_come_back(rows: np.ndarray) -> None:
    block = encode_deletion_vector(rows, bitmap64=True)
    assert np.array_equal(decode_deletion_vector(block, path="p"), rows)


def test_the_bytes_are_those_of_java() -> None:
    rows = np.array([1, 3])
    body, ranges = encode_index_file({"f": rows})
    block = "000000185e43f2d03a30000001000000000001001000000001000300da2d59d3"
    assert body.hex() == "01" + block
    assert [(r.offset, r.length, r.cardinality) for r in ranges] == [(1, 24, 2)]
    wide, ranges = encode_index_file({"f": rows}, bitmap64=True)
    assert len(wide) == 45
    assert [(r.offset, r.length) for r in ranges] == [(1, 44)]


def test_no_vectors_are_one_byte() -> None:
    assert encode_index_file({}) == (b"\x01", ())


@pytest.mark.parametrize(
    ("numbers", "size_max"),
    [
        (np.arange(0, 200_000), 62),
        (np.arange(0, 65_536, 2), 8300),
        (np.arange(0, 65_536, 100), 1400),
    ],
    ids=["runs", "bits", "list"],
)
def test_each_container_takes_its_smallest_form(numbers: np.ndarray, size_max: int) -> None:
    body = encode32(numbers)
    assert len(body) < size_max
    decoded, end = decode32(body)
    assert np.array_equal(decoded, numbers)
    assert end == len(body)


def test_positions_beyond_31_bits_need_the_wide_form() -> None:
    with pytest.raises(UnsupportedFeatureError, match="bitmap64"):
        encode_deletion_vector(np.array([1 << 31]))


def test_runs_in_fewer_than_four_containers_have_no_offsets() -> None:
    three = np.concatenate([np.arange(at << 16, (at << 16) + 100) for at in range(3)])
    assert len(encode32(three)) == 4 + 1 + 3 * 4 + 3 * (2 + 4)
    four = np.concatenate([three, np.arange(3 << 16, (3 << 16) + 100)])
    assert len(encode32(four)) == 4 + 1 + 4 * 4 + 4 * 4 + 4 * (2 + 4)
