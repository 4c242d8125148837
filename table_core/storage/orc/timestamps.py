"""Timestamps of ORC files that Arrow cannot give: it knows nanoseconds since 1970 alone.

ORC keeps seconds since 2015 and nanoseconds apart, so any year fits.  Used for stripes where Arrow refuses.  Our part is
the numbers, Arrow's the nesting: the stripe is told once more, as a file in memory in which a timestamp is a LONG of
microseconds.  Arrow reads that, with its lists, maps, structs and nulls, and the numbers become timestamps.

    stored                         told once more        read as
    struct<at timestamp>           struct<at bigint>     struct<at timestamp>
    DATA 1 s, SECONDARY 5 << 3     DATA 1000000          2015-01-01 00:00:01.000000
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc

from table_core.errors import UnsupportedFeatureError
from table_core.storage.orc.messages import decode_message, encode_message, nested
from table_core.storage.orc.numbers import decode_integers, encode_integers
from table_core.storage.orc.stripes import (
    packed_blocks,
    read_ends,
    read_part,
    read_stripe_streams,
    streams_of,
    stripe_footer,
)

if TYPE_CHECKING:
    from table_core.storage.orc.messages import Message
    from table_core.storage.orc.stripes import OrcTail

__all__ = ["BASE", "TIMESTAMPS", "nanoseconds", "read_timestamps"]

_TIMESTAMP: Final = 9
_INSTANT: Final = 18
TIMESTAMPS: Final = frozenset({_TIMESTAMP, _INSTANT})
"""Kinds of columns: without and with a time zone."""
_LONG: Final = 4
_DATA, _SECONDARY = 1, 5
_DIRECT_V2: Final = 2
BASE: Final = 1_420_070_400
"""2015-01-01 00:00:00 UTC in seconds."""
_UTC_NAMES: Final = frozenset({"", "UTC", "GMT", "Etc/UTC", "Z"})
_SECOND: Final = 1_000_000
_MAGIC: Final = b"ORC"


def read_timestamps(
    file: Any, tail: OrcTail, stripe: int, field: pa.Field, *, path: str
) -> pa.Array:
    """The column ``field`` of one stripe; its timestamps, however nested, in microseconds.

    Raises:
        UnsupportedFeatureError: nanoseconds are asked for, which hold no such year, or they were written in another
            time zone than UTC.
        ValueError, LookupError: the file is damaged.
    """
    name = field.name
    if _has_nanoseconds(field.type):
        raise _unsupported(
            name, path, "with more than 6 digits of a second, which Arrow cannot hold"
        )
    column, _ = tail.column(name)
    wanted = list(tail.subtree(column))
    times = {number for number in wanted if tail.types[number].kind in TIMESTAMPS}
    numbers = {n: _microseconds(file, tail, stripe, n, name, path) for n in times}
    body = _told_once_more(file, tail, stripe, {0, *wanted}, numbers)
    read = orc.ORCFile(pa.BufferReader(body)).read_stripe(0, columns=[name]).column(name)
    return read.cast(_with_times(read.type, tail, column))


def nanoseconds(stored: Any) -> Any:
    """Nanoseconds, whose trailing zeros are counted in the last three bits."""
    zeros = stored & 7
    return (stored >> 3) * np.where(zeros > 0, 10 ** (zeros + 1), 1)


def _microseconds(file: Any, tail: OrcTail, stripe: int, column: int, name: str, path: str) -> Any:
    """The timestamps of ``column`` that are not NULL, as int64."""
    stored = read_stripe_streams(file, tail, stripe, column)
    if tail.types[column].kind == _TIMESTAMP and stored.timezone not in _UTC_NAMES:
        raise _unsupported(name, path, f"and was written in the time zone {stored.timezone}")
    if stored.encoding != _DIRECT_V2:
        raise _unsupported(name, path, "in the run-length encoding of ORC before 0.12")
    seconds = BASE + decode_integers(stored.streams.get(_DATA, b""), None, signed=True)
    nanos = nanoseconds(decode_integers(stored.streams.get(_SECONDARY, b""), None, signed=False))
    if len(seconds) != len(nanos):
        raise ValueError(f"{len(seconds)} seconds and {len(nanos)} fractions of column {column}")
    # Java truncates towards 1970 and writers keep it so: the fraction then belongs to one less.
    seconds = seconds - ((seconds < 0) & (nanos > 999_999))
    return seconds * _SECOND + nanos // 1_000


def _told_once_more(
    file: Any, tail: OrcTail, stripe: int, wanted: set[int], numbers: dict[int, Any]
) -> bytes:
    """A file of one stripe and the streams of the columns ``wanted``; those of ``numbers`` are LONG."""
    script, footer = read_ends(file, file.size())
    foot = stripe_footer(file, tail, stripe)
    streams: list[bytes] = []
    described: list[int | bytes] = []
    for kind, owner, offset, length in streams_of(foot, tail, stripe):
        if owner not in wanted or (owner in numbers and kind == _SECONDARY):
            continue
        if owner in numbers and kind == _DATA:
            stream = packed_blocks(encode_integers(numbers[owner], signed=True), tail)
        else:
            stream = read_part(file, offset, length)
        streams.append(stream)
        described.append(encode_message({1: [kind], 2: [owner], 3: [len(stream)]}))
    body = b"".join(streams)
    stripe_end = packed_blocks(encode_message({1: described, 2: foot[2]}), tail)
    rows = tail.stripes[stripe][4]
    place: Message = {1: [len(_MAGIC)], 2: [0], 3: [len(body)], 4: [len(stripe_end)], 5: [rows]}
    types = [
        encode_message(decode_message(nested(type_)) | {1: [_LONG]}) if n in numbers else type_
        for n, type_ in enumerate(footer[4])
    ]
    members: Message = {
        1: [len(_MAGIC)],
        2: [len(_MAGIC) + len(body) + len(stripe_end)],
        3: [encode_message(place)],
        4: types,
        6: [rows],
        8: [0],
    }
    end = packed_blocks(encode_message(members), tail)
    postscript = encode_message(script | {1: [len(end)], 5: [0]})
    return b"".join((_MAGIC, body, stripe_end, end, postscript, bytes([len(postscript)])))


def _with_times(type_: pa.DataType, tail: OrcTail, number: int) -> pa.DataType:
    """``type_`` with timestamps again where ``tail`` has them."""
    kind, children = tail.types[number].kind, tail.types[number].children
    if kind in TIMESTAMPS:
        return pa.timestamp("us", "UTC" if kind == _INSTANT else None)
    if pa.types.is_struct(type_):
        members = zip(type_, children, strict=True)
        return pa.struct([f.with_type(_with_times(f.type, tail, child)) for f, child in members])
    if pa.types.is_map(type_):
        key, item = (
            f.with_type(_with_times(f.type, tail, child))
            for f, child in zip((type_.key_field, type_.item_field), children, strict=True)
        )
        return pa.map_(key, item)
    if pa.types.is_list(type_):
        element = type_.value_field
        return pa.list_(element.with_type(_with_times(element.type, tail, children[0])))
    return type_


def _has_nanoseconds(type_: pa.DataType) -> bool:
    if pa.types.is_timestamp(type_):
        return bool(type_.unit == "ns")
    if not pa.types.is_nested(type_):
        return False
    return any(_has_nanoseconds(type_.field(i).type) for i in range(type_.num_fields))


def _unsupported(name: str, path: str, why: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{path}: column {name!r} holds instants outside the years 1677 to 2262, {why}: "
        "this release cannot read these from ORC",
        feature="ORC timestamps outside 1677 to 2262",
        column=name,
        path=path,
    )
