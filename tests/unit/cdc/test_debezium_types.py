"""Every form that Debezium's settings give a value: what its documentation says, with and without schema."""

from __future__ import annotations

import base64
import datetime as dt
import struct
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.cdc.source.postgres.types import postgres_type
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import type_text
from table_core.schema.type_mapping import TypeMapping
from tests.unit.cdc.feed import Feed, columns, event, lines
from tests.unit.cdc.lake import Lake

TIME = "io.debezium.time."
DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE = "io.debezium.data.VariableScaleDecimal"
SHAPE = "io.debezium.data.geometry."
POINT = base64.b64encode(struct.pack("<BIdd", 1, 1, 1.0, 2.5)).decode()
GEOJSON = '{"coordinates":[1,2.5],"type":"Point","srid":%d}'
AT = dt.datetime(2024, 1, 1, 10)
AT_UTC = AT.replace(tzinfo=dt.UTC)
AT_MICROS = 1_704_103_200_000_000
SCALE_2 = {"scale": "2"}


@dataclass(frozen=True)
class Case:
    node: dict[str, Any]
    """Of the embedded schema."""
    sent: Any
    type: str
    """That the schema makes."""
    value: Any
    source: str | None = None
    """The source's type, of which a table without schema is declared; None: nothing to declare."""
    plain: Any = None
    """What is stored then, where it differs."""


def node(type_: str, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": type_, "optional": True, **({"name": name} if name else {}), **more}


def array(item: dict[str, Any]) -> dict[str, Any]:
    return node("array", items=item)


def bytes_of(number: int) -> str:
    return base64.b64encode(number.to_bytes(30, "big", signed=True)).decode()


CASES = {
    "zoned": Case(node("string", TIME + "ZonedTimestamp"), "2024-01-01T15:30:00+05:30",
                  "TIMESTAMP(6) WITH LOCAL TIME ZONE", AT_UTC, "timestamptz"),
    "zoned_short": Case(node("string", TIME + "ZonedTimestamp"), "2024-01-01T10:00Z",
                        "TIMESTAMP(6) WITH LOCAL TIME ZONE", AT_UTC, "timestamptz"),
    "millis": Case(node("int64", TIME + "Timestamp"), AT_MICROS // 1000, "TIMESTAMP(3)", AT,
                   "timestamp(3)"),
    "millis_of_connect": Case(node("int64", "org.apache.kafka.connect.data.Timestamp"),
                              AT_MICROS // 1000, "TIMESTAMP(3)", AT, "timestamp"),
    "micros": Case(node("int64", TIME + "MicroTimestamp"), AT_MICROS + 1, "TIMESTAMP(6)",
                   AT.replace(microsecond=1), "timestamp"),
    "first": Case(node("int64", TIME + "MicroTimestamp"), -62_135_596_800_000_000, "TIMESTAMP(6)",
                  dt.datetime(1, 1, 1), "timestamp"),
    "last": Case(node("int64", TIME + "MicroTimestamp"), 253_402_300_799_999_999, "TIMESTAMP(6)",
                 dt.datetime(9999, 12, 31, 23, 59, 59, 999_999), "timestamp"),
    "nanos": Case(node("int64", TIME + "NanoTimestamp"), AT_MICROS * 1000, "TIMESTAMP(9)", AT,
                  "timestamp(9)"),
    "iso": Case(node("string", TIME + "IsoTimestamp"), "2024-01-01T10:00:00Z", "TIMESTAMP(6)", AT,
                "timestamp"),
    "iso_day": Case(node("string", TIME + "IsoDate"), "2024-02-29Z", "DATE",
                    dt.date(2024, 2, 29), "date"),
    "iso_time": Case(node("string", TIME + "IsoTime"), "10:00:00.5Z", "STRING", "10:00:00.5"),
    "time_millis": Case(node("int32", TIME + "Time"), 36_000_001, "STRING", "10:00:00.001"),
    "time_micros": Case(node("int64", TIME + "MicroTime"), 36_000_000_001, "STRING",
                        "10:00:00.000001"),
    "time_nanos": Case(node("int64", TIME + "NanoTime"), 86_400_000_000_000, "STRING", "24:00:00"),
    "time_zoned": Case(node("string", TIME + "ZonedTime"), "10:00:00Z", "STRING", "10:00:00Z",
                       "timetz"),
    "days": Case(node("int32", TIME + "Date"), -719_162, "DATE", dt.date(1, 1, 1), "date"),
    "year": Case(node("int32", TIME + "Year"), 2024, "INT", 2024, "integer"),
    "duration": Case(node("int64", TIME + "MicroDuration"), 86_400_000_000, "BIGINT",
                     86_400_000_000),
    "interval": Case(node("string", TIME + "Interval"), "P0Y0M1DT0H0M0S", "STRING",
                     "P0Y0M1DT0H0M0S", "interval"),
    "precise": Case(node("bytes", DECIMAL, parameters=SCALE_2), bytes_of(-1250), "DECIMAL(38, 2)",
                    Decimal("-12.50"), "numeric(10,2)"),
    "propagated": Case(node("bytes", DECIMAL,
                            parameters={"scale": "2", "connect.decimal.precision": "10"}),
                       bytes_of(1), "DECIMAL(10, 2)", Decimal("0.01"), "numeric(10,2)"),
    "unsigned": Case(node("bytes", DECIMAL, parameters={"scale": "0"}), bytes_of(2**64 - 1),
                     "DECIMAL(20, 0)", Decimal(2**64 - 1), "numeric(20,0)"),
    "huge": Case(node("bytes", DECIMAL,
                      parameters={"scale": "30", "connect.decimal.precision": "65"}),
                 bytes_of(-(10**60) - 1), "STRING", f"-1{'0' * 30}.{'0' * 29}1"),
    "variable": Case(node("struct", VARIABLE), {"scale": 7, "value": bytes_of(1)}, "STRING",
                     "0.0000001", "numeric"),
    "variable_coarse": Case(node("struct", VARIABLE), {"scale": -3, "value": bytes_of(5)},
                            "STRING", "5000", "numeric"),
    "decimal_text": Case(node("string"), "12.50", "STRING", "12.50", "numeric(10,2)",
                         Decimal("12.50")),
    "decimal_double": Case(node("double"), 12.5, "DOUBLE", 12.5, "numeric(10,2)",
                           Decimal("12.50")),
    "not_a_number": Case(node("string"), "NaN", "STRING", "NaN", "numeric"),
    "infinite": Case(node("double"), "-Infinity", "DOUBLE", float("-inf"), "double precision"),
    "large_double": Case(node("double"), 1e22, "DOUBLE", 1e22, "double precision"),
    "longest": Case(node("int64"), 2**63 - 1, "BIGINT", 2**63 - 1, "bigint"),
    "point": Case(node("struct", SHAPE + "Point"), {"x": 1.0, "y": 2.5, "wkb": POINT, "srid": None},
                  "STRING", GEOJSON % 0, "point"),
    "geometry": Case(node("struct", SHAPE + "Geometry"), {"wkb": POINT, "srid": 4326}, "STRING",
                     GEOJSON % 4326, "geometry"),
    "extended": Case(node("struct", SHAPE + "Geometry"), {"wkb": "AQEAACA=", "srid": 1}, "STRING",
                     '{"wkb":"AQEAACA=","srid":1}', "geometry"),
    "hstore_map": Case(node("map"), {"a": "1", "b": None}, "STRING", '{"a":"1","b":null}', "hstore"),
    "bits": Case(node("bytes", "io.debezium.data.Bits", parameters={"length": "10"}), "AQI=",
                 "BINARY(2)", b"\x02\x01"),
    "bits_varying": Case(node("bytes", "io.debezium.data.Bits",
                              parameters={"length": "2147483647"}), "AQI=", "BYTES", b"\x02\x01"),
    "decimals": Case(array(node("bytes", DECIMAL, parameters=SCALE_2)), [bytes_of(150), None],
                     "ARRAY<DECIMAL(38, 2)>", [Decimal("1.50"), None], "numeric(10,2)[]"),
    "variables": Case(array(node("struct", VARIABLE)), [{"scale": 1, "value": bytes_of(15)}, None],
                      "ARRAY<STRING>", ["1.5", None], "numeric[]"),
    "bodies": Case(array(node("bytes")), ["AP8=", None], "ARRAY<BYTES>", [b"\0\xff", None],
                   "bytea[]"),
    "dates": Case(array(node("int32", TIME + "Date")), [19_723, None], "ARRAY<DATE>",
                  [dt.date(2024, 1, 1), None], "date[]"),
    "moments": Case(array(node("int64", TIME + "MicroTimestamp")), [AT_MICROS], "ARRAY<TIMESTAMP(6)>",
                    [AT], "timestamp[]"),
    "zoned_moments": Case(array(node("string", TIME + "ZonedTimestamp")), ["2024-01-01T10:00:00Z"],
                          "ARRAY<TIMESTAMP(6) WITH LOCAL TIME ZONE>", [AT_UTC], "timestamptz[]"),
    "flags": Case(array(node("boolean")), [True, None], "ARRAY<BOOLEAN>", [True, None],
                  "boolean[]"),
    "none": Case(array(node("int32")), [], "ARRAY<INT>", [], "integer[]"),
    "no_bodies": Case(array(node("bytes")), [], "ARRAY<BYTES>", [], "bytea[]"),
    "no_dates": Case(array(node("int32", TIME + "Date")), [], "ARRAY<DATE>", [], "date[]"),
    "no_zoned": Case(array(node("string", TIME + "ZonedTimestamp")), [],
                     "ARRAY<TIMESTAMP(6) WITH LOCAL TIME ZONE>", [], "timestamptz[]"),
    "nested": Case(array(array(node("int32"))), [[1, 2], [3]], "STRING", "[[1,2],[3]]",
                   "integer[][]", [[1, 2], [3]]),
    "documents": Case(array(node("string", "io.debezium.data.Json")), ['{"a": 1}'],
                      "ARRAY<STRING>", ['{"a": 1}'], "jsonb[]"),
}  # fmt: skip


def records(cases: dict[str, Case], *, schemas: bool) -> list[dict[str, Any]]:
    """A row of all values, and one of none."""
    rows: list[dict[str, Any]] = [
        {"id": 1, **{name: case.sent for name, case in cases.items()}},
        {"id": 2, **dict.fromkeys(cases)},
    ]
    fields = [{"type": "int32", "optional": False, "field": "id"}]
    fields += [{**case.node, "field": name} for name, case in cases.items()]
    images = [{"type": "struct", "fields": fields, "field": side} for side in ("before", "after")]
    source = {"db": "shop", "schema": "s", "table": "t", "ts_ms": 5}
    found = []
    for row in rows:
        value: Any = {"op": "c", "before": None, "after": row, "source": source}
        if schemas:
            value = {"schema": {"type": "struct", "fields": images}, "payload": value}
        told = {"topic": "p.s.t", "partition": 0, "key": {"id": row["id"]}}
        found.append({**told, "value": value})
    return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_with_schema(lake: Lake) -> None:
    lake.put("1.jsonl", *records(CASES, schemas=True))
    lake.sync()
    types = {f.name: type_text(f.type) for f in lake.catalog.table("lake.t").definition.fields}
    first, second = lake.rows("t")
    for name, case in CASES.items():
        assert (types[name], first[name], second[name]) == (case.type, case.value, None), name


def test_without_schema_in_a_table_that_was_declared(lake: Lake) -> None:
    cases = {name: case for name, case in CASES.items() if case.source is not None}
    fields = [Field(0, "id", postgres_type("integer", TypeMapping()))]
    for name, case in cases.items():
        fields.append(Field(len(fields), name, postgres_type(case.source or "", TypeMapping())))
    lake.catalog.create_database("lake")
    lake.catalog.create_table("lake.t", fields, primary_key=("id",), options={"bucket": "1"})
    lake.put("1.jsonl", *records(cases, schemas=False))
    lake.sync()
    first, second = lake.rows("t")
    for name, case in cases.items():
        expected = case.value if case.plain is None else case.plain
        assert (first[name], second[name]) == (expected, None), name


# ------------------------------------------------------------------------------- numbers as written
WRITTEN = (
    '{"a":0.1234567890123456789,"c":1e400,"d":100000000000000000000.5,"e":[9007199254740993.0]}'
)


@pytest.mark.parametrize("form", ["json", "debezium-json"])
def test_what_is_inside_json_and_a_number_in_a_text_stay_as_they_were_written(form: str) -> None:
    feed = Feed(columns(id="BIGINT NOT NULL", o="STRING", x="STRING"), format=form)
    rows = [f'{{"id":1,"o":{WRITTEN},"x":2.50}}', '{"id":2,"o":"t","x":1e3}', '{"id":3,"x":-0.0}']
    if form == "debezium-json":
        rows = [f'{{"before":null,"after":{row},"op":"c"}}' for row in rows]
    feed.give(lines(*(row.encode() for row in rows)))
    assert [(row["o"], row["x"]) for row in feed.state.values()] == [
        (WRITTEN, "2.50"),
        ("t", "1e3"),
        (None, "-0.0"),
    ]


def test_an_object_of_a_new_column_keeps_its_numbers() -> None:
    feed = Feed(format="json")
    feed.give(f'{{"id":1,"o":{WRITTEN}}}\n'.encode())
    assert feed.state[(1,)]["o"] == WRITTEN


# ------------------------------------------------------------------------------- times that are none
@pytest.mark.parametrize(
    "micros", [9_223_372_036_825_200_000, -9_223_372_036_832_400_000, 253_402_300_800_000_000]
)
def test_a_moment_beyond_the_calendar_is_an_error_with_its_line(micros: int) -> None:
    feed = Feed(columns(id="BIGINT NOT NULL", t="TIMESTAMP(6)"))
    feed.give(lines(event("c", None, {"id": 1, "t": AT_MICROS})))
    with pytest.raises(
        tc.errors.DataError, match=r"f\.jsonl, line 2: column 't' .* of no year from 1 to 9999"
    ):
        feed.give(lines(event("c", None, {"id": 2, "t": micros})))
    assert feed.state == {(1,): {"id": 1, "t": AT}}


@pytest.mark.parametrize("form", ["canal-json", "maxwell-json"])
def test_dates_of_mysql_that_there_are_not_are_null(form: str) -> None:
    feed = Feed(columns(id="BIGINT NOT NULL", d="DATE", t="TIMESTAMP(6)", s="STRING"), format=form)
    zero, none = "0000-00-00", "2024-02-00"
    for id, d, t in ((1, zero, f"{zero} 00:00:00"), (2, none, "2024-01-01 10:00:00")):
        row = {"id": id, "d": d, "t": t, "s": zero}
        names = {"database": "x", "table": "t", "type": "insert", "ts": 1, "data": row}
        if form == "canal-json":
            texts = {name: str(value) for name, value in row.items()}
            names |= {"type": "INSERT", "data": [texts], "pkNames": ["id"], "isDdl": False}
        feed.give(lines(names))
    assert list(feed.state.values()) == [
        {"id": 1, "d": None, "t": None, "s": zero},
        {"id": 2, "d": None, "t": AT, "s": zero},
    ]
