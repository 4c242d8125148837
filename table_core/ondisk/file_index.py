"""The container of file indexes: which column has which index, and where in the container.

Big endian: magic, version, length of the head, columns, each with its indexes by type, offset and
length; then the bodies (``bloom_filter``, ``value_index``).

Source: ``org.apache.paimon.fileindex.FileIndexFormat``; format 5.4.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["StoredIndex", "decode_file_index", "encode_file_index"]

_MAGIC: Final = 1493475289347502
_VERSION: Final = 1
_EMPTY: Final = -1


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """One index of one column."""

    column: str
    index_type: str
    start: int
    length: int

    @property
    def is_empty(self) -> bool:
        """Whether it has no body, because no row has a value."""
        return self.start == _EMPTY


def encode_file_index(indexes: Mapping[str, Mapping[str, bytes]]) -> bytes:
    """The container of ``indexes``: column to type of index to body."""
    names = [
        (_name(column), [(_name(t), body) for t, body in of.items()])
        for column, of in indexes.items()
    ]
    size = sum(len(c) + 4 + sum(len(t) + 8 for t, _ in of) for c, of in names)
    head = struct.pack(">qiii", _MAGIC, _VERSION, at := 24 + size, len(names))
    for column, of in names:
        head += column + struct.pack(">i", len(of))
        for index_type, body in of:
            head += index_type + struct.pack(">ii", at, len(body))
            at += len(body)
    bodies = [body for _, of in names for _, body in of]
    return b"".join([head, struct.pack(">i", 0), *bodies])


def _name(text: str) -> bytes:
    body = text.encode("utf-8", errors="surrogatepass")
    return struct.pack(">H", len(body)) + body


def decode_file_index(body: bytes, *, path: str) -> list[StoredIndex]:
    """The indexes in the container ``body``, in order.

    Raises:
        CorruptFileError: it is no such container.
        UnsupportedFeatureError: a version other than 1.
    """
    try:
        return _decode(body, path)
    except (struct.error, UnicodeDecodeError) as error:
        raise _corrupt(path, f"the head is cut short: {error}") from error


def _decode(body: bytes, path: str) -> list[StoredIndex]:
    magic, version, _ = struct.unpack_from(">qii", body)
    if magic != _MAGIC:
        raise _corrupt(path, f"expected magic {_MAGIC}, got {magic}")
    if version != _VERSION:
        raise UnsupportedFeatureError(
            f"{path}: file index version {version} is not {_VERSION}",
            feature=f"file index version {version}",
        )
    (columns,) = struct.unpack_from(">i", body, 16)
    at, entries = 20, []
    for _ in range(columns):
        column, at = _text(body, at)
        (indexes,) = struct.unpack_from(">i", body, at)
        at += 4
        for _ in range(indexes):
            index_type, at = _text(body, at)
            start, length = struct.unpack_from(">ii", body, at)
            at += 8
            if start != _EMPTY and not 0 <= start <= start + length <= len(body):
                raise _corrupt(path, f"{column}: no bytes {start} to {start + length}")
            entries.append(StoredIndex(column, index_type, start, length))
    return entries


def _text(body: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">H", body, at)
    text = body[at + 2 : at + 2 + length]
    if len(text) < length:
        raise struct.error("a name is longer than the container")
    # Java's modified UTF-8 differs for NUL and beyond the BMP only.
    return text.decode("utf-8", errors="surrogatepass"), at + 2 + length


def _corrupt(path: str, what: str) -> CorruptFileError:
    return CorruptFileError(f"{path}: {what}", path=path, problems=[what])
