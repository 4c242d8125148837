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

__all__ = ["PageHead", "bytes_at", "page_heads"]

_HEAD_BYTES: Final = 1 << 8
_WINDOW_BYTES: Final = 1 << 12
"""Read at a time, as long as reading more: small pages have their heads in it too."""
_NUMBER_MAX: Final = 1 << 31
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
_USUAL_DICTIONARY: Final = re.compile(
    rb"\x15\x04\x15%b\x15%b(?:\x4c|\x15%b\x3c)\x15%b\x15%b[\x11\x12]?\x00\x00"
    % (_NUMBER, _NUMBER, _UNREAD, _NUMBER, _NUMBER),
    re.DOTALL,
)
"""A dictionary; perhaps it says whether it is sorted."""
_STATISTICS: Final = 0x1C
_STRUCT, _BYTES, _FLAGS = 12, 8, (1, 2)
_NUMBERS: Final = (5, 6)
_KIND, _V1, _DICTIONARY, _V2 = 1, 5, 7, 8
_KINDS: Final = {0: _V1, 2: _DICTIONARY, 3: _V2}
"""Where the rest is told of a page of each kind.  Arrow passes over those of other kinds."""
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
    begin, window = at, b""
    while at < end:
        if at - begin > len(window) - min(_HEAD_BYTES, end - at):
            left = end - at
            window = bytes_at(source, at, min(_WINDOW_BYTES, left), min(_HEAD_BYTES, left))
            begin = at
        body = window[at - begin : at - begin + _HEAD_BYTES]
        head = _usual(body, at) or _unusual(source, body, at, end)
        at = head.at + head.stored
        if at > end:
            raise pa.ArrowInvalid(
                f"damaged head of a page: {head.stored:,} bytes, and {end - head.at:,} are left"
            )
        yield head


def bytes_at(source: Any, at: int, size: int, least: int | None = None) -> bytes:
    """``size`` bytes of the open file ``source``; ``least`` where more would be a request of their own."""
    if isinstance(source, pa.NativeFile):
        return bytes(source.read_at(size, at))
    return bytes(source.some_at(at, size, size if least is None else least))


def _usual(body: bytes, at: int) -> PageHead | None:
    """The head that most pages have; a tenth of the time that any takes."""
    match = _USUAL.match(body)
    if match is None:
        match = _USUAL_DICTIONARY.match(body)
        place = match and match.end()
    else:
        try:
            place = _behind_statistics(body, match.end())
        except IndexError:
            return None
    if match is None or place is None:
        return None
    unpacked, stored, values, encoding = map(_number, match.groups())
    if min(unpacked, stored, values, encoding) < 0:
        return None
    is_dictionary = match.re is _USUAL_DICTIONARY
    return PageHead(at + place, stored, unpacked, values, encoding, is_dictionary)


@lru_cache(1024)
def _number(body: bytes) -> int:
    """A number of 32 bits; -1 if it is negative, or has more."""
    value = 0
    for byte in reversed(body):
        value = value << 7 | byte & 0x7F
    return -1 if value & 1 or value >> 1 >= _NUMBER_MAX else value >> 1


def _behind_statistics(body: bytes, at: int) -> int | None:
    """Where a head ends whose statistics, if any, begin at ``at``; None if something else is there."""
    if body[at] == _STATISTICS:
        at += 1
        while head := body[at]:
            at += 1
            kind = head & 0x0F
            if head == kind:
                return None  # its number stands behind it
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
    # A footer may say that pages begin behind the end of the file, where nothing is.
    room = max(len(body), _HEAD_BYTES)
    while True:
        try:
            length, members = read_page_head(body)
        except pa.ArrowInvalid:
            if room >= min(end - at, _HEAD_BYTES_MAX):
                raise
            room *= 16
            body = bytes_at(source, at, min(room, end - at))
        else:
            return _told(at + length, members)


def _told(at: int, members: dict[int, Any]) -> PageHead:
    try:
        unpacked, stored = int(members[2]), int(members[3])
        kind = _KINDS.get(members[_KIND])
        told = members[kind] if kind is not None else {}
        values = int(told.get(_VALUES, 0))
        encoding = int(told.get(_ENCODING[kind], 0)) if kind is not None else 0
        levels = None
        if kind == _V2:
            levels = int(told.get(_LEVELS, 0)) + int(told.get(_MORE_LEVELS, 0))
        is_packed = told.get(_PACKED, True) if kind == _V2 else True
        if not isinstance(is_packed, bool):
            raise TypeError(f"{is_packed!r} is neither true nor false")
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise pa.ArrowInvalid(f"damaged head of a page: {error!r}") from error
    if min(unpacked, stored, values, levels or 0) < 0:
        raise pa.ArrowInvalid(
            f"damaged head of a page: {stored} bytes, {unpacked} unpacked, {values} values"
        )
    return PageHead(at, stored, unpacked, values, encoding, kind == _DICTIONARY, levels, is_packed)
