"""Other inputs out of whole ones: bytes that are damaged, documents with other values in them."""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Sequence
from typing import Any

NUMBERS = (
    0,
    1,
    -1,
    2,
    127,
    128,
    255,
    256,
    2**15,
    2**16,
    2**31 - 1,
    2**31,
    2**32,
    2**63 - 1,
    2**63,
    -(2**63),
    10**30,
)
VALUES: tuple[Any, ...] = (
    *NUMBERS, None, True, False, 0.5, 1e308, float("nan"), "", "x", "\x00", "\ud800", "../x", "a/b", "1" * 40,
    "9" * 5000, [], {}, [[]], [None], {"a": None}, "INT", "ROW<a INT>", "${A}", "{{ x }}", "é" * 300,
)  # fmt: skip
_BOMBS = 0.02
WORDS = (b"", b"\0", b"\n", b"(" * 300, b"[" * 3000, b"{" * 300, b"'", b'"', b"`", b"--", b"/*", b";", b"$p", b"NOT ",
         b"a: &a [*a]", b"<" * 200, b"\xff\xfe", b"%", b"\\", b"CAST(", b"1e999", b"SELECT ")  # fmt: skip


def mutated(whole: Sequence[bytes], is_json: bool, rand: random.Random) -> bytes:
    """One input."""
    body = rand.choice(whole)
    if is_json and rand.random() < 0.7:
        return _document(body, rand)
    found = bytearray(body)
    if rand.random() < _BOMBS:
        _swell(found, rand)
    for _ in range(rand.choice((1, 1, 2, 4, 16))):
        _damage(found, whole, rand)
    return bytes(found[:4_000_000])


def _swell(body: bytearray, rand: random.Random) -> None:
    """Much of the same: what takes little room packed, and in a file a few bytes of a count."""
    at = rand.randrange(len(body) + 1)
    part = bytes(body[at : at + rand.choice((1, 2, 8, 64, 1000))]) or rand.choice(WORDS) or b"["
    part = rand.choice((part, part, rand.choice(WORDS) or b"{"))
    body[at:at] = part * (rand.choice((50_000, 300_000, 1_000_000)) // len(part))


def _damage(body: bytearray, whole: Sequence[bytes], rand: random.Random) -> None:
    at = rand.randrange(len(body) + 1)
    near_end = max(0, len(body) - rand.randrange(1, 400)) if body else 0
    at = rand.choice((at, at, near_end))
    match rand.randrange(9):
        case 0 if at < len(body):
            body[at] ^= 1 << rand.randrange(8)
        case 1 if at < len(body):
            body[at] = rand.choice((0, 1, 127, 128, 255))
        case 2:
            del body[at:]
        case 3:
            del body[at : at + rand.choice((1, 2, 4, 8, 64))]
        case 4:
            body[at:at] = rand.randbytes(rand.choice((1, 2, 4, 8)))
        case 5:
            body[at:at] = rand.choice(WORDS)
        case 6:
            number = rand.choice(NUMBERS) & 0xFFFFFFFFFFFFFFFF
            packed = struct.pack(rand.choice("<>") + "Q", number)[: rand.choice((1, 2, 4, 8))]
            body[at : at + len(packed)] = packed
        case 7:
            other = rand.choice(whole)
            start = rand.randrange(len(other) + 1)
            body[at:at] = other[start : start + rand.choice((4, 16, 256))]
        case _:
            body[at:at] = body[at : at + rand.choice((1, 4, 64))] * rand.choice((1, 2, 50))


def _document(body: bytes, rand: random.Random) -> bytes:
    document = json.loads(body)
    if rand.random() < _BOMBS and (places := list(_places(document))):
        home, key = rand.choice(places)
        home[key] = [rand.choice(NUMBERS)] * 100_000
    for _ in range(rand.choice((1, 1, 2, 3))):
        places = list(_places(document))
        if not places:
            return json.dumps(rand.choice(VALUES)).encode("utf-8", "surrogatepass")
        home, key = rand.choice(places)
        match rand.randrange(5):
            case 0 if isinstance(home, dict):
                del home[key]
            case 1 if isinstance(home, dict):
                home[str(rand.choice(VALUES))[:99]] = home.pop(key)
            case 2:
                nested: Any = home[key]
                for _ in range(rand.choice((1, 30, 300))):
                    nested = [nested] if rand.random() < 0.5 else {"a": nested}
                home[key] = nested
            case _:
                home[key] = copy.deepcopy(rand.choice(VALUES))
    return json.dumps(document).encode("utf-8", "surrogatepass")


def _places(node: Any, depth: int = 0) -> Any:
    if depth > 50:
        return
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in items:
        yield node, key
        yield from _places(value, depth + 1)
