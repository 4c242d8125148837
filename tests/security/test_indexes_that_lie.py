"""Attack: whoever may write index files and deletion vectors.  Goal: a reader's memory and time.

A run of six bytes stands for 65,536 numbers, and an index or a list of vectors may name the same bytes many times.
"""

from __future__ import annotations

import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from table_core.datatypes.text import parse_type
from table_core.errors import CorruptFileError
from table_core.ondisk.deletion_vector import DeletionRange, decode_index_file, encode_index_file
from table_core.ondisk.value_index import decode_bit_slices, decode_bitmap_index
from table_core.options.budgets import take_budgets

ALL = struct.pack("<HHH", 1, 0, 65_535)


def runs(containers: int) -> bytes:
    """The bitmap of all numbers below ``containers`` * 65,536."""
    head = struct.pack("<I", 12347 | containers - 1 << 16) + b"\xff" * ((containers + 7) // 8)
    pairs = b"".join(struct.pack("<HH", number, 65_535) for number in range(containers))
    return head + pairs + bytes(4 * containers) + ALL * containers


@contextmanager
def bounded() -> Iterator[None]:
    """Ten seconds of work and 512 MB."""
    tracemalloc.start()
    began = time.process_time()
    try:
        yield
        spent, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert spent < 10
    assert peak < 512 << 20


def slices(containers: int) -> bytes:
    bitmap = runs(containers)
    head = struct.pack(">bi?bqq", 1, containers << 16, True, 1, 0, 2**62)
    return head + bitmap + struct.pack(">i", 64) + bitmap * 64 + b"\0"


def one_text_in_many_blocks(blocks: int) -> bytes:
    """Version 2 of a bitmap index: every block is the one entry of a long text."""
    text = b"x" * 1_000_000
    heads = (struct.pack(">i", 1) + b"a" + struct.pack(">i", 0)) * blocks
    entry = struct.pack(">ii", 1, len(text)) + text + bytes(8)
    return struct.pack(">bii?i", 2, blocks, blocks, False, blocks) + heads + bytes(4) + entry


INDEXES: dict[str, Callable[[], Any]] = {
    "slices of 4 million rows each": lambda: decode_bit_slices(slices(64), parse_type("BIGINT")),
    "slices of 33 million rows": lambda: decode_bit_slices(slices(512), parse_type("BIGINT")),
    "a text in many blocks": lambda: decode_bitmap_index(
        one_text_in_many_blocks(50_000), parse_type("STRING")
    ),
}


@pytest.mark.parametrize("kind", INDEXES)
def test_an_index_that_takes_more_than_it_saves_is_no_help(kind: str) -> None:
    """Who asks it reads the file: ``scan.by_index``."""
    with bounded():
        try:
            held = INDEXES[kind]()
        except ValueError:
            held = None
    assert held is None


def vectors(number: int, *, bitmap64: bool) -> tuple[bytes, list[DeletionRange]]:
    """An index file whose one vector is that of many data files."""
    magic = (1681511377).to_bytes(4, "little") if bitmap64 else (1581511376).to_bytes(4, "big")
    body = magic + (struct.pack("<qI", 1, 0) if bitmap64 else b"") + runs(512)
    block = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    length = len(block) if bitmap64 else len(body)
    return b"\1" + block, [DeletionRange(f"{n}", 1, length) for n in range(number)]


@pytest.mark.parametrize("bitmap64", [False, True])
def test_deletion_vectors_of_one_file_are_bounded_together(bitmap64: bool) -> None:
    body, ranges = vectors(30, bitmap64=bitmap64)
    with bounded():
        (one,) = decode_index_file(body, ranges[:1], path="index-1").values()
        assert len(one) == one[-1] + 1 == 1 << 25
        del one
        with pytest.raises(CorruptFileError, match="TABLE_CORE_DELETED_ROWS_MAX") as caught:
            decode_index_file(body, ranges, path="index-1")
    assert "index-1" in str(caught.value)


def test_how_many_rows_deletion_vectors_delete_is_an_option() -> None:
    positions = {"a": np.arange(50), "b": np.arange(50) * 3 + (1 << 33)}
    body, ranges = encode_index_file(positions, bitmap64=True)
    found = decode_index_file(body, ranges, path="index-1")
    assert {name: rows.tolist() for name, rows in found.items()} == {
        name: rows.tolist() for name, rows in positions.items()
    }
    take_budgets({"TABLE_CORE_DELETED_ROWS_MAX": "99"})
    try:
        with pytest.raises(CorruptFileError, match="more than 99"):
            decode_index_file(body, ranges, path="index-1")
    finally:
        take_budgets({})
