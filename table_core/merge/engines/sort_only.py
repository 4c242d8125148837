"""Sorted runs to one sorted run that keeps every version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.merge.engines.deduplicate import passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from table_core.merge.runs import Runs
    from table_core.merge.sort import KeyOrder

__all__ = ["SortOnly"]


@dataclass(frozen=True, slots=True)
class SortOnly:
    """Stands where a merge engine does, and merges nothing.  See ``MergeEngine``."""

    order: KeyOrder

    def required_columns(self, projected: Sequence[str]) -> tuple[str, ...]:
        """What orders the versions, and ``projected``."""
        return tuple(dict.fromkeys((*projected, *self.order.key, *self.order.sequence_fields)))

    def merge(self, rows: pa.Table) -> pa.Table:
        """``rows`` as they are."""
        return rows

    def merge_runs(self, rows: pa.Table, runs: Runs) -> pa.Table:
        """``rows`` in order."""
        return passed(rows, runs)
