"""What the pages of a row group become, before Arrow unpacks them: their heads tell it, and a footer may not.

A page is unpacked whole, and a text of a dictionary is written out for each row that has it::

    30 rows, a text of 100 MB each, in one page          ->  98 kB in the file, 3 GB in memory before the first row
    2,000 rows that all have one text of 10 MB           ->  468 bytes in the file, 20 GB as one batch
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.options.budgets import PAGE_BYTES, ROW_BYTES
from table_core.storage.parquet.page_heads import bytes_at, page_heads
from table_core.storage.parquet.row_room import chunk_of
from table_core.storage.parquet.text_lengths import (
    fits_in_batch,
    longest_text,
    require_lengths_fit,
    rows_of_texts,
)
from table_core.storage.parquet.watched import WatchedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from table_core.storage.parquet.footer import ChunkStats
    from table_core.storage.parquet.page_heads import PageHead
    from table_core.storage.parquet.row_room import Leaf

__all__ = ["require_pages_fit"]

_CODECS: Final = {1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4_raw", 6: "zstd", 7: "lz4_raw"}
_RATIOS: Final = {0: 1, 1: 64, 2: 1032, 5: 255, 6: 1 << 15, 7: 255}
"""Bytes that one packed byte stands for at most: of zstd a block of 128 kB takes four."""
_DECODED: Final = 2
"""A dictionary is held as it is unpacked and as it is decoded, at most as long."""
_VERSION: Final = re.compile(r"parquet-mr version (\d{1,4})\.(\d{1,4})\.(\d{1,4})")
_SIZES_SINCE: Final = (1, 2, 9)
_TEXT: Final = "BYTE_ARRAY"
_TEXT_BYTES: Final = 16
"""Arrow keeps a pointer and a length of each text of a dictionary."""
_WIDTHS: Final = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_LENGTHS: Final = frozenset({6, 7})
"""DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY."""
_SHARED: Final = 7
"""DELTA_BYTE_ARRAY: each text may repeat all those before."""
_SHORT: Final = 1 << 10
"""Batches of texts of a dictionary of so many bytes are small enough, whatever their number."""
_UNDERSTATED: Final = 64 << 20
_DENSE: Final = 1000
"""Values of lists that take so many times what they have in the file are not taken for honest ones."""


def require_pages_fit(
    source: Any,
    metadata: Any,
    groups: Iterable[int],
    leaves: Iterable[Leaf],
    chunks: Callable[[], list[list[ChunkStats]]],
) -> int | None:
    """How many rows of ``groups`` of the open file ``source`` may be in a batch at most, for the texts of dictionaries.

    ``leaves``: columns to read; ``chunks``: what the footer says of them.  Arrow is not asked for them: it ends the
    process where they are damaged.  Of a ``WatchedFile`` pages are looked at as they come, and it tells the rows.

    Raises:
        pa.ArrowInvalid: a page unpacks to more than the budget, the footer tells of far less than there is, or the
            head of a page is damaged.
    """
    _require_known_sizes(metadata.created_by)
    most, longest, groups = PAGE_BYTES.most, 0, list(groups)
    for number in groups:
        rows = metadata.row_group(number).num_rows
        for leaf in leaves:
            told = chunk_of(leaf, chunks()[number])
            if _is_small(leaf, told, most):
                continue
            texts = _texts(leaf, groups, chunks()) if leaf.physical_type == _TEXT else 0
            chunk = _Chunk(told, leaf, number, rows, most, texts)
            if isinstance(source, WatchedFile):
                source.watch(chunk)
                continue
            for _ in chunk.pages(source):
                pass
            longest = max(longest, chunk.longest)
    return rows_of_texts(longest)


def _require_known_sizes(writer: str) -> None:
    """Behind a chunk of these writers Arrow reads a hundred bytes more, in which a page may be that no size tells of."""
    if "parquet-mr" not in (writer or "").lower():
        return
    version = _VERSION.match(writer)
    if version is None or tuple(map(int, version.groups())) < _SIZES_SINCE:
        raise pa.ArrowInvalid(
            f"written by {writer[:80]!r}: sizes of parquet-mr before 1.2.9 are wrong. Write it again with a later one"
        )


def _is_small(leaf: Leaf, told: ChunkStats, most: int) -> bool:
    """Whether no page of a chunk of numbers can become more than ``most``, whatever their heads tell.

    Rows bound what numbers take in a batch, however many there are: so one page after another is all.
    """
    ratio = _RATIOS.get(told.codec)
    return (
        ratio is not None
        and _DECODED * told.packed_bytes * ratio <= most
        and leaf.physical_type != _TEXT
        and not leaf.repetition_level
    )


def _texts(leaf: Leaf, groups: Iterable[int], chunks: Sequence[Sequence[ChunkStats]]) -> int:
    """How many texts of ``leaf`` there are: more than a batch has."""
    return sum(chunk_of(leaf, chunks[number]).values for number in groups)


class _Chunk:
    """A leaf column of a row group, whose pages are looked at one after another."""

    def __init__(
        self, told: ChunkStats, leaf: Leaf, group: int, rows: int, most: int, texts: int
    ) -> None:
        self._told, self._leaf, self._group, self._rows, self._most = told, leaf, group, rows, most
        self._texts = texts
        self.begin, self.end = told.begin, told.begin + told.packed_bytes
        self.longest = 0
        """How long the texts of a row may be that stand for many in a dictionary; 0 if there are none to speak of."""

    def pages(self, source: Any) -> Iterator[int]:
        """Look at one page of ``source`` after another; where each ends.

        Raises:
            pa.ArrowInvalid: as ``require_pages_fit``.
        """
        most = self._most
        is_text = self._leaf.physical_type == _TEXT
        is_list = self._leaf.repetition_level > 0
        width = _TEXT_BYTES if is_text else _WIDTHS.get(self._leaf.physical_type, 1)
        unpacked = values = longest = 0
        for head in page_heads(source, self.begin, self.end):
            unpacked += head.unpacked
            size = head.unpacked
            if head.is_dictionary:
                size += head.values * width
            else:
                values += head.values
            if size > most:
                told = f"a page of {self._name} has {size:,} bytes"
                raise pa.ArrowInvalid(PAGE_BYTES.told(told))
            self._require_told(unpacked, values)
            if is_list:
                self._require_lists_fit(values, width)
            if is_text:
                longest = max(longest, self._longest(source, head))
                of_row = longest * (-(-values // max(self._rows, 1)) if is_list else 1)
                self.longest = 0 if self._is_foreseen(of_row, unpacked) else of_row
            yield head.at + head.stored

    def _is_foreseen(self, of_row: int, unpacked: int) -> bool:
        """Whether the footer tells of all that rows of so many bytes can become: batches are made for that anyway.

        A row group with one row of 9 MB is one; other row groups need no smaller batches because of it.
        """
        return max(self._rows * of_row, unpacked) <= self._told.stored_bytes

    @property
    def _name(self) -> str:
        return f"{self._leaf.path} in row group {self._group}"

    def _longest(self, source: Any, head: PageHead) -> int:
        if head.is_dictionary:
            # behind its length of four bytes; no text is longer than all of them
            bound = head.unpacked - 4 * head.values
            if bound <= _SHORT or fits_in_batch(bound, self._texts):
                return 0
            return longest_text(_stored(source, head), head, self._told.codec)
        if head.encoding not in _LENGTHS:
            return 0
        leaf = self._leaf
        levels = (leaf.repetition_level > 0) + (leaf.definition_level > 0)
        try:
            require_lengths_fit(
                self._page(source, head), head, levels, is_shared=head.encoding == _SHARED
            )
        except (IndexError, ValueError) as error:
            raise pa.ArrowInvalid(f"damaged page of {self._name}: {error}") from error
        if head.unpacked + 4 * head.values > self._most:
            told = f"a page of {self._name} has {head.values:,} texts"
            raise pa.ArrowInvalid(PAGE_BYTES.told(told))
        return head.unpacked if head.encoding == _SHARED else 0

    def _page(self, source: Any, head: PageHead) -> bytes:
        body = _stored(source, head)
        name = _CODECS.get(self._told.codec)
        if name is None or not head.is_packed or not body:
            return body
        unpacked = pa.Codec(name).decompress(body, max(head.unpacked - (head.levels or 0), 0))
        return bytes(unpacked)

    def _require_told(self, unpacked: int, values: int) -> None:
        """Whoever reads goes by what the footer tells."""
        told = self._told.stored_bytes
        if unpacked > max(told, _UNDERSTATED):
            raise pa.ArrowInvalid(
                f"damaged footer: pages of {self._name} have {unpacked:,} bytes, and it tells of {told:,}"
            )
        if values > self._told.values:
            raise pa.ArrowInvalid(
                f"damaged footer: pages of {self._name} have {values:,} values, and it tells of {self._told.values:,}"
            )

    def _require_lists_fit(self, values: int, width: int) -> None:
        """Any row may have nearly all values."""
        size = values * width
        if size > max(ROW_BYTES.most, _DENSE * self._told.packed_bytes):
            told = f"a row of {self._name} may take {size:,} bytes"
            raise pa.ArrowInvalid(ROW_BYTES.told(told))


def _stored(source: Any, head: PageHead) -> bytes:
    """A page as it is stored; without the levels of the second version."""
    skipped = head.levels or 0
    return bytes_at(source, head.at + skipped, max(head.stored - skipped, 0))
