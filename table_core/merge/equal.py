"""Whether two columns hold the same values, row by row, nested ones included.

Source: ``org.apache.paimon.codegen.RecordEqualiser``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.merge.fold_value import present
from table_core.merge.lists import identities, layout
from table_core.merge.runs import Groups, spans

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["equal_rows"]


def equal_rows(left: pa.Array, right: pa.Array, *, bits: bool = False) -> npt.NDArray[np.bool_]:
    """Where ``left`` equals ``right``; two nulls are equal, two NaN are not.

    With ``bits`` floats are compared as stored: NaN equals itself, 0.0 is not -0.0.  Maps are equal
    in whatever order their entries come.

    Shape: ``left[n]``, ``right[n]`` of the same type to ``bool[n]``.
    """
    if len(left) == 0:
        return np.zeros(0, np.bool_)
    here, there = present(left), present(right)
    if pa.types.is_struct(left.type):
        same = here & there
        for i in range(left.type.num_fields):
            inner = equal_rows(left.field(i), right.field(i), bits=bits)
            same &= inner | ~(here & there)
    elif pa.types.is_map(left.type) or pa.types.is_nested(left.type):
        same = _equal_lists(left, right, here & there, bits=bits)
    else:
        if bits and pa.types.is_floating(left.type):
            whole = pa.int64() if left.type.bit_width == 64 else pa.int32()
            left, right = left.view(whole), right.view(whole)
        same = pc.equal(left, right).fill_null(False).to_numpy(zero_copy_only=False)
    result: npt.NDArray[np.bool_] = (same & here & there) | (~here & ~there)
    return result


def _equal_lists(
    left: pa.Array, right: pa.Array, both: npt.NDArray[np.bool_], *, bits: bool
) -> npt.NDArray[np.bool_]:
    starts, lengths, values = layout(left)
    other_starts, other_lengths, other_values = layout(right)
    same: npt.NDArray[np.bool_] = both & (lengths == other_lengths)
    at = np.flatnonzero(same)
    sizes = lengths[at]
    here = values.take(pa.array(spans(starts[at], sizes)))
    there = other_values.take(pa.array(spans(other_starts[at], sizes)))
    if pa.types.is_map(left.type):
        here, there = _by_key(here, there, sizes)
    elements = equal_rows(here, there, bits=bits)
    result = same.copy()
    result[at] = Groups.of_lengths(sizes).reduce(np.logical_and, elements, True)
    return result


def _by_key(
    here: pa.Array, there: pa.Array, sizes: npt.NDArray[np.int64]
) -> tuple[pa.Array, pa.Array]:
    """The entries of maps of ``sizes``, each map in the order of its keys: written, it has none."""
    keys = identities([pa.concat_arrays([here.field(0), there.field(0)])])
    row = np.repeat(np.arange(len(sizes)), sizes)
    first, second = (np.lexsort((part, row)) for part in (keys[: len(here)], keys[len(here) :]))
    return here.take(pa.array(first)), there.take(pa.array(second))
