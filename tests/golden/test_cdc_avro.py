"""Recorded events as Confluent's Avro, and what comes out of it."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from table_core.cdc.debezium import avro_events
from table_core.cdc.debezium.avro_events import AvroEvents, connect_schema
from table_core.cdc.model.embedded_schema import declared_columns
from table_core.cdc.model.envelope import read_event, read_line
from table_core.cdc.model.record import Place
from table_core.cdc.source.kafka.records import json_text
from table_core.cdc.source.kafka.registry import SchemaRegistry
from table_core.cdc.source.kafka.source import KafkaSource
from table_core.errors import (
    ArgumentError,
    EventError,
    StorageUnavailableError,
    UnsupportedFeatureError,
)
from table_core.validation_errors import unreadable_parts
from tests.golden import streams
from tests.golden.avro_form import Registry, avro_schema
from tests.unit.cdc.lake import Lake
from tests.unit.cdc.shapes import ID, bytes_of, record, with_schema

PLACE = Place("topic t, partition 0, offset 7", {"topic": "t"}, 0)


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry(password="s3cret") as server:
        yield server


def events_of(registry: Registry) -> AvroEvents:
    options = {"user": "u", "password": "s3cret"}
    return AvroEvents(SchemaRegistry(registry.url, options).schema, json_text)


def row_node(schema: Any) -> Any:
    return next((f for f in schema["fields"] if f["field"] == "after"), None)


def narrow(value: Any) -> Any:
    """Floats with the digits of 32 bits, which is what some of them are in Avro."""
    if isinstance(value, dict):
        return {name: narrow(one) for name, one in value.items()}
    return struct.unpack("f", struct.pack("f", value))[0] if isinstance(value, float) else value


@pytest.mark.parametrize("connector", streams.CONNECTORS)
@pytest.mark.parametrize("flavour", streams.FLAVOURS)
def test_every_recorded_event_is_what_it_was(
    registry: Registry, connector: str, flavour: str
) -> None:
    events = events_of(registry)
    lines = streams.lines(connector, flavour, "schema")
    for line in lines[:: max(1, len(lines) // 400)]:
        record = json.loads(line)
        value = events.value(registry.encoded(record["value"]))
        if record["value"] is None:
            assert value == b"null"
            continue
        found = json.loads(value)
        assert narrow(found["payload"]) == narrow(record["value"]["payload"])
        if (row := row_node(record["value"]["schema"])) is not None:
            assert declared_columns(row_node(found["schema"])) == declared_columns(row)
        key = json.loads(events.key(registry.encoded(record["key"])))
        assert key == (record["key"] and record["key"]["payload"])
    assert len(registry.asked) == len(set(registry.asked)), "a schema was asked for twice"


def test_logical_types_of_other_writers_mean_what_they_say() -> None:
    schema = {
        "type": "record", "name": "Row", "fields": [
            {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
            {"name": "more", "type": "Kind"},
        ],
    }  # fmt: skip
    events = AvroEvents(lambda _: json.dumps(schema), json_text)
    body = struct.pack(">bI", 0, 5) + b"\x04\x04\xd2" + b"\x02\x80\x80\x01" + b"\x06" + b"\x00\x02"
    found = json.loads(events.value(body))
    assert found["payload"] == {"d": "BNI=", "at": 8192, "day": 3, "kind": "A", "more": "B"}
    told = {name: str(d.type) for name, d in declared_columns(found["schema"]).items()}
    assert len(told) == 5
    names = [node.get("name") for node in found["schema"]["fields"]]
    assert names[:2] == ["org.apache.kafka.connect.data.Decimal", "io.debezium.time.MicroTimestamp"]
    assert [node["optional"] for node in found["schema"]["fields"]] == [
        False,
        True,
        False,
        False,
        False,
    ]


def test_rows_that_are_there_get_the_default_of_a_new_column_of_bytes(tmp_path: Path) -> None:
    decimal = ("bytes", "org.apache.kafka.connect.data.Decimal", {"scale": "2"}, bytes_of(150))
    told = {"id": ID, "price": decimal, "body": ("bytes", None, None, "AP8=")}
    lake = Lake(tmp_path)
    lake.put("1.jsonl", *with_schema({"id": ID}, record("c", None, {"id": 1})))
    lake.sync()
    after = {"id": 2, "price": bytes_of(-1), "body": None}
    (event,) = with_schema(told, record("c", None, after))
    schema = avro_schema(event["value"]["schema"], set())
    assert '"connect.default": "\\u0000\\u0096"' in json.dumps(schema)
    event["value"]["schema"] = connect_schema(schema)
    lake.put("2.jsonl", event)
    lake.sync()
    assert [tuple(row.values()) for row in lake.rows("t")] == [
        (1, Decimal("1.50"), b"\x00\xff"),
        (2, Decimal("-0.01"), None),
    ]


def test_a_default_of_avro_itself_is_a_letter_for_each_byte() -> None:
    schema = {
        "type": "record", "name": "Row", "fields": [
            {"name": "body", "type": ["bytes", "null"], "default": "\u00ffA"},
            {"name": "note", "type": "string", "default": "\u00ffA"},
        ],
    }  # fmt: skip
    told = declared_columns(connect_schema(schema))
    assert [one.default for one in told.values()] == ["/0E=", "\u00ffA"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"op": "c"}', "begins with 7b226f7022, not with 00"),
        (b"", "begins with , not with 00"),
        (b"\0\0\0\0", "it has 4 bytes, and its head alone has 5"),
        (struct.pack(">bI", 0, 1) + b"\x99", "no Avro of schema 1"),
    ],
)
def test_a_value_that_is_no_avro_is_refused_with_its_place(body: bytes, why: str) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "op", "type": "string"}]}
    value = AvroEvents(lambda _: json.dumps(schema), json_text).value(body)
    with pytest.raises(EventError, match=rf"offset 7: no Avro.*{why}|offset 7: {why}"):
        read_event(read_line(value, PLACE), PLACE)


def test_what_the_registry_refuses_is_named_without_secrets(registry: Registry) -> None:
    registry.texts += ['"string"']
    refused = SchemaRegistry(registry.url, {"user": "u", "password": "hush"})
    with pytest.raises(ArgumentError, match=r"401.*registry_options") as told:
        refused.schema(1)
    assert "hush" not in f"{told.value} {told.value.facts} {refused}"
    with pytest.raises(EventError, match="has no schema 9"):
        SchemaRegistry(registry.url, {"user": "u", "password": "s3cret"}).schema(9)
    with pytest.raises(StorageUnavailableError, match="no schema registry answers"):
        SchemaRegistry("http://127.0.0.1:1").schema(1)
    both = SchemaRegistry(
        f"http://127.0.0.1:1, {registry.url}/", {"user": "u", "password": "s3cret"}
    )
    assert both.schema(1) == '"string"'


def test_a_source_of_avro_needs_a_registry_and_no_other_one_has_it() -> None:
    for given in (
        {"format": "debezium-avro"},
        {"registry": "http://r"},
        {"format": "debezium-avro", "registry": "http://u:p@r"},
        {"format": "debezium-avro", "registry": "file:///etc"},
        {"format": "debezium-avro", "registry": "http://r", "registry_options": {"pw": "x"}},
    ):
        with pytest.raises(ArgumentError, match="registry"):
            KafkaSource("k:9092", "t", **given)
    source = KafkaSource(
        "k", "t", "debezium-avro", registry="http://r", registry_options={"token": "hush"}
    )
    assert "hush" not in repr(source)


def test_what_is_no_plain_avro_is_refused_by_name(registry: Registry) -> None:
    made = SchemaRegistry(registry.url)
    with pytest.raises(UnsupportedFeatureError, match="PROTOBUF"):
        made._text(3, {"schemaType": "PROTOBUF", "schema": ""})


def test_a_registry_that_is_busy_or_late_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    part = {
        "schema": {"type": "struct", "name": "s.K", "fields": [{"field": "id", "type": "int32"}]}
    }
    with Registry() as registry:
        body = registry.encoded({**part, "payload": {"id": 7}})
        assert body is not None
        registry.busy = [500, 429]
        later = registry.texts.pop()
        events = AvroEvents(SchemaRegistry(registry.url).schema, json_text)
        assert "has no schema 1" in json.loads(events.value(body))["table_core.unreadable"]
        assert unreadable_parts(json.loads(events.value(body)))[0] == body
        registry.texts.append(later)
        monkeypatch.setattr(avro_events, "_ASK_AGAIN_MS", 0)
        events = AvroEvents(SchemaRegistry(registry.url).schema, json_text)
        registry.texts.clear()
        events.value(body)
        registry.texts.append(later)
        assert json.loads(events.value(body))["payload"] == {"id": 7}
