"""Protocol Buffers messages, as ORC keeps its structure in: values by member number.

Source: the ORC v1 specification; the encoding of Protocol Buffers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.ondisk.varint import read_varint, varint

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Message", "decode_message", "encode_message", "nested", "one", "packed"]

Message = dict[int, "list[int | bytes]"]


def packed(parts: Sequence[int | bytes]) -> list[int]:
    """The numbers of a repeated member, however they are stored."""
    numbers = []
    for part in parts:
        if isinstance(part, int):
            numbers.append(part)
            continue
        at = 0
        while at < len(part):
            value, at = read_varint(part, at)
            numbers.append(value)
    return numbers


def one(message: Message, number: int) -> int:
    """The member ``number``, 0 without one; ``ValueError`` if it is no number."""
    match message.get(number, [0])[-1]:
        case int(value):
            return value
    raise ValueError(f"member {number} is no number")


def nested(value: int | bytes) -> bytes:
    """``value``, which is a message or text; ``ValueError`` if it is a number."""
    match value:
        case bytes(body):
            return body
    raise ValueError("a number where a message should be")


def decode_message(body: bytes) -> Message:
    """A Protocol Buffers message: values by member number."""
    members: Message = {}
    at = 0
    while at < len(body):
        tag, at = read_varint(body, at)
        wire = tag & 7
        value: int | bytes
        if wire == 0:
            value, at = read_varint(body, at)
        elif wire in {1, 5}:
            width = 8 if wire == 1 else 4
            value, at = body[at : at + width], at + width
        elif wire == 2:
            length, at = read_varint(body, at)
            value, at = body[at : at + length], at + length
        else:
            raise ValueError(f"wire type {wire}")
        if at > len(body):
            raise ValueError("a message that ends too early")
        members.setdefault(tag >> 3, []).append(value)
    return members


def encode_message(message: Message) -> bytes:
    """The bytes of ``message``, members by number.  Its numbers are varints, none of fixed width."""
    out = bytearray()
    for number in sorted(message):
        for value in message[number]:
            if isinstance(value, int):
                out += varint(number << 3) + varint(value)
            else:
                out += varint(number << 3 | 2) + varint(len(value)) + value
    return bytes(out)
