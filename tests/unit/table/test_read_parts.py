"""A scan that is read as a whole is read in parts, beside one another: every row once, in order."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import table_core as tc
from table_core.datatypes.kinds import STRING, Atomic, Field, Root
from table_core.errors import CorruptFileError
from table_core.storage.columns.data_format import Part, Wanted, WriterSettings
from table_core.storage.formats import format_for
from table_core.storage.stores.memory import MemoryStorage
from table_core.table.read import scan as whole
from table_core.table.read import split_reader
from tests.tables import new_catalog, write_rows

ROWS = 6_000
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("s", pa.string())])
FIELDS = (Field(0, "k", Atomic(Root.BIGINT)), Field(1, "s", STRING))


def rows(first: int = 0) -> pa.Table:
    keys = range(first, first + ROWS)
    return pa.table([keys, [f"text {key}" for key in keys]], schema=SCHEMA)


@pytest.fixture
def append(tmp_path) -> tc.Table:
    """Two files in one bucket, of many row groups."""
    return made(tmp_path, (), {"bucket": "-1", "file.block-size": "8 kb"})


def made(folder, key, options) -> tc.Table:
    catalog = new_catalog(folder.as_uri())
    catalog.create_table("d.t", SCHEMA, primary_key=key, options=options)
    for first in (0, ROWS):
        write_rows(catalog.table("d.t"), rows(first))
    return catalog.table("d.t")


def parts_of(scan) -> list[list[int]]:
    """The keys of each part of the only split."""
    (split,) = scan.splits()
    tables = [list(part(True)) for part in scan.reader.parts(split)]
    return [[key for table in part for key in table["k"].to_pylist()] for part in tables]


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("fields", [FIELDS, FIELDS[:1], ()], ids=["all", "fixed", "none"])
def test_parts_of_a_file_give_every_row_once_and_in_order(name, count, fields):
    storage = MemoryStorage()
    settings = WriterSettings(block_size=8_000)
    writer = format_for(name).open_writer(storage, "f", FIELDS, settings)
    for at in range(0, ROWS, 500):
        writer.write(rows().slice(at, 500))
    writer.close()
    found = [
        list(
            format_for(name).read(
                storage, "f", ROWS, fields, batch_rows=999, wanted=Wanted(part=Part(number, count))
            )
        )
        for number in range(count)
    ]
    assert sum(batch.num_rows for part in found for batch in part) == ROWS
    if name != "avro" and fields:
        assert sum(map(bool, found)) >= min(count, 2), "the file is cut"
    if fields:
        keys = [key for part in found for batch in part for key in batch["k"].to_pylist()]
        assert keys == list(range(ROWS))


@pytest.mark.parametrize("size", ["rows", "bytes"])
def test_large_files_are_read_in_parts(append, monkeypatch, size):
    assert [len(part) for part in parts_of(append.read())] == [ROWS, ROWS]
    least = (
        1_000
        if size == "rows"
        else max(file.file_size for file in append.read().splits()[0].files) // 6 + 1
    )
    monkeypatch.setattr(split_reader, f"_PART_{size.upper()}", least)
    parts = parts_of(append.read())
    assert len(parts) == 12
    assert [key for part in parts for key in part] == list(range(2 * ROWS))
    assert max(map(len, parts)) < ROWS // 2
    whole = append.read().to_arrow()
    assert whole == pa.concat_tables([rows(), rows(ROWS)])
    assert whole == pa.Table.from_batches(append.read().to_batches())
    assert append.read(limit=3).to_arrow() == rows().slice(0, 3)


def test_after_an_error_no_other_part_is_begun(append, monkeypatch):
    monkeypatch.setattr(split_reader, "_PART_ROWS", 100)
    monkeypatch.setattr(split_reader, "CORES", 2)
    failed, begun = threading.Event(), []

    class Pool(ThreadPoolExecutor):
        def __exit__(self, *error):
            failed.set()
            return super().__exit__(*error)

    def part(self, split, file, part, beside):
        begun.append(part)
        if threading.current_thread() is threading.main_thread():
            raise CorruptFileError("damaged", path="f", problems=["damaged"])
        assert failed.wait(60)
        return iter(())

    monkeypatch.setattr(whole, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(split_reader.SplitReader, "_part", part)
    with pytest.raises(CorruptFileError, match="damaged"):
        append.read().to_arrow()
    assert len(begun) <= 2, "one a thread"


def test_a_condition_is_looked_at_once_a_file(append, monkeypatch):
    monkeypatch.setattr(split_reader, "_PART_ROWS", 1_000)
    scan = append.read(where=f"k >= {ROWS - 2} AND k < {ROWS + 2}")
    assert parts_of(scan) == [[ROWS - 2, ROWS - 1], [ROWS, ROWS + 1]]
    assert scan.to_arrow()["k"].to_pylist() == list(range(ROWS - 2, ROWS + 2))


def test_files_with_deleted_rows_are_not_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(split_reader, "_PART_ROWS", 1_000)
    options = {"bucket": "-1", "file.block-size": "8 kb", "deletion-vectors.enabled": "true"}
    table = made(tmp_path, (), options)
    assert len(parts_of(table.read())) == 12
    table.delete("k % 1000 = 999")
    left = [key for key in range(2 * ROWS) if key % 1000 != 999]
    assert parts_of(table.read()) == [left]
    assert table.read().to_arrow()["k"].to_pylist() == left


def test_files_that_must_be_merged_are_one_part(tmp_path, monkeypatch):
    monkeypatch.setattr(split_reader, "_PART_ROWS", 1_000)
    options = {"bucket": "1", "write-only": "true", "file.block-size": "8 kb"}
    table = made(tmp_path, ("k",), options)
    write_rows(table, rows(ROWS // 2))
    assert parts_of(table.read()) == [list(range(2 * ROWS))]
    table.compact(strategy="full")
    parts = parts_of(tc.open_table(table.uri).read())
    assert len(parts) == 12
    assert [key for part in parts for key in part] == list(range(2 * ROWS))


def test_where_options_forgive_damage_a_file_has_no_rows_behind_it(append, monkeypatch):
    monkeypatch.setattr(split_reader, "_PART_ROWS", 1_000)
    (split,) = append.read().splits()
    path = next(append.access.storage.walk("bucket-0")).path
    body = bytearray(append.access.storage.read(path))
    body[len(body) // 2] ^= 0xFF
    append.access.storage.delete([path])
    append.access.storage.write(path, bytes(body))
    with pytest.raises(CorruptFileError):
        append.read().to_arrow()
    forgiving = tc.open_table(append.uri, options={"scan.ignore-corrupt-files": "true"}).read()
    assert len(parts_of(forgiving)) == len(split.files)
    kept = forgiving.to_arrow()["k"].to_pylist()
    assert kept == sorted(kept)
    assert kept == pa.Table.from_batches(forgiving.to_batches())["k"].to_pylist()
    assert ROWS < len(kept) + 1 < 2 * ROWS


def batches_of(columns, fields, **options):
    storage = MemoryStorage()
    writer = format_for("parquet").open_writer(storage, "f", fields, WriterSettings())
    writer.write(pa.table(columns, names=[field.name for field in fields]))
    writer.close()
    return list(format_for("parquet").read(storage, "f", None, fields, **options))


def test_batches_of_a_known_width_are_as_large_as_memory_allows():
    keys = pa.array(range(100_000))
    found = batches_of([keys, keys], (FIELDS[0], Field(1, "n", Atomic(Root.BIGINT))),
                       batch_rows=1 << 20, batch_bytes=1 << 18)  # fmt: skip
    assert max(batch.nbytes for batch in found) <= 1 << 18
    assert len(found) == 1 + (100_000 * 16 >> 18)
    assert len(batches_of([keys], FIELDS[:1], batch_rows=1 << 20, batch_bytes=1 << 25)) == 1


def test_texts_may_be_longer_than_their_dictionary_tells():
    texts = pa.array(["x" * 1000, "y" * 1000]).take(pa.array([0, 1] * 20_000))
    found = batches_of([texts], FIELDS[1:], batch_rows=1 << 20, batch_bytes=1 << 20)
    assert 1 << 9 < found[0].num_rows < 1 << 11, "the footer tells how long they are in all"
    assert max(batch.nbytes for batch in found[1:]) <= 1 << 20


def test_a_read_in_parts_keeps_within_its_memory(append):
    small = tc.open_table(append.uri, options={"read.memory-limit": "256 kb"})
    for columns in (["k"], ["k", "s"]):
        scan = small.read(columns=columns)
        (split,) = scan.splits()
        tables = [table for part in scan.reader.parts(split) for table in part(False)]
        assert max(table.nbytes for table in tables) <= 256 << 8, "a quarter: four are read at once"


def test_only_what_is_read_as_a_whole_comes_in_large_batches(tmp_path):
    catalog = new_catalog(tmp_path.as_uri())
    catalog.create_table("d.t", SCHEMA.remove(1), options={"bucket": "-1"})
    write_rows(catalog.table("d.t"), pa.table([range(200_000)], schema=SCHEMA.remove(1)))
    scan = catalog.table("d.t").read()
    assert scan.to_arrow()["k"].num_chunks == 1
    assert [batch.num_rows for batch in scan.to_batches()] == [65_536] * 3 + [3_392]
