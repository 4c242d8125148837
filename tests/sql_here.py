"""The embedded engine with SQL in the process of the test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from table_core.jobs.embedded import EmbeddedEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SqlHere"]


class SqlHere(EmbeddedEngine):
    """For tests of what comes before and after the SQL, which run hundreds of flows.

    A process for each query costs 0.3 s of CPU. That it gives the same rows is asked of the real engine, by
    every other test of flows.
    """

    def query_readers(
        self,
        sql: str,
        readers: Mapping[str, pa.RecordBatchReader],
        parameters: Mapping[str, Any] | None = None,
    ) -> pa.Table:
        """Rows of ``sql`` over ``readers``."""
        with duckdb.connect() as connection:
            for name, rows in readers.items():
                connection.register(name, rows.read_all())
            relation = connection.sql(sql, params=dict(parameters or {}))
            return pa.RecordBatchReader.from_stream(relation).read_all()
