"""Attack: Parquet of a few hundred bytes, whose footer is honest or lies.  Goal: the worker's memory.

Each is read as rows that somebody left, on a disk and in an object store, and as a data file of a table, in a process
of its own whose memory is measured.
"""

from __future__ import annotations

import io
import os
import resource
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import cramjam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import table_core as tc
from table_core.cli.parquet_folder import tables_of_folder
from table_core.declaration.first import declaration_of
from table_core.errors import TableError
from table_core.options.budgets import take_budgets
from table_core.storage.row_files import read_rows
from table_core.storage.stores.local import LocalStorage
from table_core.storage.stores.remote_file import RemoteInput
from tests.lanes import SEED, sampled
from tests.security.parquet_by_hand import (
    DICTIONARY,
    LENGTHS,
    SHARED,
    Column,
    Page,
    no_deltas,
    parquet,
    parquet_of,
    run,
    varint,
)
from tests.tables import new_catalog, write_rows

MEMORY_MB, CPU_S = 512, 10
MANY = 1_000_000_000


def packed(body: bytes, values: int, **told: object) -> Page:
    return Page(bytes(cramjam.zstd.compress(body)), len(body), values, **told)


def text(width: int) -> bytes:
    return width.to_bytes(4, "little") + b"x" * width


def of_dictionary(entry: bytes, rows: int, **told: object) -> bytes:
    pages = [
        packed(entry, 1, is_dictionary=True),
        packed(b"\1" + run(rows), rows, encoding=DICTIONARY),
    ]
    return parquet(pages, rows=rows, **told)


def of_one_list(rows: int, values: int) -> bytes:
    """The last of ``rows`` has all values but a few."""
    starts, levels = run(rows, 0) + run(MANY, 1), run(rows + MANY, 1)
    body = b"".join(len(part).to_bytes(4, "little") + part for part in (starts, levels))
    pages = [
        packed(bytes(4), 1, is_dictionary=True),
        packed(body + b"\1" + run(rows + MANY), rows + MANY, encoding=DICTIONARY),
    ]
    return parquet(pages, "INT32", rows=rows, values=values, is_list=True)


def of_small_pages() -> bytes:
    """No page is large, and all rows of the file would come at once."""
    return parquet([packed(text(5_000_000) * 10, 10)] * 30, rows=300)


LIES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a page of numbers": (
        lambda: parquet([packed(bytes(80 << 20), 20 << 20)], "INT32", rows=20 << 20),
        "TABLE_CORE_PAGE_BYTES_MAX",
    ),
    "many pages of texts": (of_small_pages, "damaged footer"),
    "a dictionary of numbers": (
        lambda: parquet(
            [
                packed(bytes(40 << 20), 10 << 20, is_dictionary=True),
                packed(b"\1" + run(100), 100, encoding=DICTIONARY),
            ],
            "INT32",
            rows=100,
        ),
        "TABLE_CORE_PAGE_BYTES_MAX",
    ),
    "a long text of a dictionary": (lambda: of_dictionary(text(2_000_000), 500), "500"),
    "an honest footer, and a long text": (
        lambda: of_dictionary(text(2_000_000), 500, unpacked=2_000_100),
        "500",
    ),
    "one list": (lambda: of_one_list(1, 1), "damaged footer"),
    "one list among others": (
        lambda: of_one_list(1000, MANY + 1000),
        "TABLE_CORE_ROW_BYTES_MAX",
    ),
    "more lengths than texts": (
        lambda: parquet([packed(no_deltas(1 << 29), 10, encoding=LENGTHS)], rows=10),
        "536,870,912 lengths",
    ),
    "more shared lengths than texts": (
        lambda: parquet([packed(no_deltas(1 << 29) * 2, 10, encoding=SHARED)], rows=10),
        "536,870,912 lengths",
    ),
    "lengths of many texts": (
        lambda: parquet([packed(no_deltas(1 << 28), 1 << 28, encoding=LENGTHS)], rows=1 << 28),
        "TABLE_CORE_PAGE_BYTES_MAX",
    ),
    "a text that all others share": (
        lambda: parquet(
            [
                packed(
                    # the first shares none, and each other one all
                    varint(1 << 10) + varint(1) + varint(1000) + varint(0)
                    + b"\0\x20" + (1_000_000).to_bytes(4, "little") + bytes(4092)
                    + varint(1 << 10) + varint(1) + varint(1000) + varint(2_000_000)
                    + varint(1_999_999) + b"\x20" + bytes(4) + (1_000_000).to_bytes(4, "little") * 1023
                    + b"x" * 1_000_000,
                    1000,
                    encoding=SHARED,
                )
            ],
            rows=1000,
            unpacked=1_100_000,
        ),
        "1000",
    ),
    "a column with a dot in its name": (
        lambda: parquet_of([Column("a.b", [packed(text(5_000_000) * 10, 10)] * 30)], 300),
        "damaged footer: pages of a.b",
    ),
    "pages without rows": (
        lambda: parquet([packed(b"", 0)] * 1000, "INT32", rows=10),
        "0 rows instead of 10",
    ),
}  # fmt: skip


PADDING = 100 << 10
"""Behind the pages, so that who reads the footer has not read them."""


class RangedStorage(LocalStorage):
    """Files as an object store has them that are too large to be fetched whole."""

    requests = 0

    def open_input(self, path: str, size: int | None = None) -> Any:
        return RemoteInput(Ranged(io.FileIO(Path(self.root) / path)), self, path)


class Ranged:
    """A file that counts what it is asked for."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def read(self, size: int = -1) -> bytes:
        RangedStorage.requests += 1
        return self._file.read(size)


@pytest.mark.parametrize("store", [LocalStorage, RangedStorage])
@pytest.mark.parametrize("lie", sampled(LIES, 5))
def test_a_file_of_few_bytes_takes_little(
    tmp_path: Path, lie: str, store: type[LocalStorage]
) -> None:
    plant, told = LIES[lie]
    body = plant()
    if store is RangedStorage:
        end = len(body) - 8 - int.from_bytes(body[-8:-4], "little")
        body = body[:end] + bytes(PADDING) + body[end:]
    (tmp_path / "f.parquet").write_bytes(body)
    said, cpu, memory = _spent(lambda: _rows(store(tmp_path)))
    assert told in said
    assert cpu < CPU_S
    assert memory < MEMORY_MB


def _rows(storage: LocalStorage) -> int:
    return sum(batch.num_rows for batch in read_rows(storage, "f.parquet", pa.schema([])))


def _spent(read: Callable[[], object]) -> tuple[str, float, float]:
    """What was said in a process of its own, its CPU time in seconds, and its memory in MB."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            os.write(write_end, _said(read).encode()[:4000])
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        said = pipe.read().decode()
    _, status, used = os.wait4(child, 0)
    assert status == 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (
        said,
        used.ru_utime + used.ru_stime,
        (used.ru_maxrss - min(before, used.ru_maxrss)) / 1024,
    )


def _said(read: Callable[[], object]) -> str:
    take_budgets({"TABLE_CORE_PAGE_BYTES_MAX": "64 mb"})
    try:
        return str(read())
    except TableError as error:
        return str(error)


def _count(table: tc.Table, **which: Any) -> int:
    return sum(batch.num_rows for batch in table.read(**which).to_batches())


VERBS: dict[str, Callable[[tc.Table], object]] = {
    "read": _count,
    "read a part": lambda table: _count(table, where="s > 'a' AND id > 5"),
    "changes": lambda table: sum(b.num_rows for b in table.changes(after=0).to_batches()),
    "compact": lambda table: table.compact(),
    "delete": lambda table: table.delete(where="s > 'a' AND id > 5"),
    "update": lambda table: table.update({"s": "'y'"}, where="s = 'x'"),
}
NUMBERS = np.arange(300)


def of_a_key(texts: Page, count: int) -> bytes:
    """A data file of a table with the key ``id``."""
    numbers = packed(NUMBERS.astype("<i8").tobytes(), 300)
    columns = [
        Column("_KEY_id", [numbers], "INT64"),
        Column("_SEQUENCE_NUMBER", [numbers], "INT64"),
        Column("_VALUE_KIND", [packed(bytes(1200), 300)], "INT32"),
        Column("id", [numbers], "INT64"),
        Column("s", [texts] * count),
    ]
    return parquet_of(columns, 300)


@pytest.mark.parametrize("verb", sampled(VERBS, 4))
@pytest.mark.parametrize("key", [(), ("id",)])
def test_a_data_file_of_a_table_takes_as_little(
    tmp_path: Path, key: tuple[str, ...], verb: str
) -> None:
    catalog = new_catalog((tmp_path / "wh").as_uri())
    rows = pa.table({"id": NUMBERS, "s": pa.repeat("x", 300)})
    options = {"bucket": "1" if key else "-1", "write-only": "true"}
    table = catalog.create_table("d.t", rows.schema, primary_key=key, options=options)
    write_rows(table, rows)
    (file,) = (tmp_path / "wh/d.db/t").glob("bucket-0/*.parquet")
    write_rows(table, rows)
    body = of_a_key(packed(text(5_000_000) * 10, 10), 30)
    file.write_bytes(body)
    said, cpu, memory = _spent(lambda: VERBS[verb](catalog.table("d.t")))
    assert "damaged footer: pages of s" in said
    assert cpu < CPU_S
    assert memory < MEMORY_MB


KEYS: dict[str, tuple[Callable[[], bytes], str]] = {
    "a text of a dictionary": (lambda: of_dictionary(text(10_000_000), 500), "no column"),
    "texts that begin alike": (LIES["a text that all others share"][0], "no column"),
    "many pages of texts": LIES["many pages of texts"],
    "many rows": (
        lambda: parquet(
            [
                packed(bytes(4), 1, is_dictionary=True),
                packed(b"\1" + run(MANY), MANY, encoding=DICTIONARY),
            ],
            "INT32",
            rows=MANY,
        ),
        "no column",
    ),
}


@pytest.mark.parametrize("lie", KEYS)
def test_looking_for_a_key_takes_as_little(tmp_path: Path, lie: str) -> None:
    plant, told = KEYS[lie]
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "f.parquet").write_bytes(plant())
    said, cpu, memory = _spent(lambda: _first_declaration(tmp_path))
    assert told in said
    assert cpu < CPU_S
    assert memory < MEMORY_MB


def _first_declaration(folder: Path) -> str:
    tables, told = tables_of_folder(str(folder), "d", keys=True)
    return declaration_of("w", tables, None, told)


TOO_MANY_ROWS = {"a page of numbers", "lengths of many texts"}
"""To write a table of so many takes long."""


@pytest.mark.parametrize("lie", sampled([lie for lie in LIES if lie not in TOO_MANY_ROWS], 5))
def test_a_table_reads_it_within_the_budget(tmp_path: Path, lie: str) -> None:
    plant, told = LIES[lie]
    body = plant()
    footer = pq.read_metadata(io.BytesIO(body))
    (column,) = footer.schema.to_arrow_schema()
    rows = pa.table({column.name: pa.nulls(footer.num_rows, column.type)})
    catalog = new_catalog((tmp_path / "wh").as_uri())
    write_rows(catalog.create_table("d.t", rows.schema, options={"bucket": "-1"}), rows)
    (file,) = (tmp_path / "wh/d.db/t").glob("bucket-0/*.parquet")
    file.write_bytes(body)
    said, cpu, memory = _spent(lambda: _count(catalog.table("d.t")))
    assert told in said
    assert cpu < CPU_S
    assert memory < MEMORY_MB


BOMB = packed(text(5_000_000) * 30, 30)
SMALL = packed(text(1), 1)
ENTRY = packed(text(1), 1, is_dictionary=True)
ONES = packed(b"\1" + run(31), 31, encoding=DICTIONARY)
HIDDEN: dict[str, tuple[Callable[[], bytes], str]] = {
    # Arrow reads a hundred bytes behind the chunks of this writer
    "behind the chunk": (
        lambda: parquet_of([Column("s", [SMALL, SMALL], untold=20)], 2, writer="parquet-mr"),
        "parquet-mr before 1.2.9",
    ),
    # Arrow takes 32 bits of it
    "in a page without an end": (
        lambda: parquet([replace(SMALL, stored=len(SMALL.body) + (1 << 32)), BOMB], rows=31),
        "damaged",
    ),
    "in a page that is longer than the chunk": (
        lambda: parquet([replace(SMALL, stored=1 << 30), BOMB], rows=31),
        "damaged head of a page",
    ),
    # Arrow takes a dictionary to begin where a number of 64 bits says
    "where no dictionary begins": (
        lambda: parquet_of([Column("s", [ENTRY, ONES], begin_kind=5)], 31),
        "no number of 64 bits",
    ),
}


@pytest.mark.parametrize("place", HIDDEN)
def test_no_page_is_hidden_from_who_looks(tmp_path: Path, place: str) -> None:
    plant, told = HIDDEN[place]
    (tmp_path / "f.parquet").write_bytes(plant())
    with pytest.raises(TableError, match=told):
        _rows(LocalStorage(tmp_path))


def test_looking_makes_no_request_more(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).integers(0, 1 << 60, 400_000)
    rows = pa.table({"i": numbers, "s": numbers.astype(str), "l": [[1, 2], []] * 200_000})
    pq.write_table(rows, tmp_path / "f.parquet", row_group_size=150_000)
    storage, schema = RangedStorage(tmp_path), rows.schema

    def requests(read: Callable[[], Iterator[pa.RecordBatch]]) -> int:
        RangedStorage.requests = 0
        assert pa.Table.from_batches(read(), schema) == rows
        return RangedStorage.requests

    plain = requests(lambda: pq.ParquetFile(storage.open_input("f.parquet")).iter_batches())
    assert requests(lambda: read_rows(storage, "f.parquet", schema)) <= plain


def test_batches_become_smaller_where_a_store_has_long_texts(tmp_path: Path) -> None:
    rows = pa.table({"i": range(3000), "s": ["x"] * 1500 + ["y" * 200_000] * 1500})
    pq.write_table(rows, tmp_path / "f.parquet", row_group_size=1500)
    numbers, sizes = [], []
    for batch in read_rows(RangedStorage(tmp_path), "f.parquet", rows.schema):
        numbers += batch["i"].to_pylist()
        sizes.append(batch.num_rows)
    assert numbers == list(range(3000))
    assert max(sizes[-5:]) <= (64 << 20) // 200_000


def test_no_damage_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    """Arrow ends it where the sizes that a footer tells are damaged: one bit in two hundred."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"k": [1, 2, 3], "s": ["a", "bb", None], "l": [[1], [2, 3], []]}), sink)
    file = tmp_path / "f.parquet"

    def read(body: bytes) -> None:
        file.write_bytes(body)
        for _ in read_rows(LocalStorage(tmp_path), file.name, pa.schema([])):
            pass

    assert _status_of_damages(sink.getvalue(), read) == 0


@pytest.mark.parametrize("key", [(), ("id",)])
def test_nor_does_damage_of_a_data_file(tmp_path: Path, key: tuple[str, ...]) -> None:
    catalog = new_catalog((tmp_path / "wh").as_uri())
    schema = pa.schema([("id", pa.int64()), ("s", pa.string()), ("l", pa.list_(pa.int32()))])
    rows = pa.table([[1, 2, 3], ["a", "bb", None], [[1], [2, 3], []]], schema=schema)
    options = {"bucket": "1" if key else "-1", "write-only": "true"}
    table = catalog.create_table("d.t", schema, primary_key=key, options=options)
    write_rows(table, rows)
    (file,) = (tmp_path / "wh/d.db/t").glob("bucket-0/*.parquet")

    def read(body: bytes) -> None:
        file.write_bytes(body)
        _count(table, where="s > 'a' AND id > 1")

    assert _status_of_damages(file.read_bytes(), read) == 0


def test_texts_that_are_stored_as_bytes_are_found(tmp_path: Path) -> None:
    """Also what a damaged footer may say of them."""
    catalog = new_catalog((tmp_path / "wh").as_uri())
    rows = pa.table({"id": [1, 2], "s": ["a", "b"]})
    table = catalog.create_table("d.t", rows.schema, options={"bucket": "-1"})
    write_rows(table, rows)
    (file,) = (tmp_path / "wh/d.db/t").glob("bucket-0/*.parquet")
    pq.write_table(pq.read_table(file).set_column(1, "s", pa.array([b"a", b"b"])), file)
    assert table.read(where="s > 'a'").to_arrow()["s"].to_pylist() == ["b"]


def _status_of_damages(body: bytes, read: Callable[[bytes], None]) -> int:
    """How a process ends that reads ``body`` again and again, each time with another bit of its footer damaged."""
    begin = len(body) - 8 - int.from_bytes(body[-8:-4], "little")
    child = os.fork()
    if child == 0:
        try:
            for bit in range(8 * begin + SEED % 13, 8 * (len(body) - 8), 13):
                damaged = bytearray(body)
                damaged[bit // 8] ^= 1 << bit % 8
                with suppress(TableError):
                    read(bytes(damaged))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


TEXTS = [None if i % 7 == 0 else f"a text {i % 4000:08d}" * (1 + i % 30) for i in range(30_000)]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", None])
@pytest.mark.parametrize("codec", sampled(["zstd", "snappy", "gzip", "brotli", "lz4", "none"], 3))
def test_an_honest_file_is_read(
    tmp_path: Path, codec: str, encoding: str | None, version: str
) -> None:
    rows = pa.table({"s": TEXTS, "l": [[text] * (i % 3) for i, text in enumerate(TEXTS)]})
    sink = io.BytesIO()
    pq.write_table(
        rows,
        sink,
        compression=codec,
        data_page_version=version,
        use_dictionary=encoding is None,
        column_encoding=encoding and {"s": encoding, "l.list.element": encoding},
    )
    (tmp_path / "f.parquet").write_bytes(sink.getvalue())
    read = pa.Table.from_batches(read_rows(LocalStorage(tmp_path), "f.parquet", rows.schema))
    assert read.equals(rows)
