"""Whether two columns hold the same values, row by row, nested ones included.

Source: ``org.apache.paimon.codegen.RecordEqualiser``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.merge.aggregators.lists import identities, layout
from table_core.merge.ordinal import ordinals, present
from table_core.merge.runs import Groups, ranges

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["equal_rows"]


def equal_rows(left: pa.Array, right: pa.Array, *, stored: bool = False) -> npt.NDArray[np.bool_]:
    """Where ``left`` equals ``right``: as Paimon says when it leaves out changes of nothing.

    Two nulls are equal, but as elements of lists and values of maps only if they are compared as
    ``stored``; NaN equals NaN, and -0.0 differs from 0.0.  Maps are equal in whatever order their
    entries stand.

    Shape: ``left[n]``, ``right[n]`` of the same type to ``bool[n]``.
    """
    if len(left) == 0:
        return np.zeros(0, np.bool_)
    here, there = present(left), present(right)
    result: npt.NDArray[np.bool_] = _same(left, right, here & there, stored) | (~here & ~there)
    return result


def _same(
    left: pa.Array, right: pa.Array, both: npt.NDArray[np.bool_], stored: bool
) -> npt.NDArray[np.bool_]:
    """Where values are equal that are there on ``both`` sides."""
    type_ = left.type
    same = both.copy()
    if pa.types.is_struct(type_):
        for i in range(type_.num_fields):
            same &= equal_rows(left.field(i), right.field(i), stored=stored) | ~both
    elif pa.types.is_nested(type_):
        same = _equal_lists(left, right, both, stored)
    elif pa.types.is_floating(type_):
        same &= ordinals(left) == ordinals(right)
    else:
        same &= pc.equal(left, right).fill_null(False).to_numpy(zero_copy_only=False)
    return same


def _equal_lists(
    left: pa.Array, right: pa.Array, both: npt.NDArray[np.bool_], stored: bool
) -> npt.NDArray[np.bool_]:
    starts, lengths, values = layout(left)
    other_starts, other_lengths, other_values = layout(right)
    same: npt.NDArray[np.bool_] = both & (lengths == other_lengths)
    at = np.flatnonzero(same)
    sizes = lengths[at]
    if not sizes.sum():
        return same
    ours = values.take(pa.array(ranges(starts[at], sizes)))
    theirs = other_values.take(pa.array(ranges(other_starts[at], sizes)))
    if pa.types.is_map(left.type):
        ours, theirs = _by_key(ours, theirs, np.repeat(np.arange(len(at)), sizes))
        sides = [_elements(ours.field(i), theirs.field(i), stored) for i in (0, 1)]
        elements = np.logical_and(*sides)
    else:
        elements = _elements(ours, theirs, stored)
    result = same.copy()
    result[at] = Groups.of_lengths(sizes).reduce(np.logical_and, elements, True)
    return result


def _elements(left: pa.Array, right: pa.Array, stored: bool) -> npt.NDArray[np.bool_]:
    if stored:
        return equal_rows(left, right, stored=True)
    return _same(left, right, present(left) & present(right), stored)


def _by_key(
    left: pa.Array, right: pa.Array, owner: npt.NDArray[np.int64]
) -> tuple[pa.Array, pa.Array]:
    """The entries of maps, those of one ``owner`` in the order of their keys."""
    rank = identities([pa.concat_arrays([left.field(0), right.field(0)])])
    orders = [np.lexsort((side, owner)) for side in (rank[: len(left)], rank[len(left) :])]
    return left.take(pa.array(orders[0])), right.take(pa.array(orders[1]))
