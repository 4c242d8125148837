"""Many Avro values walked over at once, without decoding them: one numpy step a member.

Decoding a record costs far more than knowing where it ends.  Who wants few of many records finds
their places here and decodes those alone.

Two records of a long and a string, ``02 06 abc`` and ``80 01 02 x``, at bytes 0 and 5::

    positions           0 5
    behind the long     1 7     02 is one byte, 80 01 are two
    behind the string   5 9     06 is 3 bytes, 02 is one

Source: Avro 1.11 specification, "Binary Encoding".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["Positions", "Steps"]

Positions = np.ndarray[Any, np.dtype[np.int64]]
_LONG_BYTES: Final = 10
_STEPS_MAX: Final = 1 << 14
"""Who needs more has lists too long to be walked over item by item, or damaged ones."""
_WIDTHS: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}


class Steps:
    """Positions in ``payload`` that move in lockstep.

    A position that steps past the end, or on what cannot be walked over, stays at ``-1``.
    """

    def __init__(self, payload: bytes) -> None:
        self.size = len(payload)
        self._left = _STEPS_MAX
        self._bytes: npt.NDArray[np.uint8] = np.frombuffer(payload + bytes(_LONG_BYTES), np.uint8)

    def long(self, at: Positions) -> tuple[Positions, Positions]:
        """The numbers at the positions, and the positions behind them."""
        here = np.where(at < 0, self.size, at)
        byte = self._bytes[here].astype(np.int64)
        value, after, shift = byte & 0x7F, here + 1, 7
        more = np.flatnonzero(byte & 0x80)
        while len(more) and shift < 7 * _LONG_BYTES:
            byte = self._bytes[np.minimum(after[more], self.size)].astype(np.int64)
            value[more] |= (byte & 0x7F) << shift
            after[more] += 1
            shift += 7
            more = more[byte & 0x80 != 0]
        after[more] = self.size + 1
        value = (value >> 1) & np.int64(2**63 - 1) ^ -(value & 1)
        return value, self._within(at, after)

    def skip(self, schema: Any, at: Positions) -> Positions:
        """The positions behind values of the expanded ``schema``."""
        self._left -= 1
        if self._left < 0:
            return np.full(len(at), -1)
        if isinstance(schema, list):
            return self._skip_branch(schema, at)
        if isinstance(schema, str):
            return self._skip_primitive(schema, at)
        if schema["type"] == "record":
            for field in schema["fields"]:
                at = self.skip(field["type"], at)
            return at
        if schema["type"] == "array":
            return self._skip_items(schema["items"], at)
        return np.full(len(at), -1)

    def _within(self, before: Positions, after: Positions) -> Positions:
        return np.where((before >= 0) & (after <= self.size), after, -1)

    def _skip_primitive(self, kind: str, at: Positions) -> Positions:
        if kind in _WIDTHS:
            return self._within(at, at + _WIDTHS[kind])
        number, after = self.long(at)
        return self._skip_bytes(number, after) if kind in {"bytes", "string"} else after

    def _skip_bytes(self, length: Positions, at: Positions) -> Positions:
        fits = (length >= 0) & (length <= self.size)
        return self._within(at, np.where(fits, at + np.where(fits, length, 0), self.size + 1))

    def _skip_branch(self, branches: Sequence[Any], at: Positions) -> Positions:
        branch, after = self.long(at)
        known = np.zeros(len(at), np.bool_)
        for number, schema in enumerate(branches):
            chosen = branch == number
            known |= chosen
            if schema != "null" and chosen.any():
                after[chosen] = self.skip(schema, after[chosen])
        return np.where(known, after, -1)

    def _skip_items(self, items: Any, at: Positions) -> Positions:
        """Behind lists: blocks of items until one of none; a negative count is followed by bytes."""
        after = at.copy()
        rest = np.flatnonzero(at >= 0)
        while len(rest):
            count, here = self.long(after[rest])
            sized = count < 0
            if sized.any():
                length, behind = self.long(here[sized])
                here[sized] = self._skip_bytes(length, behind)
            done = 0
            while len(left := np.flatnonzero((count > done) & (here >= 0))):
                here[left] = self.skip(items, here[left])
                done += 1
            after[rest] = here if self._left > 0 else -1
            self._left -= 1
            rest = rest[(count != 0) & (after[rest] >= 0)]
        return after
