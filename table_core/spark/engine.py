"""The engine that computes and writes rows on Spark; the session starts when a row has to move."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from table_core.cdc.apply.progress import quiet
from table_core.spark.reading.frames import view_frame
from table_core.spark.session.failures import translated
from table_core.spark.session.tasks import map_pieces, share
from table_core.spark.verbs.sql_text import CLOSED, query_of
from table_core.spark.verbs.topics import records_by
from table_core.spark.writing.computed_columns import with_computed
from table_core.spark.writing.frames import write_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from table_core.cdc.model.generated import ComputedRows
    from table_core.cdc.model.parallel_batches import ReadParallel, Topics
    from table_core.jobs.flow import View
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import Commit, CommitAs, ResultDocument
    from table_core.table.metadata.sharing import Share

__all__ = ["SparkEngine"]


class SparkEngine:
    """Spark as the engine of jobs and flows.

    ``session`` is a session, or what makes one; ``progress`` is told each stage as it begins.
    """

    def __init__(
        self,
        session: SparkSession | Callable[[], SparkSession],
        progress: Callable[..., None] = quiet,
    ) -> None:
        self._session = session
        self.progress = progress

    @property
    def session(self) -> SparkSession:
        """The session, started now if it was not."""
        if callable(self._session):
            self.progress("session")
            self._session = self._session()
        return self._session

    @property
    def _spark(self) -> SparkSession | Callable[[], SparkSession]:
        """The session, or what starts it if it was not."""
        return (lambda: self.session) if callable(self._session) else self._session

    def query(
        self, sql: str, views: Mapping[str, View], parameters: Mapping[str, Any] | None = None
    ) -> DataFrame:
        """Rows of ``sql`` over ``views``, nothing computed yet; ``parameters`` are its ``$name``.

        Raises:
            ArgumentError: it is no query over ``views`` alone, or Spark refuses it; its message says
                where.
        """
        text, arguments = query_of(sql, views, parameters)
        session = self.session
        self.progress("query", views=sorted(views))
        with translated():
            for name, view in views.items():
                frame = view_frame(session, view)
                frame.createOrReplaceTempView(f"`{name.replace('`', '``')}`")
            for key, value in CLOSED.items():
                session.conf.set(key, value)
            rows = session.sql(text, arguments) if arguments else session.sql(text)
            _ = rows.schema  # over Connect a query is analysed only when its schema is asked for
        return rows

    def map_pieces(self, work: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterator[Any]:
        """What ``work`` makes of each piece, by tasks, in order."""
        return map_pieces(self._spark, work, pieces)

    def records_by(self, source: Topics) -> ReadParallel | None:
        """Spark's own source of a topic's records, if the session has it."""
        return records_by(self._spark, source)

    def sharing(self, action: str, target: str) -> Share:
        """Tasks, where there is work for more than one."""
        self.progress(action, table=target)
        return partial(share, self._spark)

    def verb(self, name: str, handle: Table | Catalog) -> Callable[..., ResultDocument]:
        """The function of ``table_core.spark`` of that name, if there is one."""
        verbs = import_module("table_core.spark")  # above this room; it loads the one that is named
        if name not in verbs.__all__:
            function: Callable[..., ResultDocument] = getattr(handle, name)
            return function
        self.progress(name.replace("_", "-"), **_named(handle))
        return partial(getattr(verbs, name), self._spark, handle)

    def with_computed(self, table: Table, rows: DataFrame, computed: ComputedRows) -> DataFrame:
        """``rows`` with the computed columns of ``table``, nothing computed yet."""
        return with_computed(rows, table.access, computed)

    def write(
        self,
        table: Table,
        rows: Any,
        commit: CommitAs,
        overwrite: str | Mapping[str, Any] | None,
        *,
        is_new: bool = False,
    ) -> Commit:
        """Write what ``query`` gave, with one commit."""
        self.progress("write", table=table.name)
        done = write_frame(rows, table, commit, overwrite, is_new=is_new)
        self.progress(
            "committed",
            table=table.name,
            snapshots=list(done.snapshot_ids),
            rows=done.rows_added,
            bytes=done.bytes_added,
        )
        return done


def _named(handle: Table | Catalog) -> dict[str, str]:
    """What progress tells of ``handle``; a catalog is told of by the job's first line."""
    name = getattr(handle, "name", None)
    return {} if name is None else {"table": name}
