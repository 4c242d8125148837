"""How the blocks of Avro object containers are packed.

Source: Avro 1.11 specification, "Required Codecs" and "Optional Codecs".
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import Final

import cramjam
import numpy as np

from table_core.errors import UnsupportedFeatureError
from table_core.options import codecs
from table_core.options.budgets import BLOCK_BYTES

__all__ = ["codec_named", "pack", "unpack"]

_BUFFERS_BYTES: Final = (1 << 18, 1 << 23)
"""The first is enough for what most blocks hold: Paimon's have 64 kB."""
_TOO_SMALL: Final = "whole buffer"
"""How cramjam says that there is more than fits."""
_ZSTD_LEVEL: Final = 1


def codec_named(compression: str) -> str:
    """The Avro codec of a Paimon ``compression`` option.

    Raises:
        UnsupportedFeatureError: none that this release writes.
    """
    codec = codecs.AVRO.get(compression.lower())
    if codec is None:
        raise UnsupportedFeatureError(
            f"Avro files cannot be written with compression {compression!r}; "
            f"use one of {sorted(codecs.AVRO)}",
            feature=f"Avro compression {compression}",
        )
    return codec


def unpack(block: bytes, codec: str, path: str) -> bytes:
    """The bytes of one block, at most ``BLOCK_BYTES`` of them.

    Raises:
        UnsupportedFeatureError: a codec that this release does not know.
        ValueError: it does not unpack; a library may also raise an error of its own.
    """
    most = BLOCK_BYTES.most
    if codec == "null":
        unpacked = block
    elif codec == "zstandard":
        unpacked = _unpack_zstd(block, most)
    elif codec == "deflate":
        unpacked = zlib.decompressobj(-15).decompress(block, most + 1)
    elif codec == "snappy":
        if cramjam.snappy.decompress_raw_len(block) > most:
            raise ValueError(_too_large())
        unpacked = bytes(cramjam.snappy.decompress_raw(block[:-4]))
        if zlib.crc32(unpacked) != int.from_bytes(block[-4:], "big"):
            raise ValueError("a block's checksum does not fit")
    elif codec == "bzip2":
        unpacked = bz2.BZ2Decompressor().decompress(block, most + 1)
    elif codec == "xz":
        unpacked = lzma.LZMADecompressor().decompress(block, most + 1)
    else:
        raise UnsupportedFeatureError(
            f"{path}: Avro codec {codec!r} is not supported", feature=f"Avro codec {codec}"
        )
    if len(unpacked) > most:
        raise ValueError(_too_large())
    return bytes(unpacked)


def _too_large() -> str:
    return BLOCK_BYTES.told("a block that unpacks to too much")


def _unpack_zstd(block: bytes, most: int) -> bytes:
    """Whole, into the first buffer that holds it: a frame need not say how long it becomes.

    Only what is written to a buffer takes memory.  Arrow's stream needs no buffer, but what it holds is not
    given back once it has met damage.
    """
    for size in (*(size for size in _BUFFERS_BYTES if size < most), most):
        buffer = np.empty(size, np.uint8)
        try:
            return buffer[: cramjam.zstd.decompress_into(block, buffer.data)].tobytes()
        except cramjam.DecompressionError as error:
            if _TOO_SMALL not in str(error):
                raise
    raise ValueError(_too_large())


def pack(block: bytes, codec: str) -> bytes:
    """``block`` as ``codec`` (see ``codec_named``) packs it."""
    if codec == "zstandard":
        return bytes(cramjam.zstd.compress(block, level=_ZSTD_LEVEL))
    if codec == "snappy":
        raw = bytes(cramjam.snappy.compress_raw(block))
        return raw + zlib.crc32(block).to_bytes(4, "big")
    if codec == "deflate":
        deflate = zlib.compressobj(wbits=-15)
        return deflate.compress(block) + deflate.flush()
    return bz2.compress(block) if codec == "bzip2" else block
