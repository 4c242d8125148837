"""Rows come in from files as somebody left them, in the order of their names."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_core.cli.rows import _write_csv, _write_json
from table_core.errors import ArgumentError, DataError
from table_core.storage.globs import list_files, split_glob
from table_core.storage.row_files import guessed_columns, read_rows
from table_core.storage.stores.local import LocalStorage

SCHEMA = pa.schema([("id", pa.int64()), ("price", pa.decimal128(9, 2))])


@pytest.mark.parametrize(
    ("uri", "folder", "pattern"),
    [
        ("file:///in/*/part-*.parquet", "file:///in", "*/part-*.parquet"),
        ("/in/rows.jsonl", "/in", "rows.jsonl"),
        ("s3://bucket/x?.json", "s3://bucket", "x?.json"),
    ],
)
def test_a_glob_is_a_folder_and_a_pattern(uri: str, folder: str, pattern: str) -> None:
    assert split_glob(uri) == (folder, pattern)


def test_stars_stay_within_a_folder(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "b/10.jsonl", "a/x.jsonl", "a/c/y.jsonl", "z.jsonl", "b/2xjsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = list_files(LocalStorage(tmp_path), "*/*.jsonl")
    assert [info.path for info in found] == ["a/x.jsonl", "b/10.jsonl", "b/2.jsonl"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.csv", ["a.csv"]),
        ("?.csv", ["a.csv"]),
        ("*/*.csv", ["b/c.csv"]),
        (".*.csv", [".a.csv"]),
        (".b/*.csv", [".b/c.csv"]),
        ("a*", ["a.csv"]),
        ("**/*.csv", ["a.csv", "b/c.csv", "b/d/e.csv"]),
        ("b/**/*.csv", ["b/c.csv", "b/d/e.csv"]),
        ("b/**", ["b/c.csv", "b/d/e.csv"]),
        ("**/d/*.csv", ["b/d/e.csv"]),
    ],
)
def test_stars_match_no_hidden_name_and_two_match_any_folders(
    tmp_path: Path, pattern: str, found: list[str]
) -> None:
    for name in (
        "a.csv",
        ".a.csv",
        ".csv",
        "b/c.csv",
        "b/.c.csv",
        ".b/c.csv",
        "b/d/e.csv",
        "b/.d/e.csv",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [info.path for info in list_files(LocalStorage(tmp_path), pattern)] == found


def test_both_formats_give_their_rows(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], "price": pa.array(["1.50", None]).cast(pa.decimal128(9, 2))})
    pq.write_table(rows, tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text('{"id": 1, "price": "1.50"}\n{"id": 2}\n')
    storage = LocalStorage(tmp_path)
    for name in ("a.parquet", "b.jsonl"):
        assert pa.Table.from_batches(read_rows(storage, name, SCHEMA)).equals(rows), name


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.jsonl", '{"id": 1}\n{"id": '), ("a.jsonl", '{"idd": 1}\n'), ("a.parquet", "no")],
)
def test_what_does_not_decode_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=name):
        list(read_rows(LocalStorage(tmp_path), name, SCHEMA))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(ArgumentError, match=r"a\.txt: the name ends in none of \.parquet, \.csv"):
        list(read_rows(LocalStorage(tmp_path), "a.txt", SCHEMA))


EVERY = pa.schema(
    [
        ("i", pa.int8()), ("f", pa.float32()), ("d", pa.decimal128(9, 2)), ("b", pa.bool_()), ("s", pa.string()),
        ("x", pa.binary()), ("day", pa.date32()), ("at", pa.time32("ms")), ("t", pa.timestamp("ns")),
        ("z", pa.timestamp("us", "UTC")), ("l", pa.list_(pa.date32())),
        ("m", pa.map_(pa.string(), pa.list_(pa.struct([("n", pa.int32())])))),
    ]
)  # fmt: skip
VALUES = pa.Table.from_pylist(
    [
        {"i": -5, "f": 0.5, "d": Decimal("1.50"), "b": True, "s": 'a "b",\nc', "x": b"\x00\xff", "day": dt.date(2026, 1, 31),
         "at": dt.time(10, 30, 0, 1000), "t": 1_000_000_001, "z": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
         "l": [dt.date(1969, 1, 1), None], "m": [("k", [{"n": 1}, None])]},
        {"i": None, "f": None, "d": None, "b": None, "s": "", "x": b"", "day": None, "at": None, "t": None, "z": None,
         "l": [], "m": []},
        {},
    ],
    schema=EVERY,
)  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "json.gz"])
def test_what_the_command_line_prints_comes_back(tmp_path: Path, ending: str) -> None:
    out, rows = io.StringIO(newline=""), VALUES.to_batches()
    (_write_csv if "csv" in ending else _write_json)(EVERY, rows, out)
    text = out.getvalue().encode()
    (tmp_path / f"rows.{ending}").write_bytes(gzip.compress(text) if ending[-1] == "z" else text)
    found = pa.Table.from_batches(read_rows(LocalStorage(tmp_path), f"rows.{ending}", EVERY))
    assert found.equals(VALUES)


@pytest.mark.parametrize("special", ["NaN", "Infinity", "-Infinity"])
def test_what_no_number_is_has_a_name(tmp_path: Path, special: str) -> None:
    schema = pa.schema([("f", pa.float64())])
    (tmp_path / "a.jsonl").write_text(json.dumps({"f": special}) + "\n")
    (tmp_path / "a.csv").write_text(f"f\n{special}\n")
    for name in ("a.jsonl", "a.csv"):
        (batch,) = read_rows(LocalStorage(tmp_path), name, schema)
        assert repr(batch["f"][0].as_py()) == repr(float(special))


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", 'id,price\n"1","x\ny"\n', "line 2: column 'price': 'x\\ny' is no DECIMAL(9, 2)"),
        ("a.csv", 'price,id\n1,2\n"3\n\n",4\n\n5,six\n', "line 3: column 'price'"),
        ("a.csv", "price,id\n1,2\n\n\n5,six\n", "line 5: column 'id': 'six' is no BIGINT"),
        ("a.csv", "id,price\n1,2\n3\n", "line 3: expected 2 cells and found 1: '3'"),
        ("a.csv", "id,cost\n", "the first line names 'cost', and the table has the columns id, price"),
        ("a.csv", "id,id\n1,1\n", "names 'id' twice"),
        ("a.jsonl", '{"id": 1}\n\n{"id": "one"}\n', "line 3: column 'id': 'one' is no BIGINT"),
        ("a.jsonl", '{"id": 1}\n{"id": 1.5}\n', "line 2: column 'id': '1.5' is no BIGINT"),
        ("a.jsonl", '{"id": true}\n', "line 1: column 'id': 'true' is no BIGINT"),
        ("a.jsonl", '{"id": 1}\n[1]\n', "line 2: write one object a line"),
        ("a.jsonl", '{"id": 1}\n{"id": \n', "line 2: no JSON"),
        ("a.jsonl", '{"id": 1, "id": 2}\n', "line 1: no JSON: 'id' is there twice"),
        ("a.jsonl", '{"nr": 1}\n', "line 1: there is no column 'nr'; the table has id, price"),
        ("a.csv.gz", "no", "a.csv.gz: Not a gzipped file"),
    ],
)  # fmt: skip
def test_a_fault_has_file_line_and_column(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as caught:
        list(read_rows(LocalStorage(tmp_path), name, SCHEMA))
    assert told in str(caught.value)
    assert name in str(caught.value)


def test_a_long_file_comes_in_pieces_and_its_last_line_is_found(tmp_path: Path) -> None:
    lines = 400_000
    (tmp_path / "a.csv").write_text("id,price\n" + "\n".join(f"{n},1.00" for n in range(lines)))
    body = (f'{{"id": {n}, "price": "1.00"}}' for n in range(lines))
    (tmp_path / "a.jsonl").write_text("\n".join(body))
    storage = LocalStorage(tmp_path)
    for name, line in (("a.csv", lines + 2), ("a.jsonl", lines + 1)):
        told: list[float] = []
        batches = list(read_rows(storage, name, SCHEMA, taken=told.append))
        assert sum(batch.num_rows for batch in batches) == lines
        assert len(batches) > 1
        assert told == sorted(told)
        assert (0 < told[0] < 1, told[-1]) == (True, 1.0)
        with (tmp_path / name).open("a") as file:
            file.write("\nx,2\n" if name == "a.csv" else '\n{"id": "x"}\n')
        with pytest.raises(DataError, match=f"line {line}: column 'id': 'x' is no BIGINT"):
            list(read_rows(storage, name, SCHEMA))


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"null", 1),
        (b' null}\n{"id": 3}\n', 1),
        (b'{"id": 1}\nnull\n{"id": 2}\n', 2),
        (b'{"id": 1}null\n{"id": 2}\n', 1),
        (b'{"id": 1}{"id": 2}\n', 1),
        (b'{"id": 1}\n\r null\n', 2),
        (b"[{}]\n", 1),
    ],
)
def test_a_line_of_json_that_is_no_object_is_told_and_no_row(
    tmp_path: Path, body: bytes, line: int
) -> None:
    (tmp_path / "f.jsonl").write_bytes(body)
    storage = LocalStorage(tmp_path)
    with pytest.raises(DataError) as caught:
        list(read_rows(storage, "f.jsonl", pa.schema([("id", pa.int64())])))
    assert caught.value.facts["line"] == line
    if not body.startswith(b"{"):
        with pytest.raises(DataError, match="one object a line"):
            guessed_columns(storage, "f.jsonl", "json")


def test_blank_lines_and_blanks_before_an_object_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_bytes(b'{"id": 1}\r\n\r\n\n  {"id": 2}\n \n{"id": 3}')
    (tmp_path / "f.csv").write_bytes(b"id\r1\r2,\r".replace(b",", b""))
    for name, ids in (("f.jsonl", [1, 2, 3]), ("f.csv", [1, 2])):
        batches = read_rows(LocalStorage(tmp_path), name, pa.schema([("id", pa.int64())]))
        assert [id for batch in batches for id in batch["id"].to_pylist()] == ids
