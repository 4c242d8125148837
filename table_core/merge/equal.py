"""Whether two columns hold the same values, row by row, nested ones included.

Source: ``org.apache.paimon.codegen.RecordEqualiser``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.merge.fold_value import present
from table_core.merge.lists import layout
from table_core.merge.runs import Groups, spans

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["equal_rows"]


def equal_rows(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Where ``left`` equals ``right``; two nulls are equal, two NaN are not.

    Shape: ``left[n]``, ``right[n]`` of the same type to ``bool[n]``.
    """
    if len(left) == 0:
        return np.zeros(0, np.bool_)
    here, there = present(left), present(right)
    if pa.types.is_struct(left.type):
        same = here & there
        for i in range(left.type.num_fields):
            same &= equal_rows(left.field(i), right.field(i)) | ~(here & there)
    elif pa.types.is_map(left.type) or pa.types.is_nested(left.type):
        same = _equal_lists(left, right, here & there)
    else:
        same = pc.equal(left, right).fill_null(False).to_numpy(zero_copy_only=False)
    result: npt.NDArray[np.bool_] = (same & here & there) | (~here & ~there)
    return result


def _equal_lists(
    left: pa.Array, right: pa.Array, both: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    starts, lengths, values = layout(left)
    other_starts, other_lengths, other_values = layout(right)
    same: npt.NDArray[np.bool_] = both & (lengths == other_lengths)
    at = np.flatnonzero(same)
    sizes = lengths[at]
    elements = equal_rows(
        values.take(pa.array(spans(starts[at], sizes))),
        other_values.take(pa.array(spans(other_starts[at], sizes))),
    )
    result = same.copy()
    result[at] = Groups.of_lengths(sizes).reduce(np.logical_and, elements, True)
    return result
