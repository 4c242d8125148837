"""Damaged files end as errors that name them: never an Arrow exception, never the process.

Method: small files of every format, each cut at many lengths and with bits flipped at fixed
places.  What still decodes may give any rows; what does not must say so.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_core.datatypes.kinds import STRING, Array, Atomic, Field, Root, Row
from table_core.errors import CorruptFileError, UnsupportedFeatureError
from table_core.storage.columns.data_format import Wanted
from table_core.storage.formats import WriterSettings, format_for
from table_core.storage.stores.memory import MemoryStorage

FIELDS = (
    Field(0, "n", Atomic(Root.BIGINT)),
    Field(1, "s", STRING),
    Field(2, "d", Atomic(Root.DECIMAL, precision=12, scale=2)),
    Field(3, "t", Atomic(Root.TIMESTAMP, precision=6)),
    Field(4, "a", Array(Row((Field(5, "x", Atomic(Root.INT)),)))),
)
TABLE = pa.table(
    {
        "n": pa.array([None if i % 7 == 0 else i * i for i in range(500)], pa.int64()),
        "s": [f"text {i % 90}" for i in range(500)],
        "d": pa.array(range(500), pa.decimal128(12, 2)),
        "t": pa.array([i * 10**9 for i in range(500)], pa.timestamp("us")),
        "a": [[{"x": i}] * (i % 3) for i in range(500)],
    }
)


def body_of(name, **settings):
    storage = MemoryStorage()
    writer = format_for(name).open_writer(storage, "f", FIELDS, WriterSettings(**settings))
    writer.write(TABLE)
    writer.close()
    return storage.read("f")


def verdict(name, body, batch_bytes=None):
    storage = MemoryStorage()
    storage.write("bucket-0/f", body)
    try:
        batches = format_for(name).read(
            storage,
            "bucket-0/f",
            None,
            FIELDS,
            batch_rows=100,
            batch_bytes=batch_bytes,
            wanted=Wanted(keep=lambda _: True),
        )
        return sum(batch.num_rows for batch in batches)
    except CorruptFileError as error:
        return "corrupt" if "bucket-0/f" in str(error) else f"no path: {error}"
    except UnsupportedFeatureError:
        return "unsupported"


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
def test_a_cut_file_is_corrupt(name):
    body = body_of(name)
    assert verdict(name, body) == 500
    cuts = sorted({0, 1, 4, 11, len(body) - 1, len(body) - 4, *range(0, len(body), 97)})
    found = {verdict(name, body[:cut]) for cut in cuts}
    assert found == {"corrupt"}


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
def test_flipped_bits_do_not_leak_or_crash(name):
    draw = random.Random(7)
    body = body_of(name)
    seen = {"corrupt": 0}
    for _ in range(300):
        damaged = bytearray(body)
        for _ in range(draw.choice([1, 1, 4])):
            damaged[draw.randrange(len(body))] ^= 1 << draw.randrange(8)
        found = verdict(name, bytes(damaged))
        seen[found] = seen.get(found, 0) + 1
    assert seen["corrupt"] > 30


def test_flipped_bits_in_parquet_footers_do_not_end_the_process():
    """Arrow aborts where it is asked for a column chunk whose size statistics do not fit."""
    body = body_of("parquet")
    footer = int.from_bytes(body[-8:-4], "little")
    draw = random.Random(5)
    for _ in range(700):
        damaged = bytearray(body)
        damaged[-8 - draw.randrange(footer)] ^= 1 << draw.randrange(8)
        assert verdict("parquet", bytes(damaged), draw.choice([1 << 10, 1 << 30])) is not None


def test_an_orc_decimal_of_too_many_digits_does_not_end_the_process():
    body = body_of("orc", compression="none")
    twelve, many = (bytes([0x28, digits, 0x30, 2]) for digits in (12, 55))  # precision and scale
    assert body.count(twelve) == 1
    assert verdict("orc", body) == 500
    assert verdict("orc", body.replace(twelve, many)) == "corrupt"


@pytest.mark.parametrize("as_integer", [True, False])
@pytest.mark.parametrize("value", [100_000, -100_000, 8_000_000, -8_000_000])
def test_a_decimal_of_more_digits_than_its_type_has_is_corrupt(as_integer, value):
    """Arrow writes it as it is."""
    body = pa.py_buffer(value.to_bytes(16, "little", signed=True))
    column = pa.Array.from_buffers(pa.decimal128(5, 0), 1, [None, body])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"d": column}), sink, store_decimal_as_integer=as_integer)
    stored = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema.column(0).physical_type
    assert stored == ("INT32" if as_integer else "FIXED_LEN_BYTE_ARRAY")
    storage = MemoryStorage()
    storage.write("f", sink.getvalue().to_pybytes())
    field = Field(0, "d", Atomic(Root.DECIMAL, precision=5, scale=0))
    with pytest.raises(CorruptFileError, match="column 'd' does not fit its type"):
        list(format_for("parquet").read(storage, "f", 1, [field], batch_rows=10))


def test_flipped_bits_in_parquet_pages_are_found_by_checksum():
    """A value that decodes to another one would be a wrong answer."""
    body = body_of("parquet")
    footer = int.from_bytes(body[-8:-4], "little")
    draw = random.Random(3)
    rows = TABLE.to_pylist()
    for _ in range(200):
        damaged = bytearray(body)
        damaged[draw.randrange(4, len(body) - footer - 8)] ^= 1 << draw.randrange(8)
        storage = MemoryStorage()
        storage.write("f", bytes(damaged))
        try:
            batches = list(format_for("parquet").read(storage, "f", None, FIELDS, batch_rows=1000))
        except CorruptFileError:
            continue
        assert pa.Table.from_batches(batches).to_pylist() == rows


def test_a_parquet_page_of_no_known_kind_is_corrupt():
    """Found by flipping: Arrow passes over such pages, and the file seems to end there."""
    body = body_of("parquet")
    first = [chunk.data_page_offset for chunk in chunks_of(body)]
    for at in first:
        damaged = bytearray(body)
        damaged[at + 1] ^= 1 << 4  # the page's kind comes first in its header
        assert verdict("parquet", bytes(damaged)) == "corrupt"
        assert verdict("parquet", bytes(damaged), 1 << 10) == "corrupt"


def chunks_of(body):
    group = pq.ParquetFile(pa.BufferReader(body)).metadata.row_group(0)
    return [group.column(at) for at in range(group.num_columns)]


def test_an_avro_file_that_is_cut_between_two_blocks_is_corrupt():
    """Found by cutting: what is left is a whole file of fewer rows."""
    storage = MemoryStorage()
    writer = format_for("avro").open_writer(
        storage, "f", FIELDS[:1], WriterSettings(compression="none")
    )
    writer.write(pa.table({"n": pa.array(range(100_000), pa.int64())}))
    size = writer.close()
    body = storage.read("f")
    ends = [at + 16 for at in range(size) if body.startswith(body[-16:], at)]
    assert len(ends) > 3
    for end in ends[:-1]:
        storage.write("cut", body[:end])
        with pytest.raises(CorruptFileError, match=r"cut: [0-9]+ rows instead of 100000"):
            list(format_for("avro").read(storage, "cut", 100_000, FIELDS[:1], batch_rows=1000))


def test_text_that_is_no_utf8_is_corrupt():
    """Found by flipping bytes: Arrow's ORC reader does not look, and every later reader fails."""
    name = "orc"
    storage = MemoryStorage()
    settings = WriterSettings(compression="none")
    writer = format_for(name).open_writer(storage, "f", (FIELDS[1],), settings)
    writer.write(pa.table({"s": ["only this text"]}))
    writer.close()
    body = storage.read("f").replace(b"only this", b"only\xff\xfe\xff\xff\xff")
    storage.write("f", body)
    with pytest.raises(CorruptFileError, match="f: column 's'"):
        list(format_for(name).read(storage, "f", None, (FIELDS[1],), batch_rows=10))
