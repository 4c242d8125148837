"""Footers as nearly all writers lay them out: a match takes a tenth of the time that members one by one take.

What does not match is read by ``footer.py`` member by member, so a pattern decides nothing but the time.
Source: parquet-format ``parquet.thrift``; Thrift's compact protocol, where the head of a member is its number,
counted from the one before it, and its kind.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

__all__ = ["chunk_pattern", "element_pattern", "sizes_pattern"]

_INT: Final = rb"[\x80-\xff]{0,9}+[\x00-\x7f]"
_TEXT_LENGTHS: Final = range(64)


@cache
def element_pattern() -> re.Pattern[bytes]:
    """An element of the schema."""
    return re.compile(_struct(4), re.DOTALL)


@cache
def sizes_pattern() -> re.Pattern[bytes]:
    """The members of a row group behind its chunks."""
    return re.compile(rb"(?:%b%b)*+\x00" % (_any_of(4, 5, 6), _INT))


@cache
def chunk_pattern() -> re.Pattern[bytes]:
    """A column chunk.

    Groups: type, encodings, path, codec, values, bytes, packed bytes, where data begins, where the dictionary
    does, NULLs, maximum, minimum, bytes of texts.
    """
    number, text = rb"(%b)" % _INT, _text()
    stats = rb"(?:\x18%b\x18%b\x16|\x36)%b(?:\x28(%b)\x18(%b))?%b\x00" % (
        text, text, number, text, text, _any_of(1, 2) + rb"*+")  # fmt: skip
    pages = _list(12, rb"\x15%b\x15%b\x15%b\x00" % (_INT, _INT, _INT), 4)
    counts = _list(6, _INT, 9)
    sizes = rb"(?:\x16%b)?(?:[\x19\x29]%b)?(?:[\x19\x29\x39]%b)?\x00" % (number, counts, counts)
    meta = b"".join([
        rb"\x15%b\x19(%b)\x19(%b)" % (number, _list(5, _INT, 6), _path()),
        rb"\x15%b\x16%b\x16%b\x16%b\x26%b(?:\x26%b)?" % ((number,) * 6),
        rb"(?:[\x1c\x3c]%b)?(?:[\x19\x29\x49]%b)?(?:\x16%b)?(?:\x15%b)?" % (stats, pages, _INT, _INT),
        rb"(?:[\x1c\x2c\x3c]%b)?\x00" % sizes,
    ])  # fmt: skip
    return re.compile(rb"\x26%b\x1c%b(?:%b%b)*+\x00" % (_INT, meta, _any_of(5, 6), _INT), re.DOTALL)


def _any_of(*kinds: int) -> bytes:
    """The head of a member of one of ``kinds`` whose number is up to 15 above that of the one before it."""
    return b"[%b]" % b"".join(
        rb"\x%02x" % (step << 4 | kind) for kind in kinds for step in range(1, 16)
    )


def _text() -> bytes:
    """A text of few bytes; it stands behind their number."""
    return b"(?>%b)" % b"|".join(rb"\x%02x.{%d}" % (n, n) for n in _TEXT_LENGTHS)


def _list(kind: int, item: bytes, most: int) -> bytes:
    """Up to so many items; the head of a list is their number and their kind."""
    lists = (rb"\x%02x" % (n << 4 | kind) + item * n for n in range(most + 1))
    return b"(?>%b)" % b"|".join(lists)


def _path() -> bytes:
    """Names of a column and its members, outermost first."""
    text = _text()
    deeper = b"|".join(rb"\x%02x(?:%b){%d}" % (n << 4 | 8, text, n) for n in (3, 2, 4))
    return rb"(?>\x18%b|%b)" % (text, deeper)


def _struct(depth: int) -> bytes:
    """Members of which the deepest are so many structs further down."""
    members = [_any_of(1, 2), _any_of(5, 6) + _INT, _any_of(3) + b"."]
    if depth == 4:
        members.append(_any_of(8) + _text())
    if depth:
        members.append(_any_of(12) + _struct(depth - 1))
    return rb"(?>%b)*+\x00" % b"|".join(members)
