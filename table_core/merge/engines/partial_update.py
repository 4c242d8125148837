"""Partial update: each key keeps the newest non-null value of every column.

Columns in a sequence group follow the group instead (``sequence_group.py``).

Source: ``org.apache.paimon.mergetree.compact.PartialUpdateMergeFunction``; format 8.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN, RowKind
from table_core.errors import DataError
from table_core.merge.aggregators.value import LastNonNull, picked
from table_core.merge.engines.deduplicate import passed
from table_core.merge.engines.inserts import aggregated_inserts, all_inserts
from table_core.merge.ordinal import single_chunk
from table_core.merge.runs import Groups, Runs, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from table_core.merge.engines.sequence_group import History, SequenceGroup
    from table_core.merge.sort import KeyOrder

__all__ = ["PartialUpdate"]


@dataclass(frozen=True, slots=True, eq=False)
class PartialUpdate:
    """The ``partial-update`` merge engine.

    Key, a, b, oldest first: (1, 5, NULL), (1, NULL, x), (1, 6, NULL) come to (1, 6, x).
    """

    order: KeyOrder
    groups: tuple[SequenceGroup, ...] = ()
    ignore_delete: bool = False
    remove_on_delete: bool = False
    alone: npt.NDArray[np.bool_] | bool = False
    """Fold keys with one version too, all or those marked, where others pass them through."""

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        """``projected``, what orders the versions, and the sequences that decide about them."""
        wanted = [*projected, *self.order.key, *self.order.sequence_fields]
        for group in self.groups:
            if group.removes or set(group.fields + group.protected).intersection(projected):
                wanted += group.fields
        return tuple(dict.fromkeys(wanted))

    def merge(self, rows: pa.Table) -> pa.Table:
        """Fold ``rows``, which are in order, to one row a key.

        A key with one version passes through unchanged, whatever its kind, unless ``alone``.

        Shape: ``rows[n]`` to ``result[r]``, same columns.

        Raises:
            DataError: a ``-U`` or ``-D`` that no option says what to do with.
        """
        return self.merge_runs(rows, Runs.of(rows, self.order.key))

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:
        """``merge`` for rows in any order, whose ``runs`` are known."""
        several = np.flatnonzero((runs.ends > runs.starts) | self.alone)
        if len(several) == 0:
            return passed(rows, runs)
        # Groups and retracts take the long way, over the versions of keys that have several.
        aggregators = dict.fromkeys(rows.column_names, LastNonNull())
        if not self.groups and all_inserts(rows, aggregators):
            return aggregated_inserts(rows, runs, aggregators)
        from table_core.merge.engines.sequence_group import History

        rows = rows.combine_chunks()
        versions = runs.versions_of(several)
        kinds = single_chunk(rows[KIND_COLUMN]).to_numpy()[versions]
        groups = Groups.of_lengths(runs.lengths[several], (kinds & 1).astype(np.bool_))
        newest = versions[groups.stops - 1]
        if groups.retract is None:
            nothing = np.zeros(len(versions), np.bool_)
            history = History(rows, versions, groups, nothing, nothing, nothing)
            result_kinds = np.zeros(len(several), np.int8)
        else:
            history, removed = self._with_retracts(rows, versions, groups, kinds)
            gone = removed | (groups.last(groups.adds()) < 0)
            result_kinds = np.where(gone, np.int8(RowKind.DELETE), np.int8(RowKind.INSERT))
            if self.ignore_delete:  # a delete that counts for nothing gives no number either
                newest = history.versions[history.groups.stops - 1]
        folded = self._folded(history)
        folded[KIND_COLUMN] = pa.array(result_kinds, pa.int8())
        folded[SEQUENCE_COLUMN] = newest
        return joined(rows, runs, several, folded)

    def _with_retracts(
        self,
        rows: pa.Table,
        versions: npt.NDArray[np.int64],
        groups: Groups,
        kinds: npt.NDArray[np.int8],
    ) -> tuple[History, npt.NDArray[np.bool_]]:
        """What counts of each key's versions, and whether its last one removes the record.

        ``remove_on_delete`` and versions ``+I`` (5, x), ``-D`` (NULL, y), ``+I`` (7, NULL) of one key: the
        history is the last two, of which the ``-D`` is a quiet base row, so they come to (7, y).
        """
        from table_core.merge.engines.sequence_group import History, from_removal

        retract = ~groups.adds()
        # A retract that comes first fills the whole row, whatever the options say (format 8.5).
        base_row = np.zeros(len(versions), np.bool_)
        base_row[groups.starts] = retract[groups.starts]
        quiet = base_row if self.ignore_delete or not self.groups else np.zeros_like(base_row)
        history = History(rows, versions, groups, retract, base_row, quiet)
        if self.ignore_delete:
            return _without_retracts(history), np.zeros(len(groups.starts), np.bool_)
        if self.groups:
            history, removed = from_removal(history, self.groups, kinds)
        elif self.remove_on_delete:
            removed = groups.last(kinds == RowKind.DELETE)
            history = history.since(np.maximum(removed, groups.starts), removed >= 0)
        else:
            raise DataError(
                f"merge-engine 'partial-update' cannot retract rows, and {int(retract.sum())} "
                "-U or -D row(s) need it; set 'ignore-delete' or "
                "'partial-update.remove-record-on-delete' to 'true', or use sequence groups",
                column=None,
                row=None,
                value=None,
            )
        return history, removed == groups.stops - 1

    def _folded(self, history: History) -> dict[str, pa.Array | npt.NDArray[np.int64]]:
        result: dict[str, pa.Array | npt.NDArray[np.int64]] = {}
        here = set(history.rows.column_names)
        for group in self.groups:
            if here.issuperset(group.fields):
                present = tuple(name for name in group.protected if name in here)
                result |= replace(group, protected=present).aggregate(history)
        free = _without_retracts(history) if history.retract.any() else history
        versions = Groups(free.groups.starts, free.groups.stops)
        for name in here - result.keys() - {KIND_COLUMN, SEQUENCE_COLUMN}:
            column = single_chunk(free.rows[name])
            result[name] = picked(column, LastNonNull(), free.versions, versions)
        return result


def _without_retracts(history: History) -> History:
    """Only added versions and base rows: a retract leaves columns without a group alone."""
    kept = ~history.retract | history.base_row
    lengths = np.bincount(history.groups.ids[kept], minlength=len(history.groups.starts))
    return replace(
        history,
        versions=history.versions[kept],
        groups=Groups.of_lengths(lengths.astype(np.int64)),
        retract=history.retract[kept],
        base_row=history.base_row[kept],
        quiet_base_row=history.quiet_base_row[kept],
    )
