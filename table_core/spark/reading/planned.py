"""Plans that tasks make (``table.read.distributed_plan``): the driver has neither entries nor splits.

    manifests  --deal-->  shares of buckets  --plan-->  groups of splits  --read-->  rows

An arrow is a stage; a shuffle lies between two.  The plan is made again for each action on the rows, as
everything of a DataFrame is; its snapshot is pinned, so it is the same each time.
"""

from __future__ import annotations

import logging
import math
import pickle
from typing import TYPE_CHECKING, Any, Final

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
    from table_core.table.read.state_plan import StatePlan

__all__ = ["planned_in_tasks", "planned_splits"]

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
        pa.field("splits", pa.binary(), nullable=False),
    ]
)
_GROUPS_TYPE: Final = "task int, splits binary"
_TASK_BYTES: Final = 32 << 20
_TASK_BYTES_MAX: Final = 1 << 30
_TASKS_MAX: Final = 20_000
"""What Spark's driver schedules without effort; more bytes make larger tasks."""
_ROUNDS: Final = 4
_GROUPS_A_TASK: Final = 4
"""Small groups even tasks out: no share knows what others have."""
_BATCH_BYTES: Final = 8 << 20


def planned_in_tasks(session: SparkSession, scan: Scan) -> DataFrame | None:
    """A DataFrame of groups of splits, one row each, in the tasks that are to read them.

    None where the driver plans.  No task runs yet.
    """
    state, slots = scan.state, parallelism(session)
    shared = None if state is None else distributed(state, slots)
    if shared is None:
        return None
    plan, pieces, size = shared
    tasks = _tasks_for(size, slots, plan.planner.access.options)
    _log.info(
        "tasks plan the read: %d pieces of manifests, %d shares, %d tasks read about %d bytes",
        len(pieces),
        plan.shares,
        tasks,
        size,
    )
    most = max(1, size // (tasks * _GROUPS_A_TASK))
    own = scan.own_reader

    def groups(share: int, splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
        first = share * tasks // plan.shares
        if isinstance(own, SplitReader):
            splits = [piece for split in splits for piece in in_parts(own, split)]
        bins = in_bins(splits, lambda split: split.size, most)
        yield from _batches(
            (((first + number) % tasks, pickle.dumps(group)) for number, group in enumerate(bins)),
            _GROUPS,
        )

    with translated():
        planned = _over_shares(session, plan, pieces, groups, _GROUPS_TYPE)
        return planned.repartitionById(tasks, planned["task"]).select("splits")


def planned_splits(session: SparkSession, state: StatePlan) -> Iterator[Split] | None:
    """The splits of ``state``, planned by tasks, in no order: those of a share at a time; None as above."""
    shared = distributed(state, parallelism(session))
    if shared is None:
        return None
    plan, pieces, _ = shared

    def whole(share: int, splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
        yield from _batches([(share, pickle.dumps(splits))], _GROUPS)

    with translated():
        rows = _over_shares(session, plan, pieces, whole, _GROUPS_TYPE).toLocalIterator()
    return (split for row in rows for split in pickle.loads(row["splits"]))


def _over_shares(
    session: SparkSession,
    plan: DistributedPlan,
    pieces: Sequence[ManifestPiece],
    work: Callable[[int, Sequence[Split]], Iterator[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    """The rows of ``work`` on the splits of each share."""

    def deal(piece: ManifestPiece) -> Iterator[pa.RecordBatch]:
        return _batches(plan.deal(piece), _DEALT)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            shares: list[int] = []

            def rows() -> Iterator[tuple[int, bytes]]:
                for batch in batches:
                    shares.extend(batch.column("share")[:1].to_pylist())
                    for place, body in zip(
                        batch.column("place").to_pylist(), batch.column("entries"), strict=True
                    ):
                        yield place, body.as_py()

            splits = plan.splits(rows())
            if splits:
                yield from work(shares[0], splits)

    dealt = distribute(session, pieces, deal, _DEALT_TYPE)
    shares = dealt.repartitionById(plan.shares, dealt["share"]).sortWithinPartitions("place")
    return shares.mapInArrow(run, schema)


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
