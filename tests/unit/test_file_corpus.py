"""Files as people have them: each is read right, or its error names the cure."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import math
import re
import zipfile
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_core.errors import TableError
from table_core.options.row_options import OF_FORMAT, RowOptions
from table_core.shapes.rows import ROWS_OPTIONS
from table_core.storage.row_files import guessed_columns, read_rows
from table_core.storage.stores.local import LocalStorage

TABLE = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.decimal128(12, 2)),
        ("x", pa.float64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("seen", pa.timestamp("us", "UTC")),
        ("ok", pa.bool_()),
    ]
)
UTC = dt.UTC


@dataclass(frozen=True)
class File:
    """A file, how it is said to be written, and what comes of it."""

    title: str
    content: str | bytes
    rows: list[dict[str, Any]] | str
    """What it has, or what its error says."""
    options: dict[str, Any] = field(default_factory=dict)
    name: str = "rows.csv"


def zipped(text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("rows.csv", text)
    return out.getvalue()


def zstd(text: str) -> bytes:
    packed = pa.compress(text.encode(), "zstd", asbytes=True)
    assert isinstance(packed, bytes)
    return packed


A, AB = [{"id": 1}], [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
STREET = [{"id": 1, "name": "Straße"}]
DAY, NOON = dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 13, 5)
MONEY = [{"id": 1, "price": Decimal("1234.50")}]
GERMAN = {"delimiter": ";", "decimal": ",", "thousands": ".", "date_format": "%d.%m.%Y"}
EXCEL = [{"id": 1, "name": "Müller", "price": Decimal("1234.50"), "day": DAY}]


def days(text: str, format: str) -> File:
    content = f'id;day\n1;"{text}"\n'
    return File(
        f"{text} by {format}",
        content,
        [{"id": 1, "day": DAY}],
        {"delimiter": ";", "date_format": format},
    )


def moments(text: str, format: str, moment: dt.datetime = NOON) -> File:
    options = {"delimiter": ";", "timestamp_format": format}
    return File(f"{text} by {format}", f"id;at\n1;{text}\n", [{"id": 1, "at": moment}], options)


def zones(text: str, zone: str, hour: int) -> File:
    seen = dt.datetime(2026, 1, 31, hour, tzinfo=UTC)
    return File(
        f"{text} in {zone}", f"id,seen\n1,{text}\n", [{"id": 1, "seen": seen}], {"timezone": zone}
    )


def amounts(text: str, value: str | None, **options: Any) -> File:
    rows = f"{text!r} is no DECIMAL" if value is None else [{"id": 1, "price": Decimal(value)}]
    return File(
        f"{text} by {options}", f"id;price\n1;{text}\n", rows, {"delimiter": ";", **options}
    )


FILES = (
    # Excel's exports
    File("Excel of Germany", "id;name;price;day\r\n1;Müller;1.234,50;31.01.2026\r\n".encode("cp1252"), EXCEL, {**GERMAN, "encoding": "cp1252"}),
    File("Excel of Germany, CSV UTF-8", "id;name;price;day\r\n1;Müller;1.234,50;31.01.2026\r\n".encode("utf-8-sig"), EXCEL, GERMAN),
    File("Excel of France", "id;name;price;day\r\n1;Müller;1\u202f234,50;31/01/2026\r\n".encode("utf-8-sig"), EXCEL, {**GERMAN, "thousands": " ", "date_format": "%d/%m/%Y"}),
    File("Excel of France, Windows", "id;name;price;day\r\n1;Müller;1\xa0234,50;31/01/2026\r\n".encode("cp1252"), EXCEL, {**GERMAN, "encoding": "cp1252", "thousands": " ", "date_format": "%d/%m/%Y"}),
    File("Excel of Switzerland", "id;name;price;day\r\n1;Müller;1'234.50;31.01.2026\r\n".encode("cp1252"), EXCEL, {"delimiter": ";", "encoding": "cp1252", "thousands": "'", "date_format": "%d.%m.%Y"}),
    File("Excel of Switzerland, new mark", "id;name;price;day\r\n1;Müller;1’234.50;31.01.2026\r\n", EXCEL, {"delimiter": ";", "thousands": "'", "date_format": "%d.%m.%Y"}),
    File("Excel of the United States", 'id,name,price,day\r\n1,Müller,"1,234.50",1/31/2026\r\n'.encode("cp1252"), EXCEL, {"encoding": "cp1252", "thousands": ",", "date_format": "%m/%d/%Y"}),
    File("Excel of Britain", 'id,name,price,day\r\n1,Müller,"1,234.50",31/01/2026\r\n'.encode("cp1252"), EXCEL, {"encoding": "cp1252", "thousands": ",", "date_format": "%d/%m/%Y"}),
    File("Excel of Brazil", "id;name;price;day\r\n1;Müller;1.234,50;31/01/2026\r\n".encode("latin-1"), EXCEL, {**GERMAN, "encoding": "latin-1", "date_format": "%d/%m/%Y"}),
    File("Excel of Japan", "id,name\r\n1,東京\r\n".encode("cp932"), [{"id": 1, "name": "東京"}], {"encoding": "cp932"}),
    File("Excel's Unicode text", "id\tname\r\n1\tStraße\r\n".encode("utf-16"), STREET, {"delimiter": "\t"}),
    File("Excel's line for itself", "sep=;\r\nid;name\r\n1;a\r\n2;b\r\n", AB, {"skip_lines": 1, "delimiter": ";"}),
    File("Excel's line, unsaid", "sep=;\r\nid;name\r\n1;a\r\n", "rows_options skip_lines=1, delimiter=';'"),
    # what is not said, and what to say
    File("semicolons, unsaid", "id;name\n1;a\n", "has no ',', and ';'. Say rows_options delimiter=';'"),
    File("tabs, unsaid", "id\tname\n1\ta\n", r"delimiter='\t'"),
    File("pipes, unsaid", "id|name\n1|a\n", "delimiter='|'"),
    File("commas, and said to be semicolons", "id,name\n1,a\n", "delimiter=','", {"delimiter": ";"}),
    File("Latin-1, unsaid", "id,name\n0,x\n1,Straße\n".encode("latin-1"), "line 3: the byte 0xdf in b'ame\\n0,x\\n1,Stra\\xdfe\\n' is no utf-8: rows_options encoding='cp1252'"),
    File("Latin-1 in the header, unsaid", "id,Straße\n0,x\n".encode("latin-1"), "line 1: the byte 0xdf"),
    File("UTF-16 without a mark, unsaid", "id,name\n1,a\n".encode("utf-16-le"), "encoding='utf-16-le'"),
    File("a decimal comma, unsaid", "id;price\n1;1,50\n", "line 2: column 'price': '1,50' is no DECIMAL(12, 2): say rows_options decimal=','", {"delimiter": ";"}),
    File("a decimal comma and points, unsaid", "id;price\n1;1.234,50\n", "say rows_options decimal=',', thousands='.'", {"delimiter": ";"}),
    File("groups, unsaid", "id;price\n1;1,234.50\n", "say rows_options thousands=','", {"delimiter": ";"}),
    File("Swiss groups, unsaid", "id;price\n1;1'234.50\n", "thousands=\"'\"", {"delimiter": ";"}),
    File("a German day, unsaid", "id,day\n1,31.01.2026\n", "line 2: column 'day': '31.01.2026' is no DATE, e.g. 2026-01-31: say rows_options date_format='%d.%m.%Y'"),
    File("an American day, unsaid", "id,day\n1,1/31/2026\n", "date_format='%m/%d/%Y'"),
    File("a day that may be either", "id,day\n1,01/02/2026\n", "or with %d and %m the other way round"),
    File("a German moment, unsaid", "id,at\n1,31.01.2026 13:05\n", "timestamp_format='%d.%m.%Y %H:%M'"),
    File("a word for NULL, unsaid", "id,price\n1,NA\n", "if it means NULL, say rows_options null_values=['', 'NA']"),
    File("null in small letters, unsaid", "id,name\nnull,a\n", "null_values=['', 'null']"),
    File("a sign of money", "id,price\n1,€5\n", "make the column STRING"),
    File("a percentage", "id,x\n1,5%\n", "make the column STRING"),
    File("a word for true", "id,ok\n1,WAHR\n", "a BOOLEAN is true, false, 1 or 0"),
    File("a name of another spelling", "Id,name\n1,a\n", "the first line names 'Id'"),
    File("a name with a blank before it", "id, name\n1,a\n", "did you mean 'name'?"),
    File("a name that nobody knows", "id,colour\n1,a\n", "say rows_options header=False, skip_lines=1"),
    File("no header, unsaid", "1,a,1.5,1,2026-01-31,2026-01-31,2026-01-31,true\n", "say rows_options header=False"),
    # encodings
    File("a byte order mark of UTF-8", "id,name\n1,a\n2,b\n".encode("utf-8-sig"), AB),
    File("a byte order mark, and quotes", '"id","name"\n1,"a"\n2,b\n'.encode("utf-8-sig"), AB),
    File("UTF-16 with a mark, little", "id,name\n1,Straße\n".encode("utf-16"), STREET),
    File("UTF-16 with a mark, big", b"\xfe\xff" + "id,name\n1,Straße\n".encode("utf-16-be"), STREET),
    File("UTF-16 without a mark", "id,name\n1,Straße\n".encode("utf-16-le"), STREET, {"encoding": "utf-16-le"}),
    File("UTF-16 with a mark that is said too", "id,name\n1,Straße\n".encode("utf-16"), STREET, {"encoding": "utf-16-le"}),
    File("UTF-32", "id,name\n1,Straße\n".encode("utf-32"), STREET),
    File("Latin-1", "id,name\n1,Straße\n".encode("latin-1"), STREET, {"encoding": "iso-8859-1"}),
    File("an encoding that it is not", b"id,name\n1,\x81\n", "line 2: the byte 0x81", {"encoding": "cp1252"}),
    File("UTF-16 that is cut", "id,name\n1,Straße\n".encode("utf-16")[:-1], "is no utf-16-le"),
    File("letters beyond the first plane", "id,name\n1,😀\n".encode("utf-16"), [{"id": 1, "name": "😀"}]),
    # lines and cells
    File("CRLF", "id,name\r\n1,a\r\n2,b\r\n", AB),
    File("CR", "id,name\r1,a\r2,b\r", AB),
    File("no end of the last line", "id,name\n1,a\n2,b", AB),
    File("blank lines", "\n\nid,name\n\n1,a\n\n2,b\n\n", AB),
    File("quotes in quotes", 'id,name\n1,"say ""a"""\n', [{"id": 1, "name": 'say "a"'}]),
    File("a quote after a backslash", 'id,name\n1,"say \\"a\\""\n', [{"id": 1, "name": 'say "a"'}], {"escape": "\\"}),
    File("a newline in quotes", 'id,name\n1,"a\nb"\n2,b\n', [{"id": 1, "name": "a\nb"}, AB[1]]),
    File("a delimiter in quotes", 'id,name\n1,"a,b"\n', [{"id": 1, "name": "a,b"}]),
    File("single quotes", "id,name\n1,'a,b'\n", [{"id": 1, "name": "a,b"}], {"quote": "'"}),
    File("no quotes", 'id\tname\n1\t3" pipe\n', [{"id": 1, "name": '3" pipe'}], {"delimiter": "\t", "quote": ""}),
    File("a quote that does not end", 'id,name\n1,a\n1,"a\n2,b\n', "line 3: a quote begins a cell here and none ends it"),
    File("a quote that does not end in the last line", 'id,name\n1,"a', "line 2: a quote begins a cell here and none ends it"),
    File("a quoted newline at the end", 'id,name\n1,"a\n"', [{"id": 1, "name": "a\n"}]),
    File("NULL and the empty text", 'id,name\n1,\n2,""\n', [{"id": 1, "name": None}, {"id": 2, "name": ""}]),
    File("words for NULL", 'id,name,price\n1,NA,NULL\n2,"NA",\n', [{"id": 1, "name": None, "price": None}, {"id": 2, "name": "NA", "price": None}], {"null_values": ["", "NA", "NULL"]}),
    File("an empty text that is not NULL", "id,name\n1,\nNA,b\n", [{"id": 1, "name": ""}, {"id": None, "name": "b"}], {"null_values": ["NA"]}),
    File("an empty cell that is no number", "id,price\n1,\n", "add ''", {"null_values": ["NA"]}),
    File("a row that is short", "id,name\n1,a\n2\n", "line 3: expected 2 cells and found 1"),
    File("a row that is long", "id,name\n1,a,b\n", "needs quotes around the cell"),
    File("a sum at the end", "id;name\n1;a\nTotal: 1\n", "line 3: expected 2 cells and found 1: 'Total: 1'. If the file ends with a remark or a sum", {"delimiter": ";"}),
    File("delimiters that end each line", "id,name,\n1,a,\n2,b,\n", AB),
    File("delimiters that end each row", "id,name\n1,a,\n2,b,\n", "add one to the header"),
    File("a cell without a name", "id,name,\n1,a,\n2,b,c\n", "line 3: 'c' is in a column without a name"),
    File("a name twice", "id,id\n1,2\n", "names 'id' twice. Rename it there"),
    File("nothing", "", "the file is empty"),
    File("nothing but a blank line", "\n", "the file is empty"),
    File("nothing, and no header", "", [], {"header": False}),
    File("a header alone", "id,name\n", []),
    File("a header alone, without an end", "id,name", []),
    File("no header", "1,a,1.50,0.5,2026-01-31,2026-01-31 13:05:00,2026-01-31T00:00:00Z,true\n", [{"id": 1, "name": "a", "price": Decimal("1.50"), "x": 0.5, "day": DAY, "at": NOON, "seen": dt.datetime(2026, 1, 31, tzinfo=UTC), "ok": True}], {"header": False}),
    File("no header, and too few cells", "1,a\n", "line 1: expected 8 cells and found 2", {"header": False}),
    File("a remark before the header", "Report of today\nby me\nid,name\n1,a\n2,b\n", AB, {"skip_lines": 2}),
    File("more lines to skip than there are", "id,name\n", "skip_lines=3", {"skip_lines": 3}),
    File("a fault behind skipped lines", "Report\nid,name\n1,a\nx,b\n", "line 4: column 'id': 'x' is no BIGINT", {"skip_lines": 1}),
    File("a header to skip", "Nr,Name,a,b,c,d,e,f\n1,a,,,,,,\n", [{**dict.fromkeys(TABLE.names), "id": 1, "name": "a"}], {"header": False, "skip_lines": 1}),
    File("blanks around numbers", "id,x\n 1 ,\t2.5\n", [{"id": 1, "x": 2.5}]),
    File("blanks around a text", "id,name\n1, a \n", [{"id": 1, "name": " a "}]),
    File("a zero byte in a text", "id,name\n1,a\0b\n", [{"id": 1, "name": "a\0b"}]),
    File("a column in a name", 'id,"price"\n1,1234.5\n', MONEY),
    File("columns in another order", "name,id\na,1\nb,2\n", [{"name": "a", "id": 1}, {"name": "b", "id": 2}]),
    # numbers
    amounts("1234,50", "1234.50", decimal=","),
    amounts("-1.234.567,50", "-1234567.50", decimal=",", thousands="."),
    amounts("12,34,567.00", "1234567.00", thousands=","),
    amounts(",50", "0.50", decimal=","),
    amounts("1.50", None, decimal=","),
    amounts("1.50", None, decimal=",", thousands="."),
    amounts("1.50.000", "150000.00", decimal=",", thousands="."),
    amounts("1_000", "1000.00", thousands="_"),
    amounts("1,2345", None, decimal=","),
    amounts("0", "0.00", decimal=","),
    File("a number that is none", "id;x\n1;NaN\n2;-inf\n", [{"id": 1, "x": "nan"}, {"id": 2, "x": "-inf"}], {"delimiter": ";", "decimal": ","}),
    File("digits that 128 bits do not hold", f"price\n{'9' * 39}\n", "line 2: column 'price'"),
    File("a whole number that is too long", "id\n9223372036854775808\n", "'9223372036854775808' is no BIGINT"),
    # days and moments
    days("31.1.2026", "%d.%m.%Y"),
    days("31.01.26", "%d.%m.%y"),
    days("1/31/2026", "%m/%d/%Y"),
    days("20260131", "%Y%m%d"),
    days("31-Jan-2026", "%d-%b-%Y"),
    days("January 31, 2026", "%B %d, %Y"),
    days("Sat, 31 Jan 2026", "%a, %d %b %Y"),
    days("2026年1月31日", "%Y年%m月%d日"),
    File("a day that is not in the calendar", "id,day\n1,30.02.2026\n", "'30.02.2026' is no DATE, e.g. 2026-01-31: date_format is '%d.%m.%Y'", {"date_format": "%d.%m.%Y"}),
    File("a day of another format", "id,day\n1,2026-01-31\n", "date_format is '%d.%m.%Y'", {"date_format": "%d.%m.%Y"}),
    moments("31.01.2026 13:05", "%d.%m.%Y %H:%M"),
    moments("1/31/2026 1:05 PM", "%m/%d/%Y %I:%M %p"),
    moments("31.01.2026 12:05:00 AM", "%d.%m.%Y %I:%M:%S %p", dt.datetime(2026, 1, 31, 0, 5)),
    moments("20260131T130500.250", "%Y%m%dT%H%M%S.%f", dt.datetime(2026, 1, 31, 13, 5, 0, 250_000)),
    File("an hour that no clock shows", "id,at\n1,1/31/2026 13:05 PM\n", "'1/31/2026 13:05 PM' is no TIMESTAMP", {"timestamp_format": "%m/%d/%Y %I:%M %p"}),
    zones("2026-01-31T12:00:00Z", "Europe/Berlin", 12),
    zones("2026-01-31T12:00:00", "Europe/Berlin", 11),
    zones("2026-01-31 12:00:00+05:00", "Europe/Berlin", 7),
    zones("2026-01-31 12:00:00", "-05:00", 17),
    zones("2026-01-31 12:00:00", "UTC", 12),
    File("a zone in the format", "id,seen\n1,31.01.2026 12:00 +0100\n", [{"id": 1, "seen": dt.datetime(2026, 1, 31, 11, tzinfo=UTC)}], {"timestamp_format": "%d.%m.%Y %H:%M %z"}),
    File("an hour that comes twice is the earlier one", "id,seen\n1,2026-10-25 02:30:00\n", [{"id": 1, "seen": dt.datetime(2026, 10, 25, 0, 30, tzinfo=UTC)}], {"timezone": "Europe/Berlin"}),
    File("an hour that is left out", "id,seen\n1,2026-03-29 02:30:00\n", "line 2: column 'seen': '2026-03-29 02:30:00' is no TIMESTAMP", {"timezone": "Europe/Berlin"}),
    File("a moment with a zone in a column without", "id,at\n1,2026-01-31T12:05:00Z\n", [{"id": 1, "at": NOON}], {"timezone": "Europe/Berlin"}),
    # packed
    File("gzip", gzip.compress(b"id,name\n1,a\n2,b\n"), AB, name="rows.csv.gz"),
    File("gzip of UTF-16", gzip.compress("id,name\n1,Straße\n".encode("utf-16")), STREET, name="rows.csv.gz"),
    File("zstd", zstd("id,name\n1,a\n2,b\n"), AB, name="rows.csv.zst"),
    File("zstd of JSON", zstd('{"id": 1}\n'), A, name="rows.jsonl.zst"),
    File("gzip that is cut", gzip.compress(b"id,name\n" + b"1,a\n" * 99)[:-9], "rows.csv.gz: Compressed file ended", name="rows.csv.gz"),
    File("zstd that is none", b"id,name\n", "rows.csv.zst", name="rows.csv.zst"),
    File("a zip", zipped("id\n1\n"), "unpack it first", name="rows.zip"),
    File("a zip of a CSV", zipped("id\n1\n"), "unpack it first", name="rows.csv.zip"),
    File("a zip under another name", zipped("id\n1\n"), "this is no text but a zip", name="rows.csv"),
    File("gzip under another name", gzip.compress(b"id\n1\n"), "a name that ends in .gz", name="rows.csv"),
    File("Parquet under another name", b"PAR1xxxxPAR1", "say the format parquet", name="rows.csv"),
    File("a workbook", zipped("x"), "save the sheet as CSV UTF-8", name="rows.xlsx"),
    File("bzip2", b"BZh9", "pack it by gzip (.gz) or zstd (.zst)", name="rows.csv.bz2"),
    # JSON
    File("JSON lines", '{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n', AB, name="rows.jsonl"),
    File("JSON lines with blanks", '\n{"id": 1, "name": "a"}\r\n\n  {"id": 2, "name": "b"}', AB, name="rows.jsonl"),
    File("JSON lines of UTF-16", '{"id": 1, "name": "Straße"}\n'.encode("utf-16"), STREET, name="rows.jsonl"),
    File("JSON lines with a byte order mark", '{"id": 1, "name": "Straße"}\n'.encode("utf-8-sig"), STREET, name="rows.jsonl"),
    File("JSON lines of Latin-1", '{"id": 1, "name": "Straße"}\n'.encode("latin-1"), STREET, {"encoding": "latin-1"}, name="rows.jsonl"),
    File("JSON lines of Latin-1, unsaid", '{"id": 1, "name": "Straße"}\n'.encode("latin-1"), "rows_options encoding='cp1252'", name="rows.jsonl"),
    File("a JSON line that is a list", "[1, 2]\n", "one object a line", name="rows.jsonl"),
    File("a JSON line that is a text", '"a"\n', "one object a line", name="rows.jsonl"),
    File("a name twice in JSON", '{"id": 1, "id": 2}\n', "line 1: no JSON: 'id' is there twice", name="rows.jsonl"),
    File("NaN in JSON", '{"id": 1, "x": NaN}\n', [{"id": 1, "x": "nan"}], name="rows.jsonl"),
    File("a long number in JSON", '{"id": 9223372036854775807}\n', [{"id": 9223372036854775807}], name="rows.jsonl"),
    File("a number that is too long in JSON", '{"id": 9223372036854775808}\n', "is no BIGINT", name="rows.jsonl"),
    File("decimals of JSON stay as written", '{"id": 1, "price": 1234.50}\n', MONEY, name="rows.jsonl"),
    File("a German day in JSON", '{"id": 1, "day": "31.01.2026"}\n', [{"id": 1, "day": DAY}], {"date_format": "%d.%m.%Y"}, name="rows.jsonl"),
    File("a local time in JSON", '{"id": 1, "seen": "2026-01-31T12:00:00"}\n', [{"id": 1, "seen": dt.datetime(2026, 1, 31, 11, tzinfo=UTC)}], {"timezone": "Europe/Berlin"}, name="rows.jsonl"),
    File("a German day in JSON, unsaid", '{"id": 1, "day": "31.01.2026"}\n', "'31.01.2026' is no DATE", name="rows.jsonl"),
    File("nested JSON in a flat table", '{"id": 1, "name": {"first": "a"}}\n', "line 1: column 'name'", name="rows.jsonl"),
    File("a delimiter said of JSON", '{"id": 1}\n', "delimiter means nothing for json", {"delimiter": ";"}, name="rows.jsonl"),
)  # fmt: skip


def rows_of(folder: Path, file: File) -> list[dict[str, Any]]:
    content = file.content.encode() if isinstance(file.content, str) else file.content
    (folder / file.name).write_bytes(content)
    options = RowOptions.of(file.options)
    batches = list(read_rows(LocalStorage(folder), file.name, TABLE, options=options))
    rows = [row for batch in batches for row in batch.to_pylist()]
    return [{name: comparable(value) for name, value in row.items()} for row in rows]


def comparable(value: Any) -> Any:
    """NaN is not itself."""
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def test_the_corpus_has_more_than_a_hundred_files() -> None:
    assert len(FILES) > 100
    assert len({file.title for file in FILES}) == len(FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.title)
def test_a_file_is_read_right_or_its_error_names_the_cure(tmp_path: Path, file: File) -> None:
    if isinstance(file.rows, str):
        with pytest.raises(TableError) as caught:
            rows_of(tmp_path, file)
        assert file.rows in str(caught.value)
        assert file.name in str(caught.value) or "rows_options" in str(caught.value)
        return
    read = rows_of(tmp_path, file)
    if file.name.endswith(("jsonl", "zst")):  # which has every column of the table
        read = [{k: v for k, v in row.items() if v is not None} for row in read]
    assert read == file.rows


GUESSES = {
    "a leading zero": ("01067,02", pa.string()),
    "a plus": ("+4989,+1", pa.string()),
    "a zero alone": ("0,-1", pa.int64()),
    "zeros behind the point": ("0.5,-12.25", pa.float64()),
    "a leading zero before a point": ("01.5,2.5", pa.string()),
    "an exponent": ("1e5,2", pa.float64()),
    "more digits than DOUBLE has": ("1234567890123.4567,1.5", pa.decimal128(38, 4)),
    "a whole number longer than BIGINT": ("12345678901234567890,1", pa.decimal128(38, 0)),
    "a number of 40 digits": ("1" * 40, pa.string()),
    "a day": ("2026-01-31,2026-02-01", pa.date32()),
    "a moment": ("2026-01-31 13:05:00,2026-01-31T13:05", pa.timestamp("us")),
    "a moment with nanoseconds": ("2026-01-31 13:05:00.123456789", pa.timestamp("ns")),
    "a moment with Z": ("2026-01-31T13:05:00Z", pa.timestamp("us", "UTC")),
    "a moment with an offset": ("2026-01-31T13:05:00+01:00", pa.timestamp("us", "UTC")),
    "moments, one with an offset": ("2026-01-31T13:05:00Z,2026-01-31T13:05:00", pa.string()),
    "a day that is none": ("2026-02-30", pa.string()),
    "a time of day": ("13:05,13:05:30", pa.time32("ms")),
    "true and false": ("true,False", pa.bool_()),
    "a word among numbers": ("1,NA", pa.string()),
    "nothing": (",", pa.string()),
}


@pytest.mark.parametrize("guess", GUESSES)
def test_a_type_is_guessed_that_loses_nothing(tmp_path: Path, guess: str) -> None:
    texts, type_ = GUESSES[guess]
    (tmp_path / "f.csv").write_text("k,v\n" + "".join(f"x,{text}\n" for text in texts.split(",")))
    _, column = guessed_columns(LocalStorage(tmp_path), "f.csv", "csv")
    assert column.type == type_
    assert column.example == (texts.split(",")[0] or None)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ('"01067"', pa.string()),
        ('"5"', pa.string()),
        ("5", pa.int64()),
        ("5.5", pa.float64()),
        ("12345678901234567890", pa.decimal128(38, 0)),
        ('"2026-01-31"', pa.date32()),
        ('"2026-01-31T00:00:00+00:00"', pa.timestamp("us", "UTC")),
        ('"2026-01-31T00:00:00.5"', pa.timestamp("us")),
        ('["2026-01-31T00:00:00Z"]', pa.list_(pa.timestamp("us", "UTC"))),
        ('{"at": "2026-01-31T00:00:00Z"}', pa.struct([("at", pa.timestamp("us", "UTC"))])),
        ("null", pa.string()),
        ("[]", pa.list_(pa.string())),
    ],
)
def test_a_type_of_json_is_guessed_that_loses_nothing(
    tmp_path: Path, value: str, type_: pa.DataType
) -> None:
    (tmp_path / "f.jsonl").write_text(f'{{"v": {value}}}\n')
    (column,) = guessed_columns(LocalStorage(tmp_path), "f.jsonl", "json")
    assert column.type == type_


def test_guesses_go_by_the_options_of_the_file(tmp_path: Path) -> None:
    text = "Report\nid;day;price;at\n1;31.01.2026;1.234,50;31.01.2026 13:05\n2;;;\n"
    (tmp_path / "f.csv").write_text(text, "utf-16")
    options = RowOptions.of(
        {
            **GERMAN,
            "skip_lines": 1,
            "timestamp_format": "%d.%m.%Y %H:%M",
            "timezone": "Europe/Berlin",
        }
    )
    guesses = guessed_columns(LocalStorage(tmp_path), "f.csv", "csv", options)
    assert {guess.name: guess.type for guess in guesses} == {
        "id": pa.int64(),
        "day": pa.date32(),
        "price": pa.float64(),
        "at": pa.timestamp("us", "UTC"),
    }
    bare = RowOptions.of({"header": False})
    (tmp_path / "g.csv").write_text("1,a\n")
    names = [guess.name for guess in guessed_columns(LocalStorage(tmp_path), "g.csv", "csv", bare)]
    assert names == ["column1", "column2"]


def test_a_file_of_another_encoding_is_decoded_in_pieces(tmp_path: Path) -> None:
    rows = 300_000
    with (tmp_path / "f.csv").open("w", encoding="utf-16") as file:
        file.write("id,name\n")
        file.writelines(f"{n},Straße\n" for n in range(rows))
        file.write("x,Straße\n")
    schema, options = pa.schema([("id", pa.int64()), ("name", pa.string())]), RowOptions()
    sizes = []

    def read() -> None:
        for batch in read_rows(LocalStorage(tmp_path), "f.csv", schema, options=options):
            sizes.append((batch.num_rows, batch.nbytes))

    with pytest.raises(TableError, match=f"line {rows + 2}: column 'id': 'x' is no BIGINT"):
        read()
    assert rows / 2 < sum(n for n, _ in sizes) < rows
    assert max(size for _, size in sizes) < 16 << 20


def test_the_guide_names_every_option() -> None:
    guide = Path(__file__).parents[2] / "docs/how-to/02-load-files-and-queries.md"
    rows = re.findall(r"^\| `(\w+)` \| (CSV|both) \|", guide.read_text(), re.MULTILINE)
    documented = {name: {"csv"} if of == "CSV" else {"csv", "json"} for name, of in rows}
    assert documented == {
        name: {format for format, names in OF_FORMAT.items() if name in names}
        for name in ROWS_OPTIONS.inner.members
    }
