"""Plans that tasks make (``table.read.distributed_plan``): the driver has neither entries nor splits.

    manifests  --deal-->  shares of buckets  --plan-->  groups of splits  --read-->  rows

An arrow is a stage; a shuffle lies between two.  The plan is made again for each action on the rows, as
everything of a DataFrame is; its snapshot is pinned, so it is the same each time.
"""

from __future__ import annotations

import logging
import math
import pickle
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from table_core.options import keys_scan
from table_core.scan.split import in_bins
from table_core.spark.session.create import parallelism
from table_core.spark.session.failures import carried, translated
from table_core.spark.session.tasks import distribute
from table_core.table.read.distributed_plan import distributed
from table_core.table.read.file_parts import in_parts
from table_core.table.read.split_reader import SplitReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from table_core.options.table import TableOptions
    from table_core.scan.split import Split
    from table_core.table.read.distributed_plan import DistributedPlan, ManifestPiece
    from table_core.table.read.scan import Scan

__all__ = ["dealt_to_tasks", "planned_in_tasks"]

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)
_DEALT: Final = pa.schema(
    [
        pa.field("share", pa.int32(), nullable=False),
        pa.field("place", pa.int64(), nullable=False),
        pa.field("entries", pa.binary(), nullable=False),
    ]
)
_DEALT_TYPE: Final = "share int, place bigint, entries binary"
_GROUPS: Final = pa.schema(
    [
        pa.field("task", pa.int32(), nullable=False),
        pa.field("items", pa.binary(), nullable=False),
    ]
)
_GROUPS_TYPE: Final = "task int, items binary"
_TASK_BYTES: Final = 32 << 20
_TASK_BYTES_MAX: Final = 1 << 30
_TASKS_MAX: Final = 20_000
"""What Spark's driver schedules without effort; more bytes make larger tasks."""
_ROUNDS: Final = 4
_GROUPS_A_TASK: Final = 4
"""Small groups even tasks out: no share knows what others have."""
_BATCH_BYTES: Final = 8 << 20


def planned_in_tasks(session: SparkSession, scan: Scan) -> tuple[DataFrame, int, int] | None:
    """Groups of splits, one row each, in the tasks that are to read them; and about how many bytes and rows.

    None where the driver plans.  No task runs yet.
    """
    state, own = scan.state, scan.own_reader
    shared = None if state is None else distributed(state, lambda: parallelism(session))
    if shared is None:
        return None
    plan, pieces, size = shared

    def splits(rows: Iterable[tuple[int, bytes]]) -> Sequence[Split]:
        planned = plan.splits(rows)
        if not isinstance(own, SplitReader):
            return planned
        return [piece for split in planned for piece in in_parts(own, split)]

    dealt = dealt_to_tasks(session, plan, pieces, size, splits, lambda split: split.size)
    return dealt, size, plan.rows


def dealt_to_tasks(
    session: SparkSession,
    plan: DistributedPlan,
    pieces: Sequence[ManifestPiece],
    size: int,
    items_of: Callable[[Iterable[tuple[int, bytes]]], Sequence[T]],
    weight: Callable[[T], int],
) -> DataFrame:
    """What ``items_of`` makes of each share of ``plan``, in pickled groups, in the tasks that are to work on them.

    ``size`` is about what all of them weigh.
    """
    slots = parallelism(session)
    tasks = _tasks_for(size, slots, plan.planner.access.options)
    _log.info(
        "tasks plan: %d pieces of manifests, %d shares, %d tasks for about %d bytes",
        len(pieces),
        plan.shares,
        tasks,
        size,
    )
    most = max(1, size // (tasks * _GROUPS_A_TASK))

    def deal(piece: ManifestPiece) -> Iterator[pa.RecordBatch]:
        return _batches(plan.deal(piece), _DEALT)

    def groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            some = next(iter(batches), None)
            if some is None:
                return
            first = some.column("share")[0].as_py() * tasks // plan.shares
            items = items_of(_places_and_entries(chain([some], batches)))
            numbered = enumerate(in_bins(items, weight, most))
            yield from _batches(
                ((((first + number) % tasks), pickle.dumps(group)) for number, group in numbered),
                _GROUPS,
            )

    with translated():
        dealt = distribute(session, pieces, deal, _DEALT_TYPE)
        shares = dealt.repartitionById(plan.shares, dealt["share"]).sortWithinPartitions("place")
        planned = shares.mapInArrow(groups, _GROUPS_TYPE)
        return planned.repartitionById(tasks, planned["task"]).select("items")


def _places_and_entries(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    for batch in batches:
        places = batch.column("place").to_pylist()
        for place, entries in zip(places, batch.column("entries"), strict=True):
            yield place, entries.as_py()


def _tasks_for(size: int, slots: int, options: TableOptions) -> int:
    """How many tasks read ``size`` bytes: a few rounds of ``slots``, and none of them for days."""
    asked = options.get(keys_scan.SCAN_PARALLELISM)
    if asked is not None or not options.get(keys_scan.SCAN_INFER_PARALLELISM):
        return max(1, slots if asked is None else asked)
    few = min(slots * _ROUNDS, math.ceil(size / _TASK_BYTES))
    many = min(_TASKS_MAX, math.ceil(size / _TASK_BYTES_MAX))
    return max(1, few, many)


def _batches(rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """``rows``, of which the last member is bytes, as batches of some MB."""
    held: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row[-1])
        if size >= _BATCH_BYTES:
            yield _batch(held, schema)
            held, size = [], 0
    if held:
        yield _batch(held, schema)


def _batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        pa.array(values, field.type)
        for field, values in zip(schema, zip(*rows, strict=True), strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
