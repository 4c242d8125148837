"""Aggregation: every column is folded by its own function.

Source: ``org.apache.paimon.mergetree.compact.aggregate.AggregateMergeFunction``; format 8.6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN, RowKind
from table_core.merge.aggregators.removed_rows import removed_kept
from table_core.merge.aggregators.value import FirstNonNull, Pick, picked
from table_core.merge.engines.deduplicate import passed
from table_core.merge.engines.inserts import aggregated_inserts, all_inserts
from table_core.merge.ordinal import present, single_chunk
from table_core.merge.runs import Groups, Runs, joined, ranges
from table_core.merge.take_indices import taken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from table_core.merge.aggregators.value import Aggregator
    from table_core.merge.sort import KeyOrder

__all__ = ["Aggregation"]


@dataclass(frozen=True, slots=True, eq=False)
class Aggregation:
    """The ``aggregation`` merge engine.

    ``aggregators`` has one entry a column.  With ``remove_on_delete`` a ``-D`` takes the whole row
    away instead of taking its values back; what comes after starts from the removed row.
    """

    order: KeyOrder
    aggregators: Mapping[str, Aggregator]
    remove_on_delete: bool = False
    alone: npt.NDArray[np.bool_] | bool = False
    """Fold keys with one version too, all or those marked, where others pass them through."""

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        """``projected`` and what orders the versions."""
        return tuple(dict.fromkeys((*projected, *self.order.key, *self.order.sequence_fields)))

    def merge(self, rows: pa.Table) -> pa.Table:
        """Fold ``rows``, which are in order, to one row a key.

        A key with one version passes through unchanged, whatever its kind, unless ``alone``.

        Shape: ``rows[n]`` to ``result[r]``, same columns.

        Raises:
            DataError: a function cannot take a value back, or a result does not fit.
        """
        return self.merge_runs(rows, Runs.of(rows, self.order.key))

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:
        """``merge`` for rows in any order, whose ``runs`` are known."""
        several = np.flatnonzero((runs.ends > runs.starts) | self.alone)
        if len(several) == 0:
            return passed(rows, runs)
        if all_inserts(rows, self.aggregators):
            return aggregated_inserts(rows, runs, self.aggregators)
        rows = rows.combine_chunks()
        versions, lengths = runs.versions_of(several), runs.lengths[several]
        kinds = single_chunk(rows[KIND_COLUMN]).to_numpy()[versions]
        groups, removed = Groups.of_lengths(lengths, (kinds & 1).astype(np.bool_)), None
        past = None
        if self.remove_on_delete:
            last_delete = groups.last(kinds == RowKind.DELETE)
            # A key whose newest version is a -D becomes that -D; nothing is folded into it.
            removed = np.where(last_delete == groups.stops - 1, versions[groups.stops - 1], -1)
            past = _Past(versions, groups, last_delete)
            groups, versions = past.rest()
        folded = {
            name: self._folded(rows, name, versions, groups, past) for name in rows.column_names
        }
        return joined(rows, runs, several, folded, removed)

    def _folded(
        self,
        rows: pa.Table,
        name: str,
        versions: npt.NDArray[np.int64],
        groups: Groups,
        past: _Past | None,
    ) -> Any:
        if name == KIND_COLUMN:
            return pa.array(np.zeros(len(groups.starts), np.int8))
        if name == SEQUENCE_COLUMN:
            return versions[groups.stops - 1]
        column, aggregator = single_chunk(rows[name]), self.aggregators[name]
        if past is not None and isinstance(aggregator, FirstNonNull):
            groups = replace(groups, initialized=past.gave(present(column)))
        if isinstance(aggregator, Pick):
            return picked(column, aggregator, versions, groups)
        values = taken(column, versions)
        return removed_kept(values, aggregator.aggregate(values, groups), aggregator, groups)


@dataclass(frozen=True, slots=True, eq=False)
class _Past:
    """All versions of each key, and where the last ``-D`` among them is, or -1."""

    versions: npt.NDArray[np.int64]
    groups: Groups
    last_delete: npt.NDArray[np.int64]

    def rest(self) -> tuple[Groups, npt.NDArray[np.int64]]:
        """Each key's versions from its last ``-D`` on, which then counts as an added row.

        Key 1 has ``+I`` ``-D`` ``+I``, key 2 has ``+I`` ``+I``: versions 1 2 | 3 4 are left, and only the first
        group is ``removed``.

        >>> past = _Past(np.arange(5), Groups.of_lengths(np.array([3, 2])), np.array([1, -1]))
        >>> groups, versions = past.rest()
        >>> versions.tolist(), groups.starts.tolist(), groups.removed.tolist()
        ([1, 2, 3, 4], [0, 2], [True, False])
        """
        groups, cut = self.groups, self.last_delete >= 0
        starts = np.where(cut, self.last_delete, groups.starts)
        kept = ranges(starts, groups.stops - starts)
        retract = ~groups.adds()
        retract[starts[cut]] = False
        initialized = self.gave(np.ones(int(self.versions.max(initial=-1)) + 1, np.bool_))
        return (
            Groups.of_lengths(groups.stops - starts, retract[kept], cut, initialized),
            self.versions[kept],
        )

    def gave(self, here: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Keys of which a row was added, one of those ``here``, before the last ``-D``."""
        groups = self.groups
        before = np.arange(groups.count) < self.last_delete[groups.ids]
        mask = before & groups.adds() & here[self.versions]
        return groups.reduce(np.logical_or, mask, False)
