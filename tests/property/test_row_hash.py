"""The vectorised hash against Paimon's, word by word over one encoded row."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.bucketing.fixed import bucket_ids
from table_core.bucketing.hash import row_hash
from table_core.datatypes.text import parse_type
from table_core.errors import ArgumentError, DataError, UnsupportedFeatureError
from table_core.ondisk.binary_row import array_of, encode_row
from tests.unit.row_vectors import ROW_VECTORS
from tests.unit.typed_values import VALUES_OF_TYPES

SAMPLES = {
    "BOOLEAN": [True, True, False],
    "TINYINT": [1, -2, 3],
    "SMALLINT": [1, -2, 3],
    "INT": [1, -2, 3],
    "BIGINT": [1, -(2**40), 3],
    "FLOAT": [1.5, -2.5, 0.25],
    "DOUBLE": [1.5, -2.5, 0.25],
    "DATE": [1, -2, 3],
    "TIME(3)": [1, 2, 3],
    "STRING": ["short", "rather a long text", "and another long one"],
    "CHAR(3)": ["a", "b", "c"],
    "BYTES": [b"x", b"rather a long text", b"and another long one"],
    "DECIMAL(9, 3)": [Decimal("1.5"), Decimal("-2.25"), Decimal(7)],
    "DECIMAL(38, 10)": [Decimal("1.5"), Decimal(-(10**25)), Decimal(7)],
    "TIMESTAMP(3)": [1_000_000, -2_000_000, 3_000_000],
    "TIMESTAMP(6)": [1000, -2000, 3000],
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": [1, -2, 3],
}


def slow_hash(body: bytes) -> int:
    mask, h = 0xFFFFFFFF, 42
    for at in range(0, len(body), 4):
        k = int.from_bytes(body[at : at + 4], "little")
        k = k * 0xCC9E2D51 & mask
        k = (k << 15 | k >> 17) & mask
        h ^= k * 0x1B873593 & mask
        h = (h << 13 | h >> 19) & mask
        h = (h * 5 + 0xE6546B64) & mask
    h ^= len(body)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = (h ^ h >> shift) * factor & mask
    return h - (1 << 32) if h >> 31 else h


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(sorted(VALUES_OF_TYPES)), min_size=1, max_size=6))
    rows = draw(st.integers(0, 12))
    columns = [
        draw(st.lists(st.none() | VALUES_OF_TYPES[name], min_size=rows, max_size=rows))
        for name in names
    ]
    return [parse_type(name) for name in names], columns


@given(tables(), st.integers(0, 3))
def test_every_row_hashes_as_its_bytes_do(table, offset: int) -> None:
    types, columns = table
    arrays = [array_of(c, t).slice(offset) for c, t in zip(columns, types, strict=True)]
    rows = [encode_row(types, row)[4:] for row in zip(*columns, strict=True)][offset:]
    assert row_hash(arrays, types).tolist() == [slow_hash(row) for row in rows]


@pytest.mark.parametrize(("types", "values", "_body", "hash_", "bucket"), ROW_VECTORS)
def test_hash_and_bucket_are_javas(types, values, _body, hash_: int, bucket: int) -> None:
    columns = [array_of([value], type_) for value, type_ in zip(values, types, strict=True)]
    assert row_hash(columns, types).tolist() == [hash_]
    assert bucket_ids(columns, types, 8).tolist() == [bucket]


def test_many_fields_have_two_words_of_null_bits_more() -> None:
    types = [parse_type("INT")] * 57
    values = [None if i % 3 else i for i in range(57)]
    arrays = [pa.array([value], pa.int32()) for value in values]
    assert row_hash(arrays, types)[0] == slow_hash(encode_row(types, values)[4:])


def test_rows_beyond_one_chunk_and_other_arrow_types_hash_alike() -> None:
    texts = [f"{'x' * (i % 40)}{i}" for i in range(70_000)]
    plain = row_hash([pa.array(texts)], [parse_type("STRING")])
    chunked = pa.chunked_array(
        [pa.array(texts[:5], pa.large_string()), texts[5:]], pa.large_string()
    )
    assert np.array_equal(plain, row_hash([chunked], [parse_type("STRING")]))
    at = 69_999
    body = encode_row([parse_type("STRING")], [texts[at]])[4:]
    assert plain[at] == slow_hash(body)


def test_decimals_of_every_length_hash_as_their_bytes_do() -> None:
    type_ = parse_type("DECIMAL(38, 0)")
    edges = {
        sign * ((1 << bits) + by) for bits in range(126) for by in (-1, 0, 1) for sign in (1, -1)
    }
    values = [Decimal(edge) for edge in sorted(edges)]
    expected = [slow_hash(encode_row([type_], [value])[4:]) for value in values]
    assert row_hash([array_of(values, type_)], [type_]).tolist() == expected


@pytest.mark.parametrize("name", sorted(VALUES_OF_TYPES))
def test_a_slice_hashes_as_its_rows_do(name: str) -> None:
    type_ = parse_type(name)
    values = SAMPLES[name]
    array = array_of(values, type_)
    expected = [slow_hash(encode_row([type_], [value])[4:]) for value in values]
    assert row_hash([array], [type_]).tolist() == expected
    assert row_hash([array.slice(1)], [type_]).tolist() == expected[1:]
    hidden = pa.array([True, False, True]).buffers()[1]
    with_null = pa.Array.from_buffers(array.type, 3, [hidden, *array.buffers()[1:]])
    nothing = slow_hash(encode_row([type_], [None])[4:])
    assert row_hash([with_null], [type_]).tolist() == [expected[0], nothing, expected[2]]


@pytest.mark.parametrize(
    ("type_text", "value", "bucket"),
    [
        ("INT", -7, 9),
        ("STRING", "hello", 2),
        ("BIGINT", 123456789012, 8),
        ("DECIMAL(5, 2)", Decimal("1.50"), 2),
        ("BOOLEAN", True, 1),
        ("DOUBLE", 1.5, 0),
        ("DOUBLE", -0.0, 0),
        ("STRING", None, 0),
        ("STRING", "", 0),
        ("DECIMAL(5, 2)", Decimal("0.00"), 0),
        ("DECIMAL(5, 2)", None, 0),
    ],
)
def test_hive_buckets(type_text: str, value: object, bucket: int) -> None:
    type_ = parse_type(type_text)
    assert bucket_ids([array_of([value], type_)], [type_], 16, "hive").tolist() == [bucket]


@given(st.lists(st.none() | st.binary(max_size=12), max_size=10), st.integers(1, 40))
def test_hive_hashes_signed_bytes(values: list[bytes | None], buckets: int) -> None:
    def slow(value: bytes | None) -> int:
        h = 0
        for byte in value or b"":
            h = 31 * h + (byte - 256 if byte > 127 else byte)
        return (h & 0x7FFFFFFF) % buckets

    array = pa.array(values, pa.binary())
    found = bucket_ids([array], [parse_type("BYTES")], buckets, "hive")
    assert found.tolist() == [slow(value) for value in values]


@given(st.integers(-(10**37), 10**37) | st.integers(-9, 9).map(lambda n: n * 10**11))
def test_hive_hashes_decimals_without_trailing_zeros(number: int) -> None:
    value, scale = Decimal(f"{number}E-10"), 10
    while scale and number % 10 == 0:
        number, scale = number // 10, scale - 1
    h, digits = 0, abs(number).to_bytes(20, "big")
    for at in range(0, 20, 4):
        h = 31 * h + int.from_bytes(digits[at : at + 4], "big")
    hashed = 31 * (h if number >= 0 else -h) + scale
    type_ = parse_type("DECIMAL(38, 10)")
    expected = (hashed & 0x7FFFFFFF) % 1000
    assert bucket_ids([array_of([value], type_)], [type_], 1000, "hive")[0] == expected


@pytest.mark.parametrize(("value", "bucket"), [(-7, 1), (7, 3), (None, 0), (-(2**31), 0)])
def test_mod_buckets_are_floor_mod(value: int | None, bucket: int) -> None:
    array = pa.array([value], pa.int32())
    assert bucket_ids([array], [parse_type("INT")], 4, "mod").tolist() == [bucket]


def test_what_cannot_be_a_bucket_is_refused() -> None:
    text = pa.array(["x"])
    with pytest.raises(ArgumentError):
        bucket_ids([text], [parse_type("STRING")], 4, "mod")
    with pytest.raises(ArgumentError):
        bucket_ids([text], [parse_type("STRING")], -1)
    with pytest.raises(UnsupportedFeatureError, match="crc"):
        bucket_ids([text], [parse_type("STRING")], 4, "crc")
    with pytest.raises(UnsupportedFeatureError):
        row_hash([pa.array([[1]])], [parse_type("INT ARRAY")])
    with pytest.raises(DataError):
        row_hash([text], [parse_type("INT")])
