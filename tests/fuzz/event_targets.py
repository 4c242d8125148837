"""Decoders of change events, of logs, and of what a sync keeps: what to feed them, from what to begin."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import shutil
import struct
import tempfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from target import Target, text_of, texts

import table_core as tc
from table_core.cdc.debezium.avro_events import AvroEvents
from table_core.cdc.model.claims import Claims
from table_core.cdc.model.complete import Completed
from table_core.cdc.model.embedded_schema import Declared
from table_core.cdc.model.encoding import Encoding
from table_core.cdc.model.geometry import geometry_text
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.mysql_types import mysql_column, mysql_type
from table_core.cdc.model.source_schema import source_schemas_from
from table_core.cdc.source.kafka.records import JsonRecords, json_text, record_line
from table_core.cdc.source.mysql.binlog import ROWS, TABLE_MAP, header_of
from table_core.cdc.source.mysql.binlog_reader import _events
from table_core.cdc.source.mysql.binlog_rows import BinlogRows
from table_core.cdc.source.mysql.sql_tokens import tokens_of
from table_core.cdc.source.mysql.statements import effects_of
from table_core.cdc.source.postgres.pgoutput import PgOutputRows, Relation
from table_core.cdc.source.postgres.types import postgres_type
from table_core.datatypes.kinds import STRING
from table_core.position.document import Positions
from table_core.position.lines import FilesRead, OffsetsPlace
from table_core.position.log import LogPlace
from table_core.schema.type_mapping import TypeMapping

ROOT = Path(__file__).parents[2]
STREAMS = ROOT / "tests" / "golden" / "streams"
FORMAT = 15


# ------------------------------------------------------------------------------------------ binary log
@cache
def log_events() -> tuple[bytes, ...]:
    """The events of a recorded log, without checksums."""
    body = gzip.decompress((STREAMS / "mariadb" / "binlog.000001.gz").read_bytes())
    file = io.BytesIO(body)
    return tuple(e for e, _ in _events("x", file, 4, newest=True, most=1 << 30))


def framed(event: bytes) -> bytes:
    return event[:9] + struct.pack("<I", len(event)) + event[13:]


def compressed(event: bytes) -> bytes:
    """A rows event as MariaDB compresses it."""
    kind, body = event[4], event[19:]
    second = 10 if kind >= 30 else 8
    columns = (body[second] + 7) // 8
    at = second + 1 + columns * (2 if kind in {24, 31} else 1)
    packed = zlib.compress(body[at:])
    size = len(body) - at
    head = body[:at] + bytes([0x80 | 4]) + size.to_bytes(4, "big") + packed
    new = {23: 166, 24: 167, 25: 168, 30: 169, 31: 170, 32: 171}[kind]
    return framed(event[:4] + bytes([new]) + event[5:19] + head)


def logs() -> tuple[bytes, ...]:
    """Pieces of the log in which every table has a map, a row of each kind, and statements."""
    found, piece, seen = [], [], set()
    for event in log_events():
        name = (event[4], event[19:60] if event[4] == TABLE_MAP else event[19:25])
        if event[4] in ROWS | {TABLE_MAP} and name in seen and len(piece) > 1:
            continue
        seen.add(name)
        piece.append(framed(event))
        if event[4] in ROWS and len(event) < 4000:
            piece.append(compressed(event))
        if len(piece) >= 12:
            found.append(b"".join(piece))
            piece = []
    return tuple(found[:: max(1, len(found) // 24)])


def binlog(body: bytes) -> None:
    rows = BinlogRows(
        wants=lambda _: True, described=lambda *_: None, mapping=TypeMapping(), file="x.000001"
    )
    at = 0
    while at + 19 <= len(body):
        size = max(19, header_of(body[at : at + 19]).size)
        event = body[at : at + size]
        rows.take(event, at + size)
        at += size
    for one in rows.batch().changes:
        for image in (one.before, one.after):
            for column in image.columns.values():
                column.validate()


def binlog_file(body: bytes) -> None:
    """The frames of a file, and its compression."""
    file: Any = io.BytesIO(body)
    if body[:2] == b"\x1f\x8b":
        file = gzip.GzipFile(fileobj=file)
    for _ in _events("x.000001", file, 4, newest=True, most=64 << 20):
        pass


def log_files() -> tuple[bytes, ...]:
    whole = gzip.decompress((STREAMS / "mariadb" / "binlog.000001.gz").read_bytes())[:4000]
    return whole, gzip.compress(whole), gzip.compress(b"\xfebin" + b"\0" * 40_000_000)


# ------------------------------------------------------------------------------------------ pgoutput
JSON_TYPES = (pa.string(), pa.bool_(), pa.binary(), pa.list_(pa.string()), pa.list_(pa.bool_()))


def pg_messages() -> tuple[bytes, ...]:
    def row(*values: bytes | None) -> bytes:
        told = [
            b"n" if v is None else b"u" if v == b"?" else b"t" + struct.pack(">I", len(v)) + v
            for v in values
        ]
        return struct.pack(">H", len(values)) + b"".join(told)

    names = (b"id", b"ok", b"body", b"tags", b"flags")
    columns = b"".join(b"\1" + n + b"\0" + struct.pack(">Ii", 25, -1) for n in names)
    relation = b"R" + struct.pack(">I", 7) + b"s\0t\0d" + struct.pack(">H", len(names)) + columns
    first = row(b"1", b"t", b"\\x00ff", b'{a,"b\\"c",NULL}', b"{t,f}")
    id = struct.pack(">I", 7)
    return (
        b"B" + struct.pack(">QqI", 1 << 33, 1_000_000, 9), relation,
        b"I" + id + b"N" + first,
        b"U" + id + b"K" + row(b"1", None, None, None, None) + b"N" + row(b"2", b"?", None, b"{}", b"{NULL}"),
        b"U" + id + b"O" + first + b"N" + first,
        b"D" + id + b"K" + row(b"2", None, None, None, None),
        b"T" + struct.pack(">IB", 1, 0) + id,
        b"C" + struct.pack(">BQQq", 0, 1 << 33, (1 << 33) + 8, 1_000_000),
    )  # fmt: skip


def in_frames(messages: tuple[bytes, ...]) -> bytes:
    return b"".join(struct.pack(">I", len(m)) + m for m in messages)


def pgoutput(body: bytes) -> None:
    def described(relation: Relation) -> dict[str, Declared]:
        return {
            name: Declared(STRING, Encoding(LogicalType.RAW), JSON_TYPES[n % len(JSON_TYPES)])
            for n, name in enumerate(relation.names)
        }

    rows = PgOutputRows(
        wants=lambda _: True,
        described=described,
        slot="s",
        position=LogPlace("postgres", (0, 0)),
    )
    at = 0
    while at + 4 <= len(body):
        size = int.from_bytes(body[at : at + 4], "big")
        rows.take(body[at + 4 : at + 4 + size])
        at += 4 + size
    for one in rows.batch().changes:
        for image in (one.before, one.after):
            for column in image.columns.values():
                column.validate()


# ------------------------------------------------------------------------------------------ whole syncs
class Sync:
    """A sync with dead letters: no event may end it, so even our own errors are faults."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.folder = Path(tempfile.mkdtemp(prefix="paimon-fuzz-"))
        self.count = 0

    def __call__(self, body: bytes) -> None:
        self.count += 1
        home = self.folder / str(self.count)
        home.mkdir(parents=True)
        try:
            (home / "1.jsonl").write_bytes(self.lines(body))
            catalog = tc.open_catalog(f"memory://fuzz-{self.format}-{self.count % 2}")
            for name in list(catalog.databases()):
                catalog.drop_database(name, cascade=True)
            source = tc.FilesSource(f"{home}/*.jsonl", format=self.format, max_event_bytes=1 << 20)
            try:
                self.sync(catalog, source)
            except tc.errors.TableError as error:
                raise AssertionError(f"an event ended the sync: {error}") from error
            for name in catalog.tables("lake"):
                catalog.table(f"lake.{name}").read().to_arrow().validate()
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def sync(self, catalog: tc.Catalog, source: Any) -> None:
        if self.format == "json":
            catalog.create_database("lake")
            given = {"primary_key": ("id",), "dead_letter": "lake.bad"}
            tc.sync_table(catalog, "lake.a", source, **given)
            return
        tc.sync_database(catalog, "lake", source, dead_letter="lake.bad", max_columns=200)

    def lines(self, body: bytes) -> bytes:
        return body


class AvroSync(Sync):
    """Records of Avro become lines, as a topic's reader makes them."""

    def __init__(self) -> None:
        super().__init__("debezium-json")

    def lines(self, body: bytes) -> bytes:
        form = AvroEvents(lambda _: AVRO_SCHEMA, json_text, 1 << 20)
        found, at = [], 0
        while at + 4 <= len(body):
            size = int.from_bytes(body[at : at + 4], "big")
            part = body[at + 4 : at + 4 + size]
            found.append(
                record_line(("p.s.t", 0, len(found)), [("h", part[:3])], part[:9], part, form)
            )
            at += 4 + size
        return b"".join(found[:200])


def avro_schema(text: str) -> None:
    """A schema of the registry, and a record of it."""
    form = AvroEvents(lambda _: text, json_text, 1 << 20)
    for tail in (b"", b"\2\0\2\2a\2\2b", bytes(range(40)), b"\xff" * 30):
        json.loads(form.value(b"\0\0\0\0\1" + tail))
        json.loads(form.key(b"\0\0\0\0\1" + tail))


ROW = {"type": "record", "name": "Value", "fields": [
    {"name": "id", "type": "long"},
    {"name": "n", "type": ["null", "string"], "default": None},
    {"name": "d", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}]},
    {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
]}  # fmt: skip
AVRO_SCHEMA = json.dumps({"type": "record", "name": "Envelope", "namespace": "p.s.t", "fields": [
    {"name": "before", "type": ["null", ROW]}, {"name": "after", "type": ["null", "Value"]},
    {"name": "source", "type": {"type": "record", "name": "Source", "fields": [
        {"name": "db", "type": "string"}, {"name": "table", "type": "string"}, {"name": "ts_ms", "type": "long"},
    ]}},
    {"name": "op", "type": "string"},
]})  # fmt: skip


def avro_records() -> tuple[bytes, ...]:
    import fastavro

    schema = fastavro.parse_schema(
        json.loads(AVRO_SCHEMA.replace(', "logicalType": "decimal"', ""))
    )
    about = {"db": "s", "table": "t", "ts_ms": 5}
    row = {"id": 1, "n": "x", "d": b"\x04\xd2", "tags": ["a", None]}
    found = []
    for op, before, after in (("c", None, row), ("u", row, {**row, "n": None}), ("d", row, None)):
        out = io.BytesIO()
        event = {"before": before, "after": after, "source": about, "op": op}
        fastavro.schemaless_writer(out, schema, event)
        found.append(b"\0\0\0\0\1" + out.getvalue())
    return tuple(found)


def recorded(form: str) -> tuple[bytes, ...]:
    found = []
    for connector in ("mariadb", "postgres"):
        body = gzip.decompress((STREAMS / connector / f"default.{form}.jsonl.gz").read_bytes())
        lines = body.splitlines(keepends=True)
        found += [
            b"".join(lines[at : at + 3]) for at in range(0, len(lines), max(1, len(lines) // 10))
        ]
    return tuple(found)


OTHERS: dict[str, list[dict[str, Any]]] = {
    "canal-json": [
        {"type": "INSERT", "database": "s", "table": "a", "es": 5, "isDdl": False, "old": None,
         "mysqlType": {"id": "bigint(20)", "n": "decimal(12,2)", "k": "set('a','b')", "at": "datetime(3)"},
         "pkNames": ["id"], "data": [{"id": "1", "n": "5", "k": "a,b", "at": "2024-02-29 01:02:03.456"}]},
        {"type": "UPDATE", "database": "s", "table": "a", "es": 6, "isDdl": False, "pkNames": ["id"],
         "data": [{"id": "1", "n": "7"}], "old": [{"n": "5"}]},
        {"type": "DELETE", "database": "s", "table": "a", "es": 7, "data": [{"id": "1"}], "pkNames": ["id"]},
        {"type": "ALTER", "database": "s", "table": "a", "isDdl": True, "sql": "ALTER TABLE a"},
    ],
    "maxwell-json": [
        {"type": "insert", "database": "s", "table": "a", "ts": 5, "data": {"id": 1, "n": 5},
         "primary_key_columns": ["id"]},
        {"type": "update", "database": "s", "table": "a", "ts": 6, "data": {"id": 1, "n": 7}, "old": {"n": 5},
         "primary_key_columns": ["id"]},
        {"type": "delete", "database": "s", "table": "a", "ts": 7, "data": {"id": 1, "n": 7},
         "primary_key_columns": ["id"]},
    ],
    "ogg-json": [
        {"table": "S.a", "op_type": "I", "op_ts": "2024-01-01 00:00:00.000000", "after": {"id": 1, "n": 5},
         "primary_keys": ["id"]},
        {"table": "S.a", "op_type": "U", "before": {"id": 1, "n": 5}, "after": {"id": 1, "n": 7}, "primary_keys": ["id"]},
        {"table": "S.a", "op_type": "T"},
        {"table": "S.a", "op_type": "D", "before": {"id": 1, "n": 5}, "primary_keys": ["id"]},
    ],
    "json": [{"id": 1, "n": 5, "t": {"a": [1]}}, {"id": 1, "n": None, "__deleted": "true"}],
}  # fmt: skip


def one_by_one(events: list[dict[str, Any]]) -> tuple[bytes, ...]:
    return tuple(json.dumps(event).encode() for event in events)


# ------------------------------------------------------------------------------------------ kept text
def position(text: str) -> None:
    """Every form of a position that a table may hold."""
    for read in (
        FilesRead.parse, OffsetsPlace.parse, Positions.parse, source_schemas_from,
        lambda t: LogPlace.parse(t, "mysql"), Claims.parse, Completed.parse,
    ):  # fmt: skip
        try:
            found: Any = read(text)
        except tc.errors.TableError:
            continue
        if dataclasses.is_dataclass(found) and not isinstance(found, Claims):
            _ = found.text  # type: ignore[attr-defined]


def positions() -> Iterator[str]:
    yield '{"v":1,"files":{"a":[1,2]}}'
    yield '{"v":1,"topics":{"t":{"0":5}}}'
    yield '{"v":1,"kind":"mysql","at":[1,4],"name":"b.000001","gtid":"0-1-2","skip":3,"snapshots":{"s.a":[1]},"since":{"s.a":[1,2]}}'
    reader = '"reader":{"kind":"sync","name":"x","as":"y"}'
    for source, place in (
        ('{"kind":"mysql","server":"1"}', '{"kind":"log","order":[1,4],"name":"b","skip":1,"rest":{"kind":"mysql","since":{"s.a":[1,2]}}}'),
        ('{"kind":"kafka","cluster":"c","topics":{"t":"i"}}', '{"kind":"offsets","topics":{"t":{"0":5}}}'),
        ('{"kind":"table","location":"x"}', '{"kind":"snapshot","id":3,"mark":"m","time_ms":5}'),
        ('{"kind":"files","folder":"x"}', '{"kind":"read","folders":{"a":{"b":[1,2,"m"]}}}'),
    ):  # fmt: skip
        yield f'{{"v":2,"positions":[{{{reader},"source":{source},"place":{place}}}]}}'
    yield '[["s","a",[["id","INT NOT NULL","RAW:0",true,"5",null]]]]'
    yield '{"runs":[{"claim":"x","tables":["s.a"]}]}'


def types(text: str) -> None:
    for read in (
        lambda t: mysql_type(mysql_column(t), TypeMapping()),
        lambda t: postgres_type(t, TypeMapping()),
    ):
        read(text)
    effects_of(tokens_of(text))


def geometry(body: bytes) -> None:
    """As a row image has it: its reader tells what Python raises."""
    try:
        geometry_text(body)
    except (ValueError, LookupError, RecursionError, struct.error):
        return


def event_targets() -> dict[str, Target]:
    """All of them by name."""
    point = b"\0\0\0\0\1" + struct.pack("<Idd", 1, 1.0, 2.0)
    collection = b"\0\0\0\0\1" + struct.pack("<II", 7, 1) + point[4:]
    return {
        "binlog": Target(binlog, logs),
        "binlog-file": Target(binlog_file, log_files),
        "pgoutput": Target(pgoutput, (in_frames(pg_messages()),)),
        "debezium-json": Target(Sync("debezium-json"), lambda: recorded("plain")),
        "debezium-json-event": Target(
            Sync("debezium-json"), lambda: tuple(b.splitlines()[0] for b in recorded("schema")), is_json=True
        ),
        "debezium-avro": Target(AvroSync(), (in_frames(avro_records()),)),
        "avro-schema": Target(text_of(avro_schema), texts(AVRO_SCHEMA, json.dumps(ROW)), is_json=True),
        **{f: Target(Sync(f), one_by_one(OTHERS[f]), is_json=True) for f in OTHERS},
        "record": Target(
            lambda body: json.loads(record_line(("t", 0, 1), [("h", body[:9])], body[:40], body, JsonRecords())),
            (b'{"schema":{"type":"struct"},"payload":{"id":1}}', b'"x"', b"[1]"), is_json=True,
        ),
        "position": Target(text_of(position), texts(*positions()), is_json=True),
        "source-type": Target(
            text_of(types),
            texts("decimal(12,2) unsigned", "enum('a','b')", "numeric(5,2)[]", "timestamp(3) with time zone",
                  "ALTER TABLE `a`.b ADD COLUMN (c INT DEFAULT 5, d TEXT DEFAULT 'x') COMMENT 'y'"),
        ),
        "geometry": Target(geometry, (point, collection)),
    }  # fmt: skip
