"""Room for what merging computes on the way, in Arrow's memory.

Numpy asks the system for every large array and gives it back, so each window would touch fresh pages
again, which takes as long as the computation; Arrow keeps what was freed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["at", "empty", "numbers"]


def empty(count: int, dtype: Any = np.int64) -> npt.NDArray[Any]:
    """An array of ``count`` values, whatever they are."""
    size = np.dtype(dtype).itemsize
    return np.frombuffer(pa.allocate_buffer(count * size), dtype)


def at(
    values: npt.NDArray[Any], indices: npt.NDArray[np.int64], mode: Literal["clip", "wrap"] = "clip"
) -> npt.NDArray[Any]:
    """``values`` at ``indices``.  A negative place is the first one, or counts from the end."""
    return values.take(indices, mode=mode, out=empty(len(indices), values.dtype))


def numbers(count: int) -> npt.NDArray[np.int64]:
    """0 to ``count - 1``, to be read only."""
    return _numbers(count.bit_length())[:count]


@lru_cache(maxsize=1)
def _numbers(width: int) -> npt.NDArray[np.int64]:
    numbers = np.arange(1 << width)
    numbers.flags.writeable = False
    return numbers
