"""Run-length codings of ORC: integers (version 2) and booleans.

The first two bits of a run say which of four kinds it is; these are the examples of the specification.

>>> decode_integers(bytes.fromhex("0a2710"), None, signed=False).tolist()  # 0: one value, five times
[10000, 10000, 10000, 10000, 10000]
>>> decode_integers(bytes.fromhex("5e035ca1ab1edeadbeef"), None, signed=False).tolist()  # 1: 16 bits each
[23713, 43806, 57005, 48879]
>>> decode_integers(bytes.fromhex("c609020222424246"), None, signed=False).tolist()  # 3: steps
[2, 3, 5, 7, 11, 13, 17, 19, 23, 29]

Source: the ORC v1 specification, "Run Length Encoding".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.options.budgets import STRIPE_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["decode_booleans", "decode_integers", "decode_old_lengths", "encode_integers"]

_WIDTHS: Final = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
_MIN_REPEATS: Final = 3
_RUN: Final = 512
_MASK: Final = 2**64 - 1
_RUNS: Final = 512
"""One run of a stream for so many bytes that a stripe may take: each costs some microseconds."""


class _Bytes:
    """Bytes that are taken one after another."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def take(self, count: int) -> bytes:
        part = self.body[self.at : self.at + count]
        if len(part) != count:
            raise ValueError("a stream that ends too early")
        self.at += count
        return part

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def packed(self, count: int, width: int) -> Any:
        """``count`` big-endian numbers of ``width`` bits, as uint64."""
        bits = np.unpackbits(np.frombuffer(self.take((count * width + 7) // 8), np.uint8))
        rows = bits[: count * width].reshape(count, width).astype(np.uint64)
        weights = np.uint64(1) << np.arange(width - 1, -1, -1, dtype=np.uint64)
        return (rows * weights).sum(axis=1, dtype=np.uint64)


def decode_integers(
    body: bytes, count: int | None, *, signed: bool, at_most: int | None = None
) -> Any:
    """The first ``count`` integers of a stream, or all of them, as int64.

    ``at_most``: of all of them only so many, if there are as many.

    Raises:
        ValueError: the stream is damaged or holds fewer, or they take more memory than a stripe may.
    """
    stream, parts, decoded = _Bytes(body), [], 0
    most = STRIPE_BYTES.most // 8
    runs = (_short_repeat, _direct, _patched_base, _delta)
    while stream.at < len(body) if count is None else decoded < count:
        first = stream.take(1)[0]
        part = runs[first >> 6](stream, first, signed)
        parts.append(part)
        decoded += len(part)
        _require_few(parts)
        if at_most is not None and decoded >= at_most:
            break
        if decoded > most:
            raise ValueError(STRIPE_BYTES.told(f"one stream holds {decoded:,} numbers or more"))
    return np.concatenate([np.empty(0, np.int64), *parts])[: at_most if count is None else count]


def _require_few(runs: Sequence[Any]) -> None:
    if len(runs) > STRIPE_BYTES.most // _RUNS:
        raise ValueError(STRIPE_BYTES.told(f"one stream has {len(runs):,} runs or more"))


def decode_old_lengths(body: bytes, at_most: int) -> Any:
    """The first ``at_most`` numbers of version 1, none below 0, as int64.

    A byte below 128 says how often a number comes, less three; its step and the number follow.  One from 128 on
    says how many numbers follow, as 256 less that.

    >>> decode_old_lengths(bytes.fromhex("610007"), 200).tolist() == [7] * 100
    True
    >>> decode_old_lengths(bytes.fromhex("fb020304070b"), 200).tolist()
    [2, 3, 4, 7, 11]

    Raises:
        ValueError: the stream is damaged, or has more than a stripe may.
    """
    stream, parts, decoded = _Bytes(body), [], 0
    while stream.at < len(body) and decoded < at_most:
        first = stream.take(1)[0]
        if first < 128:
            count, step = first + _MIN_REPEATS, int.from_bytes(stream.take(1), "big", signed=True)
            part = np.arange(count, dtype=np.int64) * step + _int64([stream.varint()])
        else:
            part = _int64([stream.varint() for _ in range(256 - first)])
        parts.append(part)
        decoded += len(part)
        _require_few(parts)
    return np.concatenate([np.empty(0, np.int64), *parts])[:at_most]


def _zigzag(values: Any) -> Any:
    return (values >> np.uint64(1)).astype(np.int64) ^ -(values & np.uint64(1)).astype(np.int64)


def _unzigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _int64(values: Sequence[int]) -> Any:
    """Numbers wrapped to 64 bits, as Java's arithmetic does."""
    return np.array([v & _MASK for v in values], np.uint64).astype(np.int64)


def _short_repeat(stream: _Bytes, first: int, signed: bool) -> Any:
    value = int.from_bytes(stream.take((first >> 3 & 7) + 1), "big")
    count = (first & 7) + _MIN_REPEATS
    return np.repeat(_int64([_unzigzag(value) if signed else value]), count)


def _shape(stream: _Bytes, first: int) -> tuple[int, int]:
    """Width in bits and number of values of a run."""
    return _WIDTHS[first >> 1 & 31], ((first & 1) << 8 | stream.take(1)[0]) + 1


def _direct(stream: _Bytes, first: int, signed: bool) -> Any:
    width, count = _shape(stream, first)
    values = stream.packed(count, width)
    return _zigzag(values) if signed else values.astype(np.int64)


def _patched_base(stream: _Bytes, first: int, signed: bool) -> Any:  # noqa: ARG001
    """What is above a base in few bits, and for the few values that need more, their upper bits.

    >>> body = bytes.fromhex("8e132b2107d01e00147028323c46505a646e78828c96a0aab4befce8")
    >>> decode_integers(body, None, signed=False).tolist()[:6]
    [2030, 2000, 2020, 1000000, 2040, 2050]
    """
    width, count = _shape(stream, first)
    third, fourth = stream.take(2)
    base_bytes, patch_width = (third >> 5) + 1, _WIDTHS[third & 31]
    gap_width, patches = (fourth >> 5) + 1, fourth & 31
    base = int.from_bytes(stream.take(base_bytes), "big")
    sign = 1 << (base_bytes * 8 - 1)
    if base & sign:
        base = -(base & ~sign)
    values = stream.packed(count, width)
    entry = next(w for w in _WIDTHS if w >= gap_width + patch_width)
    at = 0
    for patch in stream.packed(patches, entry).tolist():
        at += patch >> patch_width
        if at >= count:
            raise ValueError("a patch behind its run")
        values[at] |= np.uint64((patch & (1 << patch_width) - 1) << width & 2**64 - 1)
    return values.astype(np.int64) + np.int64(base)


def _delta(stream: _Bytes, first: int, signed: bool) -> Any:
    """A first value, a step, and how far each next one lies from the one before: 2, 1, then 2 2 4 2 4 2 4 6."""
    width, count = _shape(stream, first)
    fixed = not first >> 1 & 31
    start = stream.varint()
    start = _unzigzag(start) if signed else start
    step = _unzigzag(stream.varint())
    if fixed:
        rise = np.uint64(step & _MASK) * np.arange(count, dtype=np.uint64)  # wraps, as Java does
        return (rise + np.uint64(start & _MASK)).astype(np.int64)
    steps = stream.packed(count - 2, width).astype(np.int64)
    head = _int64([start, start + step])
    rest = head[1] + np.cumsum(steps if step >= 0 else -steps)
    return np.concatenate([head, rest])[:count]


def decode_booleans(body: bytes, count: int) -> Any:
    """The ``count`` booleans of a stream.

    Raises:
        ValueError: the stream is damaged or holds fewer.
    """
    stream, parts, decoded = _Bytes(body), [], 0
    while decoded * 8 < count:
        control = stream.take(1)[0]
        if control < 128:
            part = stream.take(1) * (control + _MIN_REPEATS)
        else:
            part = stream.take(256 - control)
        parts.append(part)
        decoded += len(part)
    bits = np.unpackbits(np.frombuffer(b"".join(parts), np.uint8))
    return bits[:count].astype(bool)


def encode_integers(values: Any, *, signed: bool) -> bytes:
    """A stream of int64 ``values`` as direct runs; those that are not ``signed`` are no negatives."""
    whole = np.asarray(values, np.int64)
    whole = ((whole << 1) ^ (whole >> 63)).view(np.uint64) if signed else whole.view(np.uint64)
    out = []
    for start in range(0, len(whole), _RUN):
        run = whole[start : start + _RUN]
        bits = max(int(run.max()).bit_length(), 1)
        code = next(code for code, width in enumerate(_WIDTHS) if width >= bits)
        width, more = _WIDTHS[code], len(run) - 1
        out.append(bytes([1 << 6 | code << 1 | more >> 8, more & 0xFF]))
        bytes_of = run.astype(">u8").view(np.uint8).reshape(len(run), 8)
        out.append(np.packbits(np.unpackbits(bytes_of, axis=1)[:, 64 - width :]).tobytes())
    return b"".join(out)
