"""Which rows of two tables belong together, by number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.merge.ordinal import ordinals, single_chunk
from table_core.merge.take_indices import TakeIndices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["pairs_of", "side_of"]


def pairs_of(
    left: pa.Table, right: pa.Table, join_type: str, *, stored: bool = False
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows with equal values in all columns, as pairs of numbers; -1 where one has no partner.

    NULL is equal to nothing, NaN to NaN, and -0.0 to 0.0, as in Spark.  If values are compared as ``stored``,
    which tells keys of rows apart, -0.0 is another value than 0.0, and NULL is one value, equal to itself.  Pairs come by row of ``right``, then of ``left``; with ``left outer``
    the other way round.

    >>> left, right = pa.table({"k": [1, 2, 2, None]}), pa.table({"k": [2, 9, None]})
    >>> [at.tolist() for at in pairs_of(left, right, "right outer")]
    [[1, 2, -1, -1], [0, 0, 1, 2]]

    Shape: ``left[n]`` and ``right[m]`` with columns of the same types to ``int64[p]`` twice.
    """
    mine, theirs = _comparable(left, stored=stored), _comparable(right, stored=stored)
    if stored:
        empty = [bool(mine[n].null_count or theirs[n].null_count) for n in mine.column_names]
        mine, theirs = _with_nulls_told(mine, empty), _with_nulls_told(theirs, empty)
    keys = [f"k{i}" for i in range(mine.num_columns)]
    joined = (
        mine.rename_columns(keys)
        .append_column("left", _numbers(left))
        .join(
            theirs.rename_columns(keys).append_column("right", _numbers(right)),
            keys=keys,
            join_type=join_type,
        )
    )
    left_at, right_at = _positions(joined["left"]), _positions(joined["right"])
    by_left = join_type == "left outer"  # the join gives them as its threads finish
    order = np.lexsort((right_at, left_at) if by_left else (left_at, right_at))
    return left_at[order], right_at[order]


def side_of(rows: pa.Table, at: npt.NDArray[np.int64]) -> pa.Table:
    """The rows ``at`` of one side, NULLs where there is no partner."""
    return TakeIndices(at).of_all(rows)


def _comparable(rows: pa.Table, *, stored: bool) -> pa.Table:
    """``rows`` with integers that are equal where floating-point numbers are."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            column = single_chunk(rows.column(at))
            if not stored:
                column = pc.add(column, pa.scalar(0.0, field.type))  # there is one zero then
            # Arrow's join knows each NaN by its bits and tells -0.0 from 0.0: ordinals do not.
            numbers = pa.array(ordinals(column), mask=pc.is_null(column).to_numpy(False))
            rows = rows.set_column(at, field.name, numbers)
    return rows


def _with_nulls_told(rows: pa.Table, empty: Sequence[bool]) -> pa.Table:
    """``rows`` where each column that is ``empty`` somewhere says so in one more column, and has no NULL.

    k: 1, NULL gives k: 1, 0 and 0, 1.
    """
    columns = list(rows.columns)
    for at, is_empty in enumerate(empty):
        if is_empty:
            column = single_chunk(rows.column(at))
            columns.append(pc.is_null(column).cast(pa.int8()))
            columns[at] = pc.coalesce(column, pa.array([_some(column.type)], column.type)[0])
    return pa.table(columns, names=[str(at) for at in range(len(columns))])


def _some(type_: pa.DataType) -> Any:
    """A value of ``type_``, whichever."""
    if pa.types.is_fixed_size_binary(type_):
        return bytes(type_.byte_width)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return ""
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return b""
    return False if pa.types.is_boolean(type_) else 0


def _numbers(rows: pa.Table) -> pa.Array:
    return pa.array(np.arange(rows.num_rows, dtype=np.int64))


def _positions(column: pa.ChunkedArray) -> Any:
    return column.fill_null(-1).to_numpy()
