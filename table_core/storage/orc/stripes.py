"""The structure of an ORC file: tail, stripes and the streams of a column.

Only what is needed to read single columns without Arrow, whose reader knows nanoseconds alone.  A file is
read from its end::

    ORC | stripe: indexes, streams (column 1 PRESENT, 1 DATA, 2 DATA …), stripe footer | … | footer | postscript | n

``n`` is one byte, the length of the postscript; that says the codec and the length of the footer; that where
the stripes are; and a stripe's footer the kind, column and length of its streams, in order, without places.

Source: the ORC v1 specification, "File Tail" and "Stripes".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.errors import UnsupportedFeatureError
from table_core.options.budgets import FOOTER_BYTES
from table_core.storage.orc.messages import decode_message, nested, one, packed
from table_core.storage.orc.numbers import decode_booleans, decode_integers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.options.budgets import Budget
    from table_core.storage.orc.messages import Message

__all__ = [
    "OrcTail",
    "StripeStreams",
    "check_lengths",
    "packed_blocks",
    "read_ends",
    "read_part",
    "read_stripe_streams",
    "read_tail",
    "streams_of",
    "stripe_footer",
    "unpacked",
]

_CODECS: Final[Mapping[int, str | None]] = {0: None, 1: "zlib", 2: "snappy", 4: "lz4", 5: "zstd"}
_INDEX_KINDS: Final = frozenset({6, 7, 8})
_PRESENT, _DATA, _LENGTH, _DICTIONARY_DATA = 0, 1, 2, 3
_VERSION_2: Final = frozenset({2, 3})
_MAP: Final = 11
_DECIMAL: Final = 14
_DIGITS_MAX: Final = 38
_LONGEST: Final = 2**31 - 1
_UNPACKED_MAX: Final = 1 << 30
_BLOCK_MAX: Final = 1 << 23
"""Bytes: the header of a block says no more."""
_REPEATED_MAX: Final = 1 << 16
"""Stripes, types, statistics or streams of a footer: an empty one takes two bytes there, and hundreds in Arrow."""
_DEPTH_MAX: Final = 200
"""Types within one another: Arrow's reader descends by recursion."""


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


def read_ends(file: Any, size: int, most: int | None = None) -> tuple[Message, Message]:
    """The postscript and the footer of ``file``, which may take ``most`` bytes; None: the budget of foreign ones.

    Raises:
        ValueError, LookupError: no ORC file.
    """
    end = read_part(file, max(0, size - 16_384), min(size, 16_384))
    script_length = end[-1]
    script = decode_message(end[-1 - script_length : -1])
    codec_number = one(script, 2)
    if codec_number not in _CODECS:
        raise UnsupportedFeatureError(
            f"ORC codec {codec_number} is not supported", feature=f"ORC codec {codec_number}"
        )
    footer_length = one(script, 1)
    begin = size - 1 - script_length - footer_length
    return script, _footer(file, begin, footer_length, *_packing(script), most)


def _footer(
    file: Any, begin: int, length: int, codec: str | None, block_size: int, most: int | None = None
) -> Message:
    """A footer, which Arrow reads whole into messages of its own.

    Raises:
        ValueError: it would take too much there.
    """
    most = FOOTER_BYTES.most if most is None else most
    if length > most:
        raise ValueError(FOOTER_BYTES.told(f"a footer of {length:,} bytes"))
    body = unpacked(read_part(file, begin, length), codec, block_size, most, FOOTER_BYTES)
    message = decode_message(body)
    if (many := max(map(len, message.values()), default=0)) > _REPEATED_MAX:
        raise ValueError(f"a footer with {many:,} of one kind, more than {_REPEATED_MAX:,}")
    return message


def read_tail(file: Any, size: int, most: int | None = None) -> OrcTail:
    """What the end of ``file`` says; raises as ``read_ends``."""
    script, footer = read_ends(file, size, most)
    types = tuple(_type(decode_message(nested(t))) for t in footer[4])
    _require_tree(types)
    stripes = []
    for part in footer.get(3, []):
        stripe = decode_message(nested(part))
        offset, index, data, foot, rows = (one(stripe, n) for n in range(1, 6))
        stripes.append((offset, index, data, foot, rows))
    return OrcTail(*_packing(script), types, tuple(stripes))


def _require_tree(types: Sequence[_Type]) -> None:
    """Refuse types that are not numbered as they stand in one another: Arrow numbers them so, and descends for ever.

    A struct of a list of numbers, and of a text::

        0 struct (1, 3)     1 list (2)     2 long     3 string

    Raises:
        ValueError: another order, a type that two have, or too many within one another.
    """
    due: list[tuple[int, int]] = [(0, 0)]
    for number, type_ in enumerate(types):
        wanted, depth = due.pop() if due else (-1, 0)
        if number != wanted:
            raise ValueError(f"type {number} is not where it should be")
        if depth > _DEPTH_MAX:
            raise ValueError(f"more than {_DEPTH_MAX} types within one another")
        due += [(child, depth + 1) for child in reversed(type_.children)]
    if due:
        raise ValueError(f"type {due[-1][0]} is not there")


def _packing(script: Message) -> tuple[str | None, int]:
    """Codec and size of blocks."""
    size = one(script, 3) or 262_144
    if not 0 < size <= _BLOCK_MAX:
        raise ValueError(f"blocks of {size} bytes")
    return _CODECS[one(script, 2)], size


def read_stripe_streams(file: Any, tail: OrcTail, stripe: int, column: int) -> StripeStreams:
    """Read and unpack the streams of ``column`` in one stripe.

    Raises:
        ValueError, LookupError: the stripe is damaged.
    """
    footer = stripe_footer(file, tail, stripe)
    streams = {
        kind: unpacked(read_part(file, offset, length), tail.codec, tail.block_size)
        for kind, owner, offset, length in streams_of(footer, tail, stripe)
        if owner == column
    }
    encoding = one(decode_message(nested(footer[2][column])), 1)
    zone = nested(footer.get(3, [b""])[0]).decode()
    return StripeStreams(streams, encoding, zone, tail.stripes[stripe][4])


def check_lengths(
    file: Any, tail: OrcTail, stripe: int, names: Sequence[str], known: Mapping[int, Any]
) -> None:
    """Check that texts and lists of the columns ``names`` can be as long as one stripe says.

    Arrow's reader takes lengths for granted and ends the process when there is not the memory; and
    when a key of a map is NULL, which Java writes.  ``known``: lengths that are read already, by column.

    Raises:
        ValueError, LookupError: a length is impossible.
        UnsupportedFeatureError: a key of a map is NULL.
    """
    footer = stripe_footer(file, tail, stripe)
    wanted = {number for name in names for number in tail.subtree(tail.column(name)[0])}
    streams = list(streams_of(footer, tail, stripe))
    stream_at = {(owner, kind): (offset, length) for kind, owner, offset, length in streams}
    for kind, owner, offset, length in streams:
        if kind != _LENGTH or owner not in wanted:
            continue
        if one(decode_message(nested(footer[2][owner])), 1) not in _VERSION_2:
            continue  # a version 1 of integers, which only very old writers use
        if owner in known:
            lengths = known[owner]
        else:
            body = unpacked(read_part(file, offset, length), tail.codec, tail.block_size)
            lengths = decode_integers(body, None, signed=False)
        texts = stream_at.get((owner, _DICTIONARY_DATA)) or stream_at.get((owner, _DATA))
        most = _LONGEST if texts is None else _unpacked_most(file, tail, *texts)
        if len(lengths) and (lengths.min() < 0 or float(lengths.sum(dtype=float)) > most):
            raise ValueError(f"column {owner} holds more than its stripe")
        held = tail.types[owner]
        present = stream_at.get((held.children[0], _PRESENT)) if held.kind == _MAP else None
        if present is not None:
            keys = unpacked(read_part(file, *present), tail.codec, tail.block_size)
            if not decode_booleans(keys, int(lengths.sum())).all():
                raise UnsupportedFeatureError(
                    f"a map in the columns {list(names)} has NULL as a key, which Arrow cannot hold",
                    feature="NULL as the key of a map",
                )


def stripe_footer(file: Any, tail: OrcTail, stripe: int) -> Message:
    """What the end of a stripe says of its streams."""
    offset, index, data, foot, _ = tail.stripes[stripe]
    return _footer(file, offset + index + data, foot, tail.codec, tail.block_size)


def streams_of(footer: Message, tail: OrcTail, stripe: int) -> Iterator[tuple[int, int, int, int]]:
    """Kind, column, offset and length of each stream that is no index."""
    offset = tail.stripes[stripe][0]
    for part in footer.get(1, []):
        stream = decode_message(nested(part))
        kind, owner, length = one(stream, 1), one(stream, 2), one(stream, 3)
        if kind not in _INDEX_KINDS:
            yield kind, owner, offset, length
        offset += length


def _unpacked_most(file: Any, tail: OrcTail, offset: int, length: int) -> int:
    """The most bytes that a stream can unpack to: a packed block to no more than ``block_size``."""
    if tail.codec is None:
        return length
    body, at, most = read_part(file, offset, length), 0, 0
    while at < length:
        header = int.from_bytes(body[at : at + 3], "little")
        at += 3 + (header >> 1)
        most += header >> 1 if header & 1 else tail.block_size
    return most


def read_part(file: Any, offset: int, length: int) -> bytes:
    """``length`` bytes of ``file`` from ``offset``; ``ValueError`` if there are fewer."""
    if offset < 0 or length < 0:
        raise ValueError("an offset before the file")
    file.seek(offset)
    body: bytes = file.read(length)
    if len(body) != length:
        raise ValueError(f"{length} bytes wanted at {offset}, {len(body)} there")
    return body


def unpacked(
    body: bytes,
    codec: str | None,
    block_size: int,
    most: int = _UNPACKED_MAX,
    budget: Budget | None = None,
) -> bytes:
    """Blocks with a header of three bytes: length, and whether it is stored as it is.

    ``budget``: what ``most`` comes from, if an error is to name it.

    ``0B 00 00`` is 5 * 2 + 1: five bytes follow, not packed.

    >>> unpacked(bytes.fromhex("0b0000") + b"abcde", "zlib", 262_144)
    b'abcde'
    """
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
        if total > most:
            many = f"more than {most:,} bytes unpacked"
            raise ValueError(budget.told(many) if budget else many)
    return b"".join(parts)


def packed_blocks(body: bytes, tail: OrcTail) -> bytes:
    """``body`` as blocks that are stored as they are, each with its header."""
    if tail.codec is None:
        return body
    out = bytearray()
    for start in range(0, len(body), tail.block_size):
        block = body[start : start + tail.block_size]
        out += (len(block) << 1 | 1).to_bytes(3, "little") + block
    return bytes(out)


def _decompressed(block: bytes, codec: str, block_size: int) -> bytes:
    if codec == "zlib":
        import zlib

        # Raw deflate, and no more than a block: what unpacks to gigabytes is damage or an attack.
        return zlib.decompressobj(-15).decompress(block, block_size)
    if codec in {"snappy", "lz4"}:
        import cramjam

        if codec == "snappy":
            if cramjam.snappy.decompress_raw_len(block) > block_size:
                raise ValueError(f"a block that unpacks to more than {block_size:,} bytes")
            return bytes(cramjam.snappy.decompress_raw(block))
        stream_at = bytearray(block_size)  # a block does not say how long it becomes
        return bytes(stream_at[: cramjam.lz4.decompress_block_into(block, stream_at)])
    with pa.CompressedInputStream(pa.BufferReader(block), codec) as stream:
        return bytes(stream.read(block_size))


def _type(message: Message) -> _Type:
    if one(message, 1) == _DECIMAL and one(message, 5) > _DIGITS_MAX:
        raise ValueError(f"a decimal of {one(message, 5)} digits")  # Arrow ends the process
    names = tuple(nested(name).decode() for name in message.get(3, []))
    return _Type(one(message, 1), tuple(packed(message.get(2, []))), names)
