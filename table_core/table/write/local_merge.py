"""Rows of a key that come close together become one before they are dealt out to buckets.

Keys that change all the time then take no room in the write buffer, nor on the disk behind it.

Source: ``org.apache.paimon.flink.sink.LocalMergeOperator``; option ``local-merge-buffer-size``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from table_core.datatypes.row_kind import SEQUENCE_COLUMN
from table_core.merge.engines.engine import engine_for, merges_in_parts
from table_core.merge.sort import runs_of
from table_core.options import keys_scan, keys_write
from table_core.table.write.buffering import joined
from table_core.table.write.choose_assigner import crosses_partitions

if TYPE_CHECKING:
    from table_core.merge.engines.engine import MergeEngine
    from table_core.schema.table_schema import TableSchema

__all__ = ["LocalMerge"]


@dataclass(slots=True)
class LocalMerge:
    """Holds rows until there are ``limit`` bytes of them, and gives them out merged."""

    engine: MergeEngine
    limit: int
    _held: list[pa.Table] = field(init=False, default_factory=list)
    _bytes: int = field(init=False, default=0)

    @classmethod
    def of(cls, schema: TableSchema) -> Self | None:
        """None where it is not asked for, or where a merged row would tell less than its parts.

        A changelog of producer ``input`` has every row; a row of a key that may be in any
        partition says by its order where the key stays; and a postponed row waits as it came.
        """
        limit = schema.options.get(keys_write.LOCAL_MERGE_BUFFER_SIZE)
        if limit is None or not schema.is_key_table or schema.bucket < -1:
            return None
        if crosses_partitions(schema):
            return None
        if schema.options.get(keys_scan.CHANGELOG_PRODUCER) == "input":
            return None
        engine: Any = engine_for(schema)
        return cls(replace(engine, order=replace(engine.order, key=schema.primary_keys)), limit)

    def take(self, rows: pa.Table) -> pa.Table | None:
        """Hold ``rows``; all that is held, merged, once that is enough."""
        self._held.append(rows)
        self._bytes += rows.nbytes
        return self.rest() if self._bytes >= self.limit else None

    def rest(self) -> pa.Table | None:
        """All that is held, merged; None if that is nothing."""
        if not self._held:
            return None
        self._bytes = 0
        rows = joined(self._held)
        if not merges_in_parts(self.engine, rows):
            return rows
        rows = rows.append_column(SEQUENCE_COLUMN, pa.array(np.arange(rows.num_rows)))
        merged = self.engine.merge_runs(rows, runs_of(rows, self.engine.order))
        return merged.drop_columns([SEQUENCE_COLUMN])
