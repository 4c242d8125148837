"""Attack: Parquet of a few hundred bytes, whose footer is honest or lies.  Goal: the worker's memory.

Each is read as rows that somebody left, in a process of its own whose memory is measured.
"""

from __future__ import annotations

import io
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import cramjam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_core.errors import TableError
from table_core.options.budgets import take_budgets
from table_core.storage.row_files import read_rows
from table_core.storage.stores.local import LocalStorage
from tests.lanes import SEED, sampled
from tests.security.parquet_by_hand import (
    DICTIONARY,
    LENGTHS,
    SHARED,
    Page,
    no_deltas,
    parquet,
    run,
    varint,
)

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
    "pages without rows": (
        lambda: parquet([packed(b"", 0)] * 1000, "INT32", rows=10),
        "0 rows instead of 10",
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", sampled(LIES, 3))
def test_a_file_of_few_bytes_takes_little(tmp_path: Path, lie: str) -> None:
    plant, told = LIES[lie]
    (tmp_path / "f.parquet").write_bytes(plant())
    said, cpu, memory = _spent(tmp_path)
    assert told in said
    assert cpu < CPU_S
    assert memory < MEMORY_MB


def _spent(folder: Path) -> tuple[str, float, float]:
    """What was said in a process of its own, its CPU time in seconds, and its memory in MB."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            os.write(write_end, _said(folder).encode()[:4000])
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


def _said(folder: Path) -> str:
    take_budgets({"TABLE_CORE_PAGE_BYTES_MAX": "64 mb"})
    try:
        batches = read_rows(LocalStorage(folder), "f.parquet", pa.schema([]))
        return str(sum(batch.num_rows for batch in batches))
    except TableError as error:
        return str(error)


def test_no_damage_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    """Arrow ends it where the sizes that a footer tells are damaged: one bit in two hundred."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"k": [1, 2, 3], "s": ["a", "bb", None], "l": [[1], [2, 3], []]}), sink)
    body = sink.getvalue()
    begin = len(body) - 8 - int.from_bytes(body[-8:-4], "little")
    for bit in range(8 * begin + SEED % 13, 8 * (len(body) - 8), 13):
        damaged = bytearray(body)
        damaged[bit // 8] ^= 1 << bit % 8
        (tmp_path / f"{bit}.parquet").write_bytes(damaged)
    child = os.fork()
    if child == 0:
        for file in sorted(tmp_path.glob("*.parquet")):
            with suppress(TableError):
                for _ in read_rows(LocalStorage(tmp_path), file.name, pa.schema([])):
                    pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


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
