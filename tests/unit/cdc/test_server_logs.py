"""Pieces of the readers of server logs: arrays, positions, geometries, types, sources in specs."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from table_core.cdc.model.geometry import geometry_text
from table_core.cdc.model.mysql_types import mysql_column, mysql_type
from table_core.cdc.source.mysql.source import MySqlSource
from table_core.cdc.source.postgres.pgoutput import (
    PgOutputRows,
    array_items,
    lsn_text,
    mark_of,
    text_value,
)
from table_core.cdc.source.postgres.source import PostgresSource
from table_core.cdc.source.postgres.types import postgres_type
from table_core.cdc.sync.readers import source_from_spec
from table_core.datatypes.text import type_text
from table_core.errors import ArgumentError, EventError
from table_core.position.log import LogPlace
from table_core.position.place import place_from_document
from table_core.schema.type_mapping import TypeMapping


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("{}", []),
        ("{1,NULL,-3}", ["1", None, "-3"]),
        ('{"a b","q\\"","\\\\","NULL",""}', ["a b", 'q"', "\\", "NULL", ""]),
        ("{{1,2},{3,4}}", ["{1,2}", "{3,4}"]),
    ],
)
def test_arrays_of_postgres(text: str, items: list[Any]) -> None:
    assert array_items(text) == items


def test_values_of_postgres_as_text() -> None:
    assert text_value("t", pa.bool_()) is True
    assert text_value("\\x00ff", pa.binary()) == b"\x00\xff"
    assert text_value("{t,f,NULL}", pa.list_(pa.bool_())) == [True, False, None]
    assert lsn_text((0x16 << 32) + 0xB374D848) == "16/B374D848"


@pytest.mark.parametrize(
    ("source", "mapping", "wanted"),
    [
        ("tinyint(1)", [], "BOOLEAN"),
        ("tinyint(1)", ["tinyint1-not-bool"], "TINYINT"),
        ("tinyint(3) unsigned", [], "SMALLINT"),
        ("int(10) unsigned zerofill", [], "BIGINT"),
        ("bigint(20) unsigned", [], "DECIMAL(20, 0)"),
        ("bigint(20) unsigned", ["bigint-unsigned-to-bigint"], "BIGINT"),
        ("decimal(12,2)", [], "DECIMAL(12, 2)"),
        ("decimal(65,30)", [], "STRING"),
        ("datetime(3)", [], "TIMESTAMP(3)"),
        ("timestamp", [], "TIMESTAMP(0) WITH LOCAL TIME ZONE"),
        ("time(6)", [], "STRING"),
        ("year(4)", [], "INT"),
        ("bit(1)", [], "BOOLEAN"),
        ("bit(12)", [], "BINARY(2)"),
        ("varchar(7)", [], "VARCHAR(7)"),
        ("varchar(7)", ["char-to-string"], "STRING"),
        ("enum('a','b,c')", [], "STRING"),
        ("set('a','b')", [], "ARRAY<STRING>"),
        ("longtext", ["longtext-to-bytes"], "BYTES"),
        ("double", ["to-string"], "STRING"),
        ("multipolygon", [], "STRING"),
    ],
)
def test_types_of_mysql(source: str, mapping: list[str], wanted: str) -> None:
    found = mysql_type(mysql_column(source), TypeMapping.of(mapping))
    assert found is not None
    assert type_text(found) == wanted


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("numeric(12,2)", "DECIMAL(12, 2)"),
        ("numeric", "STRING"),
        ("character varying(190)", "VARCHAR(190)"),
        ("character(8)", "CHAR(8)"),
        ("text[]", "ARRAY<STRING>"),
        ("integer[]", "ARRAY<INT>"),
        ("timestamp(3) without time zone", "TIMESTAMP(3)"),
        ("timestamp with time zone", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("time with time zone", "STRING"),
        ("sales.status", "STRING"),
        ("bytea", "BYTES"),
        ("double precision", "DOUBLE"),
        ("interval", "STRING"),
    ],
)
def test_types_of_postgres(source: str, wanted: str) -> None:
    assert type_text(postgres_type(source, TypeMapping())) == wanted


def test_geometries_are_geojson() -> None:
    point = struct.pack("<dd", 1, 2.5)
    assert geometry_text(b"\0\0\0\0\1\1\0\0\0" + point) == (
        '{"coordinates":[1,2.5],"type":"Point","srid":0}'
    )
    line = b"\1" + struct.pack("<II", 2, 2) + point + point
    both = b"\1" + struct.pack("<II", 7, 2) + line + b"\1\1\0\0\0" + point
    assert geometry_text(b"\xe6\x10\0\0" + both) == (
        '{"geometries":[{"coordinates":[[1,2.5],[1,2.5]],"type":"LineString"},'
        '{"coordinates":[1,2.5],"type":"Point"}],"type":"GeometryCollection","srid":4326}'
    )


def test_positions_are_written_and_read_and_do_not_mix() -> None:
    position = LogPlace("mysql", (3, 400), "binlog.000003", "0-1-7", 5).snapshotted("a.t", ["7"])
    assert LogPlace.parse(position.text, "mysql") == position
    with pytest.raises(EventError, match="'postgres'"):
        LogPlace.parse(position.text, "postgres")
    done = position.finished("a.t")
    assert done.covers(LogPlace("mysql", (3, 399)))
    assert not position.covers(LogPlace("mysql", (3, 399))), "a snapshot is not complete"


def test_a_place_keeps_what_tells_its_log_from_another_and_an_older_one_has_none() -> None:
    position = LogPlace("mysql", (3, 400), "binlog.000003", "0-1-7", mark="1700000000@1")
    assert LogPlace.parse(position.text, "mysql") == position
    assert place_from_document(position.to_document()) == position
    assert position.within((3, 90), 2).mark == position.mark
    assert position.within((2, 90), 2).mark == "", "it is in the file before"
    old = '{"at":[3,400],"gtid":"0-1-7","kind":"mysql","name":"binlog.000003","v":1}'
    assert LogPlace.parse(old, "mysql") == replace(position, mark="")


def test_secrets_come_from_the_environment_and_are_never_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "s3cret")
    given = {"kind": "mysql", "host": "h", "user": "u", "password": {"env": "DB_PASSWORD"}}
    source = source_from_spec(given)
    assert isinstance(source, MySqlSource)
    assert source.password == "s3cret"
    assert "s3cret" not in repr(source)
    assert "s3cret" not in repr(PostgresSource("h", "d", "u", "s3cret", options={"x": "s3cret"}))
    with pytest.raises(ArgumentError, match="'NOT_SET'"):
        source_from_spec({**given, "password": {"env": "NOT_SET"}})


def test_log_about_other_tables_is_passed_once_it_is_long_and_the_mark_keeps_its_place() -> None:
    rows = PgOutputRows(
        wants=lambda _: True,
        described=lambda _: {},
        slot="s",
        position=LogPlace("postgres", (100, 0), "s", mark="7@5"),
    )
    rows.passed(100 + (1 << 20))
    assert rows.position.order == (100, 0), "it is no work to read so much again"
    for far in (1 << 25, 1 << 26):
        rows.passed(far)
        assert rows.position.order == (far, 0)
        assert mark_of(rows.position) == (100, "7@5")
    assert mark_of(LogPlace("postgres", (100, 0), "s", mark="7@5")) == (100, "7@5")


def test_a_snapshot_that_is_due_comes_after_what_was_read_before() -> None:
    early, late = LogPlace("postgres", (5, 0)), LogPlace("postgres", (9, 0))
    due = late.snapshotted("s.t", None)
    assert due.covers(early)
    assert late.covers(due)
    assert due.covers(due)
    assert not due.covers(late), "its table is not complete there"
    assert not late.snapshotted("s.t", ["3"]).covers(early), "it lacks rows that were read there"
