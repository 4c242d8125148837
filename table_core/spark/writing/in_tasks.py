"""What a task of a write does; a module of its own, so that a worker imports no more than that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyspark import TaskContext

from table_core.spark.session.failures import carried
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.write.writer import Numbering, TableWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from table_core.table.commit_io.prepared import WriteResult
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = ["prepared", "prepared_by_share"]


def prepared_by_share(
    access: TableAccess,
    batches: Iterable[pa.RecordBatch | pa.Table],
    shares: int,
    *,
    replaces: bool = False,
) -> WriteResult:
    """``prepared`` in one of the tasks of a write, of which ``shares`` may share a bucket."""
    with carried():
        numbering = None
        if shares > 1:
            context = TaskContext.get()
            task = 0 if context is None else context.partitionId()
            numbering = Numbering(offset=task % shares, step=shares)
        return prepared(access, batches, numbering, replaces=replaces)


def prepared(
    access: TableAccess,
    batches: Iterable[pa.RecordBatch | pa.Table],
    numbering: Numbering | None = None,
    *,
    replaces: bool = False,
    bucket: Bucket | None = None,
) -> WriteResult:
    """Write ``batches``; whatever fails takes the files of this attempt away.

    ``bucket``: where all rows belong, if that is known.
    """
    writer = TableWriter(access, _never, replaces=replaces, numbering=numbering, bucket=bucket)
    with undone_by(writer.abort):
        for batch in batches:
            writer.write(batch)
        return writer.prepare()


def _never(_: WriteResult) -> NoReturn:
    raise AssertionError("tasks do not commit")
