"""Events of a server's log that are cut short, or say more than there is: told with their place, never guessed."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.cdc.model.embedded_schema import Declared
from table_core.cdc.model.encoding import Encoding
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.source_schema import source_schemas_from
from table_core.cdc.source.mysql.binlog_rows import BinlogRows
from table_core.cdc.source.postgres.pgoutput import PgOutputRows
from table_core.datatypes.kinds import STRING
from table_core.errors import CorruptFileError, EventError
from table_core.position.document import Positions
from table_core.position.lines import OffsetsPlace
from table_core.position.log import LogPlace
from table_core.schema.type_mapping import TypeMapping
from tests.unit.cdc.binlog import LOG, event, sync
from tests.unit.cdc.lake import Lake

ID = b"\7\0\0\0\0\0"


def frame(kind: int, body: bytes) -> bytes:
    return struct.pack("<IBIIIH", 1, kind, 1, 19 + len(body), 0, 0) + body


def table_map(*columns: tuple[str, int, bytes]) -> bytes:
    names = b"".join(bytes([len(n)]) + n.encode() for n, _, _ in columns)
    kinds, meta = bytes(k for _, k, _ in columns), b"".join(m for _, _, m in columns)
    head = ID + b"\0\0\1s\0\1t\0" + bytes([len(kinds)]) + kinds + bytes([len(meta)]) + meta
    return frame(19, head + b"\xff" + b"\4" + bytes([len(names)]) + names)


def rows(kind: int, count: bytes, body: bytes) -> bytes:
    return frame(kind, ID + b"\0\0" + count + b"\xff" + body)


def taken(*events: bytes) -> BinlogRows:
    found = BinlogRows(
        wants=lambda _: True, described=lambda *_: None, mapping=TypeMapping(), file="b.000001"
    )
    for one in events:
        found.take(one, len(one))
    return found


PLAIN = table_map(("id", 3, b""), ("name", 15, b"\x20\0"))


def test_a_whole_row_is_read() -> None:
    (changes,) = taken(PLAIN, rows(23, b"\2", b"\0\5\0\0\0\1a")).batch().changes
    assert {n: c.to_pylist() for n, c in changes.after.columns.items()} == {
        "id": [5],
        "name": ["a"],
    }


def bomb(size: int) -> bytes:
    return bytes([0x84]) + size.to_bytes(4, "big") + zlib.compress(b"\0" * 2_000_000)


@pytest.mark.parametrize(
    "damaged",
    [
        rows(23, b"\2", b"\0\5\0"),
        rows(23, b"\2", b"\0\5\0\0\0\x09a"),
        rows(23, b"\2", b"\0\5\0\0\0\1a\0"),
        rows(23, b"\3", b"\0\5\0\0\0\1a"),
        rows(23, b"\xfe" + b"\xff" * 7 + b"\x7f", b"\0\5\0\0\0\1a"),
        rows(23, b"\xff", b"\0"),
        rows(166, b"\2", bomb(5)),
        rows(166, b"\2", bomb(1 << 31)),
        rows(166, b"\2", b"\x81\5nothing"),
        rows(23, b"\2", b"\3" * 1_100_000),
        table_map(),
        table_map(("d", 246, b"\5\x09")),
        table_map(("at", 18, b"\x09")),
        table_map(("e", 247, b"")),
        frame(19, ID),
        frame(2, b"\0" * 9),
        frame(162, b""),
    ],
)
def test_a_damaged_event_is_an_error_with_its_place(damaged: bytes) -> None:
    with pytest.raises(EventError, match=r"b\.000001, position .*cannot be read"):
        taken(PLAIN, damaged)


def test_an_event_without_a_header_is_told() -> None:
    with pytest.raises(EventError, match="no header"):
        taken(b"abc")


# ------------------------------------------------------------------------------------------- files
def test_a_file_that_ends_within_an_event_is_an_error_unless_it_is_the_newest(
    tmp_path: Path,
) -> None:
    log = LOG()
    head = log[: 4 + struct.unpack_from("<I", log, 13)[0]]
    (tmp_path / "a").mkdir()
    assert sync(tmp_path / "a", n1=log[:-30]).rows_written > 0, "the server still writes it"
    (tmp_path / "b").mkdir()
    with pytest.raises(EventError, match=r"binlog\.000001, position \d+: the file ends within"):
        sync(tmp_path / "b", n1=log[:-30], n2=head)


def test_an_event_of_no_length_ends_no_file(tmp_path: Path) -> None:
    log = LOG()
    with pytest.raises(EventError, match="an event of 0 bytes"):
        sync(tmp_path, n1=log + b"\0" * 19 + event(2, b"", 0))


def test_an_event_that_would_take_all_memory_is_not_read(tmp_path: Path) -> None:
    log = LOG()
    huge = struct.pack("<IBIIIH", 1, 23, 1, 1 << 30, 0, 0)
    (tmp_path / "binlog.000001.gz").write_bytes(gzip.compress(log + huge + b"\0" * 100_000))
    with pytest.raises(EventError, match="max_event_bytes"):
        sync(tmp_path)


def test_a_damaged_compression_is_told(tmp_path: Path) -> None:
    body = gzip.compress(LOG())
    (tmp_path / "binlog.000001.gz").write_bytes(body[: len(body) // 2])
    with pytest.raises(EventError, match="cannot be decompressed"):
        sync(tmp_path)


# ---------------------------------------------------------------------------------------- pgoutput
def relation(*names: bytes) -> bytes:
    columns = b"".join(b"\1" + n + b"\0" + struct.pack(">Ii", 25, -1) for n in names)
    return b"R" + struct.pack(">I", 7) + b"s\0t\0d" + struct.pack(">H", len(names)) + columns


def values(*texts: bytes) -> bytes:
    return struct.pack(">H", len(texts)) + b"".join(
        b"t" + struct.pack(">I", len(t)) + t for t in texts
    )


SEVEN = struct.pack(">I", 7)


@pytest.mark.parametrize(
    "message",
    [
        b"I" + SEVEN + b"N" + values(b"1", b"x")[:-1],
        b"I" + SEVEN + b"N" + values(b"1"),
        b"I" + SEVEN + b"N\xff\xff",
        b"I" + SEVEN + b"K" + values(b"1", b"x"),
        b"I" + SEVEN,
        b"U" + SEVEN + b"K" + values(b"1", b"x"),
        b"D" + SEVEN + b"N" + values(b"1", b"x"),
        b"I" + struct.pack(">I", 8) + b"N" + values(b"1", b"x"),
        b"I" + SEVEN + b"N" + values(b"1", b"\xff"),
        b"I" + SEVEN + b"N\0\2x\0\0\0\1ay\0\0\0\1b",
        b"R" + SEVEN + b"s\0t",
        b"T" + b"\xff" * 5,
        b"B" + b"\xff" * 20,
        b"C",
    ],
)  # fmt: skip
def test_a_damaged_message_of_postgres_is_an_error_with_its_place(message: bytes) -> None:
    log = PgOutputRows(
        wants=lambda _: True,
        described=lambda r: {n: Declared(STRING, Encoding(LogicalType.RAW), None) for n in r.names},
        slot="s",
        position=LogPlace("postgres", (0, 0)),
    )
    log.take(relation(b"id", b"n"))
    log.take(b"I" + SEVEN + b"N" + values(b"1", b"x"))
    with pytest.raises(EventError, match=r"slot s, LSN .* cannot be read"):
        log.take(message)
    assert log.batch().events == 1


# ------------------------------------------------------------------------------------ other events
@pytest.mark.parametrize(
    ("format", "hostile"),
    [
        ("ogg-json", {"table": "S.a", "op_type": "I", "after": "x"}),
        ("ogg-json", {"table": "S.a", "op_type": "U", "before": {"id": 1}}),
        ("ogg-json", {"table": "S.a", "op_type": "D", "after": {"id": 1}}),
        ("canal-json", {"type": "INSERT", "database": "s", "table": "a", "data": ["x"]}),
        ("canal-json", {"type": "UPDATE", "database": "s", "table": "a", "old": [{}], "data": [{"id": "8"}, {"id": "9"}]}),
        ("canal-json", {"type": "INSERT", "database": "s", "table": "a", "pkNames": ["\ud800"], "data": [{"id": "1"}]}),
        ("canal-json", {"type": "INSERT", "database": "s", "table": "a", "mysqlType": {"\ud800": "int"}, "data": [{"id": "1"}]}),
        ("canal-json", {"type": "INSERT", "database": "s", "table": "a", "pkNames": [5], "data": [{"id": "1"}]}),
    ],
)  # fmt: skip
def test_a_hostile_event_of_another_form_is_a_dead_letter(
    tmp_path: Path, format: str, hostile: dict[str, Any]
) -> None:
    lake = Lake(tmp_path)
    good: dict[str, Any] = {"table": "S.a", "op_type": "I", "after": {"id": 3}}
    if format == "canal-json":
        good = {"type": "INSERT", "database": "s", "table": "a", "pkNames": ["id"], "data": [{"id": "3"}]}  # fmt: skip
    lake.put("1.jsonl", json.dumps(hostile), good)
    lake.catalog.create_database("lake")
    source = tc.FilesSource(lake.source.uri, format=format)
    done = tc.sync_table(
        lake.catalog, "lake.a", source, primary_key=("id",), dead_letter="lake.bad"
    )
    assert [str(row["id"]) for row in lake.rows("a")] == ["3"]
    assert done.details["dead_letters"] == 1


# ---------------------------------------------------------------------------------- kept positions
@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "5", "null", "[" * 5000, '{"kind":"mysql"}', '{"kind":"mysql","at":5}',
        '{"kind":"mysql","at":["a","b"]}', '{"kind":"mysql","at":[1,2],"skip":"x"}',
        '{"kind":"mysql","at":[1,2],"since":{"a":[1]}}', '{"kind":"mysql","at":[1,2],"snapshots":[1]}',
        '{"topics":{"t":5}}', '{"topics":{"t":{"x":1}}}', '{"topics":{"t":{"0":"y"}}}',
        '{"topics":{"t":{"0":1e400}}}',
    ],
)  # fmt: skip
def test_a_position_that_somebody_else_wrote_is_told(text: str) -> None:
    for parse in (OffsetsPlace.parse, lambda t: LogPlace.parse(t, "mysql")):
        with pytest.raises(EventError, match="was not written by a source"):
            parse(text)
    with pytest.raises(CorruptFileError, match="the table stores no columns"):
        source_schemas_from("5" if text in {"", "[]"} else text)


def test_a_document_of_positions_has_members_of_their_types() -> None:
    reader = '{"kind":"sync","name":"x","as":"y"}'
    whole = f'{{"v":2,"positions":[{{"reader":{reader},"source":%s,"place":%s}}]}}'
    source, place = (
        '{"kind":"mysql","server":"1"}',
        '{"kind":"log","order":[1,4],"skip":1,"rest":{"kind":"mysql"}}',
    )
    assert Positions.parse(whole % (source, place)) is not None
    for wrong in (
        (source, place.replace("[1,4]", '["1",4]')), (source, place.replace(":1,", ':"1",')),
        (source, place.replace(',"rest":{"kind":"mysql"}', "")),
        (source.replace('"1"', "1"), place), (source, '{"kind":"snapshot","id":true}'),
        (source, '{"kind":"offsets","topics":{"t":{"0":null}}}'),
        (source, '{"kind":"read","folders":{"a":{"b":["1",2]}}}'),
    ):  # fmt: skip
        with pytest.raises(CorruptFileError):
            Positions.parse(whole % wrong)
