"""Heads of the pages of a Parquet file, one after another: what each page unpacks to.

Source: parquet-format ``parquet.thrift`` ``PageHeader``; Thrift's compact protocol.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from table_core.storage.parquet.footer import read_page_head

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PageHead", "page_heads"]

_HEAD_BYTES: Final = 1 << 8
_HEAD_BYTES_MAX: Final = 16 << 20
"""As Arrow: a longer head is damaged."""
_NUMBER: Final = rb"([\x80-\xff]{0,4}[\x00-\x7f])"
_UNREAD: Final = rb"[\x80-\xff]{0,4}[\x00-\x7f]"
_USUAL: Final = re.compile(
    rb"\x15\x00\x15%b\x15%b(?:\x2c|\x15%b\x1c)\x15%b\x15%b\x15%b\x15%b"
    % (_NUMBER, _NUMBER, _UNREAD, _NUMBER, _NUMBER, _UNREAD, _UNREAD),
    re.DOTALL,
)
"""A page of data, up to its statistics: kind, sizes, perhaps a checksum, values, encoding and those of levels."""
_STATISTICS: Final = 0x1C
_STRUCT, _BYTES, _FLAGS = 12, 8, (1, 2)
_NUMBERS: Final = (5, 6)
_KIND, _V1, _DICTIONARY, _V2 = 1, 5, 7, 8
_VALUES, _ENCODING, _LEVELS, _MORE_LEVELS, _PACKED = 1, {_V1: 2, _DICTIONARY: 2, _V2: 4}, 5, 6, 7


class PageHead(NamedTuple):
    """What the head of a page tells."""

    at: int
    """Where the page itself begins in the file."""
    stored: int
    unpacked: int
    values: int = 0
    encoding: int = 0
    is_dictionary: bool = False
    levels: int | None = None
    """Bytes of levels before what is packed, in pages of the second version; else None."""
    is_packed: bool = True


def page_heads(source: Any, at: int, end: int) -> Iterator[PageHead]:
    """Heads of the pages of the open file ``source`` that lie from ``at`` to ``end``.

    Raises:
        pa.ArrowInvalid: one is damaged.
    """
    while at < end:
        body = _bytes_at(source, at, min(_HEAD_BYTES, end - at))
        head = _usual(body, at) or _unusual(source, body, at, end)
        yield head
        at = head.at + head.stored


def _bytes_at(source: Any, at: int, size: int) -> bytes:
    if isinstance(source, pa.NativeFile):
        return bytes(source.read_at(size, at))
    source.seek(at)
    return bytes(source.read(size))


def _usual(body: bytes, at: int) -> PageHead | None:
    """The head that most pages have; a tenth of the time that any takes."""
    match = _USUAL.match(body)
    if match is None:
        return None
    unpacked, stored, values, encoding = match.groups()
    try:
        place = _behind_statistics(body, match.end())
    except IndexError:
        return None
    if place is None or any(number[0] & 1 for number in match.groups()):
        return None  # one is negative
    return PageHead(
        at + place, _number(stored), _number(unpacked), _number(values), _number(encoding)
    )


@lru_cache(1024)
def _number(body: bytes) -> int:
    value = 0
    for byte in reversed(body):
        value = value << 7 | byte & 0x7F
    return value >> 1


def _behind_statistics(body: bytes, at: int) -> int | None:
    """Where a head ends whose statistics, if any, begin at ``at``; None if something else is there."""
    if body[at] == _STATISTICS:
        at += 1
        while head := body[at]:
            at += 1
            kind = head & 0x0F
            if kind == _BYTES and body[at] < 0x80:
                at += 1 + body[at]
            elif kind in _NUMBERS:
                while body[at] >= 0x80:
                    at += 1
                at += 1
            elif kind not in _FLAGS:
                return None
        at += 1
    return at + 2 if body[at] == body[at + 1] == 0 else None


def _unusual(source: Any, body: bytes, at: int, end: int) -> PageHead:
    room = len(body)
    while True:
        try:
            length, members = read_page_head(body)
        except pa.ArrowInvalid:
            if room >= min(end - at, _HEAD_BYTES_MAX):
                raise
            room *= 16
            body = _bytes_at(source, at, min(room, end - at))
        else:
            return _told(at + length, members)


def _told(at: int, members: dict[int, Any]) -> PageHead:
    try:
        unpacked, stored = int(members[2]), int(members[3])
        kind = next((kind for kind in (_V1, _DICTIONARY, _V2) if kind in members), None)
        told = members[kind] if kind is not None else {}
        values = int(told.get(_VALUES, 0))
        encoding = int(told.get(_ENCODING[kind], 0)) if kind is not None else 0
        levels = None
        if kind == _V2:
            levels = int(told.get(_LEVELS, 0)) + int(told.get(_MORE_LEVELS, 0))
        is_packed = bool(told.get(_PACKED, True)) if kind == _V2 else True
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise pa.ArrowInvalid(f"damaged head of a page: {error!r}") from error
    if min(unpacked, stored, values, levels or 0) < 0:
        raise pa.ArrowInvalid(
            f"damaged head of a page: {stored} bytes, {unpacked} unpacked, {values} values"
        )
    return PageHead(at, stored, unpacked, values, encoding, kind == _DICTIONARY, levels, is_packed)
