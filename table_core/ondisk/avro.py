"""Avro object containers as bytes: the shell of manifests and of Avro data files.

fastavro decodes records; the container around them is read here, because damaged bytes must end
as an error and never as a hang, a crash or all the memory: every length is checked against what
is left, blocks are unpacked up to a limit, and schemas whose records could cost no bytes, or
contain themselves, are refused.  The sync marker is derived from the content, so equal records
give equal bytes.

Source: Avro 1.11 specification, "Object container files"; format 4.1.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import struct
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import cramjam
import fastavro

from table_core.errors import CorruptFileError
from table_core.ondisk.avro_codecs import codec_named, pack, unpack
from table_core.ondisk.avro_shape import Plain, read_schema
from table_core.ondisk.varint import varint
from table_core.options.budgets import MANIFEST_BYTES, MANIFEST_ENTRIES
from table_core.validation_errors import way_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "Container",
    "container_blocks",
    "container_head",
    "corrupt",
    "open_container",
    "read_records",
    "write_container",
]

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_BLOCK_BYTES: Final = 64_000
_DAMAGE: Final = (
    EOFError,
    ValueError,  # includes ArrowInvalid and UnicodeDecodeError
    TypeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    StopIteration,
    OSError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    cramjam.DecompressionError,
)


def corrupt(path: str, what: str) -> CorruptFileError:
    """The error that says ``what`` is wrong with the file at ``path``."""
    return CorruptFileError(f"{path}: {what}{way_out(path)}", path=path, problems=[what])


@dataclass(frozen=True, slots=True)
class Container:
    """An opened file: its records are ``count`` datums of ``schema`` in ``payload``."""

    schema: Mapping[str, Any]
    """As written, logical types included."""
    plain: Plain
    """Checked, without logical types: what fastavro reads with."""
    metadata: Mapping[str, bytes]
    count: int
    payload: bytes


class _Cursor:
    """A position in bytes that never runs past their end."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.body) - self.at

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise ValueError(f"{count} bytes wanted at {self.at}, {self.left} left")
        self.at += count
        return self.body[self.at - count : self.at]

    def long(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            if shift > 63:
                raise ValueError(f"a number longer than 64 bits at {self.at}")


class _Stream(_Cursor):
    """The same in an open file, of which only what is taken is in memory."""

    def __init__(self, source: Any) -> None:
        super().__init__(b"")
        self.source, self.size = source, int(source.size())

    @property
    def left(self) -> int:
        return self.size - self.at

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise ValueError(f"{count} bytes wanted at {self.at}, {self.left} left")
        self.at += count
        return bytes(self.source.read(count))


@dataclass(frozen=True, slots=True)
class Blocks:
    """An opened file whose blocks are unpacked one after the other."""

    schema: Mapping[str, Any]
    """As written, logical types included."""
    plain: Plain
    metadata: Mapping[str, bytes]
    blocks: Iterator[tuple[int, bytes]]
    """How many datums, and their bytes."""


def open_container(body: bytes, *, path: str) -> Container:
    """Check and unpack a container file; records stay encoded.

    Raises:
        CorruptFileError: no Avro file, or a damaged one.
        UnsupportedFeatureError: a codec that this release does not know.
    """
    opened = _opened(_Cursor(body), path)
    count, parts, unpacked = 0, [], 0
    entries_max, bytes_max = MANIFEST_ENTRIES.most, MANIFEST_BYTES.most
    for block_count, block in opened.blocks:
        count += block_count
        parts.append(block)
        unpacked += len(block)
        if count > entries_max:
            raise corrupt(path, MANIFEST_ENTRIES.told(f"it lists {count:,} entries or more"))
        if unpacked > bytes_max:
            raise corrupt(path, MANIFEST_BYTES.told(f"it unpacks to {unpacked:,} bytes or more"))
    return Container(opened.schema, opened.plain, opened.metadata, count, b"".join(parts))


def open_blocks(source: Any, *, path: str) -> Blocks:
    """Check the head of the open file ``source``, whose blocks are read as they are asked for.

    Raises:
        CorruptFileError: no Avro file, or a damaged one; also while blocks are read.
        UnsupportedFeatureError: a codec that this release does not know.
    """
    return _opened(_Stream(source), path)


def _opened(cursor: _Cursor, path: str) -> Blocks:
    with _damage(path):
        if cursor.take(4) != _MAGIC:
            raise ValueError("it does not begin like an Avro file")
        metadata = _metadata(cursor)
        sync = cursor.take(_SYNC_BYTES)
        schema, plain = read_schema(metadata["avro.schema"])
        codec = metadata.get("avro.codec", b"null").decode()
    return Blocks(schema, plain, metadata, _unpacked_blocks(cursor, codec, sync, path))


def _unpacked_blocks(
    cursor: _Cursor, codec: str, sync: bytes, path: str
) -> Iterator[tuple[int, bytes]]:
    while cursor.left:
        with _damage(path):
            count = _length(cursor.long())
            block = unpack(cursor.take(_length(cursor.long())), codec, path)
            if cursor.take(_SYNC_BYTES) != sync:
                raise ValueError(f"no sync marker at {cursor.at - _SYNC_BYTES}")
        yield count, block


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """Tell what decoding runs into as a damaged file, but for a store that fails."""
    try:
        yield
    except RecursionError as error:
        raise corrupt(path, "its schema is nested too deep") from error
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise corrupt(path, _reason(error)) from error


def _reason(error: BaseException) -> str:
    return f"damaged Avro: {error!r}" if not isinstance(error, ValueError) else f"damaged: {error}"


def _length(value: int) -> int:
    if value < 0:
        raise ValueError(f"a length of {value}")
    return value


def _metadata(cursor: _Cursor) -> dict[str, bytes]:
    metadata: dict[str, bytes] = {}
    while (entries := cursor.long()) != 0:
        if entries < 0:
            cursor.long()
        for _ in range(abs(entries)):
            key = cursor.take(_length(cursor.long())).decode()
            metadata[key] = cursor.take(_length(cursor.long()))
    return metadata


def read_records(container: Container, *, path: str) -> Iterator[dict[str, Any]]:
    """Record after record as a dict; logical types stay plain numbers and bytes.

    Raises:
        CorruptFileError: the payload is no sequence of records of the schema.
    """
    yield from block_records(container.plain, container.count, container.payload, path=path)


def block_records(
    plain: Plain, count: int, payload: bytes, *, path: str
) -> Iterator[dict[str, Any]]:
    """The ``count`` records of ``payload``; see ``read_records``."""
    stream = io.BytesIO(payload)
    read, schema = fastavro.schemaless_reader, plain.parsed
    for _ in range(count):
        try:
            record: Any = read(stream, schema, None)
        except _DAMAGE as error:
            raise corrupt(path, _reason(error)) from error
        yield record
    left = len(payload) - stream.tell()
    if left:
        raise corrupt(path, f"damaged: {left} bytes behind the records")


def write_container(
    schema: Mapping[str, Any], records: Iterable[Mapping[str, Any]], *, compression: str = "zstd"
) -> bytes:
    """A container file with ``records``, in blocks of about 64 kB.

    Shape: dicts in the order of ``schema``'s fields; Java wants unions as ``["null", T]``.
    """
    codec = codec_named(compression)
    blocks = list(_blocks(fastavro.parse_schema(dict(schema)), records))
    digest = hashlib.md5(_text(schema), usedforsecurity=False)
    for _, block in blocks:
        digest.update(block)
    sync = digest.digest()
    parts = [container_head(schema, compression=compression, sync=sync)]
    parts += [_packed(count, block, codec, sync) for count, block in blocks]
    return b"".join(parts)


def container_head(schema: Mapping[str, Any], *, compression: str, sync: bytes) -> bytes:
    """The beginning of a container file whose blocks follow one after another."""
    codec = codec_named(compression)
    header = _header({"avro.schema": _text(schema), "avro.codec": codec.encode()})
    return _MAGIC + header + sync


def container_blocks(
    parsed: Any, records: Iterable[Mapping[str, Any]], *, compression: str, sync: bytes
) -> Iterator[bytes]:
    """The blocks that hold ``records``.  ``parsed`` is what fastavro made of the schema."""
    codec = codec_named(compression)
    for count, block in _blocks(parsed, records):
        yield _packed(count, block, codec, sync)


def _text(schema: Mapping[str, Any]) -> bytes:
    return json.dumps(schema, separators=(",", ":")).encode()


def _blocks(parsed: Any, records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, bytes]]:
    stream, count = io.BytesIO(), 0
    for record in records:
        fastavro.schemaless_writer(stream, parsed, record)
        count += 1
        if stream.tell() >= _BLOCK_BYTES:
            yield count, stream.getvalue()
            stream, count = io.BytesIO(), 0
    if count:
        yield count, stream.getvalue()


def _packed(count: int, block: bytes, codec: str, sync: bytes) -> bytes:
    packed = pack(block, codec)
    return _long(count) + _long(len(packed)) + packed + sync


def _header(metadata: Mapping[str, bytes]) -> bytes:
    parts = [_long(len(metadata))]
    for key, value in metadata.items():
        parts += [_long(len(key)), key.encode(), _long(len(value)), value]
    return b"".join([*parts, _long(0)])


def _long(value: int) -> bytes:
    return varint(value << 1)
