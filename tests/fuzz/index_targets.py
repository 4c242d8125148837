"""Decoders of indexes, statistics, sketches and footers, and of small texts: what to feed them, from what to begin."""

from __future__ import annotations

import io
import struct
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
from target import Target, text_of, texts

import table_core as tc
from table_core.bucketing.dynamic import decode_hashes, encode_hashes
from table_core.cdc.model.date_format import pattern_parts
from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.routing import takes
from table_core.datatypes.cast_text import from_text
from table_core.datatypes.kinds import Atomic, DataType
from table_core.datatypes.text import parse_type
from table_core.declaration import document, signed_plan
from table_core.errors import TableError
from table_core.merge.aggregators.bitmap64 import encode_bitmap64
from table_core.merge.aggregators.sketch import Union
from table_core.ondisk.avro import open_blocks, open_container, read_records, write_container
from table_core.ondisk.binary_row import decode_row, encode_row
from table_core.ondisk.deletion_vector import decode_deletion_vector, encode_deletion_vector
from table_core.ondisk.file_index import decode_file_index
from table_core.ondisk.index_builder import IndexBuilder
from table_core.ondisk.partition_key import values_of_key
from table_core.ondisk.roaring import encode32
from table_core.options import parse
from table_core.predicate.bind import bind
from table_core.predicate.sql import parse_where
from table_core.scan.by_index import IndexTest
from table_core.schema.table_schema import TableSchema
from table_core.spark.streams.drain import _stored
from table_core.storage.orc.messages import decode_message
from table_core.storage.parquet.footer import read_chunk_stats

__all__ = ["index_targets"]

STREAMHOUSE = (Path(__file__).parents[2] / "declarations" / "streamhouse.yaml").read_text()
TYPES = [parse_type(t) for t in (
    "BIGINT", "STRING", "DECIMAL(30, 4)", "TIMESTAMP(6)", "BOOLEAN", "DOUBLE", "BYTES", "DECIMAL(9, 2)", "DATE",
)]  # fmt: skip
COLUMNS: dict[str, tuple[DataType, list[Any]]] = {
    "i": (parse_type("INT"), [1, 5, None, 5, -7]),
    "s": (parse_type("STRING"), ["a", "bb", None, "", "é" * 9]),
    "t": (parse_type("TIMESTAMP(3)"), [0, 5, None, 7, 9]),
}


# ------------------------------------------------------------------------------------------ file indexes
def schema() -> TableSchema:
    catalog = tc.open_catalog("memory://fuzz-index")
    catalog.create_database("d", if_not_exists=True)
    columns = pa.schema([("i", pa.int32()), ("s", pa.string()), ("t", pa.timestamp("ms"))])
    catalog.create_table("d.t", columns, options={"bucket": "-1"}, if_not_exists=True)
    return catalog.table("d.t").access.schema


class FileIndexes:
    """What pruning asks an index of each kind."""

    def __init__(self) -> None:
        self.tests: list[IndexTest] = []
        self.schema: Any = None

    def seeds(self) -> tuple[bytes, ...]:
        self._prepare()
        rows = pa.table({n: pa.array(v) for n, (_, v) in COLUMNS.items()})
        rows = rows.cast(
            pa.schema([("i", pa.int32()), ("s", pa.string()), ("t", pa.timestamp("ms"))])
        )
        found = []
        for kind in ("bloom-filter", "bitmap", "bsi"):
            names = [n for n in COLUMNS if kind != "bsi" or n != "s"]
            options = {f"file-index.{kind}.columns": ",".join(names)}
            builder = IndexBuilder.of(options, self.schema.fields)
            assert builder is not None
            builder.add(rows)
            found.append(builder.container())
        return tuple(found)

    def _prepare(self) -> None:
        if self.schema is None:
            self.schema = schema()
            for text in (
                "i = 5",
                "s = 'a'",
                "t = TIMESTAMP '1970-01-01 00:00:00'",
                "i > 3",
                "s IN ('x', 'y')",
            ):
                test = IndexTest.of(bind(parse_where(text), self.schema.fields), self.schema)
                assert test is not None
                self.tests.append(test)

    def __call__(self, body: bytes) -> None:
        self._prepare()
        decode_file_index(body, path="there")
        for test in self.tests:
            test.may_match(body, self.schema, 5)
            test.may_match(body, self.schema, 1 << 24)


def with_checksum(body: bytes) -> bytes:
    """A block of a deletion vector that says of itself that it is whole."""
    if len(body) < 12:
        return body
    inner = body[4:-4]
    return struct.pack(">i", len(inner)) + inner + struct.pack(">I", zlib.crc32(inner))


def vectors() -> tuple[bytes, ...]:
    spread_, runs = np.arange(0, 300_000, 7), np.arange(5_000, 400_000)
    return tuple(
        encode_deletion_vector(p, bitmap64=wide) for p in (spread_, runs) for wide in (False, True)
    )


# ------------------------------------------------------------------------------------------ sketches
def union(body: bytes) -> None:
    """A value of each kind of sketch, folded with itself."""
    for function in ("theta_sketch", "rbm32", "rbm64", "hll_sketch"):
        try:
            Union("c", function)._union([body, body])
        except TableError:
            continue


def sketches() -> tuple[bytes, ...]:
    low = np.arange(9, dtype=np.uint32)
    theta = struct.pack("<BBBBBBH", 2, 3, 3, 0, 0, 0x1A, 7) + struct.pack("<iiqq", 2, 0, 5, 9)
    keys = {1: low, 2 << 40: np.arange(60_000, dtype=np.uint32), 3 << 20: low}
    return theta, encode32(np.arange(0, 90_000)), encode32(low), encode_bitmap64(keys)


# ------------------------------------------------------------------------------------------ rows and files
def row(body: bytes) -> None:
    decode_row(TYPES, body, path="there")


def rows() -> tuple[bytes, ...]:
    values = (
        5,
        "text that is long",
        Decimal("1.2345"),
        1_700_000_000_000_000_000,
        True,
        1.5,
        b"x" * 20,
        Decimal("1.25"),
        19_000,
    )
    return encode_row(TYPES, values), encode_row(TYPES, (None,) * len(TYPES))


def container(body: bytes) -> None:
    for _ in read_records(open_container(body, path="there"), path="there"):
        pass
    for _ in open_blocks(pa.BufferReader(body), path="there").blocks:
        pass


def containers() -> tuple[bytes, ...]:
    told = {"type": "record", "name": "r", "fields": [
        {"name": "a", "type": "long"}, {"name": "b", "type": ["null", "string"]},
        {"name": "c", "type": {"type": "array", "items": "bytes"}},
    ]}  # fmt: skip
    records = [{"a": n, "b": None if n % 2 else "x" * n, "c": [b"y"] * (n % 3)} for n in range(50)]
    return tuple(
        write_container(told, records, compression=c) for c in ("none", "zstd", "deflate", "snappy")
    )


def parquet(body: bytes) -> None:
    try:
        read_chunk_stats(io.BytesIO(body))
    except (ValueError, LookupError, RecursionError):
        return  # readers then do without


def parquet_files() -> tuple[bytes, ...]:
    out = io.BytesIO()
    rows_ = pa.table(
        {"i": list(range(50)), "s": [None, "a"] * 25, "l": [[1], [], None, [2, 3], []] * 10}
    )
    pa.parquet.write_table(rows_, out, row_group_size=20)
    return (out.getvalue(),)


def orc_tail(body: bytes) -> None:
    try:
        for parts in decode_message(body).values():
            for one in parts:
                if isinstance(one, bytes):
                    decode_message(one)
    except (ValueError, IndexError):
        return  # the reader of files tells it of the file


# ------------------------------------------------------------------------------------------ small texts
def options(text: str) -> None:
    for read in (
        parse.duration_ms,
        parse.size_bytes,
        parse.integer,
        parse.number,
        parse.level_map,
        parse.column_list,
    ):
        try:
            read(text)
        except ValueError:
            continue


def casts(text: str) -> None:
    column = pa.array([text, None])
    for type_ in ("INT", "DECIMAL(38, 10)", "DOUBLE", "DATE", "TIME(3)", "TIMESTAMP(6)", "BOOLEAN", "BYTES",
                  "TIMESTAMP(3) WITH LOCAL TIME ZONE", "CHAR(3)"):  # fmt: skip
        target = parse_type(type_)
        assert isinstance(target, Atomic)
        try:
            from_text(column, target)
        except (ValueError, ArithmeticError, TableError):
            continue


def routes(text: str) -> None:
    takes.cache_clear()
    takes(text, SourceTable("shop", "customers_of_the_last_year_2024"), "customers")


def small(text: str) -> None:
    """Names, patterns, positions."""
    for read in (values_of_key, pattern_parts, _stored):
        try:
            read(text)
        except TableError:
            continue


def index_targets() -> dict[str, Target]:
    """All of them by name."""
    indexes = FileIndexes()
    found = document.read(STREAMHOUSE, "there.yaml", {"A": "b"})
    plan = signed_plan.written(found.sound, [], warehouse="w", allow=(), digest="x")
    return {
        "file-index": Target(indexes, indexes.seeds),
        "deletion-vector": Target(lambda body: decode_deletion_vector(with_checksum(body), path="there"), vectors),
        "hashes": Target(_hashes, (encode_hashes(np.arange(9, dtype=np.int32)),)),
        "sketch": Target(union, sketches),
        "binary-row": Target(row, rows),
        "avro-container": Target(container, containers),
        "parquet-footer": Target(parquet, parquet_files),
        "orc-messages": Target(orc_tail, (b"\x08\x96\x01\x12\x03abc\x1a\x02\x08\x01",)),
        "option-values": Target(text_of(options), texts("1 h", "128 mb", "5", "1.5e3", "0:lz4,1:zstd", "a,b")),
        "cast": Target(text_of(casts), texts("12", "-1.5e3", "2024-02-29", "2024-02-29 01:02:03.456", "true")),
        "route": Target(text_of(routes), texts('["a.*",null,["p","s",false]]', '{"tables":"a|b"}'), is_json=True),
        "names": Target(text_of(small), texts("dt=1/hh=%2F", "yyyy-MM-dd'T'HH", '{"batch":1,"snapshot":2,"index":0}')),
        "plan": Target(text_of(signed_plan.opened), (plan.encode(),), is_json=True),
    }  # fmt: skip


def _hashes(body: bytes) -> None:
    try:
        decode_hashes(body)
    except ValueError:
        return
