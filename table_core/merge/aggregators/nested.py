"""Folds of lists and maps: collect, merge_map, nested_update and their variants.

Source: ``org.apache.paimon.mergetree.compact.aggregate.FieldCollectAgg`` and its neighbours;
format 8.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import pyarrow as pa

from table_core.datatypes.kinds import Array, Atomic, Map, Root, Row
from table_core.errors import DataError
from table_core.merge.aggregators.lists import Elements, gathered, identities, list_of
from table_core.merge.aggregators.value import LastNonNull, refuse_retracts
from table_core.merge.ordinal import comparable, ordinals, present
from table_core.merge.runs import Groups
from table_core.merge.take_indices import taken
from table_core.options import parse

if TYPE_CHECKING:
    import numpy.typing as npt

    from table_core.merge.aggregators.column import FunctionColumn

__all__ = [
    "NO_LIMIT",
    "Collect",
    "KeyNulls",
    "MergeMap",
    "MergeMapWithKeyTime",
    "NestedPartialUpdate",
    "NestedUpdate",
]

NO_LIMIT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Collect:
    """``collect``: lists appended; ``distinct`` keeps one of equal elements."""

    distinct: bool

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """The aggregator of ``column``."""
        return cls(column.flag("distinct"))

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class.  A retracted element takes one equal element away, if there is one."""
        elements = Elements.of(column, groups)
        if self.distinct or groups.retract is not None:
            name = identities([elements.values.take(pa.array(elements.at))])
            if groups.retract is None:
                return gathered(elements, _first_of(_pairs(elements.group, name)), column.type)
            return gathered(elements, self._after_retracts(elements, name), column.type)
        return gathered(elements, np.arange(len(elements.at)), column.type)

    def _after_retracts(
        self, elements: Elements, name: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Positions left.  A retract takes the oldest equal element that is there, if any is."""
        pairs = _pairs(elements.group, name)
        if self.distinct:
            rank = np.zeros(len(pairs), np.int64)
            return np.sort(_survivors(pairs, rank, elements.retract, latest=False))
        return _unowed(pairs, elements.retract)


@dataclass(frozen=True, slots=True)
class MergeMap:
    """``merge_map``: later values replace earlier ones; a retract takes keys away."""

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:  # noqa: ARG003
        """The aggregator of any column."""
        return cls()

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        elements = Elements.of(column, groups)
        name = _pairs(elements.group, identities([elements.child("key")]))
        rank = np.zeros(len(name), np.int64)
        return gathered(elements, _survivors(name, rank, elements.retract), column.type)


@dataclass(frozen=True, slots=True)
class MergeMapWithKeyTime:
    """``merge_map_with_keytime``: of each key the value with the greatest time.

    A null value takes the key away; a value without a time changes nothing, unless it is of the
    first map.
    """

    column: str
    time: str

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """The aggregator of ``column``, by its ``ts-field`` or the last member of its values.

        Raises:
            OptionError: there is no such member, or it is no text.
        """
        assert isinstance(column.field.type, Map)
        row = column.field.type.value
        assert isinstance(row, Row)
        members = {f.name: f for f in row.fields}
        time_name = column.option("ts-field")
        time = members.get(row.fields[-1].name if time_name is None else time_name)
        if time is None:
            raise column.wrong("ts-field", time_name, f"there is none; there are {list(members)}")
        if not (isinstance(time.type, Atomic) and time.type.root in {Root.VARCHAR, Root.CHAR}):
            raise column.wrong("ts-field", time.name, "the time must be a STRING")
        return cls(column.name, time.name)

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        refuse_retracts(groups, "merge_map_with_keytime", self.column)
        elements = Elements.of(column, groups)
        value = elements.child("value")
        there = present(value)
        time = value.field(self.time)
        timed = present(time) & there
        first = groups.first(present(column))[elements.group] == elements.version
        counts = timed | first | ~there
        elements = elements.kept(counts)
        rank = np.where(timed, ordinals(time) + 1, 0)[counts]
        name = _pairs(elements.group, identities([elements.child("key")]))
        removal = (~there & ~first)[counts]
        return gathered(elements, _survivors(name, rank, removal, latest=False), column.type)


@dataclass(frozen=True, slots=True)
class KeyNulls:
    """What to do with nested rows whose key has a null: ``merge``, ``ignore`` or ``error``."""

    column: str
    key: tuple[str, ...]
    strategy: str = "merge"

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """What the options of ``column`` say.

        Raises:
            OptionError: no such member or strategy, or a strategy without a key.
        """
        suffix = "nested-key-null-strategy"
        key = _members(column, "nested-key")
        strategy = column.option(suffix)
        if strategy is None:
            return cls(column.name, key)
        if strategy.lower() not in {"merge", "ignore", "error"}:
            raise column.wrong(suffix, strategy, "use merge, ignore or error")
        if not key:
            raise column.wrong(suffix, strategy, "it needs a nested-key")
        return cls(column.name, key, strategy.lower())

    def applied(self, elements: Elements) -> Elements:
        """``elements`` that are rows, without those to be left out.

        Raises:
            DataError: a key has a null, and the strategy is ``error``.
        """
        rows = elements.values.take(pa.array(elements.at))
        elements = elements.kept(present(rows))
        if self.strategy == "merge" or not self.key:
            return elements
        whole = np.logical_and.reduce([present(elements.child(name)) for name in self.key])
        if self.strategy == "error" and not whole.all():
            raise DataError(
                f"column {self.column!r}: a nested row has null in its key {list(self.key)}; "
                f"set 'fields.{self.column}.nested-key-null-strategy' to 'ignore' or 'merge', "
                "or repair the row",
                column=self.column,
                row=None,
                value=None,
            )
        return elements.kept(whole)


@dataclass(frozen=True, slots=True)
class NestedUpdate:
    """``nested_update``: nested rows appended, or upserted by ``nested-key``."""

    nulls: KeyNulls
    sequence: tuple[str, ...] = ()
    limit: int = NO_LIMIT

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """The aggregator of ``column``, with its key, order and limit.

        Raises:
            OptionError: no such member, an order without a key, or a limit that is no number.
        """
        sequence = _members(column, "nested-sequence-field")
        nulls = KeyNulls.of(column)
        if sequence and not nulls.key:
            text = ",".join(sequence)
            raise column.wrong("nested-sequence-field", text, "it needs a nested-key")
        limit = column.option("count-limit")
        try:
            return cls(nulls, sequence, NO_LIMIT if limit is None else parse.integer(limit))
        except ValueError as error:
            raise column.wrong("count-limit", limit, str(error)) from error

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class.  A retract takes equal rows, or keys, away."""
        elements = self.nulls.applied(Elements.of(column, groups))
        members = self.nulls.key or [f.name for f in elements.values.type]
        name = _pairs(elements.group, identities([elements.child(m) for m in members]))
        if self.limit < NO_LIMIT and groups.retract is not None:
            order = self._counted(elements, name)
        elif self.nulls.key:
            order = _survivors(name, self._ranks(elements), elements.retract)
            order = order[_place_in(elements.group[order]) < self.limit]
        else:
            order = _never_retracted(name, elements)
            order = order[_place_in(elements.group[order]) < self.limit]
        return gathered(elements, order, column.type)

    def _ranks(self, elements: Elements) -> npt.NDArray[np.int64]:
        if not self.sequence:
            return np.zeros(len(elements.at), np.int64)
        values = comparable([elements.child(name) for name in self.sequence])
        return np.unique(values, return_inverse=True)[1].astype(np.int64)

    def _counted(self, elements: Elements, name: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Positions left where a limit and retracts meet: what is let in depends on both."""
        ranks = self._ranks(elements)
        kept: list[list[int]] = [[] for _ in elements.not_null]
        for i, (group, key, taken_back) in enumerate(
            zip(elements.group.tolist(), name.tolist(), elements.retract.tolist(), strict=True)
        ):
            here = kept[group]
            same = [j for j, at in enumerate(here) if name[at] == key]
            if taken_back:
                kept[group] = [at for at in here if name[at] != key]
            elif same and self.nulls.key:
                if ranks[i] >= ranks[here[same[0]]]:
                    here[same[0]] = i
            elif len(here) < self.limit:
                here.append(i)
        return np.array([at for here in kept for at in here], np.int64)


@dataclass(frozen=True, slots=True)
class NestedPartialUpdate:
    """``nested_partial_update``: by ``nested-key``, of each member the newest that is not null."""

    nulls: KeyNulls

    @classmethod
    def of(cls, column: FunctionColumn) -> Self:
        """The aggregator of ``column``, by its key.

        Raises:
            OptionError: there is no key, or no such member.
        """
        nulls = KeyNulls.of(column)
        if not nulls.key:
            raise column.wrong("nested-key", None, "'nested_partial_update' needs it")
        return cls(nulls)

    def aggregate(self, column: pa.Array, groups: Groups) -> pa.Array:
        """See the class."""
        refuse_retracts(groups, "nested_partial_update", self.nulls.column)
        elements = self.nulls.applied(Elements.of(column, groups))
        key = [elements.child(m) for m in self.nulls.key]
        name = _pairs(elements.group, identities(key))
        first, number = _numbered(name)
        order = np.argsort(number, kind="stable")
        by_name = Groups.of_lengths(np.bincount(number, minlength=len(first)).astype(np.int64))
        fields = list(elements.values.type)
        members = [
            LastNonNull().aggregate(taken(elements.child(f.name), order), by_name) for f in fields
        ]
        rows = pa.StructArray.from_arrays(members, fields=fields)
        lengths = np.bincount(elements.group[first], minlength=len(elements.not_null))
        return list_of(rows, lengths.astype(np.int64), elements.not_null, column.type)


def _members(column: FunctionColumn, suffix: str) -> tuple[str, ...]:
    """The members of the nested row that ``fields.<c>.<suffix>`` names."""
    assert isinstance(column.field.type, Array)
    row = column.field.type.element
    assert isinstance(row, Row)
    text = column.option(suffix)
    names = () if text is None else parse.column_list(text)
    known = [f.name for f in row.fields]
    for name in names:
        if name not in known:
            raise column.wrong(suffix, text, f"there is no {name!r}; there are {known}")
    return names


def _pairs(group: npt.NDArray[np.int64], name: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """One number for (group, name), ascending by group."""
    height = np.int64(name.max()) + 1 if len(name) else np.int64(1)
    return group * height + name


def _first_of(name: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each name first stands, in order."""
    return np.sort(np.unique(name, return_index=True)[1])


def _numbered(
    name: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where each name first stands, in order, and for every element the number of its name."""
    _, at, inverse = np.unique(name, return_index=True, return_inverse=True)
    turn = np.argsort(at, kind="stable")
    number = np.empty(len(turn), np.int64)
    number[turn] = np.arange(len(turn))
    return at[turn], number[inverse]


def _survivors(
    name: npt.NDArray[np.int64],
    rank: npt.NDArray[np.int64],
    removal: npt.NDArray[np.bool_],
    *,
    latest: bool = True,
) -> npt.NDArray[np.int64]:
    """The element that each name ends with, in the order in which names first came.

    Since the last removal of the name: the one of highest ``rank``, the latest or the first of
    several.  A name that was removed last has none.
    """
    if len(name) == 0:
        return np.zeros(0, np.int64)
    first, number = _numbered(name)
    order = np.argsort(number, kind="stable")
    by_name = Groups.of_lengths(np.bincount(number, minlength=len(first)).astype(np.int64))
    since = np.maximum(by_name.last(removal[order]) + 1, by_name.starts)
    alive = np.arange(len(name)) >= np.repeat(since, by_name.stops - by_name.starts)
    ranks = np.where(alive, rank[order], -1)
    best = by_name.reduce(np.maximum, ranks, -1)
    hits = alive & (ranks == np.repeat(best, by_name.stops - by_name.starts))
    at = by_name.last(hits) if latest else by_name.first(hits)
    return order[at[at >= 0]]


def _unowed(name: npt.NDArray[np.int64], retract: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Added elements that are left when each retract takes the oldest of its name, if one is there.

    So many are left as the balance has risen since it was lowest; they are the newest.
    """
    if len(name) == 0:
        return np.zeros(0, np.int64)
    order = np.argsort(name, kind="stable")
    by_name = Groups.of_lengths(np.unique(name, return_counts=True)[1].astype(np.int64))
    adds = ~retract[order]
    balance = np.cumsum(np.where(adds, 1, -1))
    before = np.concatenate([[0], balance])[by_name.starts]
    lowest = np.minimum(by_name.reduce(np.minimum, balance, 0), before)
    left = balance[by_name.stops - 1] - lowest
    added = np.cumsum(adds)
    newer: npt.NDArray[np.int64] = (
        np.repeat(added[by_name.stops - 1], by_name.stops - by_name.starts) - added
    )
    stays = adds & (newer < np.repeat(left, by_name.stops - by_name.starts))
    return np.sort(order[stays])


def _never_retracted(name: npt.NDArray[np.int64], elements: Elements) -> npt.NDArray[np.int64]:
    """Added elements with no equal one retracted after them."""
    if not elements.retract.any():
        return np.arange(len(name))
    last_retract = np.full(int(name.max()) + 1, -1, np.int64)
    np.maximum.at(last_retract, name[elements.retract], np.flatnonzero(elements.retract))
    return np.flatnonzero(~elements.retract & (np.arange(len(name)) > last_retract[name]))


def _place_in(group: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The how-manieth of its group each element is; ``group`` ascends."""
    return np.arange(len(group)) - np.searchsorted(group, group)
