"""Checksums of many texts at once: those that the servers compute, without a loop over rows."""

from __future__ import annotations

import zlib
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from table_core.errors import MissingPackageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes: TypeAlias = NDArray[np.uint64]

__all__ = ["crc32_of", "duckdb_connection", "md5_of"]

_POLYNOMIAL: Final = 0xEDB88320
_FLAT: Final = 1024
"""Bytes of a text up to which it is looked up byte by byte; each longer one is a call."""
_BYTE: Final = 0xFF
_AT_ONCE: Final = 1 << 22
"""Bytes of texts that are looked up together; each needs about sixteen more of memory."""


def crc32_of(texts: pa.Array) -> Hashes:
    """CRC-32 of each text, as MariaDB's ``CRC32``.

    It is a sum of what each byte adds by its distance from the end, so many bytes are looked up at once.
    """
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    bytes_ = np.frombuffer(data or b"", np.uint8)
    if len(texts) > 1 and offsets[-1] - offsets[0] > _AT_ONCE:
        half = len(texts) // 2
        return np.concatenate([crc32_of(texts.slice(0, half)), crc32_of(texts.slice(half))])
    lengths = np.diff(offsets)
    is_long = lengths > _FLAT
    if is_long.any():
        hashes = np.empty(len(lengths), np.uint64)
        short = np.flatnonzero(~is_long)
        hashes[short] = crc32_of(texts.take(pa.array(short)))
        for n in np.flatnonzero(is_long):
            hashes[n] = zlib.crc32(bytes_[offsets[n] : offsets[n + 1]].data)
        return hashes
    if not len(lengths):
        return np.zeros(0, np.uint64)
    first = offsets[0]
    table, of_zeros = _tables()
    at = np.repeat(offsets[1:] - first - 1, lengths)
    at -= np.arange(len(at), dtype=np.int32)
    at <<= 8
    at |= bytes_[first : offsets[-1]]
    added = np.append(
        table[at], np.uint32(0)
    )  # an empty text at the end begins behind the last byte
    sums = np.bitwise_xor.reduceat(added, offsets[:-1] - first)
    sums[lengths == 0] = 0
    return (sums ^ of_zeros[lengths]).astype(np.uint64)


@cache
def _tables() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """What a byte adds, by its distance from the end; and the CRC-32 of so many zeros."""
    step = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        step = np.where(step & 1, (step >> 1) ^ np.uint32(_POLYNOMIAL), step >> 1).astype(np.uint32)
    table = np.empty((_FLAT, 256), np.uint32)
    table[0] = step
    for n in range(1, _FLAT):
        table[n] = step[table[n - 1] & _BYTE] ^ (table[n - 1] >> 8)
    zeros = np.array([zlib.crc32(bytes(n)) for n in range(_FLAT + 1)], np.uint32)
    return table.ravel(), zeros


def md5_of(texts: pa.Array) -> Hashes:
    """The first 64 bits of the MD5 of each text.

    Raises:
        MissingPackageError: DuckDB is not installed.
    """
    with duckdb_connection() as connection:
        connection.register("texts", pa.table({"text": texts}))
        rows = connection.sql("SELECT unhex(left(md5(text), 16)) FROM texts").to_arrow_table()
        hashes = rows.column(0).combine_chunks()
        data = hashes.buffers()[2] if len(hashes) else b""
        return np.frombuffer(data, ">u8", len(hashes), hashes.offset * 8).astype(np.uint64)


def duckdb_connection() -> Any:
    """DuckDB in this process, which reaches nothing but what is registered.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingPackageError.of("an audit", "duckdb", error) from error
    return duckdb.connect(
        config={
            "threads": "2",
            "python_enable_replacements": "false",
            "autoload_known_extensions": "false",
        }
    )
