"""The bodies of file indexes: hashes as Java makes them, values as they were put in."""

from __future__ import annotations

import struct
from decimal import Decimal

import numpy as np
import pytest

from table_core.datatypes.text import parse_type
from table_core.ondisk.bloom_filter import BloomFilter, _xx_hash, decode_bloom_filter, hash_of
from table_core.ondisk.roaring import encode32
from table_core.ondisk.value_index import decode_bit_slices, decode_bitmap_index


@pytest.mark.parametrize(
    ("body", "expected"),
    [  # of the reference implementation of XXH64
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_texts_hash_as_xxh64(body: bytes, expected: int) -> None:
    assert _xx_hash(body) == expected


def test_what_was_put_into_a_filter_is_found_in_it() -> None:
    bits = bytearray(200)
    type_ = parse_type("BIGINT")
    for value in range(-50, 50):
        hash64 = hash_of(value, type_)
        assert hash64 is not None
        low, high = hash64 & 0xFFFFFFFF, hash64 >> 32
        for turn in range(1, 6):
            mixed = np.int32(np.uint32(low + turn * high & 0xFFFFFFFF).astype(np.int32))
            at = int(~mixed if mixed < 0 else mixed) % 1600
            bits[at >> 3] |= 1 << (at & 7)
    found = decode_bloom_filter(struct.pack(">i", 5) + bytes(bits))
    assert all(found.may_hold(hash_of(value, type_) or 0) for value in range(-50, 50))
    absent = sum(not found.may_hold(hash_of(value, type_) or 0) for value in range(100, 1100))
    assert absent > 900


@pytest.mark.parametrize("body", [b"", b"\0\0\0\5", b"\0\0\0\0ab", b"\0\1\0\0ab", b"\0\0\0\5\0\0"])
def test_no_filter_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="bloom"):
        decode_bloom_filter(body)


@pytest.mark.parametrize("type_", ["FLOAT", "DOUBLE", "CHAR(3)", "DECIMAL(5, 2)", "BOOLEAN"])
def test_types_whose_equals_hash_otherwise_are_not_looked_up(type_: str) -> None:
    assert hash_of(1, parse_type(type_)) is None
    assert BloomFilter(1, b"\xff").may_hold(1)


def sliced(values: dict[int, int]) -> bytes:
    """Rows with values >= 0 as slices."""
    least = min(values.values())
    rows = np.array(sorted(values), np.uint32)
    above = {row: values[row] - least for row in values}
    bits = max(above.values()).bit_length()
    slices = [
        encode32(np.array([r for r in rows if above[r] >> b & 1], np.uint32)) for b in range(bits)
    ]
    head = struct.pack(">bqq", 1, least, max(values.values()))
    return head + encode32(rows) + struct.pack(">i", bits) + b"".join(slices)


def test_slices_hold_what_was_put_in() -> None:
    body = struct.pack(">bi?", 1, 6, True) + sliced({0: 150, 3: 7, 4: 150})
    body += b"\1" + sliced({1: 25, 5: 99_999})
    held = decode_bit_slices(body, parse_type("BIGINT"))
    assert held is not None
    assert (held.rows, sorted(held.values), held.has_null) == (6, [-99_999, -25, 7, 150], True)
    cents = decode_bit_slices(body, parse_type("DECIMAL(9, 2)"))
    assert cents is not None
    assert max(cents.values) == Decimal("1.50")
    assert decode_bit_slices(body, parse_type("TIMESTAMP(9)")) is None
    assert decode_bit_slices(body, parse_type("STRING")) is None


def test_a_bitmap_index_of_version_1_lists_values() -> None:
    body = struct.pack(">bii?", 1, 4, 2, True) + struct.pack(">i", -1)
    body += struct.pack(">i", 1) + b"x" + struct.pack(">i", -2)
    body += struct.pack(">i", 2) + "é".encode() + struct.pack(">i", 0)
    held = decode_bitmap_index(body, parse_type("STRING"))
    assert held is not None
    assert (held.rows, held.values, held.has_null) == (4, ("x", "é"), True)
    for cut in range(1, len(body)):
        with pytest.raises((ValueError, struct.error)):
            decode_bitmap_index(body[:cut], parse_type("STRING"))
    assert decode_bitmap_index(b"\3" + body[1:], parse_type("STRING")) is None
