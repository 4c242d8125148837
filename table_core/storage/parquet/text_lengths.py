"""How long the texts of a page are that has far fewer bytes: of dictionaries and of deltas.

Source: parquet-format ``Encodings.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from table_core.ondisk.varint import read_varint, varint

if TYPE_CHECKING:
    from table_core.storage.parquet.page_heads import PageHead

__all__ = ["fits_in_batch", "longest_text", "require_lengths_fit", "rows_of_texts"]

_MAGIC: Final = b"PAR1"
_TEXTS_BYTES: Final = 64 << 20
"""Of a batch, of which several are held: one grows, one is converted, one is read."""


def rows_of_texts(longest: int) -> int | None:
    """How many rows with texts of dictionaries so long may be in a batch; None: as many as there are."""
    return max(1, _TEXTS_BYTES // longest) if longest else None


def fits_in_batch(longest: int, count: int) -> bool:
    """Whether ``count`` texts may all be in one batch, none of which is longer than ``longest``."""
    return longest * count <= _TEXTS_BYTES


def longest_text(page: bytes, head: PageHead, codec: int) -> int:
    """How long the longest text of a ``page`` is, as it is stored, that is a dictionary.

    Arrow counts in a tenth of the time that Python would take: it is given the page as a file of one column.

    Raises:
        pa.ArrowInvalid: it is damaged.
    """
    file = pq.ParquetFile(pa.BufferReader(_as_file(page, head, codec)), pre_buffer=False)
    texts = file.read(use_threads=False).column(0)
    longest: int | None = pc.max(pc.binary_length(texts)).as_py()
    return longest or 0


def require_lengths_fit(page: bytes, head: PageHead, levels: int, *, is_shared: bool) -> None:
    """Refuse a ``page`` that tells of more lengths than it has texts: room is made for as many as it tells of.

    ``levels``: how many kinds of them stand before the lengths; ``is_shared``: whether each text begins as the
    one before, so that there are two lengths of each.

    Raises:
        ValueError: it does.
        IndexError: it ends early.
    """
    at = 0
    if head.levels is None:
        for _ in range(levels):
            at += 4 + int.from_bytes(page[at : at + 4], "little")
    if head.values == 0:
        return
    at = _behind_lengths(page, at, head.values) if is_shared else at
    _count_of_lengths(page, at, head.values)


def _count_of_lengths(page: bytes, at: int, most: int) -> tuple[int, int, int, int]:
    """Values of a block, its parts, all values, and where the first one stands."""
    block, at = read_varint(page, at)
    parts, at = read_varint(page, at)
    count, at = read_varint(page, at)
    if count > most:
        raise ValueError(f"{count:,} lengths of {most:,} texts")
    return block, parts, count, at


def _behind_lengths(page: bytes, at: int, most: int) -> int:
    """Where the numbers end that begin at ``at``, as DELTA_BINARY_PACKED."""
    block, parts, count, at = _count_of_lengths(page, at, most)
    _, at = read_varint(page, at)
    part, left = block // parts if parts else 0, count - 1
    if part <= 0:
        raise ValueError(f"blocks of {block} numbers in {parts} parts")
    while left > 0:
        _, at = read_varint(page, at)
        widths = page[at : at + parts]
        if len(widths) < parts:
            raise IndexError("a block that ends early")
        used = min(parts, -(-left // part))
        at += parts + sum(widths[:used]) * part // 8
        left -= part * used
    return at


def _as_file(page: bytes, head: PageHead, codec: int) -> bytes:
    """A Parquet file of one column of bytes whose only page is ``page``."""
    count, unpacked, stored = map(_number, (head.values, head.unpacked, len(page)))
    start = b"\x15\x00\x15%b\x15%b\x2c\x15%b\x15\x00\x15\x06\x15\x06\x00\x00" % (
        unpacked,
        stored,
        count,
    )
    whole = _number(len(start) + len(page))
    chunk = b"\x15\x0c\x19\x15\x00\x19\x18\x01s\x15%b\x16%b\x16%b\x16%b\x26\x08\x00" % (
        _number(codec),
        count,
        whole,
        whole,
    )
    group = b"\x19\x1c\x26\x08\x1c%b\x00\x16%b\x16%b\x00" % (chunk, whole, count)
    schema = b"\x48\x01r\x15\x02\x00\x15\x0c\x25\x00\x18\x01s\x00"
    footer = b"\x15\x02\x19\x2c%b\x16%b\x19\x1c%b\x00" % (schema, count, group)
    return b"".join([_MAGIC, start, page, footer, len(footer).to_bytes(4, "little"), _MAGIC])


def _number(value: int) -> bytes:
    return varint(value << 1)
