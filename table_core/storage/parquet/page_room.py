"""What the pages of a row group become, before Arrow unpacks them: their heads tell it, and a footer may not.

A page is unpacked whole, and a text of a dictionary is written out for each row that has it::

    30 rows, a text of 100 MB each, in one page          ->  98 kB in the file, 3 GB in memory before the first row
    2,000 rows that all have one text of 10 MB           ->  468 bytes in the file, 20 GB as one batch
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.options.budgets import PAGE_BYTES, ROW_BYTES
from table_core.storage.parquet.page_heads import page_heads
from table_core.storage.parquet.text_lengths import longest_text, require_lengths_fit

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from table_core.storage.parquet.footer import ChunkStats
    from table_core.storage.parquet.page_heads import PageHead

__all__ = ["require_pages_fit"]

_CODECS: Final = {1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4_raw", 6: "zstd", 7: "lz4_raw"}
_TEXT: Final = "BYTE_ARRAY"
_TEXT_BYTES: Final = 16
"""Arrow keeps a pointer and a length of each text of a dictionary."""
_WIDTHS: Final = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_LENGTHS: Final = frozenset({6, 7})
"""DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY."""
_SHARED: Final = 7
"""DELTA_BYTE_ARRAY: each text may repeat all those before."""
_TEXTS_BYTES: Final = 64 << 20
"""Of a batch, of which several are held: one grows, one is converted, one is read."""
_SHORT: Final = 1 << 10
"""Batches of texts of a dictionary of so many bytes are small enough, whatever their number."""
_UNDERSTATED: Final = 64 << 20
_DENSE: Final = 1000
"""Values of lists that take so many times what they have in the file are not taken for honest ones."""


def require_pages_fit(
    source: Any,
    metadata: Any,
    groups: Iterable[int],
    names: Container[str],
    chunks: Callable[[], list[list[ChunkStats]]],
    *,
    is_foreign: bool,
) -> int | None:
    """How many rows of ``groups`` of the open file ``source`` may be in a batch at most, for the texts of dictionaries.

    ``names``: columns to read; ``chunks``: what the footer says of them.  Of a file that ``is_foreign``, and whose
    bytes take no round trip, all pages are looked at; else those of columns of which the footer tells that they are
    too large.  Arrow is not asked for chunks: it ends the process where they are damaged.

    Raises:
        pa.ArrowInvalid: a page unpacks to more than the budget, the footer tells of far less than there is, or the
            head of a page is damaged.
    """
    most, longest = PAGE_BYTES.most, 0
    looks = is_foreign and isinstance(source, pa.OSFile | pa.BufferReader)
    for number in groups:
        group = metadata.row_group(number)
        if not looks and group.total_byte_size <= most:
            continue
        texts = 0
        leaves = map(metadata.schema.column, range(metadata.num_columns))
        for leaf, chunk in zip(leaves, chunks()[number], strict=False):
            wanted = leaf.path.partition(".")[0] in names  # as Arrow: a chunk may say another name
            if wanted and (looks or chunk.stored_bytes > most):
                texts += _Chunk(source, chunk, leaf, number, group.num_rows).look(most)
        longest = max(longest, texts)
    return max(1, _TEXTS_BYTES // longest) if longest else None


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A leaf column of a row group."""

    source: Any
    told: ChunkStats
    leaf: Any
    group: int
    rows: int

    def look(self, most: int) -> int:
        """How long the texts of a row may be that stand for many in a dictionary; 0 if there are none to speak of."""
        chunk = self.told
        is_text = self.leaf.physical_type == _TEXT
        width = _TEXT_BYTES if is_text else _WIDTHS.get(self.leaf.physical_type, 1)
        unpacked = values = longest = 0
        for head in page_heads(self.source, chunk.begin, chunk.begin + chunk.packed_bytes):
            unpacked += head.unpacked
            size = head.unpacked
            if head.is_dictionary:
                size += head.values * width
            else:
                values += head.values
            if size > most:
                told = f"a page of {self._name} has {size:,} bytes"
                raise pa.ArrowInvalid(PAGE_BYTES.told(told))
            if is_text:
                longest = max(longest, self._longest(head, most))
        self._require_told(unpacked, values)
        if self.leaf.max_repetition_level:
            self._require_lists_fit(values, width)
            longest *= -(-values // max(self.rows, 1))
        return longest

    @property
    def _name(self) -> str:
        return f"{self.leaf.path} in row group {self.group}"

    def _longest(self, head: PageHead, most: int) -> int:
        if head.is_dictionary:
            if head.unpacked - 4 * head.values <= _SHORT:
                return 0
            return longest_text(self._stored(head), head, self.told.codec)
        if head.encoding not in _LENGTHS:
            return 0
        leaf = self.leaf
        levels = (leaf.max_repetition_level > 0) + (leaf.max_definition_level > 0)
        try:
            require_lengths_fit(self._page(head), head, levels, is_shared=head.encoding == _SHARED)
        except (IndexError, ValueError) as error:
            raise pa.ArrowInvalid(f"damaged page of {self._name}: {error}") from error
        if head.unpacked + 4 * head.values > most:
            told = f"a page of {self._name} has {head.values:,} texts"
            raise pa.ArrowInvalid(PAGE_BYTES.told(told))
        return head.unpacked if head.encoding == _SHARED else 0

    def _stored(self, head: PageHead) -> bytes:
        """It as it is stored; without the levels of the second version."""
        skipped = head.levels or 0
        self.source.seek(head.at + skipped)
        return bytes(self.source.read(max(head.stored - skipped, 0)))

    def _page(self, head: PageHead) -> bytes:
        body = self._stored(head)
        name = _CODECS.get(self.told.codec)
        if name is None or not head.is_packed or not body:
            return body
        unpacked = pa.Codec(name).decompress(body, max(head.unpacked - (head.levels or 0), 0))
        return bytes(unpacked)

    def _require_told(self, unpacked: int, values: int) -> None:
        """Whoever reads goes by what the footer tells."""
        told = self.told.stored_bytes
        if unpacked > max(told, _UNDERSTATED):
            raise pa.ArrowInvalid(
                f"damaged footer: pages of {self._name} have {unpacked:,} bytes, and it tells of {told:,}"
            )
        if values > self.told.values:
            raise pa.ArrowInvalid(
                f"damaged footer: pages of {self._name} have {values:,} values, and it tells of {self.told.values:,}"
            )

    def _require_lists_fit(self, values: int, width: int) -> None:
        """Any row may have nearly all values."""
        size = values * width
        if size > max(ROW_BYTES.most, _DENSE * self.told.packed_bytes):
            told = f"a row of {self._name} may take {size:,} bytes"
            raise pa.ArrowInvalid(ROW_BYTES.told(told))
