"""What ``file.compression`` and ``manifest.compression`` may name, by file format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AVRO", "CODECS", "ORC", "PARQUET"]

PARQUET: Final[Mapping[str, str]] = {
    "zstd": "zstd",
    "snappy": "snappy",
    "gzip": "gzip",
    "brotli": "brotli",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "none": "none",
    "uncompressed": "none",
}
"""Arrow's name for each of Paimon's."""
ORC: Final[Mapping[str, str]] = {
    "zstd": "zstd",
    "snappy": "snappy",
    "zlib": "zlib",
    "gzip": "zlib",
    "lz4": "lz4",
    "none": "uncompressed",
    "uncompressed": "uncompressed",
}
AVRO: Final[Mapping[str, str]] = {
    "zstd": "zstandard",
    "zstandard": "zstandard",
    "none": "null",
    "null": "null",
    "uncompressed": "null",
    "snappy": "snappy",
    "deflate": "deflate",
    "bzip2": "bzip2",
}
CODECS: Final[Mapping[str, Mapping[str, str]]] = {"parquet": PARQUET, "orc": ORC, "avro": AVRO}
