"""Rows come in from files as somebody left them, in the order of their names."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_core.errors import ArgumentError, DataError
from table_core.storage.row_files import list_files, read_rows, split_glob
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
    (tmp_path / "a.csv").touch()
    with pytest.raises(ArgumentError, match=r"a\.csv: expected \.parquet, \.jsonl"):
        list(read_rows(LocalStorage(tmp_path), "a.csv", SCHEMA))
