"""Attack: few bytes that become many.  Goal: the worker's memory and time.

Each is read in a process of its own, whose CPU time and memory are measured.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import cramjam
import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pytest

import table_core as tc
from table_core.errors import ArgumentError, OptionError, TableError
from table_core.ondisk.avro import write_container
from table_core.ondisk.avro_schemas import MANIFEST
from table_core.ondisk.manifest import decode_manifest, encode_manifest
from table_core.options.budgets import MANIFEST_ENTRIES, require_flat, take_budgets
from table_core.predicate.sql import parse_where
from table_core.storage.json_rows import json_rows
from tests.lanes import sampled

CPU_S, MEMORY_MB = 10, 512
MEASURED = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
import table_core as tc
from pathlib import Path
from table_core.errors import TableError
from table_core.ondisk.manifest import decode_file_columns, decode_manifest
from table_core.storage.avro.rows import AvroFormat
from table_core.storage.orc.format import OrcFormat
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.storage.row_files import read_rows
from table_core.storage.stores.local import LocalStorage
import pyarrow as pa, duckdb, sqlglot
from table_core.declaration.document import parse
from table_core.jobs.embedded import EmbeddedEngine
from table_core.predicate.sql import parse_where
folder = Path(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF)
said = ""
try:
    CODE
except TableError as error:
    said = str(error)[:2000]
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(json.dumps([said, cpu, (after.ru_maxrss - before.ru_maxrss) / 1024]))
"""


def spent(folder: Path, code: str) -> str:
    """What was said; within the budget."""
    script = MEASURED.replace("CODE", code)
    ran = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, timeout=280
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    said, cpu, memory = json.loads(ran.stdout)
    assert cpu < CPU_S, f"{cpu:.1f} s of CPU: {said}"
    assert memory < MEMORY_MB, f"{memory:.0f} MB: {said}"
    return str(said)


def many_entries(folder: Path) -> None:
    """A manifest of a million equal entries, as one block and as several."""
    catalog = tc.open_catalog((folder / "wh").as_uri())
    catalog.create_database("d")
    table = catalog.create_table("d.t", pa.schema([("id", pa.int64())]), options={"bucket": "-1"})
    with table.write() as writer:
        writer.write(pa.table({"id": [1]}))
        writer.commit()
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
        deflate = zlib.compressobj(wbits=-15)
        packed = deflate.compress(value + b"x" * (1 << 30)) + deflate.flush()
    at = body.index(sync) + 16
    (folder / "f.avro").write_bytes(body[:at] + _long(1) + _long(len(packed)) + packed + sync)


def packed_lines(folder: Path, line: bytes, times: int) -> None:
    with gzip.open(folder / "f.jsonl.gz", "wb", compresslevel=1) as file:
        for _ in range(times):
            file.write(line)


def orc(folder: Path, rows: pa.Table) -> None:
    with po.ORCWriter(
        str(folder / "f.orc"),
        compression="zstd",
        stripe_size=1 << 30,
        dictionary_key_size_threshold=1.0,
    ) as writer:
        writer.write(rows)


ORC = """list(OrcFormat().read(LocalStorage(folder), "f.orc", None, (Field(0, "s", FIELD),),
        batch_rows=1000, batch_bytes=64 << 20))"""
ROWS = 'list(read_rows(LocalStorage(folder), "f.jsonl.gz", pa.schema([("a", pa.string())])))'
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
        lambda folder: orc(folder, pa.table({"s": pa.array(np.zeros(70_000_000, np.int64))})),
        ORC.replace("FIELD", "parse_type('BIGINT')"),
        "TABLE_CORE_STRIPE_BYTES_MAX",
    ),
    "an ORC stripe of one text": (
        lambda folder: orc(folder, pa.table({"s": pa.repeat("x" * 40_000, 20_000)})),
        ORC.replace("FIELD", "parse_type('STRING')"),
        "TABLE_CORE_STRIPE_BYTES_MAX",
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
        "no JSON",
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
def test_a_bomb_is_named_within_ten_seconds_and_512_mb(tmp_path: Path, bomb: str) -> None:
    plant, code, told = BOMBS[bomb]
    plant(tmp_path)
    said = spent(tmp_path, code)
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


def test_honest_sql_is_not_refused() -> None:
    require_flat("(" * 400 + "1" + ")" * 400)
    require_flat("SELECT " + ", ".join("(1)" for _ in range(20_000)))
    require_flat(")" * 10_000)
    with pytest.raises(ArgumentError, match="brackets open"):
        require_flat("(" * 501)
    assert parse_where("id IN (" + ", ".join(map(str, range(1000))) + ")") is not None
