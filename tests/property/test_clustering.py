"""Curves against slow, obvious ones; and rows that are sorted along them lose nothing."""

from __future__ import annotations

import struct
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.merge.curve import hilbert, z_order

longs = st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)
columns = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.tuples(*[longs | st.none()] * width), min_size=1, max_size=20)
)


def interleaved(words: list[int]) -> bytes:
    """Bit by bit, as the definition says."""
    bits = "".join(str(word >> (63 - i) & 1) for i in range(64) for word in words)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def arrays(rows: list[tuple[int | None, ...]]) -> list[pa.Array]:
    return [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]


@given(columns)
def test_z_order_takes_one_bit_of_each_column_in_turn(rows: list[tuple[int | None, ...]]) -> None:
    slow = [interleaved([0 if v is None else v + 2**63 for v in row]) for row in rows]
    assert z_order(arrays(rows)).to_pylist() == slow


@given(st.lists(st.floats() | st.none(), min_size=1))
def test_floats_come_as_paimon_lays_them_out(values: list[float | None]) -> None:
    def slow(value: float | None) -> bytes:
        if value is None:
            return bytes(8)
        if value != value:
            value = struct.unpack(">d", bytes.fromhex("7ff8000000000000"))[0]
        (bits,) = struct.unpack(">q", struct.pack(">d", value))
        word = bits ^ ((bits >> 31) | -(2**63))
        return (word & (2**64 - 1)).to_bytes(8, "big")

    assert z_order([pa.array(values, pa.float64())]).to_pylist() == [slow(v) for v in values]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array(["", "abc", "abcdefghij", None]), [b"", b"abc", b"abcdefgh", b""]),
        (pa.array([True, False, None]), [b"\x81", b"", b""]),
        (pa.array([b"\xff", b"\x00\x01"]), [b"\xff", b"\x00\x01"]),
        (pa.array([-1, 5], pa.int8()), [b"\x7f" + b"\xff" * 7, b"\x80" + bytes(6) + b"\x05"]),
        (pa.array([1_999_999], pa.timestamp("us")), [b"\x80" + bytes(5) + b"\x07\xcf"]),
    ],
)
def test_each_type_gives_eight_bytes(column: pa.Array, words: list[bytes]) -> None:
    assert z_order([column]).to_pylist() == [word.ljust(8, b"\0") for word in words]


@given(st.integers(2, 4), st.integers(1, 3))
def test_a_hilbert_curve_goes_through_every_cell_and_only_to_neighbours(
    axes: int, bits: int
) -> None:
    side = 1 << bits
    grid = np.stack(np.meshgrid(*[np.arange(side)] * axes), -1).reshape(-1, axes)
    places = hilbert([pa.array(grid[:, i]) for i in range(axes)]).to_pylist()
    assert len(set(places)) == len(grid)
    path = grid[np.array([i for _, i in sorted(zip(places, range(len(grid)), strict=True))])]
    assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 1).all()


def test_nulls_come_last_on_a_hilbert_curve_of_equals() -> None:
    places = hilbert([pa.array([1, None, 5]), pa.array([0, 0, 0])]).to_pylist()
    assert sorted(places).index(places[1]) == 2


@given(st.lists(st.decimals(-(10**20), 10**20, places=2, allow_nan=False), min_size=2))
def test_decimals_keep_their_order(values: list[object]) -> None:
    column = pa.array(values, pa.decimal128(30, 2))
    places = z_order([column]).to_pylist()
    by_value = sorted(range(len(values)), key=lambda i: values[i])  # type: ignore[arg-type, return-value]  # Decimals
    assert all(places[a] <= places[b] for a, b in pairwise(by_value))
