"""What to write so that a row reads as a statement says, on every merge engine.

A key table is changed by new versions, and what a reader then sees is what the engine makes of the old
row and the new version.  So a version holds what the engine needs to come to the row that is wanted:
NULL in columns that stay where it adds values up, the difference where it sums.  Then the engine itself
is asked: where it comes to another row, the statement cannot be done, and says so before it writes.

Aggregation with ``total`` as sum, ``best`` as max, ``note`` as last non-null::

    old row       1  total=10  best=7  note=x
    UPDATE … SET total = 12, note = 'y'
    wanted        1  total=12  best=7  note=y
    written  +U   1  total=2   best=NULL  note=y    10 + 2, 7, y: as wanted
    UPDATE … SET best = 5
    written  +U   1  total=NULL  best=5  note=NULL  max(7, 5) is 7, not 5: refused
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN, RowKind
from table_core.errors import UnsupportedFeatureError
from table_core.merge.aggregators.equal import equal_rows
from table_core.merge.aggregators.registry import function_of
from table_core.merge.engines.aggregate import Aggregation
from table_core.merge.engines.engine import engine_for
from table_core.merge.engines.partial_update import PartialUpdate
from table_core.merge.ordinal import single_chunk
from table_core.merge.sort import is_retract, runs_of
from table_core.merge.take_indices import taken
from table_core.options import keys_merge
from table_core.shortened import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from table_core.merge.engines.engine import MergeEngine
    from table_core.merge.engines.sequence_group import SequenceGroup
    from table_core.schema.table_schema import TableSchema

__all__ = ["Versions"]

_ROW: Final = "__tc_row"
_SHOWN_MAX: Final = 60


@dataclass(frozen=True)
class Versions:
    """What the statements of one key table write.

    Rows have every column of the table, in its types.
    """

    schema: TableSchema

    @property
    def is_plain(self) -> bool:
        """Whether the newest version is the row, whatever was there: nothing can go wrong."""
        return self._engine_name == "deduplicate" and not self._order_by

    def changed(self, old: pa.Table, new: pa.Table) -> pa.Table:
        """What to write so that each row of ``old`` reads as that of ``new``, which has its key.

        Shape: ``old[n]``, ``new[n]`` to ``[n]`` of the same columns.

        Raises:
            UnsupportedFeatureError: the merge engine does not come to such a row.
        """
        if self.is_plain or not new.num_rows:
            return new
        written = self._delta(old, new)
        self._require(self._merged(old, written, RowKind.UPDATE_AFTER), old, new)
        return written

    def fresh(self, new: pa.Table) -> pa.Table:
        """What to write so that keys without a row have those of ``new``.

        Raises:
            UnsupportedFeatureError: the merge engine makes another row of it: a column follows a
                sequence that is NULL.
        """
        engine = self._engine
        if new.num_rows and isinstance(engine, Aggregation | PartialUpdate):
            # Some producers fold a key's only version, and some readers do not: both shall see this.
            aggregators = replace(engine, alone=True)
            alone = self._folded(aggregators, [new], (RowKind.INSERT,))
            self._require(alone, None, new)
        return new

    def again(self, gone: pa.Table, new: pa.Table) -> pa.Table:
        """What to write so that keys whose newest version is a ``-D``, of ``gone``, have the rows of ``new``.

        Raises:
            UnsupportedFeatureError: the merge engine does not come to such a row: the ``-D`` still counts.
        """
        if self.is_plain or not new.num_rows:
            return new
        kinds = (RowKind.DELETE, RowKind.INSERT)
        merged = self._folded(self._engine, [gone, new], kinds)
        left = np.flatnonzero(is_retract(merged))
        if len(left):
            why = "a delete of it that is ordered later still counts, until a compaction drops it"
            raise self._refused(new, int(left[0]), why)
        self._require(merged, None, new)
        return new

    def removed(self, old: pa.Table) -> pa.Table:
        """What a ``-D`` of each row of ``old`` carries, so that its key has no row.

        An engine that builds a row from several takes the values of a ``-D`` into the row that comes
        after it (format 8.5, 8.6): there it carries nothing but the key, what orders the versions,
        and what is NOT NULL.

        Raises:
            UnsupportedFeatureError: the merge engine keeps a row.
        """
        kept = self.carried_by_deletes
        emptied = [
            old[name] if name in kept else pa.nulls(old.num_rows, old[name].type)
            for name in old.column_names
        ]
        written = pa.table(emptied, schema=old.schema)
        if self.is_plain or not old.num_rows:
            return written
        merged = self._merged(old, written, RowKind.DELETE)
        left = np.flatnonzero(~is_retract(merged))
        if len(left):
            raise self._refused(old, int(left[0]), "a delete leaves the row")
        return written

    def refuse_retracts(self, rows: pa.Table) -> None:
        """Refuse KV ``rows`` that take back what the merge engine cannot take back.

        Later a read or a compaction would meet them, and fail.

        Raises:
            DataError: there is such a row; as the engine says it.
        """
        if self._engine_name == "deduplicate" or not bool(is_retract(rows).any()):
            return
        for kind in (RowKind.UPDATE_BEFORE, RowKind.DELETE):
            those = rows.filter(pc.equal(rows[KIND_COLUMN], int(kind))).drop_columns([KIND_COLUMN])
            if those.num_rows:
                self._folded(self._engine, [those, those], (RowKind.INSERT, kind))

    @property
    def carried_by_deletes(self) -> frozenset[str]:
        """The columns whose values a ``-D`` carries."""
        every = self._engine_name not in {"aggregation", "partial-update"}
        removing = {
            name for group in self._group_of.values() if group.removes for name in group.fields
        }
        needed = {*self.schema.primary_keys, *self._order_by, *removing}
        return frozenset(
            f.name for f in self.schema.fields if every or not f.type.nullable or f.name in needed
        )

    # ------------------------------------------------------------------------------- versions
    def _delta(self, old: pa.Table, new: pa.Table) -> pa.Table:
        """``new`` with NULL where the engine keeps what is there, the difference where it sums."""
        if self._engine_name not in {"aggregation", "partial-update"}:
            return new
        changed = {
            name: ~equal_rows(single_chunk(old[name]), single_chunk(new[name]))
            for name in new.column_names
        }
        columns = []
        for field in self.schema.fields:
            name, column = field.name, single_chunk(new[field.name])
            whole = self._whole(name, changed)
            if self._functions.get(name) == "sum" and name not in self._order_by:
                column = _difference(single_chunk(old[name]), column)
            if whole is None or not field.type.nullable:
                columns.append(column)
            else:
                at = np.where(whole, np.arange(len(column)), np.int64(-1))
                columns.append(taken(column, at))
        return pa.table(columns, schema=new.schema)

    def _whole(
        self, name: str, changed: dict[str, npt.NDArray[np.bool_]]
    ) -> npt.NDArray[np.bool_] | None:
        """Rows whose version has a value for column ``name``; None: all.

        A group is written as a whole or not at all: it replaces all of its columns, so a version with its
        sequence but without one of its columns would make that one NULL.
        """
        if name in {*self.schema.primary_keys, *self.schema.partition_keys, *self._order_by}:
            return None
        function, group = self._functions.get(name), self._group_of.get(name)
        if group is not None and (function is None or function == "last_value"):
            together = [changed[column] for column in (*group.fields, *group.protected)]
            moved: npt.NDArray[np.bool_] = np.logical_or.reduce(together)
            return moved
        return None if function == "last_value" else changed[name]

    # --------------------------------------------------------------------------- asking the engine
    def _merged(self, old: pa.Table, written: pa.Table, kind: RowKind) -> pa.Table:
        """What the engine makes of each row of ``old`` and the version that follows it."""
        kinds = (RowKind.INSERT, kind)
        return self._folded(self._engine, [old, written], kinds)

    def _folded(
        self, engine: MergeEngine, versions: Sequence[pa.Table], of_kind: Sequence[RowKind]
    ) -> pa.Table:
        """What ``engine`` makes of row ``n`` of each of ``versions``, oldest first, for each ``n``.

        The number of the row stands for its key, so rows that share a key are not merged with each other.
        Two versions of rows a and b are stacked: a b a' b', numbers 0 0 1 1, row 0 1 0 1.
        """
        count, times = versions[0].num_rows, len(versions)
        shape = versions[0].schema
        both = pa.concat_tables([pa.table(v.columns, schema=shape) for v in versions])
        kinds = np.repeat(np.array(of_kind, np.int8), count)
        numbers = np.repeat(np.arange(times), count)
        both = both.combine_chunks().append_column(KIND_COLUMN, pa.array(kinds))
        both = both.append_column(SEQUENCE_COLUMN, pa.array(numbers))
        by_row = both.append_column(_ROW, pa.array(np.tile(np.arange(count), times)))
        merged = engine.merge_runs(both, runs_of(by_row, replace(engine.order, key=(_ROW,))))
        assert merged.num_rows == count
        return merged

    def _require(self, merged: pa.Table, old: pa.Table | None, new: pa.Table) -> None:
        for name in new.column_names:
            result, wanted = single_chunk(merged[name]), single_chunk(new[name])
            wrong = np.flatnonzero(~equal_rows(result, wanted, stored=True))
            if not len(wrong):
                continue
            at = int(wrong[0])
            was = "a new row" if old is None else f"{_shown(old[name], at)}"
            raise self._refused(
                new,
                at,
                f"column {name!r} would be {_shown(result, at)} instead of {_shown(wanted, at)} "
                f"(it was {was})",
                column=name,
            )

    def _refused(
        self, rows: pa.Table, at: int, why: str, column: str | None = None
    ) -> UnsupportedFeatureError:
        engine, key = self._engine_name, self.schema.primary_keys
        row = {name: _shown(rows[name], at) for name in key}
        function = None if column is None else self._functions.get(column)
        how = f"merge-engine {engine!r}"
        if function is not None:
            how += f" with aggregate function {function!r}"
        elif self._order_by:
            how += f" with sequence field {', '.join(self._order_by)}"
        return UnsupportedFeatureError(
            f"the statement cannot be done: {how} does not come to the row that is asked for, of key "
            f"{row}: {why}. Nothing was written",
            feature=f"statement with {how}",
            column=column,
            row=at,
        )

    # --------------------------------------------------------------------------------- the table
    @property
    def _engine_name(self) -> str:
        return self.schema.options.get(keys_merge.MERGE_ENGINE)

    @property
    def _order_by(self) -> tuple[str, ...]:
        return tuple(self.schema.options.get(keys_merge.SEQUENCE_FIELD))

    @cached_property
    def _engine(self) -> MergeEngine:
        return engine_for(self.schema)

    @cached_property
    def _functions(self) -> dict[str, str]:
        """Aggregate function by column, where there is one."""
        if self._engine_name not in {"aggregation", "partial-update"}:
            return {}
        keys = {*self.schema.primary_keys, *self.schema.partition_keys}
        named = ((f.name, function_of(f.name, self.schema.options)) for f in self.schema.fields)
        return {name: function for name, function in named if function and name not in keys}

    @cached_property
    def _group_of(self) -> dict[str, SequenceGroup]:
        if self._engine_name != "partial-update":
            return {}
        from table_core.merge.engines.group_options import groups_of

        groups = groups_of(self.schema)
        return {name: group for group in groups for name in (*group.fields, *group.protected)}


def _difference(old: pa.Array, new: pa.Array) -> pa.Array:
    """What a sum has to add to come from ``old`` to ``new``; ``new`` where there is nothing yet.

    Where a difference does not fit the type, ``new``: the engine then says that it is no way.
    """
    try:
        less = pc.subtract_checked(new, old).cast(new.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return new
    return pc.if_else(pc.is_valid(old), less, new)


def _shown(column: Any, at: int) -> str:
    return shortened(str(column[at].as_py()), _SHOWN_MAX)
