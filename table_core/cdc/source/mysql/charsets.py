"""Text as MariaDB reads it from bytes, in each of its character sets.

Python's codecs of the same names differ: latin1 of MariaDB has no hole at 0x81, and big5 has other signs.
``charsets.json`` was made by the server (``tests/cdc/make_charsets.py``).  Bytes without a letter are '?',
as the server shows them.  The sets are codecs of Python here, named ``mariadb-latin1`` and so on.
"""

from __future__ import annotations

import codecs
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


__all__ = ["charset_of", "codec_of_charset"]

_PREFIX: Final = "mariadb_"
_UNICODE: Final = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "gb18030": "gb18030",
}
_BINARY: Final = "binary"
_UCA_FIRST: Final = 2048
_UCA_SETS: Final = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")
_OF_MYSQL: Final = {**dict.fromkeys(range(255, 324), "utf8mb4"), 76: "utf8mb3"} | dict.fromkeys(
    (248, 249, 250), "gb18030"
)
_UNKNOWN: Final = "?"
_TRIPLE: Final = 0x8F
"""Begins a character of three bytes, in the sets that have such."""


@cache
def _document() -> Mapping[str, Any]:
    text = files(__package__).joinpath("charsets.json").read_text(encoding="utf-8")
    document: Mapping[str, Any] = json.loads(text)
    return document


@cache
def charset_of(collation: int) -> str | None:
    """The Python codec of a collation's character set; None for bytes.

    Raises:
        LookupError: no server that is known here has such a collation.
    """
    name = _document()["collations"].get(str(collation), _OF_MYSQL.get(collation))
    if name is None and collation >= _UCA_FIRST:
        number = (collation - _UCA_FIRST) >> 8
        name = _UCA_SETS[number] if number < len(_UCA_SETS) else None
    if name is None:
        raise LookupError(f"the character set of collation {collation} is not known")
    return codec_of_charset(name)


def codec_of_charset(name: str) -> str | None:
    """The Python codec of a character set; None for bytes.

    Raises:
        LookupError: it is not known.
    """
    if name == _BINARY:
        return None
    if name in _UNICODE:
        return _UNICODE[name]
    if name in _document()["single"] or name in _document()["wide"]:
        return f"{_PREFIX}{name}".replace("_", "-")
    raise LookupError(f"the character set {name!r} is not known")


def _found(name: str) -> codecs.CodecInfo | None:
    if not name.startswith(_PREFIX):
        return None
    charset = name.removeprefix(_PREFIX)
    document = _document()
    if charset in document["single"]:
        letters = document["single"][charset]
        return _info(name, lambda body: codecs.charmap_decode(body, "strict", letters)[0])
    if charset in document["wide"]:
        wide = document["wide"][charset]
        return _info(name, _wide(wide["codec"], wide["differs"]))
    return None


def _info(name: str, decode: Callable[[bytes], str]) -> codecs.CodecInfo:
    def decoded(body: Any, _: str = "strict", /) -> tuple[str, int]:
        read = bytes(body)
        return decode(read), len(read)

    def encoded(_: str, __: str = "strict") -> tuple[bytes, int]:
        raise UnicodeError(f"{name} is for reading")

    return codecs.CodecInfo(encoded, decoded, name=name)


def _wide(codec: str, differs: Mapping[str, str]) -> Callable[[bytes], str]:
    """Reads characters of one, two or three bytes; what none begins with is '?'."""

    @cache
    def letter(body: bytes) -> str:
        known = differs.get(body.hex())
        if known is not None:
            return known
        try:
            text = body.decode(codec)
        except UnicodeDecodeError:
            return ""
        return text if len(text) == 1 else ""

    def decode(body: bytes) -> str:
        if body.isascii() and not ascii_differs:
            return body.decode("ascii")
        at, letters = 0, []
        while at < len(body):
            size = 1
            for longer in (3, 2) if body[at] == _TRIPLE else (2,):
                if body[at] >= 0x80 and (text := letter(body[at : at + longer])):
                    size = longer
                    break
            else:
                text = letter(body[at : at + 1])
            letters.append(text or _UNKNOWN)
            at += size
        return "".join(letters)

    ascii_differs = any(letter(bytes([n])) != chr(n) for n in range(128))
    return decode


def _question_mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _UNKNOWN, error.start + 1


codecs.register(_found)
codecs.register_error("mariadb", _question_mark)
