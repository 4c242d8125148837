"""Column chunks as the footer of a Parquet file describes them.

Read here and not through Arrow, which ends the process when statistics are damaged.
Source: parquet-format ``parquet.thrift``; Thrift's compact protocol.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from table_core.storage.parquet.footer_patterns import (
    chunk_pattern,
    element_pattern,
    sizes_pattern,
)

if TYPE_CHECKING:
    import re
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


class ChunkStats(NamedTuple):
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
        usual = _usual_groups(body)
        if usual is not None:
            return usual
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


_HEAD_OF_NUMBER, _HEAD_OF_LIST, _HEAD_OF_ROWS = 0x15, 0x19, 0x16
_STRUCTS: Final = 0x0C


def _usual_groups(body: bytes) -> list[list[ChunkStats]] | None:
    """Chunks by row group of a footer whose members come as nearly all writers write them; None: of another."""
    reader = _Compact(body)
    if not reader.skips_number(_HEAD_OF_NUMBER):
        return None
    elements = reader.structs()
    if elements is None or not all(reader.match(element_pattern()) for _ in range(elements)):
        return None
    if not reader.skips_number(_HEAD_OF_ROWS):
        return None
    groups: list[list[ChunkStats]] = []
    for _ in range(count := reader.structs() or 0):
        matches = [reader.match(chunk_pattern()) for _ in range(reader.structs() or 0)]
        if not all(matches) or not reader.match(sizes_pattern()):
            return None
        groups.append([_matched(match) for match in matches if match])
    return groups if count and _ROW_GROUPS not in reader.struct(_ROW_GROUPS) else None


def _matched(match: re.Match[bytes]) -> ChunkStats:
    kind, encodings, path, codec, values, size, packed, data_at, dictionary_at, *stats = (
        match.groups()
    )
    nulls, high, low, texts = stats
    return ChunkStats(
        column=_column(path),
        stored_bytes=_number(size),
        text_bytes=None if texts is None else _number(texts),
        encodings=_encodings(encodings),
        physical_type=_number(kind),
        codec=_number(codec),
        values=_number(values),
        begin=_begin(_number(data_at), 0 if dictionary_at is None else _number(dictionary_at)),
        packed_bytes=_number(packed),
        min=None if low is None else low[1:],
        max=None if high is None else high[1:],
        null_count=None if nulls is None else _number(nulls),
    )


@lru_cache(4096)
def _number(body: bytes) -> int:
    value = 0
    for byte in reversed(body):
        value = value << 7 | byte & 0x7F
    return (value >> 1) ^ -(value & 1)


@lru_cache(256)
def _encodings(body: bytes) -> frozenset[int]:
    """The numbers of a list that begins with its length."""
    numbers, begin = [], 1
    for at, byte in enumerate(body[1:], start=2):
        if byte < 0x80:
            numbers.append(_number(body[begin:at]))
            begin = at
    return frozenset(numbers)


@lru_cache(4096)
def _column(path: bytes) -> str:
    """The first of the texts of a list that begins with its length."""
    return path[2 : 2 + path[1]].decode()


def _long(value: object) -> int:
    if isinstance(value, _Short) or not isinstance(value, int):
        raise TypeError(f"{value!r} is no number of 64 bits")
    return value


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
        begin=_begin(_long(meta[_DATA_AT]), _long(meta.get(_DICTIONARY_AT, 0))),
        packed_bytes=int(meta[_PACKED]),
        min=low,
        max=high,
        null_count=nulls if isinstance(nulls, int) else None,
    )


_VARINT_BITS: Final = 63
_NUMBER_MAX: Final = 1 << 15
_SHORT_MAX: Final = 1 << 31
_ORDER: Final = b"\x1c\x00\x00"
"""How the values of a column are ordered, which footers tell of each: by its type."""


class _Short(int):
    """A number of 32 bits.  Arrow passes over it where it expects one of 64."""


class _Compact:
    """A reader of the compact protocol."""

    def __init__(self, body: bytes) -> None:
        self._body, self.at = body, 0
        self._readers: dict[int, Callable[[], Any]] = {
            3: self._byte,
            4: self._int,
            5: self._short,
            6: self._int,
            7: self._double,
            8: self._binary,
            9: self._list,
            10: self._list,
            11: self._map,
            12: self.struct,
        }

    def struct(self, number: int = 0) -> dict[int, Any]:
        """Members by number, the first of which is counted from ``number``.

        Raises:
            ValueError: a member comes twice, of which Arrow would take the one of the kind that it expects.
        """
        body, readers = self._body, self._readers
        members: dict[int, Any] = {}
        while head := body[self.at]:
            self.at += 1
            step, kind = head >> 4, head & 0x0F
            number = number + step if step else self._int()
            if number in members or number >= _NUMBER_MAX:
                raise ValueError(f"member {number} comes twice")
            members[number] = kind == _TRUE if kind in _FLAGS else readers[kind]()
        self.at += 1
        return members

    def match(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """What ``pattern`` matches here, and go behind it."""
        match = pattern.match(self._body, self.at)
        if match is not None:
            self.at = match.end()
        return match

    def skips_number(self, head: int) -> bool:
        """Go behind a number, if its ``head`` is here."""
        if self._byte() != head:
            return False
        self._varint()
        return True

    def structs(self) -> int | None:
        """Go behind the head of a list that is the next member, and tell how many structs it has; None: another is here."""
        if self._byte() != _HEAD_OF_LIST:
            return None
        head = self._byte()
        if head & 0x0F != _STRUCTS:
            return None
        count = head >> 4 if head >> 4 < 15 else self._varint()
        return count if count < len(self._body) else None

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

    def _short(self) -> int:
        value = self._int()
        if not -_SHORT_MAX <= value < _SHORT_MAX:
            raise ValueError(f"a number of 32 bits is {value}")
        return _Short(value)

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
        if kind == _STRUCTS and self._body.startswith(_ORDER * count, self.at):
            self.at += len(_ORDER) * count
            return [{1: {}}] * count
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
