"""Sequence groups: columns of a partial update that follow a sequence of their own.

A version changes the group's columns only if its sequence fields are at least those of the row so
far.  An older version still reaches the group's aggregate functions, as if it had come first.

One key; ``g`` orders ``a`` and the sum ``n``::

    version  g     a     n   wins  silent
    0        2     x    10   yes
    1        1     y     5                 older than 2: ``a`` stays, ``n`` takes the 5 in
    2        NULL  z     7         yes     says nothing: not even ``n`` looks at it
    3        2     NULL  1   yes           as new as the row: all of ``a`` is replaced, by NULL too
    result   2     NULL 16

Source: ``org.apache.paimon.mergetree.compact.PartialUpdateMergeFunction``; format 8.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import RowKind
from table_core.merge.aggregators.removed_rows import removed_kept
from table_core.merge.aggregators.value import (
    FirstNonNull,
    FirstValue,
    IgnoreRetract,
    refuse_retracts,
)
from table_core.merge.ordinal import comparable, present, single_chunk
from table_core.merge.runs import Groups, ranges
from table_core.merge.take_indices import taken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from table_core.merge.aggregators.value import Aggregator

__all__ = ["History", "SequenceGroup", "from_removal"]


@dataclass(frozen=True, slots=True, eq=False)
class SequenceGroup:
    """``fields.<fields>.sequence-group = <protected>``.

    ``aggregators`` has an entry for each protected column with an aggregate function.  With
    ``removes`` a ``-D`` that wins takes the whole record away.
    """

    fields: tuple[str, ...]
    protected: tuple[str, ...]
    removes: bool = False
    aggregators: Mapping[str, Aggregator] = field(default_factory=dict)

    def aggregate(self, history: History) -> dict[str, pa.Array]:
        """The group's columns after every version.  Shape: by name, one value a key."""
        wins, silent = history.contest(self.fields)
        groups = history.groups
        at = groups.last(wins | history.base_row)  # the version that the group's columns are from
        result = {name: taken(history.column(name), at) for name in self.fields}
        takes_back = wins & history.retract & ~history.quiet_base_row
        # A retract that wins leaves its sequence behind and NULL in the columns (format 8.5).
        cleared = np.where((at >= 0) & takes_back[np.maximum(at, 0)], -1, at)
        for name in self.protected:
            aggregator = self.aggregators.get(name)
            if aggregator is None:
                result[name] = taken(history.column(name), cleared)
            else:
                result[name] = self._folded(history, name, aggregator, wins, silent)
        return result

    def _folded(
        self,
        history: History,
        name: str,
        aggregator: Aggregator,
        wins: npt.NDArray[np.bool_],
        silent: npt.NDArray[np.bool_],
    ) -> pa.Array:
        """Fold the versions as the row sees them: older adds first, newest of them nearest.

        A base row can be two events: the value that the row starts from (turn ``2v``), and, unless it is
        quiet, the retract itself (turn ``2v + 1``).  In the table above the events of ``n`` are versions
        0, 1 (late) and 3.
        """
        non_null = np.flatnonzero(~silent & ~history.quiet_base_row)
        base_rows = np.flatnonzero(history.base_row)
        at = np.concatenate([base_rows, non_null])
        turn = np.concatenate([2 * base_rows, 2 * non_null + 1])
        retract = np.concatenate([np.zeros(len(base_rows), np.bool_), history.retract[non_null]])
        late = np.concatenate([np.zeros(len(base_rows), np.bool_), ~wins[non_null]]) & ~retract
        from table_core.merge.aggregators.nested import Collect

        if isinstance(aggregator, Collect):  # it appends late values as they come, as Paimon's does
            late[:] = False
        run = history.groups.ids[at]
        lengths = np.bincount(run, minlength=len(history.groups.starts)).astype(np.int64)
        in_time = np.lexsort((turn, run))
        column = history.column(name)
        base_row = np.arange(len(at)) < len(base_rows)
        initialized = history.initialized(
            self.fields, name, skips_nulls=_of(aggregator, FirstNonNull)
        )
        events = Events(
            at[in_time], retract[in_time], late[in_time], lengths, base_row[in_time], initialized
        )
        return events.after_seeds(column, events.result(column, aggregator, name), aggregator)


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """What happens to an aggregated column, key by key, in the order of the versions.

    ``at`` is the version that each event comes from.  ``late`` adds go before the value so far;
    a ``base_row`` is the value so far.  ``initialized`` keys had a first value before they were removed.

    A key with ``listagg`` and the events A, late B, late C, D: the row is A, then B A, then C B A, then
    C B A D.  So late ones come first, the newest of them foremost, and the others follow as they came.
    """

    at: npt.NDArray[np.int64]
    retract: npt.NDArray[np.bool_]
    late: npt.NDArray[np.bool_]
    lengths: npt.NDArray[np.int64]
    base_row: npt.NDArray[np.bool_]
    initialized: npt.NDArray[np.bool_]

    def result(self, column: pa.Array, aggregator: Aggregator, name: str) -> pa.Array:
        """What ``aggregator`` makes of ``column``, called ``name``."""
        inner = aggregator.inner if isinstance(aggregator, IgnoreRetract) else aggregator
        if isinstance(inner, FirstValue | FirstNonNull) and (self.late | self.base_row).any():
            if inner is aggregator:
                refuse_retracts(Groups.of_lengths(self.lengths, self.retract), "first_value", name)
            skips_nulls = isinstance(inner, FirstNonNull)
            return taken(column, self.first(present(column), skips_nulls=skips_nulls))
        from table_core.merge.aggregators.numeric import Sum

        # Late adds are sorted to the front.  That is wrong where a retract came before one: it took out of
        # the value so far, without the late one.  Sums do not mind; ``IgnoreRetract`` takes nothing out.
        if isinstance(aggregator, Sum | IgnoreRetract) or not self.retract_before_late():
            run = np.repeat(np.arange(len(self.lengths)), self.lengths)
            turn = np.arange(len(run))
            order = np.lexsort((np.where(self.late, -turn - 1, turn), run))
            groups = Groups.of_lengths(self.lengths, self.retract[order])
            return aggregator.aggregate(taken(column, self.at[order]), groups)
        return self.aggregate(column, aggregator)

    def after_seeds(self, column: pa.Array, result: pa.Array, aggregator: Aggregator) -> pa.Array:
        """``result``, but the value as it was written where nothing happened to a seed.

        A late null is something: the value so far is then folded into nothing.
        """
        every = Groups.of_lengths(self.lengths)
        has_base_row = every.reduce(np.logical_or, self.base_row, False)
        has_base_row &= ~every.reduce(np.logical_or, self.late, False)
        groups = Groups.of_lengths(self.lengths, self.retract, has_base_row)
        return removed_kept(taken(column, self.at), result, aggregator, groups)

    def retract_before_late(self) -> bool:
        """Whether a key has a late add after a retract, so that the order of events matters."""
        groups = Groups.of_lengths(self.lengths)
        first_retract, last_late = groups.first(self.retract), groups.last(self.late)
        return bool(((first_retract >= 0) & (last_late > first_retract)).any())

    def first(self, here: npt.NDArray[np.bool_], *, skips_nulls: bool) -> npt.NDArray[np.int64]:
        """The version that holds each key's first value, or -1; retracts are not looked at.

        Whoever comes late is the first once there is one; before that, the value so far stays.

        Source: ``FieldFirstValueAgg``, ``FieldFirstNonNullValueAgg``, ``FieldAggregator#aggReversed``.
        """
        starts = np.cumsum(self.lengths) - self.lengths
        state = np.full(len(starts), -1, np.int64)
        settled = self.initialized.copy()
        for wave in range(int(self.lengths.max(initial=0))):
            active = np.flatnonzero(self.lengths > wave)
            event = starts[active] + wave
            at, late, base_row = self.at[event], self.late[event], self.base_row[event]
            known, done = state[active], settled[active]
            adds = ~self.retract[event] & ~base_row
            gives = here[at] if skips_nulls else np.ones(len(at), np.bool_)
            holds = (known >= 0) & here[known] if skips_nulls else np.ones(len(at), np.bool_)
            in_turn, behind = adds & ~late & ~done & gives, adds & late & ~done & holds
            comes = in_turn | base_row | (adds & late & ~behind)
            state[active] = np.where(comes, at, known)
            settled[active] = done | in_turn | behind
        return state

    def aggregate(self, column: pa.Array, aggregator: Aggregator) -> pa.Array:
        """Fold every key at once, one event further a time.

        The two values of each key, in the order that the function is to see them: ``state, value``, or
        ``value, state`` for a late one.  Costs as many folds as the longest history has events, so it is
        used only where the order of events matters.
        """
        starts = np.cumsum(self.lengths) - self.lengths
        state = taken(column, np.full(len(starts), -1))
        for wave in range(int(self.lengths.max())):
            active = np.flatnonzero(self.lengths > wave)
            event = starts[active] + wave
            old, new = np.arange(len(active)), np.arange(len(active)) + len(active)
            late = self.late[event]
            pairs = np.column_stack([np.where(late, new, old), np.where(late, old, new)]).ravel()
            values = pa.concat_arrays([taken(state, active), taken(column, self.at[event])])
            retract = np.column_stack([np.zeros(len(active), np.bool_), self.retract[event]])
            groups = Groups.of_lengths(np.full(len(active), 2), retract.ravel())
            result = aggregator.aggregate(taken(values, pairs), groups)
            place = np.arange(len(starts))
            place[active] = np.arange(len(active)) + len(starts)
            state = taken(pa.concat_arrays([state, result]), place)
        return state


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The versions that make up the record of each key, oldest first.

    ``base_row`` marks versions whose whole row the record starts from: a removal, or a retract that
    comes first; ``quiet_base_row`` those that then do nothing else.

    ``-D`` (a=5), ``+I`` (a=NULL): the delete comes first, so it is the base row, and the 5 is still there
    for the row that is inserted after it (format T45).
    """

    rows: pa.Table
    versions: npt.NDArray[np.int64]
    groups: Groups
    retract: npt.NDArray[np.bool_]
    base_row: npt.NDArray[np.bool_]
    quiet_base_row: npt.NDArray[np.bool_]
    whole: History | None = None
    """With the versions that were cut off, which are those before ``starts``."""
    starts: npt.NDArray[np.int64] | None = None

    def initialized(
        self, fields: Sequence[str], name: str, *, skips_nulls: bool
    ) -> npt.NDArray[np.bool_]:
        """Keys that were given a first value of ``name`` before what was cut off, which stays so.

        Source: ``FieldFirstValueAgg``, whose ``initialized`` outlives a removal.
        """
        if self.whole is None or self.starts is None:
            return np.zeros(len(self.groups.starts), np.bool_)
        past = self.whole
        gave = (np.arange(past.groups.count) < self.starts[past.groups.ids]) & ~past.retract
        gave &= np.logical_or.reduce([present(past.column(field)) for field in fields])
        if skips_nulls:
            gave &= present(past.column(name))
        any_gave: npt.NDArray[np.bool_] = past.groups.reduce(np.logical_or, gave, False)
        return any_gave

    def column(self, name: str) -> pa.Array:
        """The column ``name`` of every version."""
        return taken(single_chunk(self.rows[name]), self.versions)

    def contest(self, fields: Sequence[str]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Which versions win by ``fields``, and which say nothing (all fields null)."""
        columns = [self.column(name) for name in fields]
        silent = ~np.logical_or.reduce([present(column) for column in columns])
        return _winners(_ranks(columns), silent, self.groups), silent

    def since(self, starts: npt.NDArray[np.int64], cut: npt.NDArray[np.bool_]) -> History:
        """The versions from ``starts`` on; where ``cut``, the first one is a quiet seed."""
        kept = ranges(starts, self.groups.stops - starts)
        base_row, quiet = self.base_row.copy(), self.quiet_base_row.copy()
        base_row[starts[cut]] = quiet[starts[cut]] = True
        groups = Groups.of_lengths(self.groups.stops - starts)
        return History(
            self.rows,
            self.versions[kept],
            groups,
            self.retract[kept],
            base_row[kept],
            quiet[kept],
            self,
            starts,
        )


def from_removal(
    history: History, groups: Sequence[SequenceGroup], kinds: npt.NDArray[np.int8]
) -> tuple[History, npt.NDArray[np.int64]]:
    """``history`` from the last ``-D`` of each key that wins a group that removes.

    Also where that ``-D`` was among the versions given, or -1.

    With several groups a removal is looked for anew behind each that was met.  The record then starts
    from the sequences of that ``-D``, in *all* groups, so a later ``-D`` may win that had lost before::

        version  g1  g2
        0 +I      1   9
        1 -D      2  NULL    wins g1: the record is gone, and with it g2 = 9
        2 -D     NULL  5     lost to 9, wins over nothing: gone again, so the record starts here
    """
    removing = [g for g in groups if g.removes]
    removed = np.full(len(history.groups.starts), -1, np.int64)
    deletes = kinds == RowKind.DELETE
    if not removing or not deletes.any():
        return history, removed
    whole = history.groups
    while True:
        starts = np.maximum(removed, whole.starts)
        current = history.since(starts, removed >= 0)
        kept = ranges(starts, whole.stops - starts)
        hit = np.zeros(len(kept), np.bool_)
        for group in removing:
            wins, _ = current.contest(group.fields)
            hit |= wins & deletes[kept] & ~current.quiet_base_row
        # With one group the running maximum survives a removal, so the last hit is final.
        at = current.groups.last(hit) if len(removing) == 1 else current.groups.first(hit)
        was_hit = at >= 0
        if not was_hit.any():
            return current, removed
        removed[was_hit] = kept[at[was_hit]]


def _of(aggregator: Aggregator, kind: type[Aggregator]) -> bool:
    return isinstance(
        aggregator.inner if isinstance(aggregator, IgnoreRetract) else aggregator, kind
    )


def _ranks(columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    values = comparable(columns)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _winners(
    ranks: npt.NDArray[np.int64], silent: npt.NDArray[np.bool_], groups: Groups
) -> npt.NDArray[np.bool_]:
    """Versions whose rank is at least that of every version of the key before them.

    The key's number stands above its ranks, so one running maximum serves all keys.  Keys 0 0 0 | 1 1
    with sequences 2 1 NULL | NULL 1, ``height`` 4: levels 3 2 0 | 4 6, before each -1 3 3 | 3 4; the
    first and the last one win.

    >>> ranks, silent = np.array([2, 1, 0, 0, 1]), np.array([False, False, True, True, False])
    >>> _winners(ranks, silent, Groups.of_lengths(np.array([3, 2]))).tolist()
    [True, False, False, False, True]
    """
    if len(ranks) == 0:
        return np.zeros(0, np.bool_)
    height = np.int64(ranks.max()) + 2
    level = groups.ids * height + np.where(silent, 0, ranks + 1)
    before = np.concatenate([np.full(1, -1, np.int64), np.maximum.accumulate(level)[:-1]])
    wins: npt.NDArray[np.bool_] = ~silent & (level >= before)
    return wins
