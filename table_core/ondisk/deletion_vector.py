"""Deletion vectors: which rows of a data file, by position, are gone.

An index file is a version byte and then one block for each data file::

    v1   size (int32 BE)  magic (int32 BE)  32-bit bitmap  CRC32 (int32 BE)
    v2   size (int32 BE)  magic (int32 LE)  64-bit bitmap  CRC32 (int32 BE)

``size`` counts magic and bitmap, the checksum covers them.  The index manifest records where a
block begins and, as its length, ``size`` in v1 but the whole block in v2 (format T48).  The magic
tells the two apart, whatever the options say.

The file of one data file with rows 1 and 5 deleted, v1; its range is offset 1, length 24::

    01                                                        version
    00000018  5e43f2d0  3a300000 01000000 0000 0100 10000000 0100 0500  8c77fe55
    24 bytes  magic     one container, of key 0 with 2 values, at byte 16: 1 and 5    checksum

Source: ``org.apache.paimon.deletionvectors.DeletionVectorsIndexFile``; format 7.7.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.errors import CorruptFileError, UnsupportedFeatureError
from table_core.ondisk.roaring import (
    TooManyNumbersError,
    decode32,
    decode64,
    encode32,
    encode64,
)
from table_core.options.budgets import DELETED_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Positions = np.ndarray[Any, np.dtype[np.int64]]

__all__ = [
    "DeletionRange",
    "decode_deletion_vector",
    "decode_index_file",
    "encode_deletion_vector",
    "encode_index_file",
    "range_bytes",
]

_VERSION: Final = 1
_MAGIC32: Final = (1581511376).to_bytes(4, "big")
_MAGIC64: Final = (1681511377).to_bytes(4, "little")
_FRAME: Final = 8
"""Bytes of a block beside what ``size`` counts: ``size`` itself and the checksum."""
_POSITIONS_32: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class DeletionRange:
    """Where the vector of one data file lies in its index file."""

    file_name: str
    offset: int
    length: int
    cardinality: int | None = None
    """Deleted rows; None in files of old writers."""


def encode_deletion_vector(positions: Positions, *, bitmap64: bool = False) -> bytes:
    """One block.

    Shape: row positions, ascending, each once; below 2^31 unless ``bitmap64``.

    Raises:
        UnsupportedFeatureError: a position that needs ``deletion-vectors.bitmap64``.
    """
    if not bitmap64 and len(positions) and int(positions[-1]) >= _POSITIONS_32:
        raise UnsupportedFeatureError(
            f"row position {positions[-1]} needs deletion-vectors.bitmap64",
            feature="deletion vector beyond 2^31 rows",
        )
    body = _MAGIC64 + encode64(positions) if bitmap64 else _MAGIC32 + encode32(positions)
    return struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def decode_deletion_vector(block: bytes, *, path: str, most: int | None = None) -> Positions:
    """The deleted positions of one block, which may be followed by others.

    ``most``: how many there may be; None: as many as of all that are held at once.

    Shape: ascending ``int64``.

    Raises:
        CorruptFileError: no block, a damaged one, or one with too many positions.
        UnsupportedFeatureError: a whole block of a kind that this release does not know.
    """
    try:
        return _decode_block(memoryview(block), path, DELETED_ROWS.most if most is None else most)
    except TooManyNumbersError as error:
        what = DELETED_ROWS.told("deletion vectors of too many rows")
        raise CorruptFileError(f"{path}: {what}", path=path, problems=[what]) from error
    except (ValueError, struct.error) as error:
        what = f"damaged deletion vector: {error}"
        raise CorruptFileError(f"{path}: {what}", path=path, problems=[what]) from error


def _decode_block(block: memoryview, path: str, most: int) -> Positions:
    (size,) = struct.unpack_from(">i", block)
    if not 4 <= size <= len(block) - _FRAME:
        raise ValueError(f"a size of {size} in {len(block)} bytes")
    body = block[4 : 4 + size]
    if struct.unpack_from(">I", block, 4 + size)[0] != zlib.crc32(body):
        raise ValueError("its checksum does not fit")
    if body[:4] == _MAGIC32:
        low, end = decode32(body[4:], most=most)
        positions: Positions = low.astype(np.int64)
    elif body[:4] == _MAGIC64:
        positions, end = decode64(body[4:], most)
    else:
        kind = f"deletion vector of kind {bytes(body[:4]).hex()}"
        raise UnsupportedFeatureError(f"{path}: a {kind} is not supported", feature=kind)
    # A bitmap that ends early would bring deleted rows back without an error.
    if end != size - 4:
        raise ValueError(f"{size - 4 - end} bytes behind the bitmap")
    return positions


def range_bytes(range_: DeletionRange) -> tuple[int, int]:
    """Offset and length of what to read of an index file to get the block of ``range_``.

    Enough for both kinds of block, so it may go past the end of the file by 8 bytes.
    """
    return range_.offset, range_.length + _FRAME


def encode_index_file(
    vectors: Mapping[str, Positions], *, bitmap64: bool = False
) -> tuple[bytes, tuple[DeletionRange, ...]]:
    """An index file with the vector of each data file, and where each lies.

    Valid without any: a bucket that loses its last vector keeps a file of one byte (format 7.7).
    """
    parts, at, ranges = [bytes([_VERSION])], 1, []
    for file_name, positions in vectors.items():
        block = encode_deletion_vector(positions, bitmap64=bitmap64)
        length = len(block) if bitmap64 else len(block) - _FRAME
        ranges.append(DeletionRange(file_name, at, length, len(positions)))
        parts.append(block)
        at += len(block)
    return b"".join(parts), tuple(ranges)


def decode_index_file(
    body: bytes, ranges: Iterable[DeletionRange], *, path: str
) -> dict[str, Positions]:
    """Data file name to deleted positions, for the ``ranges`` of the whole index file ``body``.

    Raises:
        CorruptFileError: damaged, or not what ``ranges`` say.
        UnsupportedFeatureError: a version other than 1.
    """
    if body[:1] != bytes([_VERSION]):
        if not body:
            raise CorruptFileError(f"{path}: empty", path=path, problems=["empty"])
        raise UnsupportedFeatureError(
            f"{path}: deletion vector file version {body[0]} is not supported",
            feature=f"deletion vector file version {body[0]}",
        )
    vectors: dict[str, Positions] = {}
    left = DELETED_ROWS.most
    for range_ in ranges:
        start, count = range_bytes(range_)
        block = body[start : start + count] if start > 0 and count > 0 else b""
        positions = decode_deletion_vector(block, path=path, most=left)
        left -= len(positions)
        if range_.cardinality not in {None, len(positions)}:
            what = f"{len(positions)} positions of {range_.file_name}, not {range_.cardinality}"
            raise CorruptFileError(f"{path}: {what}", path=path, problems=[what])
        vectors[range_.file_name] = positions
    return vectors
