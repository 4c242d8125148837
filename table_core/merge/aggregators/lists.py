"""Lists and maps taken apart into elements, and put together again.

Folds of nested values work on element positions, so the elements themselves never become Python
objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.merge.ordinal import comparable, present
from table_core.merge.runs import ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from table_core.merge.runs import Groups

__all__ = ["Elements", "gathered", "identities", "layout", "list_of"]


def layout(
    array: pa.Array,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], pa.Array]:
    """Start and length of each list or map, and the values they point into."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        starts = (np.arange(len(array)) + array.offset) * size
        return starts, np.full(len(array), size), array.values
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values
    if pa.types.is_map(array.type):
        values = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
    return offsets[:-1], np.diff(offsets), values


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """Every element of the lists of a column, version by version.

    ``values[at[i]]`` is element ``i``; it belongs to version ``version[i]`` of ``group[i]``.
    ``not_null`` marks groups that were given a list to add at all.
    """

    values: pa.Array
    at: npt.NDArray[np.int64]
    version: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    retract: npt.NDArray[np.bool_]
    not_null: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, column: pa.Array, groups: Groups) -> Elements:
        """Take ``column`` apart."""
        starts, lengths, values = layout(column)
        here = np.flatnonzero(present(column))
        at = ranges(starts[here], lengths[here])
        version = np.repeat(here, lengths[here])
        adds = groups.adds()
        ids = groups.ids
        not_null = np.zeros(len(groups.starts), np.bool_)
        not_null[ids[here[adds[here]]]] = True
        return cls(values, at, version, ids[version], ~adds[version], not_null)

    def kept(self, mask: npt.NDArray[np.bool_]) -> Elements:
        """Only the elements in ``mask``."""
        return Elements(
            self.values,
            self.at[mask],
            self.version[mask],
            self.group[mask],
            self.retract[mask],
            self.not_null,
        )

    def child(self, name: str) -> pa.Array:
        """Member ``name`` of every element, which are rows."""
        member = self.values.field(name)
        return member.take(pa.array(self.at))


def gathered(elements: Elements, order: npt.NDArray[np.int64], type_: pa.DataType) -> pa.Array:
    """One list a group, of the elements ``order`` in that order, which follows the groups."""
    lengths = np.bincount(elements.group[order], minlength=len(elements.not_null))
    values = elements.values.take(pa.array(elements.at[order]))
    return list_of(values, lengths.astype(np.int64), elements.not_null, type_)


def list_of(
    values: pa.Array,
    lengths: npt.NDArray[np.int64],
    not_null: npt.NDArray[np.bool_],
    type_: pa.DataType,
) -> pa.Array:
    """Lists or maps of ``lengths`` over ``values``; null where ``not_null`` is false."""
    lengths = np.where(not_null, lengths, 0)
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), pa.int32())
    mask = pa.array(~not_null)
    if pa.types.is_map(type_):
        keys, items = values.field(0), values.field(1)
        built = pa.MapArray.from_arrays(offsets, keys, items, mask=mask)
        return built.cast(type_)
    return pa.ListArray.from_arrays(offsets, values, type=type_, mask=mask)


def identities(columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """A number a row, equal exactly where the rows of ``columns`` are; nulls equal each other."""
    flat: list[Any] = []
    for column in columns:
        if pa.types.is_struct(column.type):
            valid = present(column).astype(np.int64)
            parts = [column.field(i) for i in range(column.type.num_fields)]
            inner = identities(parts) if parts else np.zeros(len(column), np.int64)
            flat += [pa.array(np.where(valid, inner, -1))]
        elif pa.types.is_nested(column.type):
            starts, lengths, values = layout(column)
            flat.append(pa.array(_list_identities(column, starts, lengths, values)))
        else:
            flat.append(column)
    if len(flat[0]) == 0:
        return np.zeros(0, np.int64)
    return np.unique(comparable(flat), return_inverse=True)[1].astype(np.int64)


def _list_identities(
    column: pa.Array,
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    values: pa.Array,
) -> npt.NDArray[np.int64]:
    elements = identities([values])
    seen: dict[tuple[int, ...] | None, int] = {None: 0}
    result = np.zeros(len(column), np.int64)
    for i in np.flatnonzero(present(column)):
        inside = tuple(elements[starts[i] : starts[i] + lengths[i]].tolist())
        result[i] = seen.setdefault(inside, len(seen))
    return result
