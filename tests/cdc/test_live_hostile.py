"""A real Kafka with many hostile records: each good one is there, each bad one is a dead letter with its place."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import table_core as tc
from tests.cdc.servers import Kafka
from tests.golden.avro_form import Registry
from tests.hostile_events import FORMS, HARMLESS, MAX_BYTES, good_row, typed_row
from tests.hostile_sync import sync_apart

UNKNOWN = 9_999_999
"""No schema has this id."""
EVENTS = 10_000
PARTITIONS = 3
MEMORY_MB = 512
Record = tuple[bytes | None, bytes | None]
"""Key and value."""
OF_RECORDS: Final[dict[str, Callable[[int, bytes], Record]]] = {
    "tombstone": lambda n, value: (json.dumps({"id": n}).encode(), None),
    "key of bytes": lambda n, value: (b"\xff\xfe\x00", b"no json"),
    "deep key": lambda n, value: (b"[" * 50_000, b"no json"),
    "a quote too many": lambda n, value: (b"{}", value + b',"value":{}'),
}
"""What can be hostile in a record of any form."""
KIND: Final = {
    "int64": {"type": "int64"},
    "text": {"type": "string", "optional": True},
    "double": {"type": "double", "optional": True},
    "price": {
        "type": "bytes",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
    },
    "day": {"type": "int32", "optional": True, "name": "io.debezium.time.Date"},
    "at": {"type": "int64", "optional": True, "name": "io.debezium.time.Timestamp"},
}
ROW: Final = {
    "id": "int64", "name": "text", "amount": "double", "price": "price", "day": "day", "at": "at",
}  # fmt: skip
SOURCE: Final = {"db": "text", "table": "text", "ts_ms": "int64"}


def struct_of(name: str, members: dict[str, str], **more: Any) -> dict[str, Any]:
    fields = [{"field": member, **KIND[kind]} for member, kind in members.items()]
    return {"type": "struct", "name": name, "fields": fields, "optional": True, **more}


ENVELOPE: Final = {
    "type": "struct",
    "name": "s.a.Envelope",
    "fields": [
        struct_of("s.a.Value", ROW, field="before"),
        struct_of("s.a.Value", ROW, field="after"),
        struct_of("s.a.Source", SOURCE, field="source"),
        {"field": "op", "type": "string"},
    ],
}


def avro(registry: Registry, n: int, op: str = "c", table: str = "a", **columns: Any) -> bytes:
    from base64 import b64encode

    price = b64encode((n * 100 + 50).to_bytes(5, "big", signed=True)).decode()
    plain = {"price": price, "day": 19782, "at": 1_709_168_523_456}
    row = {**good_row(n), **plain, **columns}
    source = {"db": "s", "table": table, "ts_ms": 5}
    payload = {"before": None, "after": row, "source": source, "op": op}
    body = registry.encoded({"schema": ENVELOPE, "payload": payload})
    assert body is not None
    return body


def told(registry: Registry, text: str, body: bytes = b"\x02") -> bytes:
    """A record of a schema that the registry holds as ``text``."""
    if text not in registry.texts:
        registry.texts.append(text)
    return struct.pack(">bI", 0, registry.texts.index(text) + 1) + body


BOMB: Final = json.dumps({"type": "array", "items": "null"})
RECURSIVE: Final = json.dumps(
    {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}
)
AVRO_WAYS: Final[dict[str, Callable[[Registry, int], bytes | None]]] = {
    "tombstone": lambda r, n: None,
    "empty": lambda r, n: b"",
    "unknown magic byte": lambda r, n: b"\x07" + avro(r, n)[1:],
    "head alone": lambda r, n: avro(r, n)[:5],
    "head cut short": lambda r, n: b"\x00\x00",
    "no such schema": lambda r, n: struct.pack(">bI", 0, UNKNOWN) + avro(r, n)[5:],
    "cut short": lambda r, n: avro(r, n)[:-9],
    "garbage": lambda r, n: avro(r, n)[:5] + b"\xff" * 40,
    "text of a terabyte": lambda r, n: avro(r, n)[:5] + b"\x00\x02\x02\x02\xfe\xff\xff\xff\xff\x3f",
    "JSON": lambda r, n: FORMS["debezium-json"].value(n),
    "schema that is none": lambda r, n: told(r, "no schema"),
    "schema of a number": lambda r, n: told(r, "7"),
    "schema that is deep": lambda r, n: told(r, "[" * 50_000),
    "schema of a bomb": lambda r, n: told(r, BOMB, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"),
    "deep": lambda r, n: told(r, RECURSIVE, b"\x02" * 50_000),
    "schema of a number alone": lambda r, n: told(r, '"long"'),
    "schema with an unknown type": lambda r, n: told(r, '{"type": "evil"}'),
    "forged op": lambda r, n: avro(r, n, op="x"),
    "table above": lambda r, n: avro(r, n, table="../x"),
    "table empty": lambda r, n: avro(r, n, table=""),
    "table very long": lambda r, n: avro(r, n, table="a" * 2000),
    "text as a number": lambda r, n: avro(r, n)[:5] + b"\x00\x02\x02\x78",
    "decimal overflow": lambda r, n: avro(r, n, price="f" * 40),
    "giant text": lambda r, n: avro(r, n, name="x" * (MAX_BYTES + 1)),
}


def produce(kafka: Kafka, topic: str, records: dict[int, Record]) -> dict[int, str]:
    """Put records into a topic; where each one is."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import NewTopic

    admin = kafka.admin()
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()
    producer = Producer({"bootstrap.servers": kafka.servers, "message.max.bytes": 2 << 20})
    places: dict[int, str] = {}

    def landed(n: int) -> Callable[[Any, Any], None]:
        def note(error: Any, message: Any) -> None:
            assert error is None, error
            at = f"partition {message.partition()}, offset {message.offset()}"
            places[n] = f"topic {topic}, {at}"

        return note

    for n, (key, value) in records.items():
        producer.produce(
            topic, key=key, value=value, partition=n % PARTITIONS, on_delivery=landed(n),
            headers=[("\N{SNOWMAN}", b"\xff\xfe"), ("none", None)],
        )  # fmt: skip
        producer.poll(0)
    assert producer.flush(60) == 0
    return places


def judged(
    warehouse: str,
    outcome: Any,
    places: dict[int, str],
    dead: set[int],
    good: list[int],
    by_key: frozenset[int] = frozenset(),
) -> None:
    catalog = tc.open_catalog(warehouse)
    found = catalog.table("lake.bad").read().to_arrow().to_pylist()
    assert {row["place"] for row in found} == {places[n] for n in dead}, sorted(
        {n for n in dead if places[n] not in {row["place"] for row in found}}
    )
    assert outcome["details"]["dead_letters"] == len(dead)
    there = {row["id"]: row for row in catalog.table("lake.a").read().to_arrow().to_pylist()}
    assert there.keys() == {*good, *by_key}
    assert all(there[n]["name"] in {None, "nobody"} for n in by_key), "the record's key has the id"
    assert all(there[n] == typed_row(n) for n in good)
    print(f"peak {outcome['peak_mb']} MB, {outcome['seconds']} s")
    assert outcome["peak_mb"] < MEMORY_MB


@pytest.mark.parametrize("format", FORMS)
def test_of_ten_thousand_records_each_is_where_it_belongs(
    kafka: Kafka, tmp_path: Path, format: str
) -> None:
    form = FORMS[format]
    ways = [*form.ways, *OF_RECORDS]
    records, hostile = dict[int, Record](), dict[int, str]()
    for n in range(EVENTS):
        key, value = json.dumps({"id": n}).encode(), form.value(n)
        records[n] = (key, value)
        if n % 10 == 7:
            way = hostile[n] = ways[n // 10 % len(ways)]
            of_record = OF_RECORDS.get(way)
            records[n] = of_record(n, value) if of_record else (key, form.ways[way](form, n))
    places = produce(kafka, f"hostile.{format}", records)
    source = tc.KafkaSource(
        kafka.servers, [f"hostile.{format}"], format=format, max_event_bytes=MAX_BYTES
    )
    warehouse = f"file://{tmp_path}/wh"
    outcome = sync_apart(warehouse, source, whole=form.whole)
    harmless = {**HARMLESS, "tombstone": False, "delete of nothing": False}  # its key tells
    keyless = {"nothing in it", "no id"} if format == "json" else set()
    by_key = frozenset(n for n, way in hostile.items() if way in keyless)
    dead = {n for n, way in hostile.items() if way not in harmless} - by_key
    good = [n for n in range(EVENTS) if n not in hostile or harmless.get(hostile[n], False)]
    judged(warehouse, outcome, places, dead, good, by_key)


def test_of_ten_thousand_avro_records_each_is_where_it_belongs(
    kafka: Kafka, tmp_path: Path
) -> None:
    ways = list(AVRO_WAYS)
    records, hostile = dict[int, Record](), dict[int, str]()
    with Registry() as registry:
        for n in range(EVENTS):
            value: bytes | None = avro(registry, n)
            if n % 10 == 7:
                hostile[n] = ways[n // 10 % len(ways)]
                value = AVRO_WAYS[hostile[n]](registry, n)
            records[n] = (json.dumps({"id": n}).encode(), value)
        places = produce(kafka, "hostile.avro", records)
        source = tc.KafkaSource(
            kafka.servers,
            ["hostile.avro"],
            format="debezium-avro",
            registry=registry.url,
            max_event_bytes=MAX_BYTES,
        )
        warehouse = f"file://{tmp_path}/wh"
        outcome = sync_apart(warehouse, source, whole=True)
        # one that the registry does not know may come later: it is asked again every few seconds
        known = [path for path in registry.asked if not path.endswith(f"/{UNKNOWN}")]
        assert len(set(known)) == len(known), "each schema is asked for once"
    dead = {n for n, way in hostile.items() if way != "tombstone"}
    judged(warehouse, outcome, places, dead, [n for n in range(EVENTS) if n not in hostile])
