"""Rows in metadata: Java's bytes exactly, and damaged bytes never crash."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.text import parse_type
from table_core.errors import CorruptFileError, DataError, UnsupportedFeatureError
from table_core.ondisk.binary_row import (
    array_of,
    decode_row,
    encode_row,
    encode_rows,
    sort_key,
    values_of,
)
from tests.unit.row_vectors import ROW_VECTORS
from tests.unit.typed_values import VALUES_OF_TYPES

INT, STRING = parse_type("INT"), parse_type("STRING")
DOUBLE = parse_type("DOUBLE")
_DAMAGED = ("INT", "STRING", "BYTES", "DECIMAL(30, 2)", "TIMESTAMP(6)", "DOUBLE", "BOOLEAN")


@st.composite
def typed_rows(draw):
    names = draw(st.lists(st.sampled_from(sorted(VALUES_OF_TYPES)), max_size=70))
    values = tuple(draw(st.none() | VALUES_OF_TYPES[name]) for name in names)
    return tuple(parse_type(name) for name in names), values


@pytest.mark.parametrize(("types", "values", "body", "_hash", "_bucket"), ROW_VECTORS)
def test_rows_have_java_bytes(types, values, body, _hash, _bucket) -> None:
    encoded = encode_row(types, values)
    assert encoded == len(types).to_bytes(4, "big") + bytes.fromhex(body)
    assert decode_row(types, encoded) == values
    columns = [array_of([value], type_) for value, type_ in zip(values, types, strict=True)]
    assert encode_rows(columns, types) == [encoded]


@pytest.mark.parametrize(("arity", "body_bytes"), [(0, 8), (56, 456), (57, 472)])
def test_null_bits_grow_by_eight_bytes_at_57_fields(arity: int, body_bytes: int) -> None:
    assert len(encode_row([INT] * arity, [1] * arity)) == 4 + body_bytes


@given(typed_rows())
def test_every_row_comes_back(row) -> None:
    types, values = row
    encoded = encode_row(types, values)
    assert len(encoded) % 8 == 4
    assert decode_row(types, encoded) == values
    columns = [array_of([value], type_) for value, type_ in zip(values, types, strict=True)]
    assert [values_of(c, t)[0] for c, t in zip(columns, types, strict=True)] == list(values)


@given(st.binary(max_size=120), st.lists(st.sampled_from(_DAMAGED), max_size=4))
def test_damaged_rows_are_corrupt_or_read_but_never_crash(noise: bytes, names: list[str]) -> None:
    body = len(names).to_bytes(4, "big") + bytes(8) + noise
    blamed = "manifest/m-1"
    try:
        decode_row([parse_type(name) for name in names], body, path="manifest/m-1")
    except CorruptFileError as error:
        blamed = error.facts["path"]
    assert blamed == "manifest/m-1"


@pytest.mark.parametrize(
    ("types", "body"),
    [
        ([INT], b""),
        ([INT], bytes(12)),
        ([INT, INT], encode_row([INT], [1]) + bytes(8)),
        ([STRING], (1).to_bytes(4, "big") + bytes(8) + b"\xff\xff\xff\x7f\xff\xff\xff\x7f"),
        ([STRING], (1).to_bytes(4, "big") + bytes(8) + b"\x09\0\0\0\x10\0\0\0abcdefgh"),
        ([STRING], (1).to_bytes(4, "big") + bytes(8) + b"abcdefg\x88"),
        ([STRING], (1).to_bytes(4, "big") + bytes(8) + b"\xff\xfe\0\0\0\0\0\x82"),
    ],
    ids=["empty", "too short", "other arity", "far offset", "cut text", "long inline", "no utf-8"],
)
def test_what_is_wrong_with_a_row_is_named(types, body: bytes) -> None:
    with pytest.raises(CorruptFileError, match=r"^m-1: "):
        decode_row(types, body, path="m-1")


def test_rows_sort_as_paimon_sorts_them() -> None:
    ascending = [None, -math.inf, -1.5, -0.0, 0.0, 1e-300, 2.5, math.inf, math.nan]
    keys = [sort_key([DOUBLE], [value]) for value in ascending]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    assert sort_key([DOUBLE], [math.nan]) == sort_key([DOUBLE], [-math.nan])


@given(st.lists(st.none() | st.text(), max_size=8))
def test_text_sorts_by_its_utf8_bytes(texts: list[str | None]) -> None:
    by_key = sorted(texts, key=lambda text: sort_key([STRING], [text]))
    assert by_key == sorted(
        texts, key=lambda text: b"" if text is None else b"\x01" + text.encode()
    )


@pytest.mark.parametrize(
    ("type_text", "value"),
    [("INT", 2**31), ("INT", "1"), ("DECIMAL(5, 1)", Decimal("1.25")), ("STRING", 5)],
)
def test_values_that_do_not_fit_are_refused(type_text: str, value: object) -> None:
    with pytest.raises(DataError):
        encode_row([parse_type(type_text)], [value])


def test_nested_values_are_refused_by_name_but_their_null_is_a_slot() -> None:
    nested = parse_type("INT ARRAY")
    assert encode_row([nested], [None])[4:] == bytes([0, 1, *bytes(14)])
    with pytest.raises(UnsupportedFeatureError):
        encode_row([nested], [[1]])
