"""Whole numbers of as many bytes as they need, seven bits in each, the lowest first.

Avro, ORC and Parquet have them.  300 is ``ac 02``.  A number that may be negative is stored as ``2 * n``, or as
``-2 * n - 1`` where it is: so 1 is ``02``.
"""

from __future__ import annotations

from typing import Final

__all__ = ["read_varint", "varint"]

_BYTES_MAX: Final = 10


def varint(value: int) -> bytes:
    """The bytes of ``value``, 0 or more."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(body: bytes, at: int) -> tuple[int, int]:
    """The number that begins at ``at``, and where it ends.

    Raises:
        ValueError: it has no end.
        IndexError: ``body`` ends before it does.
    """
    value = 0
    for shift in range(_BYTES_MAX):
        byte = body[at + shift]
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 1
    raise ValueError("a number without an end")
