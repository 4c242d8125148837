"""Every decoder of bytes that others wrote: what to feed it, and from what to begin."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from event_targets import event_targets
from index_targets import index_targets
from target import Target, path_of, text_of, texts

import table_core as tc
from table_core.datatypes.text import parse_type
from table_core.declaration import document, manifest
from table_core.errors import TableError
from table_core.jobs.embedded import EmbeddedEngine
from table_core.jobs.job_spec import JobResult, JobSpec
from table_core.ondisk.bloom_filter import decode_bloom_filter
from table_core.ondisk.consumer import Consumer
from table_core.ondisk.hints import decode_hint
from table_core.ondisk.index_manifest import decode_index_manifest
from table_core.ondisk.manifest import decode_file_columns, decode_manifest, encode_manifest
from table_core.ondisk.manifest_list import decode_manifest_list, encode_manifest_list
from table_core.ondisk.snapshot import Snapshot
from table_core.ondisk.success_file import SuccessFile
from table_core.ondisk.tag import Tag
from table_core.options.table import TableOptions
from table_core.predicate.sql import parse_value, parse_where
from table_core.schema.document import schema_from_json
from table_core.spark.verbs.sql_text import expression_of, query_of
from table_core.storage.row_files import format_of, guessed_columns, read_rows
from table_core.storage.stores.jdbc import JdbcDatabase
from tests.tables import write_rows

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "documents"


def _bodies(*patterns: str, most: int = 12) -> tuple[bytes, ...]:
    found = [path.read_bytes() for pattern in patterns for path in sorted(GOLDEN.glob(pattern))]
    return tuple(found[:: max(1, len(found) // most)])


class DataFile:
    """A table of one file, whose bytes are others: footers, pages and statistics as we read them."""

    def __init__(self, format: str) -> None:
        self.format = format
        self._table: Any = None
        self._path = ""
        self.whole = b""

    def _open(self) -> None:
        catalog = tc.open_catalog(f"memory://fuzz-{self.format}")
        catalog.create_database("d", if_not_exists=True)
        rows = pa.table(
            {
                "i": pa.array(range(300), pa.int64()),
                "s": pa.array([None, "a", "bb"] * 100),
                "d": pa.array([1.5, None, float("nan")] * 100),
                "l": pa.array([[1, 2], [], None] * 100, pa.list_(pa.int32())),
            }
        )
        catalog.create_table(
            "d.t", rows.schema, options={"file.format": self.format, "bucket": "-1"}
        )
        table = catalog.table("d.t")
        write_rows(table, rows)
        self._table = table
        (self._path,) = (i.path for i in table.access.storage.walk("bucket-0"))
        self.whole = table.access.storage.read(self._path)

    def seeds(self) -> tuple[bytes, ...]:
        if self._table is None:
            self._open()
        return (self.whole,)

    def __call__(self, body: bytes) -> None:
        if self._table is None:
            self._open()
        self._table.access.storage.write(self._path, body)
        for batch in self._table.read(where="i > 5").to_batches():
            batch.validate()


class RowFile:
    """A file of rows that somebody left."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.storage = tc.open_catalog(f"memory://fuzz-{name}").storage

    def __call__(self, body: bytes) -> None:
        self.storage.write(self.name, body)
        with contextlib.suppress(TableError):
            guessed_columns(self.storage, self.name, format_of(self.name))
        for batch in read_rows(self.storage, self.name, ROWS):
            batch.validate()


ROWS = pa.schema([("a", pa.int64()), ("b", pa.string()), ("m", pa.map_(pa.string(), pa.int32()))])
_CSV = b'a,b,m\n1,"x\ny",\n2,"q""q",{}\n,,\n'
_LINES = b'{"a": 1, "b": "x", "m": {"k": 2}}\n\n{"b": null}\n{"a": 3}\n'
ROW_FILES = {
    "rows.csv": (_CSV,),
    "rows.csv.gz": (gzip.compress(_CSV), gzip.compress(_CSV * 100_000)),
    "rows.jsonl": (_LINES,),
    "rows.jsonl.gz": (gzip.compress(_LINES), gzip.compress(_LINES * 50_000)),
}


def _bloom(body: bytes) -> None:
    with contextlib.suppress(ValueError):  # who reads a file then looks into all of it
        decode_bloom_filter(body)


def _job(text: str) -> None:
    spec = JobSpec.from_json(text)
    JobSpec.from_json(spec.to_json())


def _declared(text: str) -> None:
    document.read(text, "there.yaml", {"A": "b"})
    manifest.whole(text, None)


def _sql(text: str) -> None:
    EmbeddedEngine().query_tables(text, {"orders": pa.table({"id": [1]})}, {"p": 1})


def _options(text: str) -> None:
    pairs = (line.partition("=") for line in text.splitlines())
    TableOptions.parse({name: value for name, _, value in pairs})


LISTS = _bodies("*/manifest/manifest-list-*")
MANIFESTS = _bodies("*/manifest/manifest-[0-9a-f]*")


def _loose(encode: Any, decode: Any, bodies: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(encode(decode(body, path="x"), compression="none") for body in bodies)


def targets() -> dict[str, Target]:
    """All of them by name."""
    manifests = (*MANIFESTS, *_loose(encode_manifest, decode_manifest, MANIFESTS))
    spec = JobSpec(
        action="write", warehouse="w", table="a.b", args={"sql": "x"}, options={"storage.a": "b"}
    )
    sql = texts(
        "SELECT * FROM orders WHERE id = $p", "WITH a AS (SELECT 1) SELECT * FROM a", "COPY orders TO 'x'",
        "SELECT [1, 2], {'a': 1} FROM orders ORDER BY 1 LIMIT 3",
    )  # fmt: skip
    where = texts(
        "a > 1 AND b IN ('x', 'y')", "c IS NOT NULL OR NOT d LIKE 'x%'", "e BETWEEN 1 AND 2.5e3", "f.g = X'0A'",
        "CAST(a AS DECIMAL(5, 2)) <=> DATE '2026-01-01'", "CASE WHEN a THEN 1 ELSE -b END = 3",
    )  # fmt: skip
    return {
        "snapshot": Target(path_of(Snapshot.from_json), _bodies("*/snapshot/snapshot-*"), is_json=True),
        "tag": Target(path_of(Tag.from_json), _bodies("*/tag/tag-*", "*/snapshot/snapshot-*"), is_json=True),
        "schema": Target(path_of(schema_from_json), _bodies("*/schema/schema-*"), is_json=True),
        "consumer": Target(path_of(Consumer.from_json), (b'{"nextSnapshot": 3}',), is_json=True),
        "success": Target(
            path_of(SuccessFile.from_json), (b'{"creationTime": 1, "modificationTime": 2}',), is_json=True
        ),
        "hint": Target(decode_hint, (b"12",)),
        "manifest": Target(path_of(decode_manifest), manifests),
        "manifest-columns": Target(path_of(decode_file_columns), manifests),
        "manifest-list": Target(
            path_of(decode_manifest_list), (*LISTS, *_loose(encode_manifest_list, decode_manifest_list, LISTS))
        ),
        "index-manifest": Target(path_of(decode_index_manifest), _bodies("*/manifest/index-manifest-*")),
        "bloom-filter": Target(_bloom, (b"\0\0\0\x05" + b"\xff" * 16,)),
        "type": Target(text_of(parse_type), texts("INT NOT NULL", "ROW<a ARRAY<MAP<STRING, DECIMAL(5, 2)>>>")),
        "options": Target(text_of(_options), texts("bucket=3\nfile.format=orc\nsnapshot.time-retained=1 h")),
        "where": Target(text_of(parse_where), where),
        "value": Target(text_of(parse_value), where),
        "job-spec": Target(text_of(_job), (spec.to_json().encode(),), is_json=True),
        "job-result": Target(
            text_of(JobResult.from_json),
            (JobResult(result={"a": 1}).to_json().encode(),
             JobResult(error=tc.errors.DataError("x", column="a", row=1, value=None)).to_json().encode()),
            is_json=True,
        ),
        "declaration": Target(
            text_of(_declared), ((HERE.parents[1] / "declarations" / "streamhouse.yaml").read_bytes(),)
        ),
        "embedded-sql": Target(text_of(_sql), sql),
        "spark-sql": Target(text_of(lambda text: query_of(text, ["orders"], {"p": 1})), sql),
        "spark-expression": Target(text_of(expression_of), where),
        "jdbc-address": Target(
            text_of(lambda text: JdbcDatabase(text).shown), texts("jdbc:mysql://u:p@h:1/d?useSSL=true")
        ),
        **{name: _data_file(name) for name in ("parquet", "orc", "avro")},
        **{name: Target(RowFile(name), body) for name, body in ROW_FILES.items()},
        **index_targets(),
        **event_targets(),
    }  # fmt: skip


def _data_file(format: str) -> Target:
    run = DataFile(format)
    return Target(run, run.seeds)
