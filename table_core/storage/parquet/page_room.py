"""How much a page of a row group unpacks to, before Arrow unpacks it: a page is unpacked whole.

A footer does not tell pages.  It tells how long all pages of a column are, and only where that is more than one page may be
does it pay to look at the head of each::

    30 rows, a text of 100 MB each, in one page     ->  98 kB in the file, 3 GB in memory before the first row
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.options.budgets import PAGE_BYTES
from table_core.storage.parquet.footer import read_page_head

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

__all__ = ["require_pages_fit"]

_HEAD_BYTES: Final = 1 << 10
_HEAD_BYTES_MAX: Final = 16 << 20
"""As Arrow: a longer head is damaged."""


def require_pages_fit(
    source: Any, metadata: Any, groups: Iterable[int], names: Container[str]
) -> None:
    """Refuse ``groups`` of the open file ``source`` of which a page of the columns ``names`` unpacks to more than the budget.

    Raises:
        pa.ArrowInvalid: one does, or the head of a page is damaged.
    """
    most = PAGE_BYTES.most
    for number in groups:
        group = metadata.row_group(number)
        if group.total_byte_size <= most:
            continue
        for at in range(group.num_columns):
            column = group.column(at)
            if (
                column.total_uncompressed_size > most
                and column.path_in_schema.partition(".")[0] in names
            ):
                _require_pages_fit(source, column, most, number)


def _require_pages_fit(source: Any, column: Any, most: int, group: int) -> None:
    at = column.data_page_offset
    if column.has_dictionary_page:
        at = min(at, column.dictionary_page_offset)
    end = at + column.total_compressed_size
    while at < end:
        head, stored, unpacked = _page_head(source, at, end)
        if unpacked > most:
            told = f"a page of {column.path_in_schema} in row group {group} has {unpacked:,} bytes"
            raise pa.ArrowInvalid(PAGE_BYTES.told(told))
        at += head + stored


def _page_head(source: Any, at: int, end: int) -> tuple[int, int, int]:
    """How long the head at ``at`` is, and its page in the file and in memory."""
    room = _HEAD_BYTES
    while True:
        source.seek(at)
        body = bytes(source.read(min(room, end - at)))
        try:
            return read_page_head(body)
        except pa.ArrowInvalid:
            if room >= min(end - at, _HEAD_BYTES_MAX):
                raise
        room *= 16
