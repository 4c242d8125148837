"""The rows of a merge side by side, a window of the target at a time: which clause decides, and what it wants.

The source is in memory as a whole.  The target passes by, so that its size does not count: a target row meets all of
the source at once, and a source row that none has met when the last one has passed is not matched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema
from table_core.errors import DataError
from table_core.merge.pairs import pairs_of, side_of
from table_core.options import keys_files
from table_core.table.dml.expressions import evaluate, holds
from table_core.table.dml.key_changes import wanted_rows
from table_core.table.dml.merge_checks import keys_move, refuse_absent, source_column
from table_core.table.dml.merge_clauses import deletes, needs_source, needs_target
from table_core.table.write.coerce import cast_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from table_core.table.dml.merge_clauses import MergeClause
    from table_core.table.metadata.access import TableAccess

__all__ = ["Decided", "Pairing"]

_WINDOWS: Final = 16
"""A window of the target is such a part of the limit: its rows are there several times while they are decided about."""


@dataclass(slots=True)
class Pairing:
    """A source, and which of its rows have been met so far."""

    access: TableAccess
    source: pa.Table
    on: Mapping[str, str]
    """Column of the target to that of the source."""
    when: tuple[MergeClause, ...]
    moves: bool = field(init=False)
    """Whether a row may come to the key of another one."""
    _keys: pa.Table = field(init=False)
    _met: npt.NDArray[np.bool_] = field(init=False)
    _passed: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        names, schema = self.source.column_names, self.access.schema
        self.moves = schema.is_key_table and keys_move(self.access, names, self.on, self.when)
        self.on = {mine: source_column(names, s) or s for mine, s in self.on.items()}
        refuse_absent(self.on, names)
        columns = {n: cast_column(schema.field(n), self.source[s]) for n, s in self.on.items()}
        self._keys = pa.table(columns)
        self._met = np.zeros(self.source.num_rows, np.bool_)

    @property
    def window_bytes(self) -> int:
        """Bytes of the target at a time: not less than the source has, as each window is joined with all of it."""
        source: int = self.source.nbytes
        return max(self.access.options.get(keys_files.READ_MEMORY_LIMIT) // _WINDOWS, source)

    def met(self, target: pa.Table) -> Iterator[tuple[MergeClause, Decided]]:
        """What the clauses decide about rows of the target.

        Raises:
            DataError: several source rows match one of them.
        """
        at, source_at = pairs_of(target.select(list(self.on)), self._keys, "left outer")
        self._refuse_ambiguous(target, at[source_at >= 0])
        self._met[source_at[source_at >= 0]] = True
        self._passed += target.num_rows
        yield from self._through(target, at, source_at)

    def not_met(self) -> Iterator[tuple[MergeClause, Decided]]:
        """What they decide about rows of the source that no row of the target has met."""
        source_at = np.flatnonzero(~self._met)
        none = arrow_schema(self.access.schema.fields).empty_table()
        yield from self._through(none, np.full(len(source_at), -1), source_at)

    def known(self, rows: pa.Table) -> pa.Table:
        """Those of ``rows`` of the target whose columns of ``on`` the source has."""
        at, source_at = pairs_of(rows.select(list(self.on)), self._keys, "left outer")
        there: Any = np.unique(at[source_at >= 0])
        return rows.take(pa.array(there, pa.int64()))

    def _refuse_ambiguous(self, target: pa.Table, matched: npt.NDArray[np.int64]) -> None:
        values, counts = np.unique(matched, return_counts=True)
        if not (counts > 1).any():
            return
        at = int(values[np.argmax(counts > 1)])
        key = {name: str(target[name][at]) for name in self.on}
        raise DataError(
            f"several source rows match the target row {key}; make the source unique on "
            f"{list(self.on.values())}",
            column=next(iter(self.on)),
            row=self._passed + at,
            value=key,
        )

    def _through(
        self,
        target: pa.Table,
        target_at: npt.NDArray[np.int64],
        source_at: npt.NDArray[np.int64],
    ) -> Iterator[tuple[MergeClause, Decided]]:
        waiting = np.ones(len(target_at), dtype=bool)
        for clause in self.when:
            case = (target_at >= 0) == needs_target(clause)
            chosen = np.flatnonzero(waiting & case & ((source_at >= 0) == needs_source(clause)))
            decided = Decided(self, clause, target, target_at[chosen], source_at[chosen])
            if clause.condition is not None and len(chosen):
                true = holds(clause.condition, decided.both)
                chosen = chosen[true]
                decided = Decided(self, clause, target, target_at[chosen], source_at[chosen])
            waiting[chosen] = False
            if len(chosen):
                yield clause, decided


@dataclass
class Decided:
    """The pairs that one clause decides about."""

    pairing: Pairing
    clause: MergeClause
    target: pa.Table
    target_at: npt.NDArray[np.int64]
    """Row of the target in each pair, -1 for none."""
    source_at: npt.NDArray[np.int64]

    @cached_property
    def both(self) -> dict[str, pa.Table]:
        """The two sides of the pairs, as tables of one length; nulls where there is no partner."""
        return {
            "target": side_of(self.target, self.target_at),
            "source": side_of(self.pairing.source, self.source_at),
        }

    def computed(self) -> None:
        """Compute what the clause wants, so that faults show."""
        if not deletes(self.clause):
            self.rows()

    def rows(self) -> pa.Table:
        """The rows that the clause wants, whole, in the table's types."""
        access, updates = self.pairing.access, needs_target(self.clause)
        columns: dict[str, Any] = {}
        for column in access.schema.fields:
            value = self._value(column.name)
            if value is None and updates:
                value = self.both["target"][column.name]
            if value is not None:
                columns[column.name] = value
        return wanted_rows(access, pa.table(columns), inserted=not updates)

    def _value(self, column: str) -> Any:
        """What the clause writes into ``column``; None if it says nothing."""
        values = getattr(self.clause, "values", None)
        if values is not None:
            return evaluate(values[column], self.both) if column in values else None
        name = source_column(self.pairing.source.column_names, column)
        return None if name is None else self.both["source"][name]
