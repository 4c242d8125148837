"""The structure of an ORC file: tail, stripes and the streams of a column.

Only what is needed to read single columns without Arrow, whose reader knows nanoseconds alone.
Source: the ORC v1 specification, "File Tail" and "Stripes".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.errors import UnsupportedFeatureError
from table_core.storage.orc_numbers import decode_integers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["OrcTail", "StripeStreams", "check_lengths", "read_stripe_streams", "read_tail"]

_CODECS: Final[Mapping[int, str | None]] = {0: None, 1: "zlib", 2: "snappy", 4: "lz4", 5: "zstd"}
_INDEX_KINDS: Final = frozenset({6, 7, 8})
_DATA, _LENGTH, _DICTIONARY_DATA = 1, 2, 3
_VERSION_2: Final = frozenset({2, 3})
_LONGEST: Final = 2**31 - 1
_UNPACKED_MAX: Final = 1 << 30
_VARINT_BYTES_MAX: Final = 10

Message = dict[int, "list[int | bytes]"]


@dataclass(frozen=True, slots=True)
class _Type:
    kind: int
    children: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrcTail:
    """What the end of a file says."""

    codec: str | None
    block_size: int
    types: tuple[_Type, ...]
    stripes: tuple[tuple[int, int, int, int, int], ...]
    """Offset, index length, data length, footer length and rows of each stripe."""

    def subtree(self, number: int) -> Iterator[int]:
        """A column and those within it."""
        yield number
        for child in self.types[number].children:
            if child <= number:
                raise ValueError("a type within itself")
            yield from self.subtree(child)

    def column(self, name: str) -> tuple[int, int]:
        """Number and kind of the top-level column ``name``."""
        number = self.types[0].children[self.types[0].names.index(name)]
        return number, self.types[number].kind


@dataclass(frozen=True, slots=True)
class StripeStreams:
    """One stripe: the unpacked streams of one column by kind, and how they are encoded."""

    streams: Mapping[int, bytes]
    encoding: int
    timezone: str
    rows: int


def read_tail(file: Any, size: int) -> OrcTail:
    """Read the end of ``file``.

    Raises:
        ValueError, LookupError: no ORC file.
    """
    end = _read(file, max(0, size - 16_384), min(size, 16_384))
    script_length = end[-1]
    script = _message(end[-1 - script_length : -1])
    codec_number = _one(script, 2)
    if codec_number not in _CODECS:
        raise UnsupportedFeatureError(
            f"ORC codec {codec_number} is not supported", feature=f"ORC codec {codec_number}"
        )
    codec, block_size = _CODECS[codec_number], _one(script, 3) or 262_144
    footer_length = _one(script, 1)
    body = _read(file, size - 1 - script_length - footer_length, footer_length)
    footer = _message(_unpacked(body, codec, block_size))
    types = tuple(_type(_message(_bytes(t))) for t in footer[4])
    stripes = []
    for part in footer.get(3, []):
        stripe = _message(_bytes(part))
        offset, index, data, foot, rows = (_one(stripe, n) for n in range(1, 6))
        stripes.append((offset, index, data, foot, rows))
    return OrcTail(codec, block_size, types, tuple(stripes))


def read_stripe_streams(file: Any, tail: OrcTail, stripe: int, column: int) -> StripeStreams:
    """Read and unpack the streams of ``column`` in one stripe.

    Raises:
        ValueError, LookupError: the stripe is damaged.
    """
    footer = _stripe_footer(file, tail, stripe)
    streams = {
        kind: _unpacked(_read(file, offset, length), tail.codec, tail.block_size)
        for kind, owner, offset, length in _streams(footer, tail, stripe)
        if owner == column
    }
    encoding = _one(_message(_bytes(footer[2][column])), 1)
    zone = _bytes(footer.get(3, [b""])[0]).decode()
    return StripeStreams(streams, encoding, zone, tail.stripes[stripe][4])


def check_lengths(file: Any, tail: OrcTail, stripe: int, names: Sequence[str]) -> None:
    """Check that texts and lists of the columns ``names`` can be as long as one stripe says.

    Arrow's reader takes lengths for granted and ends the process when there is not the memory.

    Raises:
        ValueError, LookupError: a length is impossible.
    """
    footer = _stripe_footer(file, tail, stripe)
    wanted = {number for name in names for number in tail.subtree(tail.column(name)[0])}
    streams = list(_streams(footer, tail, stripe))
    room = {(owner, kind): (offset, length) for kind, owner, offset, length in streams}
    for kind, owner, offset, length in streams:
        if kind != _LENGTH or owner not in wanted:
            continue
        if _one(_message(_bytes(footer[2][owner])), 1) not in _VERSION_2:
            continue  # a version 1 of integers, which only very old writers use
        body = _unpacked(_read(file, offset, length), tail.codec, tail.block_size)
        lengths = decode_integers(body, None, signed=False)
        texts = room.get((owner, _DICTIONARY_DATA)) or room.get((owner, _DATA))
        most = _LONGEST if texts is None else _unpacked_most(file, tail, *texts)
        if len(lengths) and (lengths.min() < 0 or float(lengths.sum(dtype=float)) > most):
            raise ValueError(f"column {owner} holds more than its stripe")


def _stripe_footer(file: Any, tail: OrcTail, stripe: int) -> Message:
    offset, index, data, foot, _ = tail.stripes[stripe]
    packed = _read(file, offset + index + data, foot)
    return _message(_unpacked(packed, tail.codec, tail.block_size))


def _streams(footer: Message, tail: OrcTail, stripe: int) -> Iterator[tuple[int, int, int, int]]:
    """Kind, column, offset and length of each stream that is no index."""
    offset = tail.stripes[stripe][0]
    for part in footer.get(1, []):
        stream = _message(_bytes(part))
        kind, owner, length = _one(stream, 1), _one(stream, 2), _one(stream, 3)
        if kind not in _INDEX_KINDS:
            yield kind, owner, offset, length
        offset += length


def _unpacked_most(file: Any, tail: OrcTail, offset: int, length: int) -> int:
    """The most bytes that a stream can unpack to."""
    if tail.codec is None:
        return length
    body, at, most = _read(file, offset, length), 0, 0
    while at < length:
        header = int.from_bytes(body[at : at + 3], "little")
        at += 3 + (header >> 1)
        most += header >> 1 if header & 1 else tail.block_size
    return most


def _read(file: Any, offset: int, length: int) -> bytes:
    if offset < 0 or length < 0:
        raise ValueError("an offset before the file")
    file.seek(offset)
    body: bytes = file.read(length)
    if len(body) != length:
        raise ValueError(f"{length} bytes wanted at {offset}, {len(body)} there")
    return body


def _unpacked(body: bytes, codec: str | None, block_size: int) -> bytes:
    """Blocks with a header of three bytes: length, and whether it is stored as it is."""
    if codec is None:
        return body
    parts, at, total = [], 0, 0
    while at < len(body):
        header = int.from_bytes(body[at : at + 3], "little")
        at += 3
        block = body[at : at + (header >> 1)]
        at += header >> 1
        if not header & 1:
            block = _decompressed(block, codec, block_size)
        parts.append(block)
        total += len(block)
        if total > _UNPACKED_MAX:
            raise ValueError("more than a gigabyte unpacked")
    return b"".join(parts)


def _decompressed(block: bytes, codec: str, block_size: int) -> bytes:
    if codec == "zlib":
        import zlib

        return zlib.decompressobj(-15).decompress(block, block_size)
    if codec in {"snappy", "lz4"}:
        import cramjam

        if codec == "snappy":
            return bytes(cramjam.snappy.decompress_raw(block))
        room = bytearray(block_size)  # a block does not say how long it becomes
        return bytes(room[: cramjam.lz4.decompress_block_into(block, room)])
    with pa.CompressedInputStream(pa.BufferReader(block), codec) as stream:
        return bytes(stream.read(block_size))


def _type(message: Message) -> _Type:
    names = tuple(_bytes(name).decode() for name in message.get(3, []))
    return _Type(_one(message, 1), tuple(_packed(message.get(2, []))), names)


def _packed(parts: Sequence[int | bytes]) -> list[int]:
    found = []
    for part in parts:
        if isinstance(part, int):
            found.append(part)
            continue
        at = 0
        while at < len(part):
            value, at = _varint(part, at)
            found.append(value)
    return found


def _one(message: Message, number: int) -> int:
    match message.get(number, [0])[-1]:
        case int(value):
            return value
    raise ValueError(f"member {number} is no number")


def _bytes(value: int | bytes) -> bytes:
    match value:
        case bytes(body):
            return body
    raise ValueError("a number where a message should be")


def _message(body: bytes) -> Message:
    """A Protocol Buffers message: values by member number."""
    found: Message = {}
    at = 0
    while at < len(body):
        tag, at = _varint(body, at)
        wire = tag & 7
        value: int | bytes
        if wire == 0:
            value, at = _varint(body, at)
        elif wire in {1, 5}:
            width = 8 if wire == 1 else 4
            value, at = body[at : at + width], at + width
        elif wire == 2:
            length, at = _varint(body, at)
            value, at = body[at : at + length], at + length
        else:
            raise ValueError(f"wire type {wire}")
        if at > len(body):
            raise ValueError("a message that ends too early")
        found.setdefault(tag >> 3, []).append(value)
    return found


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(_VARINT_BYTES_MAX):
        byte = body[at + shift]
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 1
    raise ValueError("a number without an end")
