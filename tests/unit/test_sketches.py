"""Sketches and bitmaps in BYTES columns, as DataSketches and RoaringBitmap of Java write them."""

from __future__ import annotations

from typing import Any

import datasketches
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.errors import DataError, OptionError
from table_core.merge.aggregators.bitmap64 import decode_bitmap64, encode_bitmap64
from table_core.merge.aggregators.theta import Theta, union_of
from table_core.merge.engines.engine import engine_for
from table_core.ondisk.roaring import decode32, encode32
from tests.merge_rows import kv, plain, schema_of, with_options


def merged(function: str, *values: bytes | None) -> bytes | None:
    schema = with_options(
        schema_of({"k": "INT NOT NULL", "v": "BYTES"}),
        {"merge-engine": "aggregation", "fields.v.aggregate-function": function},
    )
    rows = kv(schema, [("+I", 1, value) for value in values])
    [(_, _, result)] = plain(engine_for(schema).merge(rows))
    return result


def bitmap64(numbers: Any) -> bytes:
    parts: dict[int, list[int]] = {}
    for number in numbers:
        parts.setdefault(number >> 16, []).append(number & 0xFFFF)
    return encode_bitmap64({k: np.array(low, np.uint16) for k, low in parts.items()})


def numbers_of(body: bytes) -> list[int]:
    return sorted((k << 16) | int(v) for k, low in decode_bitmap64(body).items() for v in low)


JAVA = {
    (0, 5, 2**63 + 9): (
        "01020000000000000000020000000080000400000000000000000000000000000000000400000080"
        "0000000000010000000000000001000000fe02000000010202000000000005000102010000000900"
        "02000000000000000000000001000000"
    ),
    tuple(i << 16 for i in range(10)): (
        "010a00000000000000010a0005000000000007060504030201000000000000000908040000000000"
        "00000000000000000000000004000000000000000001010000000000000004000000000000000002"
        "02000000000000000400000000000000000303000000000000000400000000000000000404000000"
        "00000000040000000000000000050500000000000000040000000000000000060600000000000000"
        "04000000000000000007070000000000000004000000000000000008080000000000000004000000"
        "000000000009090000000000000001000000fe0d0000000102010000000000010201000000000001"
        "02010000000000010201000000000001020100000000000102010000000000010201000000000001"
        "02010000000000010201000000000001020100000000000000000a00000000000000000000000900"
        "0000"
    ),
}


@pytest.mark.parametrize(("numbers", "body"), JAVA.items(), ids=["4", "16"])
def test_reads_what_java_wrote(numbers: tuple[int, ...], body: str) -> None:
    assert numbers_of(bytes.fromhex(body)) == list(numbers)


def test_writes_what_java_writes() -> None:
    numbers = (0, 5, 2**63 + 9)
    assert bitmap64(numbers).hex() == JAVA[numbers]


@pytest.mark.parametrize(
    "numbers",
    [
        [],
        [2**64 - 1],
        [i << 16 for i in range(17)],
        [i << 16 for i in range(60)],
        [i << 40 for i in range(300)],
        list(range(0, 20_000, 2)),
        list(range(100, 5_000)),
    ],
    ids=["none", "last", "17", "60", "300", "bits", "run"],
)
def test_bitmaps_of_every_shape_come_back(numbers: list[int]) -> None:
    assert numbers_of(bitmap64(numbers)) == numbers


@given(st.lists(st.sets(st.integers(0, 2**20) | st.integers(0, 2**64 - 1)), min_size=2, max_size=3))
def test_rbm64_is_a_union(sets: list[set[int]]) -> None:
    result = merged("rbm64", *[bitmap64(sorted(s)) for s in sets])
    assert result is not None
    assert numbers_of(result) == sorted(set.union(*sets))


@given(st.lists(st.sets(st.integers(0, 2**32 - 1)), min_size=2, max_size=3))
def test_rbm32_is_a_union(sets: list[set[int]]) -> None:
    bodies = [encode32(np.array(sorted(s), np.uint32)) for s in sets]
    result = merged("rbm32", *bodies)
    assert result is not None
    assert decode32(result)[0].tolist() == sorted(set.union(*sets))


def theta(values: range, *, ordered: bool = True) -> bytes:
    sketch = datasketches.update_theta_sketch(12)
    for value in values:
        sketch.update(value)
    return bytes(sketch.compact(ordered).serialize())


@pytest.mark.parametrize(
    "parts",
    [
        [range(0), range(0)],
        [range(1), range(0)],
        [range(5), range(3, 9)],
        [range(3000), range(2000, 6000)],
        [range(20_000), range(5)],
        [range(20_000), range(10_000, 50_000), range(100)],
    ],
    ids=str,
)
def test_theta_sketches_unite_as_the_library_unites_them(parts: list[range]) -> None:
    library = datasketches.theta_union(12)
    for values in parts:
        library.update(datasketches.compact_theta_sketch.deserialize(theta(values)))
    want = library.get_result()
    bodies = [theta(values, ordered=i % 2 == 0) for i, values in enumerate(parts)]
    body = union_of([Theta.from_bytes(b) for b in bodies]).to_bytes()
    got = datasketches.compact_theta_sketch.deserialize(body)
    assert (got.theta64, list(got)) == (want.theta64, list(want))
    assert got.is_empty() == want.is_empty()
    assert merged("theta_sketch", *bodies) == body
    again = Theta.from_bytes(body).to_bytes()
    assert again == body


def hll(values: range) -> bytes:
    sketch = datasketches.hll_sketch(12, datasketches.tgt_hll_type.HLL_4)
    for value in values:
        sketch.update(value)
    return bytes(sketch.serialize_compact())


@pytest.mark.parametrize("sizes", [(3, 4), (40, 60), (1000, 100_000)])
def test_hll_sketches_unite(sizes: tuple[int, int]) -> None:
    result = merged("hll_sketch", hll(range(sizes[0])), None, hll(range(sizes[1])))
    assert result is not None
    estimate = datasketches.hll_sketch.deserialize(result).get_estimate()
    assert estimate == pytest.approx(max(sizes), rel=0.05)


@pytest.mark.parametrize("function", ["rbm32", "rbm64", "theta_sketch", "hll_sketch"])
def test_null_counts_nothing_and_a_lone_value_is_not_read(function: str) -> None:
    assert merged(function, None, b"anything", None) == b"anything"
    assert merged(function, None, None) is None


@pytest.mark.parametrize("function", ["rbm32", "rbm64", "theta_sketch", "hll_sketch"])
@pytest.mark.parametrize("body", [b"", b"\x01", b"\x02\x03\x03" + b"\0" * 5, b"\xff" * 40])
def test_a_value_that_is_no_sketch_is_refused(function: str, body: bytes) -> None:
    with pytest.raises(DataError, match=function):
        merged(function, body, body)


def test_sketches_need_bytes() -> None:
    schema = with_options(
        schema_of({"k": "INT NOT NULL", "v": "STRING"}),
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "rbm32"},
    )
    with pytest.raises(OptionError, match="VARBINARY"):
        engine_for(schema)
