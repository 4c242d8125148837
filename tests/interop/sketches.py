"""Sketches and bitmaps as other programs would store them: what sketch functions are given."""

from __future__ import annotations

import datasketches
import numpy as np

from table_core.merge.aggregators.bitmap64 import encode_bitmap64
from table_core.ondisk.roaring import encode32

__all__ = ["BITMAPS", "BITMAPS64", "HLLS", "THETAS"]


def _theta(first: int, last: int) -> bytes:
    sketch = datasketches.update_theta_sketch(12)
    for number in range(first, last):
        sketch.update(number)
    return bytes(sketch.compact().serialize())


def _hll(first: int, last: int) -> bytes:
    sketch = datasketches.hll_sketch(12)
    for number in range(first, last):
        sketch.update(number)
    return bytes(sketch.serialize_compact())


RANGES = ((0, 1), (0, 5), (3, 40), (100, 700))
THETAS = tuple(_theta(*r) for r in RANGES)
HLLS = tuple(_hll(*r) for r in RANGES)
BITMAPS = tuple(encode32(np.arange(*r, dtype=np.uint32)) for r in RANGES)
BITMAPS64 = tuple(
    encode_bitmap64({i % 2: np.arange(*r, dtype=np.uint16)}) for i, r in enumerate(RANGES)
)
