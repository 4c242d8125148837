"""Column chunks as the footer of a Parquet file describes them.

Read here and not through Arrow, which ends the process when statistics are damaged.
Source: parquet-format ``parquet.thrift``; Thrift's compact protocol.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ChunkStats", "read_chunk_stats", "read_page_head"]

_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 64 << 10
"""So much is read at first, as by Arrow."""
_ROW_GROUPS, _COLUMNS, _META = 4, 1, 3
_TYPE, _ENCODINGS, _PATH, _CODEC, _VALUES, _BYTES, _PACKED = 1, 2, 3, 4, 5, 6, 7
_DATA_AT, _DICTIONARY_AT, _STATS, _SIZES = 9, 11, 12, 16
_TEXT_BYTES: Final = 1
_NULL_COUNT, _MAX, _MIN = 3, 5, 6
_TRUE, _FALSE = 1, 2
_FLAGS: Final = frozenset({_TRUE, _FALSE})
_DAMAGES: Final = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class ChunkStats:
    """Statistics of one column in one row group; None is unknown."""

    column: str
    """The top-level column that this is, or is a member of."""
    stored_bytes: int
    """How long it is before compression."""
    text_bytes: int | None
    """How long its texts are, as often as they occur."""
    encodings: frozenset[int]
    """Of ``parquet.thrift`` ``Encoding``, in all its pages."""
    physical_type: int
    """``parquet.thrift`` ``Type``: 0 BOOLEAN, 1 INT32, 2 INT64, 3 INT96, 4 FLOAT, 5 DOUBLE ..."""
    codec: int
    """``parquet.thrift`` ``CompressionCodec``."""
    values: int
    begin: int
    """Where its pages begin in the file, and how many bytes of it they have."""
    packed_bytes: int
    min: bytes | None
    max: bytes | None
    null_count: int | None


def read_chunk_stats(source: Any) -> list[list[ChunkStats]]:
    """Statistics by row group and leaf column, of the open file ``source`` or of Arrow's metadata.

    The bounds of files before Parquet 2.4 (``min`` and ``max``, in an order that nobody agreed on)
    are not told.

    Raises:
        pa.ArrowInvalid: the footer is damaged.
    """
    if hasattr(source, "write_metadata_file"):
        sink = pa.BufferOutputStream()
        source.write_metadata_file(sink)  # a file that is a footer and nothing else
        source = pa.BufferReader(sink.getvalue())
    body = _footer(source)
    try:
        groups = _Compact(body).struct()[_ROW_GROUPS]
        return [[_chunk(chunk[_META]) for chunk in group[_COLUMNS]] for group in groups]
    except _DAMAGES as error:
        raise pa.ArrowInvalid(f"damaged footer: {error!r}") from error


def read_page_head(body: bytes) -> tuple[int, dict[int, Any]]:
    """Of the page whose bytes begin ``body``: how long its head is, and its members by number.

    Raises:
        pa.ArrowInvalid: that is no head, or the end of it is missing.
    """
    reader = _Compact(body)
    try:
        members = reader.struct()
    except _DAMAGES as error:
        raise pa.ArrowInvalid(f"damaged head of a page: {error!r}") from error
    return reader.at, members


def _footer(source: Any) -> bytes:
    """The last bytes of a file, as many as the four before its magic number say."""
    size = source.seek(0, io.SEEK_END)
    source.seek(max(0, size - _TAIL_BYTES))
    tail = bytes(source.read(_TAIL_BYTES))
    length = int.from_bytes(tail[-8:-4], "little")
    if tail[-4:] != _MAGIC or length + 8 > size:
        raise pa.ArrowInvalid("damaged footer: it does not say where it begins")
    if length + 8 > len(tail):
        source.seek(size - 8 - length)
        tail = bytes(source.read(length + 8))
    return tail[len(tail) - 8 - length : -8]


def _begin(data_at: int, dictionary_at: int) -> int:
    """As Arrow: some writers say that a dictionary that there is not begins at 0."""
    return dictionary_at if 0 < dictionary_at < data_at else data_at


def _chunk(meta: dict[int, Any]) -> ChunkStats:
    stats, sizes = meta.get(_STATS, {}), meta.get(_SIZES, {})
    low, high, nulls = stats.get(_MIN), stats.get(_MAX), stats.get(_NULL_COUNT)
    if not isinstance(low, bytes) or not isinstance(high, bytes):
        low = high = None
    texts = sizes.get(_TEXT_BYTES)
    return ChunkStats(
        column=meta[_PATH][0].decode(),
        stored_bytes=int(meta[_BYTES]),
        text_bytes=texts if isinstance(texts, int) else None,
        encodings=frozenset(meta[_ENCODINGS]),
        physical_type=int(meta[_TYPE]),
        codec=int(meta[_CODEC]),
        values=int(meta[_VALUES]),
        begin=_begin(int(meta[_DATA_AT]), int(meta.get(_DICTIONARY_AT, 0))),
        packed_bytes=int(meta[_PACKED]),
        min=low,
        max=high,
        null_count=nulls if isinstance(nulls, int) else None,
    )


_VARINT_BITS: Final = 63


class _Compact:
    """A reader of the compact protocol."""

    def __init__(self, body: bytes) -> None:
        self._body, self.at = body, 0
        self._readers: dict[int, Callable[[], Any]] = {
            3: self._byte,
            4: self._int,
            5: self._int,
            6: self._int,
            7: self._double,
            8: self._binary,
            9: self._list,
            10: self._list,
            11: self._map,
            12: self.struct,
        }

    def struct(self) -> dict[int, Any]:
        """Members by number."""
        body, readers = self._body, self._readers
        members: dict[int, Any] = {}
        number = 0
        while head := body[self.at]:
            self.at += 1
            step, kind = head >> 4, head & 0x0F
            number = number + step if step else self._int()
            members[number] = kind == _TRUE if kind in _FLAGS else readers[kind]()
        self.at += 1
        return members

    def _byte(self) -> int:
        value = self._body[self.at]
        self.at += 1
        return value

    def _varint(self) -> int:
        byte = self._body[self.at]
        self.at += 1
        value, shift = byte & 0x7F, 7
        while byte >= 0x80:
            if shift > _VARINT_BITS:
                raise ValueError("a number without an end")
            byte = self._body[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
        return value

    def _int(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _take(self, count: int) -> bytes:
        if count > len(self._body) - self.at:
            raise ValueError("a value that ends behind the footer")
        self.at += count
        return self._body[self.at - count : self.at]

    def _double(self) -> bytes:
        return self._take(8)

    def _binary(self) -> bytes:
        return self._take(self._varint())

    def _list(self) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()
        if count > len(self._body):
            raise ValueError("a list longer than the footer")
        kind = head & 0x0F
        read = self._byte if kind in _FLAGS else self._readers[kind]
        return [read() for _ in range(count)]

    def _map(self) -> list[tuple[Any, Any]]:
        count = self._varint()
        if count == 0:
            return []
        if count > len(self._body):
            raise ValueError("a map longer than the footer")
        kinds = self._byte()
        key, value = self._readers[kinds >> 4], self._readers[kinds & 0x0F]
        return [(key(), value()) for _ in range(count)]
