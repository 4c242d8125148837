"""What a stream would read until now, in bounded batches, with any version of Spark.

The position is a property of the table that is written, stored by the commit that makes the rows
visible: there is no checkpoint that could be lost, and of two drains that start from one position one
commits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from table_core.errors import ArgumentError
from table_core.options.keys_scan import SCAN_PARALLELISM
from table_core.scan.stream_offset import NO_LIMIT, ReadLimit, StreamOffset
from table_core.spark.reading.frames import read_splits, shown_fields
from table_core.spark.session.create import parallelism
from table_core.spark.session.plan_size import rows_as_planned
from table_core.spark.session.schema_bridge import spark_schema
from table_core.spark.session.tasks import distribute, keeps_order, tasks_of
from table_core.spark.streams.source import ChangeReader
from table_core.spark.writing.frames import write_frame
from table_core.table.metadata.carried import position
from table_core.table.metadata.describing import committed
from table_core.table.metadata.positions import read_by
from table_core.table.metadata.results import CommitAs, ResultDocument
from table_core.table.read.stream_plan import StreamPlanner
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from table_core.table.api.table import Table
    from table_core.table.metadata.results import Commit

__all__ = ["drain"]

_PROPERTY: Final = "tc.drain."


def drain(
    spark: SparkSession,
    source: Table,
    into: Table,
    name: str,
    transform: Callable[[DataFrame], DataFrame] | None = None,
    limit: ReadLimit = NO_LIMIT,
    nanoseconds: str = "refuse",
) -> ResultDocument:
    """Bring what is new in ``source`` into ``into``, in batches within ``limit``, each one commit.

    The first time it starts as ``scan.mode`` of ``source`` says, then where drain ``name`` ended.
    ``transform`` makes of each batch of changes (with ``_ROW_KIND``) the rows to write;
    ``nanoseconds`` is that of ``table_core.spark.read``.  Ends at the
    snapshot that is the newest now.  A consumer of ``source`` keeps expiry from what comes next.

    Raises:
        NotFoundError: what comes next has expired.
        PositionDivergedError: ``source`` was rolled back, fast-forwarded or recreated.
        SchemaError: columns of ``source`` changed on the way; open it again.
        CommitConflictError: another drain of this name committed meanwhile.
        TableError: as for ``table_core.spark.write``; batches before it are in.
    """
    access = source.access
    key, consumer = f"{_PROPERTY}{name}", f"drain-{into.name}-{name}"
    planner = StreamPlanner.of(access, consumer)
    stored = position(into.access, key)
    batch, at = _stored(stored)
    if at is not None:
        read_by(access, consumer)
    at = at or StreamPlanner.of(access).begun()
    planner.hold(at.snapshot, at.read, at.birth)
    until = StreamOffset(snapshot=(access.metadata.head_id() or 0) + 1)
    started_ms, head, first = access.clock.now_ms(), into.latest_snapshot(), batch
    commits: list[Commit] = []
    while (end := planner.reached(at, limit, until)) != at:
        frame = _changes(spark, planner, (at, end), nanoseconds)
        document = json.dumps({"batch": batch, **end.to_document()})
        commit = CommitAs(
            user=consumer,
            identifier=batch,
            growing=True,
            properties={key: document},
            expect={key: stored},
        )
        commits.append(write_frame(transform(frame) if transform else frame, into, commit, None))
        planner.hold(end.snapshot, end.read, end.birth)
        batch, at, stored = batch + 1, end, document
    details = {"position": at.to_document(), "batches": batch - first}
    return committed(into.access, "drain", commits, head, details, started_ms=started_ms)


def _stored(text: str | None) -> tuple[int, StreamOffset | None]:
    """The number of the next batch, and where it begins."""
    if text is None:
        return 0, None
    try:
        document = json.loads(text)
        return int(document.pop("batch")) + 1, StreamOffset.from_document(document)
    except UNFORESEEN as error:
        raise ArgumentError(
            f"{text!r:.200} is no position of a drain; take another name",
            argument="name",
            value=text,
        ) from error


def _changes(
    spark: SparkSession,
    planner: StreamPlanner,
    span: tuple[StreamOffset, StreamOffset],
    nanoseconds: str,
) -> DataFrame:
    access = planner.access
    reader = ChangeReader.of(access, access.schema.fields)
    fields = shown_fields(reader, nanoseconds)
    work = planner.between(*span, looked_at=True)
    planner.refuse_new_schema(work, reader.fields)
    asked = access.options.get(SCAN_PARALLELISM)
    tasks = tasks_of(work, parallelism(spark), ordered=keeps_order(access.schema), asked=asked)
    shape = spark_schema(fields)
    return distribute(
        spark, tasks, read_splits(reader, fields), shape, rows_as_planned(work, shape)
    )
