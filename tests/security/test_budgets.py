"""Attack: few bytes that become many.  Goal: the worker's memory and time.

Each is read in a process of its own, whose CPU time and memory are measured.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import cramjam
import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

import table_core as tc
from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.errors import ArgumentError, OptionError, TableError
from table_core.ondisk.avro import write_container
from table_core.ondisk.avro_schemas import MANIFEST
from table_core.ondisk.manifest import decode_manifest, encode_manifest
from table_core.options.budgets import MANIFEST_ENTRIES, STRIPE_BYTES, require_bounded, take_budgets
from table_core.predicate.sql import parse_where
from table_core.storage.columns.data_format import Part, Wanted
from table_core.storage.json_rows import json_rows
from table_core.storage.orc import format as orc_format
from table_core.storage.orc import in_batches
from table_core.storage.orc.format import OrcFormat
from table_core.storage.stores.local import LocalStorage
from tests.forking import ForkServer
from tests.lanes import sampled
from tests.tables import write_rows

CPU_S, MEMORY_MB = 10, 512
MEASURED = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
import table_core as tc
from pathlib import Path
from table_core.errors import SchemaError, TableError
from table_core.ondisk.manifest import decode_file_columns, decode_manifest
from table_core.options.budgets import take_budgets
from table_core.storage.avro.rows import AvroFormat
from table_core.storage.orc.format import OrcFormat
from table_core.storage.parquet.format import ParquetFormat
from table_core.datatypes.kinds import Field
from table_core.datatypes.temporal_text import parse_date, parse_time, parse_timestamp
from table_core.datatypes.text import parse_type
from table_core.storage.row_files import guessed_columns, read_rows
from table_core.cdc.model.mysql_types import mysql_column
from table_core.options.parse import size_bytes
from table_core.schema.document import schema_from_json
from table_core.storage.stores.local import LocalStorage
import pyarrow as pa
import duckdb
import sqlglot
from table_core.declaration.document import parse
from table_core.jobs.embedded import EmbeddedEngine
from table_core.predicate.sql import parse_where
folder = Path(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF)
said = ""
try:
    CODE
except TableError as error:
    said = f"{type(error).__name__}: {error}"[:2000]
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(json.dumps([said, cpu, (after.ru_maxrss - before.ru_maxrss) / 1024]))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    modules = re.findall(
        r"^from (table_core[.\w]*) import|^import (pyarrow|duckdb|sqlglot)", MEASURED, re.MULTILINE
    )
    with ForkServer(*("".join(one) for one in modules), environment={}) as server:
        yield server


def spent(server: ForkServer, folder: Path, code: str, most: int = MEMORY_MB) -> str:
    """What was said; within the budget."""
    script = folder / "script.py"
    script.write_text(MEASURED.replace("CODE", code))
    ran = server.run(str(script), str(folder), folder=folder)
    assert ran.status == 0, ran.stderr[-2000:]
    said, cpu, memory = json.loads(ran.stdout)
    assert cpu < CPU_S, f"{cpu:.1f} s of CPU: {said}"
    assert memory < most, f"{memory:.0f} MB: {said}"
    return str(said)


def many_entries(folder: Path) -> None:
    """A manifest of a million equal entries, as one block and as several."""
    catalog = tc.open_catalog((folder / "wh").as_uri())
    catalog.create_database("d")
    table = catalog.create_table("d.t", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})
    write_rows(table, pa.table({"id": [1]}))
    (path,) = (
        p for p in (folder / "wh/d.db/t/manifest").glob("manifest-*") if "list" not in p.name
    )
    (entry,) = decode_manifest(path.read_bytes(), path="x")
    body = encode_manifest([entry] * 1000, compression="none")
    sync = body[-16:]
    head = body[: body.index(sync) + 16]
    stream = io.BytesIO()
    schema = fastavro.parse_schema(dict(MANIFEST))
    record = next(fastavro.reader(io.BytesIO(body)))
    for _ in range(1000):
        fastavro.schemaless_writer(stream, schema, record)
    block = _long(1000) + _long(len(stream.getvalue())) + stream.getvalue() + sync
    (folder / "manifest").write_bytes(head + block * 1000)


def _long(value: int) -> bytes:
    zigzag, out = value << 1, bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes(out) + bytes([zigzag])


def avro_block(folder: Path, codec: str = "zstd") -> None:
    """A data file with one block, of which a kilobyte becomes a gigabyte."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "s", "type": "string"}]}
    body = write_container(schema, [{"s": "x"}], compression=codec)
    sync = body[-16:]
    value = _long(1 << 30) + b"x" * (1 << 20)
    if codec == "zstd":
        packed = bytes(cramjam.zstd.compress(b"\x00" * (1 << 30)))
    else:
        deflate = zlib.compressobj(1, wbits=-15)
        first = deflate.compress(value) + deflate.flush(zlib.Z_FULL_FLUSH)
        again = deflate.compress(value) + deflate.flush(zlib.Z_FULL_FLUSH)  # leans on none before
        packed = first + again * 1024 + deflate.flush()
    at = body.index(sync) + 16
    (folder / "f.avro").write_bytes(body[:at] + _long(1) + _long(len(packed)) + packed + sync)


def packed_lines(folder: Path, line: bytes, times: int) -> None:
    (folder / "f.jsonl.gz").write_bytes(gzip.compress(line, 1) * times)


def packed_csv(folder: Path, first: bytes, line: bytes, times: int) -> None:
    (folder / "f.csv.gz").write_bytes(gzip.compress(first) + gzip.compress(line, 1) * times)


def one_list(values: int) -> pa.Array:
    return pa.ListArray.from_arrays([0, values], pa.array(np.zeros(values, np.int64)))


def one_page(folder: Path) -> None:
    """Arrow looks after each 1,024 values whether a page is full, so these are one."""
    rows = pa.table({"s": pa.repeat("x" * 10_000_000, 100)})
    pq.write_table(rows, folder / "f.parquet", compression="zstd", use_dictionary=False)


def orc(folder: Path, rows: pa.Table, dictionaries: float = 1.0) -> None:
    with po.ORCWriter(
        str(folder / "f.orc"),
        compression="zstd",
        stripe_size=1 << 30,
        dictionary_key_size_threshold=dictionaries,
    ) as writer:
        writer.write(rows)


ORC = """take_budgets({"TABLE_CORE_STRIPE_BYTES_MAX": "32 mb"})
    said = str(sum(b.num_rows for b in OrcFormat().read(LocalStorage(folder), "f.orc", None,
        (Field(0, "s", FIELD),), batch_rows=1000, batch_bytes=64 << 20)))"""
PARQUET = """list(ParquetFormat().read(LocalStorage(folder), "f.parquet", None,
    (Field(0, "s", FIELD),), batch_rows=1000, batch_bytes=16 << 20))"""
ROWS = 'list(read_rows(LocalStorage(folder), "f.jsonl.gz", pa.schema([("a", pa.string())])))'
CSV = 'list(read_rows(LocalStorage(folder), "f.csv.gz", pa.schema([("a", pa.string())])))'
BLANKS = """blanks = " " * 100_000
    for text in (f"ROW<a{blanks}INT{blanks}'x'{blanks}>", f"DECIMAL({blanks}5)", f"INT NOT{blanks}NULL"):
        parse_type(text)
    size_bytes(f"{blanks}1{blanks}mb")
    for parse in (parse_date, parse_time, parse_timestamp):
        try:
            parse(f"2024-02-29 01:02:03.45{blanks}!")
        except ValueError:
            pass
    assert parse_timestamp(f"{blanks}2024-02-29 01:02:03{blanks}+02:00{blanks}") % 1000 == 0
    mysql_column(f"int{blanks}(3){blanks}unsigned{blanks}!")
    try:
        size_bytes(f"1{blanks}x y")
    except ValueError:
        parse_type(f"INT{blanks}X")"""
FIELDS = b'{"id": 0, "fields": [%s[]]}'
BOMBS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a manifest of many entries": (
        many_entries,
        'decode_manifest((folder / "manifest").read_bytes(), path="manifest")',
        "TABLE_CORE_MANIFEST_ENTRIES_MAX",
    ),
    "a manifest of many entries, as columns": (
        many_entries,
        'decode_file_columns((folder / "manifest").read_bytes(), path="manifest")',
        "TABLE_CORE_MANIFEST_ENTRIES_MAX",
    ),
    "an Avro block of zstd": (
        avro_block,
        'list(AvroFormat().read(LocalStorage(folder), "f.avro", None, (), batch_rows=100))',
        "TABLE_CORE_BLOCK_BYTES_MAX",
    ),
    "an Avro block of deflate": (
        lambda folder: avro_block(folder, "deflate"),
        'list(AvroFormat().read(LocalStorage(folder), "f.avro", None, (), batch_rows=100))',
        "TABLE_CORE_BLOCK_BYTES_MAX",
    ),
    "an ORC stripe of one number": (
        lambda folder: orc(folder, pa.table({"s": pa.array(np.zeros(20_000_000, np.int64))})),
        ORC.replace("FIELD", "parse_type('BIGINT')"),
        "20000000",
    ),
    "an ORC stripe of one text": (
        lambda folder: orc(folder, pa.table({"s": pa.repeat("x" * 40_000, 4_000)})),
        ORC.replace("FIELD", "parse_type('STRING')"),
        "4000",
    ),
    "an ORC stripe of long texts": (
        lambda folder: orc(folder, pa.table({"s": pa.repeat("x" * 40_000, 4_000)}), 0.0),
        ORC.replace("FIELD", "parse_type('STRING')"),
        "4000",
    ),
    "an ORC stripe of one list": (
        lambda folder: orc(folder, pa.table({"s": one_list(20_000_000)})),
        ORC.replace("FIELD", "parse_type('ARRAY<BIGINT>')"),
        "TABLE_CORE_STRIPE_BYTES_MAX",
    ),
    "a Parquet row of one list": (
        lambda folder: pq.write_table(
            pa.table({"s": one_list(100_000_000)}), folder / "f.parquet", compression="zstd"
        ),
        PARQUET.replace("FIELD", "parse_type('ARRAY<INT>')"),
        "TABLE_CORE_ROW_BYTES_MAX",
    ),
    "rows of Parquet with a list": (
        lambda folder: pq.write_table(
            pa.table({"s": one_list(100_000_000)}), folder / "f.parquet", compression="zstd"
        ),
        'list(read_rows(LocalStorage(folder), "f.parquet", None))',
        "TABLE_CORE_ROW_BYTES_MAX",
    ),
    "rows of Parquet with one text": (
        lambda folder: pq.write_table(
            pa.table({"s": pa.repeat("x" * 40_000, 20_000)}), folder / "f.parquet"
        ),
        'said = str(sum(b.num_rows for b in read_rows(LocalStorage(folder), "f.parquet", None)))',
        "20000",
    ),
    "a Parquet page of many texts": (
        one_page,
        PARQUET.replace("FIELD", "parse_type('STRING')"),
        "TABLE_CORE_PAGE_BYTES_MAX",
    ),
    "rows of Parquet in one page": (
        one_page,
        'list(read_rows(LocalStorage(folder), "f.parquet", None))',
        "TABLE_CORE_PAGE_BYTES_MAX",
    ),
    "a CSV line without an end": (
        lambda folder: packed_csv(folder, b"a\n", b"x" * (1 << 20), 1024),
        CSV,
        "a row of more than",
    ),
    "CSV of a million columns": (
        lambda folder: packed_csv(folder, b"b," * 1_000_000, b"", 1),
        CSV,
        "the first line names 'b'",
    ),
    "CSV of columns that nobody named": (
        lambda folder: packed_csv(folder, b"b," * 1_000_000, b"", 1),
        'guessed_columns(LocalStorage(folder), "f.csv.gz", "csv")',
        "the first line names more than",
    ),
    "a schema of a million fields": (
        lambda folder: (folder / "schema-0").write_bytes(FIELDS % (b'{"":0},' * 3_000_000)),
        'schema_from_json((folder / "schema-0").read_bytes(), path="schema-0")',
        "TABLE_CORE_JSON_BYTES_MAX",
    ),
    "a schema that is just small enough": (
        lambda folder: (folder / "schema-0").write_bytes(FIELDS % (b'{"":0},' * 1_190_000)),
        'schema_from_json((folder / "schema-0").read_bytes(), path="schema-0")',
        "not a field",
    ),
    "a type of a hundred thousand members": (
        lambda folder: None,
        'said = type(parse_type("ROW<" + ",".join(f"a{i} INT" for i in range(100_000)) + ">")).__name__',
        "Row",
    ),
    "JSON that nobody named, and is nested deep": (
        lambda folder: packed_lines(folder, b'{"a":' + b"[" * 400_000 + b"]" * 400_000 + b"}\n", 1),
        'guessed_columns(LocalStorage(folder), "f.jsonl.gz", "json")',
        "nested too deep",
    ),
    "texts of blanks": (
        lambda folder: None,
        BLANKS,
        "SchemaError",
    ),
    "a type of many digits": (
        lambda folder: None,
        """for text in (f"DECIMAL({'5' * 5000})", f"VECTOR<INT, {'5' * 5000}>", "VECTOR<INT, \u00b2>"):
        try:
            parse_type(text)
        except SchemaError as error:
            said = type(error).__name__""",
        "SchemaError",
    ),
    "SQL of numbers": (
        lambda folder: None,
        'EmbeddedEngine().query_tables("SELECT 1" + ", 1" * 500_000, {})',
        "TABLE_CORE_SQL_WORDS_MAX",
    ),
    "a condition of numbers": (
        lambda folder: None,
        'parse_where("a IN (1" + ", 1" * 500_000 + ")")',
        "TABLE_CORE_SQL_WORDS_MAX",
    ),
    "a JSON line without an end": (
        lambda folder: packed_lines(folder, b"x" * (1 << 20), 1024),
        ROWS,
        "TABLE_CORE_LINE_BYTES_MAX",
    ),
    "JSON that is nested a million deep": (
        lambda folder: packed_lines(folder, b'{"a":' + b"[" * 1_000_000, 1),
        ROWS,
        "nested too deep",
    ),
    "a gz in a gz": (
        lambda folder: packed_lines(folder, gzip.compress(b"x" * (1 << 28)), 1),
        ROWS,
        "packed by gzip",
    ),
    "a document with holes": (
        lambda folder: (folder / "schema-0").open("wb").truncate(20 << 30),
        'LocalStorage(folder).read("schema-0")',
        "TABLE_CORE_DOCUMENT_BYTES_MAX",
    ),
    "SQL of brackets": (
        lambda folder: None,
        'EmbeddedEngine().query_tables("SELECT " + "(" * 200_000 + "1" + ")" * 200_000, {})',
        "TABLE_CORE_SQL_DEPTH_MAX",
    ),
    "a condition of brackets": (
        lambda folder: None,
        'parse_where("(" * 200_000 + "a" + ")" * 200_000 + " > 1")',
        "TABLE_CORE_SQL_DEPTH_MAX",
    ),
    "YAML that is nested deep": (
        lambda folder: None,
        'parse("tables: " + "[" * 100_000, "x.yaml")',
        "",
    ),
}


@pytest.mark.parametrize("bomb", sampled(BOMBS, 4))
def test_a_bomb_is_named_within_ten_seconds_and_512_mb(
    server: ForkServer, tmp_path: Path, bomb: str
) -> None:
    plant, code, told = BOMBS[bomb]
    plant(tmp_path)
    said = spent(server, tmp_path, code, 128 if "ORC" in bomb else MEMORY_MB)
    assert said
    assert told in said


def test_the_budget_is_an_option_of_who_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.schema([("a", pa.string())])
    line = b'{"a": "' + b"x" * (5 << 20) + b'"}\n'
    assert sum(b.num_rows for b in json_rows(io.BytesIO(line * 9), rows)) == 9
    take_budgets({"TABLE_CORE_LINE_BYTES_MAX": "1 mb"})
    with pytest.raises(TableError, match="TABLE_CORE_LINE_BYTES_MAX"):
        list(json_rows(io.BytesIO(b"x" * (9 << 20)), rows))
    monkeypatch.setenv("TABLE_CORE_MANIFEST_ENTRIES_MAX", "many")
    tc.open_catalog("memory://budgets")
    with pytest.raises(OptionError, match="TABLE_CORE_MANIFEST_ENTRIES_MAX"):
        _ = MANIFEST_ENTRIES.most
    take_budgets({})


def test_what_could_not_be_read_again_is_not_written() -> None:
    catalog = tc.open_catalog("memory://too-large")
    catalog.create_database("d", if_not_exists=True)
    rows = pa.table({"id": [1]})
    table = catalog.create_table("d.t", rows.schema, options={"bucket": "-1"})
    write_rows(table, rows)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    large = replace(snapshot, properties={"shapes": "x" * (9 << 20)})
    with pytest.raises(ArgumentError, match=r"snapshot 1 would have .* TABLE_CORE_JSON_BYTES_MAX"):
        large.to_json()
    with pytest.raises(TableError, match="TABLE_CORE_JSON_BYTES_MAX"):
        catalog.alter_table("d.t", [tc.AddColumn("n", "STRING", comment="x" * (9 << 20))])
    assert catalog.table("d.t").read().to_arrow().num_rows == 1


@pytest.mark.parametrize("stripe_size", [64, 1 << 30])
def test_a_stripe_beyond_the_budget_is_read_in_batches_as_it_would_be_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stripe_size: int
) -> None:
    count = 30_000
    rows = pa.table(
        {
            "i": pa.array(range(count), pa.int64()),
            "a.b": pa.array([None, "a", "bb", "c" * 50] * (count // 4)),
            "l": pa.array([[1, 2], [], None] * (count // 3), pa.list_(pa.int32())),
            "m": pa.array([[("k", 1)], None, []] * (count // 3), pa.map_(pa.string(), pa.int64())),
            "r": pa.array([{"x": 1, "y": "z"}, None] * (count // 2)),
            "t": pa.array(range(count), pa.timestamp("ns")),
            "d": pa.array([None, 1.5] * (count // 2)),
        }
    )
    path = tmp_path / "f.orc"
    with po.ORCWriter(str(path), stripe_size=stripe_size) as writer:
        for start in range(0, count, 5_000):
            writer.write(rows.slice(start, 5_000))
    types = ("BIGINT", "STRING", "ARRAY<INT>", "MAP<STRING, BIGINT>", "ROW<x BIGINT, y STRING>")
    fields = [
        Field(number, name, parse_type(type_))
        for number, (name, type_) in enumerate(
            zip(rows.column_names, (*types, "TIMESTAMP(9)", "DOUBLE"), strict=True)
        )
    ]

    def read(part: Part) -> pa.Table:
        batches = OrcFormat().read(
            LocalStorage(tmp_path),
            "f.orc",
            count,
            fields,
            batch_rows=1000,
            wanted=Wanted(part=part),
        )
        return pa.Table.from_batches(batches, arrow_schema(fields))

    wholes = [read(Part(number, 2)) for number in range(2)]
    monkeypatch.setattr(orc_format, "STRIPE_BYTES", replace(STRIPE_BYTES, default=1 << 10))
    monkeypatch.setattr(in_batches, "_ROWS_MAX", 700)
    assert [read(Part(number, 2)) for number in range(2)] == wholes
    assert sum(whole.num_rows for whole in wholes) == count


def test_honest_sql_is_not_refused() -> None:
    require_bounded("(" * 400 + "1" + ")" * 400)
    require_bounded("SELECT " + ", ".join("(1)" for _ in range(20_000)))
    require_bounded(")" * 10_000)
    with pytest.raises(ArgumentError, match="brackets open"):
        require_bounded("(" * 501)
    assert parse_where("id IN (" + ", ".join(map(str, range(1000))) + ")") is not None
