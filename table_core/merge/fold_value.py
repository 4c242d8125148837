"""Folds that pick one of the values: first and last, with and without nulls, key columns.

Source: ``org.apache.paimon.mergetree.compact.aggregate.FieldLastValueAgg`` and its neighbours;
spec 8.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from table_core.errors import DataError
from table_core.merge.ordinal import validity
from table_core.merge.runs import Groups, taken

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "FirstNonNull",
    "FirstValue",
    "Fold",
    "IgnoreRetract",
    "KeyColumn",
    "LastNonNull",
    "LastValue",
    "present",
    "refuse_retracts",
]


class Fold(Protocol):
    """What an aggregate function does to the versions of one column."""

    def fold(self, column: pa.Array, groups: Groups) -> pa.Array:
        """One value a group, oldest version first; null for an empty group.

        Shape: ``column[n]``, ``groups[g]`` to ``result[g]``, same type as ``column``.

        Raises:
            DataError: a value cannot be taken away, or the result does not fit the type.
        """
        ...


def present(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Which slots hold a value, as a mask even where all do."""
    valid = validity(column)
    return np.ones(len(column), np.bool_) if valid is None else valid


def refuse_retracts(groups: Groups, function: str, column: str) -> None:
    """Refuse values to take away on behalf of a function that cannot.

    Raises:
        DataError: names the column and the option that would ignore such values.
    """
    if groups.retract is not None:
        raise DataError(
            f"column {column!r}: {function!r} cannot take a value back, and "
            f"{int(groups.retract.sum())} -U or -D row(s) ask for it; set "
            f"'fields.{column}.ignore-retract' to 'true' if they may be ignored",
            column=column,
            row=None,
            value=None,
        )


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the primary key: the same in every version."""

    def fold(self, column: pa.Array, groups: Groups) -> pa.Array:
        """The newest version's value."""
        return taken(column, np.where(groups.stops > groups.starts, groups.stops - 1, -1))


@dataclass(frozen=True, slots=True)
class LastValue:
    """``last_value``: the newest, also null; null after a retract."""

    def fold(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        at = groups.stops - 1
        wanted = groups.stops > groups.starts
        if groups.retract is not None:
            wanted = wanted & ~groups.retract[np.maximum(at, 0)]
        return taken(column, np.where(wanted, at, -1))


@dataclass(frozen=True, slots=True)
class LastNonNull:
    """``last_non_null_value``: the newest that is not null; a retract of a value clears it."""

    def fold(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        if column.null_count == 0 and groups.retract is None:
            return KeyColumn().fold(column, groups)
        at = groups.last(present(column))
        if groups.retract is not None and groups.count:
            at = np.where((at >= 0) & groups.retract[np.maximum(at, 0)], -1, at)
        return taken(column, at)


@dataclass(frozen=True, slots=True)
class FirstValue:
    """``first_value``: the oldest, also null."""

    column: str

    def fold(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class.  A removed row that starts a group gives way unless it was primed."""
        refuse_retracts(groups, "first_value", self.column)
        at = np.where(groups.stops > groups.starts, groups.starts, -1)
        if groups.primed is not None:
            at = np.where((~groups.primed) & (groups.stops - groups.starts > 1), at + 1, at)
        return taken(column, at)


@dataclass(frozen=True, slots=True)
class FirstNonNull:
    """``first_non_null_value``: the oldest that is not null."""

    column: str

    def fold(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class.  A removed row that starts a group gives way unless it was primed."""
        refuse_retracts(groups, "first_non_null_value", self.column)
        here = present(column)
        at = groups.first(here)
        if groups.primed is not None:
            gives_way = groups.starts[~groups.primed & (groups.stops > groups.starts)]
            later = here.copy()
            later[gives_way] = False
            second = groups.first(later)
            at = np.where(groups.primed, groups.starts, np.where(second >= 0, second, at))
        return taken(column, at)


@dataclass(frozen=True, slots=True)
class IgnoreRetract:
    """``fields.<c>.ignore-retract``: values to take away are not looked at."""

    inner: Fold

    def fold(self, column: pa.Array, groups: Groups) -> pa.Array:
        """What ``inner`` makes of the added values."""
        if groups.retract is None:
            return self.inner.fold(column, groups)
        adds = groups.adds()
        lengths = np.bincount(groups.ids[adds], minlength=len(groups.starts)).astype(np.int64)
        kept = column.filter(pa.array(adds))
        return self.inner.fold(kept, Groups.of_lengths(lengths, None, groups.primed))
