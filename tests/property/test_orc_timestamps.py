"""ORC timestamps of any year: what Arrow's reader refuses, ours reads; where both can, they agree.

Method: Arrow's writer makes the file (it stores seconds and nanoseconds apart), ours reads it.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.datatypes.kinds import STRING, Array, Atomic, Field, Map, Root, Row
from table_core.errors import UnsupportedFeatureError
from table_core.storage.formats import WriterSettings, format_for
from table_core.storage.orc.numbers import decode_booleans, decode_integers, encode_integers
from table_core.storage.orc.stripes import read_stripe_streams, read_tail
from table_core.storage.stores.memory import MemoryStorage
from tests.lanes import sampled

YEAR_1, YEAR_9999 = -62_135_596_800_000_000, 253_402_300_799_999_999
SECOND = 10**6
early = st.integers(-(2**21), -2).flatmap(  # fractions below a millisecond are stored otherwise
    lambda second: st.integers(0, 2000).map(lambda part: second * SECOND + part)
)
near = st.integers(0, 2**50) | st.integers(-(2**50), -SECOND) | early
far = st.integers(0, YEAR_9999) | st.integers(YEAR_1, -SECOND)


NESTINGS = {
    "row": lambda atom, moment, values: (
        Row((Field(2, "n", Atomic(Root.BIGINT)), Field(3, "at", atom))),
        pa.struct([("n", pa.int64()), ("at", moment)]),
        [{"n": i, "at": v} if i % 5 else None for i, v in enumerate(values)],
    ),
    "array": lambda atom, moment, values: (
        Array(atom),
        pa.list_(moment),
        [values[i : i + 3] if i % 4 else None for i in range(len(values))],
    ),
    "map": lambda atom, moment, values: (
        Map(Atomic(Root.BIGINT), atom),
        pa.map_(pa.int64(), moment),
        [list(enumerate(values[i : i + 3])) for i in range(len(values))],
    ),
    "keys": lambda atom, moment, values: (
        Map(atom, Atomic(Root.BIGINT)),
        pa.map_(moment, pa.int64()),
        [[(v or 0, i)] if i % 3 else [] for i, v in enumerate(values)],
    ),
    "rows of arrays in maps": lambda atom, moment, values: (
        Map(Atomic(Root.INT), Array(Row((Field(2, "at", atom), Field(3, "n", STRING))))),
        pa.map_(pa.int32(), pa.list_(pa.struct([("at", moment), ("n", pa.string())]))),
        [[(i, [{"at": v, "n": str(i)}, None]), (-1, None)] for i, v in enumerate(values)],
    ),
}
"""Type, Arrow's type and cells of a column that holds ``values`` somewhere inside."""


def instants(cells):
    """``cells`` with what compares by the moment, and maps as pairs."""
    return [repr(cell) for cell in cells]


def through_orc(values, field, **settings):
    storage = MemoryStorage()
    table = pa.table({"n": pa.array(range(len(values)), pa.int32()), "t": values})
    fields = (Field(0, "n", Atomic(Root.INT)), field)
    writer = format_for("orc").open_writer(storage, "f", fields, WriterSettings(**settings))
    writer.write(table)
    writer.close()
    batches = format_for("orc").read(storage, "f", None, fields, batch_rows=100)
    columns = [batch.column("t") for batch in batches]
    if pa.types.is_timestamp(values.type):
        columns = [column.cast(pa.int64()) for column in columns]
    return [value for column in columns for value in column.to_pylist()]


@pytest.mark.parametrize("root", [Root.TIMESTAMP, Root.TIMESTAMP_LTZ])
@pytest.mark.parametrize("compression", ["zstd", "zlib", "snappy", "lz4", "none"])
@given(values=st.lists(st.none() | near | far, max_size=300))
def test_instants_of_any_year_survive(root, compression, values):
    field = Field(1, "t", Atomic(root, precision=6))
    zone = None if root is Root.TIMESTAMP else "UTC"
    array = pa.array(values, pa.timestamp("us", zone))
    assert through_orc(array, field, compression=compression) == values


@given(values=st.lists(st.none() | near, min_size=1, max_size=60), size=st.integers(0, 3))
def test_instants_in_nested_columns_survive(values, size):
    type_ = Row((Field(2, "a", Array(Atomic(Root.TIMESTAMP, precision=6))),))
    rows = [None if v is None else {"a": [v, None, *[v] * size]} for v in values]
    array = pa.array(rows, pa.struct([("a", pa.list_(pa.timestamp("us")))]))
    assert through_orc(array, Field(1, "t", type_), block_size=1000) == array.to_pylist()


@pytest.mark.parametrize(
    ("shape", "compression", "zone"),
    sampled(product(NESTINGS, ("zstd", "none", "lz4", "snappy", "zlib"), (None, "UTC")), 7),
)
@given(values=st.lists(st.none() | far, min_size=1, max_size=60))
def test_instants_of_any_year_survive_at_every_nesting(shape, compression, zone, values):
    moment = pa.timestamp("us", zone)
    atom = Atomic(Root.TIMESTAMP if zone is None else Root.TIMESTAMP_LTZ, precision=6)
    type_, arrow, cells = NESTINGS[shape](atom, moment, values)
    array = pa.array(cells, arrow)
    found = through_orc(array, Field(1, "t", type_), compression=compression, block_size=1000)
    assert instants(found) == instants(array.to_pylist())


@pytest.mark.parametrize("value", [-1, -999_000])
def test_the_last_second_before_1970_is_refused_by_name(value):
    """Every reader of ORC takes it for the first one after."""
    field = Field(1, "t", Atomic(Root.TIMESTAMP, precision=6))
    with pytest.raises(UnsupportedFeatureError) as caught:
        through_orc(pa.array([0, None, value], pa.timestamp("us")), field)
    assert caught.value.facts["column"] == "t"


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=1200), st.booleans())
def test_integers_come_back_from_their_runs(values, signed):
    values = values if signed else [abs(v) % 2**63 for v in values]
    body = encode_integers(np.array(values, np.int64), signed=signed)
    assert decode_integers(body, None, signed=signed).tolist() == values


def test_nanoseconds_outside_their_years_are_refused_by_name():
    storage = MemoryStorage()
    sink = storage.open_output("f")
    orc.write_table(pa.table({"t": pa.array([YEAR_9999], pa.timestamp("us"))}), sink)
    sink.close()
    field = Field(0, "t", Atomic(Root.TIMESTAMP, precision=9))
    with pytest.raises(UnsupportedFeatureError) as caught:
        list(format_for("orc").read(storage, "f", None, [field], batch_rows=10))
    assert "'t'" in str(caught.value)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), max_size=2000), st.data())
def test_integers_are_decoded_from_every_kind_of_run(values, data):
    """Oracle: Arrow's writer.  Repeats and slopes are mixed in, so that all four runs occur."""
    for _ in range(data.draw(st.integers(0, 3))):
        start, step = data.draw(st.integers(-(2**40), 2**40)), data.draw(st.integers(-9, 9))
        values += [
            start + step * i + (i % 3) * (step % 2) for i in range(data.draw(st.integers(0, 700)))
        ]
    storage = MemoryStorage()
    sink = storage.open_output("f")
    orc.write_table(pa.table({"n": pa.array(values, pa.int64())}), sink)
    sink.close()
    file = storage.open_input("f")
    tail = read_tail(file, file.size())
    found = []
    for stripe in range(len(tail.stripes)):
        streams = read_stripe_streams(file, tail, stripe, tail.column("n")[0])
        found += decode_integers(streams.streams.get(1, b""), streams.rows, signed=True).tolist()
    assert found == values


def test_the_runs_of_the_specification_decode():
    """Examples of the ORC specification."""
    assert decode_integers(bytes.fromhex("0a2710"), 5, signed=False).tolist() == [10_000] * 5
    direct = bytes.fromhex("5e035ca1ab1edeadbeef")
    assert decode_integers(direct, 4, signed=False).tolist() == [23713, 43806, 57005, 48879]
    patched = bytes.fromhex("8e132b21 07d0 1e00 14702832 3c46505a 646e7882 8c96a0aa b4be fce8")
    wanted = [2030, 2000, 2020, 1_000_000, *range(2040, 2200, 10)]
    assert decode_integers(patched, 20, signed=False).tolist() == wanted
    delta = bytes.fromhex("c609020222424246")
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert decode_integers(delta, 10, signed=False).tolist() == primes
    assert np.count_nonzero(decode_booleans(b"\x61\x00", 800)) == 0
    assert decode_booleans(b"\xff\x80", 8).tolist() == [True] + [False] * 7
