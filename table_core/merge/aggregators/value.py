"""Folds that pick one of the values: first and last, with and without nulls, key columns.

Source: ``org.apache.paimon.mergetree.compact.aggregate.FieldLastValueAgg`` and its neighbours;
format 8.6.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import pyarrow as pa

from table_core.errors import DataError
from table_core.merge.ordinal import present, validity
from table_core.merge.runs import Groups
from table_core.merge.take_indices import taken

if TYPE_CHECKING:
    import numpy.typing as npt

    from table_core.merge.aggregators.column import FunctionColumn

__all__ = [
    "Aggregator",
    "FirstNonNull",
    "FirstValue",
    "IgnoreRetract",
    "KeyColumn",
    "LastNonNull",
    "LastValue",
    "OfColumn",
    "Pick",
    "Steady",
    "picked",
    "refuse_retracts",
]


class Aggregator(Protocol):
    """What an aggregate function does to the versions of one column."""

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """One value a group, oldest version first; null for an empty group.

        Shape: ``column[n]``, ``groups[g]`` to ``result[g]``, same type as ``column``.

        Raises:
            DataError: a value cannot be taken away, or the result does not fit the type.
        """
        ...


def picked(
    column: pa.Array, aggregator: Pick, versions: npt.NDArray[np.int64], groups: Groups
) -> npt.NDArray[np.int64]:
    """Which rows hold the results of ``aggregator``, or -1, for the rows ``versions`` of ``column``."""
    valid = validity(column)
    here = np.ones(len(versions), np.bool_) if valid is None else valid[versions]
    at = aggregator.at(here, groups)
    if not len(versions):
        return at
    chosen = versions[at]
    chosen[at < 0] = -1
    return chosen


def refuse_retracts(groups: Groups, function: str, column: str) -> None:
    """Refuse values to take away on behalf of a function that cannot.

    Raises:
        DataError: names the column and the option that would ignore such values.
    """
    if groups.retract is not None:
        raise DataError(
            f"column {column!r}: {function!r} cannot retract a value, and "
            f"{int(groups.retract.sum())} -U or -D row(s) need it; set "
            f"'fields.{column}.ignore-retract' to 'true' to ignore them",
            column=column,
            row=None,
            value=None,
        )


class Steady(ABC):  # noqa: B024
    """A fold that gives a single value back as it is."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class OfColumn(
    Steady
):  # its kinds are no dataclasses of their own: to make one takes a millisecond
    """A fold that names its column where it cannot do what is asked."""

    column: str

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """The aggregator of ``column``."""
        return cls(column.name)


class Pick(Steady):
    """A fold whose result is one of the values, so that only it need be gathered."""

    __slots__ = ()

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:  # noqa: ARG003
        """The aggregator of any column."""
        return cls()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @abstractmethod
    def at(self, here: npt.NDArray[np.bool_], groups: Groups) -> npt.NDArray[np.int64]:
        """Position of each group's result, or -1 for null; ``here``: values that are not null.

        Shape: ``here[n]``, ``groups[g]`` to ``int64[g]``.
        """

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See ``Aggregator``."""
        return taken(column, self.at(present(column), groups))


class KeyColumn(Pick):
    """A column of the primary key: the same in every version."""

    __slots__ = ()

    def at(self, here: npt.NDArray[np.bool_], groups: Groups) -> npt.NDArray[np.int64]:  # noqa: ARG002
        """The newest version's value."""
        return np.where(groups.stops > groups.starts, groups.stops - 1, -1)


class LastValue(Pick):
    """``last_value``: the newest, also null; null after a retract."""

    __slots__ = ()

    def at(self, here: npt.NDArray[np.bool_], groups: Groups) -> npt.NDArray[np.int64]:  # noqa: ARG002
        """See the class."""
        at = groups.stops - 1
        wanted = groups.stops > groups.starts
        if groups.retract is not None:
            wanted = wanted & ~groups.retract[np.maximum(at, 0)]
        return np.where(wanted, at, -1)


class LastNonNull(Pick):
    """``last_non_null_value``: the newest that is not null; a retract of a value clears it."""

    __slots__ = ()

    def at(self, here: npt.NDArray[np.bool_], groups: Groups) -> npt.NDArray[np.int64]:
        """See the class."""
        if groups.retract is None and bool(here.all()):
            return KeyColumn().at(here, groups)
        at = groups.last(here)
        if groups.retract is not None and groups.count:
            at = np.where((at >= 0) & groups.retract[np.maximum(at, 0)], -1, at)
        return at


class FirstValue(OfColumn, Pick):
    """``first_value``: the oldest, also null."""

    __slots__ = ()

    def at(self, here: npt.NDArray[np.bool_], groups: Groups) -> npt.NDArray[np.int64]:  # noqa: ARG002
        """See the class.  A removed row that starts a group gives way unless it was initialized."""
        refuse_retracts(groups, "first_value", self.column)
        lengths = groups.stops - groups.starts
        at = np.where(lengths > 0, groups.starts, -1)
        return np.where(groups.gives_way & (lengths > 1), at + 1, at)


class FirstNonNull(OfColumn, Pick):
    """``first_non_null_value``: the oldest that is not null."""

    __slots__ = ()

    def at(self, here: npt.NDArray[np.bool_], groups: Groups) -> npt.NDArray[np.int64]:
        """See the class.  A removed row that starts a group gives way unless it was initialized."""
        refuse_retracts(groups, "first_non_null_value", self.column)
        at = groups.first(here)
        if groups.removed is None or groups.initialized is None:
            return at
        later = here.copy()
        later[groups.starts[groups.gives_way]] = False
        second = groups.first(later)
        at = np.where(groups.gives_way & (second >= 0), second, at)
        return np.where(groups.removed & groups.initialized, groups.starts, at)


@dataclass(frozen=True, slots=True)
class IgnoreRetract:
    """``fields.<c>.ignore-retract``: values to take away are not looked at."""

    inner: Aggregator

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """What ``inner`` makes of the added values."""
        if groups.retract is None:
            return self.inner.aggregate(column, groups)
        adds = groups.adds()
        lengths = np.bincount(groups.ids[adds], minlength=len(groups.starts)).astype(np.int64)
        kept = column.filter(pa.array(adds))
        return self.inner.aggregate(kept, Groups.of_lengths(lengths))
