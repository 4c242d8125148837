"""64-bit bitmaps as Java's ``Roaring64Bitmap`` writes them: a radix tree over 16-bit containers.

Not the portable format of deletion vectors.  The tree's leaves are the high 48 bits of the
numbers and point at containers, which follow the tree in the order in which they were made.

Source: ``org.roaringbitmap.longlong.HighLowContainer``, ``org.roaringbitmap.art.Art``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.ondisk.roaring import NUMBERS_MAX, decode_container, encode_container

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Low = np.ndarray[Any, Any]

__all__ = ["decode_bitmap64", "encode_bitmap64"]

_LEAF: Final = 4
_BODIES: Final = (4, 16, 256, 32)
"""Bytes of the key index of a node for 4, 16, 48 and 256 children."""
_RUNS, _BITS, _LIST = range(3)
_LIST_MAX: Final = 4096
_KEY_BYTES: Final = 6


def decode_bitmap64(body: bytes) -> dict[int, Low]:
    """The low halves of the numbers by their high 48 bits, in the order of the containers.

    Raises:
        ValueError: no such bitmap, or one cut short.
    """
    try:
        return _decoded(memoryview(body))
    except (struct.error, LookupError) as error:
        raise ValueError(f"not a 64-bit bitmap of {len(body)} bytes: {error}") from error


def encode_bitmap64(containers: Mapping[int, Low]) -> bytes:
    """The bitmap of ``containers``: ascending low halves by the high 48 bits of the numbers."""
    if not containers:
        return b"\x00"
    place = {key.to_bytes(6, "big"): i for i, key in enumerate(containers)}
    parts = [b"\x01", struct.pack("<q", len(place))]
    parts += _tree(sorted(place), 0, place)
    parts.append(struct.pack("<ibi", 1, -2, len(place)))
    for low in containers.values():
        numbers = low.astype("<u2")
        data, is_run = encode_container(numbers)
        kind = _RUNS if is_run else _LIST if len(numbers) <= _LIST_MAX else _BITS
        parts.append(struct.pack("<bbi", 1, kind, len(numbers)) + data)
    parts.append(struct.pack("<qii", len(place), 0, len(place) - 1))
    return b"".join(parts)


def _decoded(view: memoryview) -> dict[int, Low]:
    if view[0] == 0:
        return {}
    leaves: dict[tuple[int, int], int] = {}
    at = _read_tree(view, 9, leaves, _KEY_BYTES)
    (arrays,) = struct.unpack_from("<i", view, at)
    at += 4
    lows: dict[int, Low] = {}
    many = 0
    for first in range(arrays):
        (count,) = struct.unpack_from("<i", view, at + 1)
        at += 5
        for second in range(count):
            at += 1
            if view[at - 1] == 0:
                continue
            kind, card = struct.unpack_from("<bi", view, at)
            many += card
            if many > NUMBERS_MAX:
                raise ValueError(f"a bitmap of more than {NUMBERS_MAX:,} numbers")
            low, at = decode_container(view, at + 5, card, is_run=kind == _RUNS)
            lows[leaves[first, second]] = low
    return lows


def _read_tree(view: memoryview, at: int, leaves: dict[tuple[int, int], int], levels: int) -> int:
    """Read the node at ``at`` and those below, in so many levels at most; where they end."""
    kind, count, prefix = struct.unpack_from("<bHb", view, at)
    if prefix < 0 or levels < 0:
        raise ValueError("a tree that is deeper than its keys")
    at += 4
    if kind == _LEAF:
        key = int.from_bytes(view[at : at + 6], "big")
        second, first = struct.unpack_from("<ii", view, at + 6)
        leaves[first, second] = key
        return at + 14
    at += prefix + _BODIES[kind]
    for _ in range(count):
        at = _read_tree(view, at, leaves, levels - 1)
    return at


def _tree(keys: Sequence[bytes], depth: int, place: Mapping[bytes, int]) -> list[bytes]:
    """The node of ``keys``, which agree in their first ``depth`` bytes, and those below."""
    if len(keys) == 1:
        return [struct.pack("<bHb", _LEAF, 0, 0) + keys[0] + struct.pack("<q", place[keys[0]])]
    fork = depth
    while keys[0][fork] == keys[-1][fork]:
        fork += 1
    children: dict[int, list[bytes]] = {}
    for key in keys:
        children.setdefault(key[fork], []).append(key)
    kind = next(i for i, most in enumerate((4, 16, 48, 256)) if len(children) <= most)
    head = struct.pack("<bHb", kind, len(children), fork - depth) + keys[0][depth:fork]
    parts = [head + _index(kind, list(children))]
    for below in children.values():
        parts += _tree(below, fork + 1, place)
    return parts


def _index(kind: int, bytes_: Sequence[int]) -> bytes:
    """Which byte leads to which child; Java's longs, written back to front."""
    if kind == 3:
        bits = np.zeros(256, np.uint8)
        bits[list(bytes_)] = 1
        return np.packbits(bits, bitorder="little").tobytes()
    if kind == 2:
        slots = bytearray(b"\xff" * 256)
        for child, byte in enumerate(bytes_):
            slots[byte] = child
        return b"".join(bytes(slots[i : i + 8])[::-1] for i in range(0, 256, 8))
    padded = bytes(bytes_).ljust(_BODIES[kind], b"\x00")
    word = min(8, len(padded))
    return b"".join(padded[i : i + word][::-1] for i in range(0, len(padded), word))
