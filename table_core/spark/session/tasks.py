"""Work that is planned on the driver and done by tasks: splits go out, rows of Arrow come back.

A task gets its number, and finds its work in what was shipped with the function; where that is much, it gets the
work itself.  Each piece is pickled on its own, so a task unpacks only its own.
"""

from __future__ import annotations

import math
import pickle
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from table_core.datatypes.offsets import with_offsets
from table_core.spark.session.create import parallelism, started
from table_core.spark.session.failures import carried, translated
from table_core.spark.session.files_done import files_planned
from table_core.spark.session.plan_size import numbers, taken_for
from table_core.table.metadata.sharing import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from table_core.scan.split import Split
    from table_core.schema.table_schema import TableSchema

__all__ = [
    "RESULT_TYPE",
    "distribute",
    "groups_of",
    "keeps_order",
    "map_batches",
    "map_pieces",
    "over_rows",
    "packed",
    "results_of",
    "share",
    "slots_unseen",
    "tasks_of",
    "unpacked",
]

RESULT_TYPE: Final = "result binary"
_RESULT: Final = pa.schema([pa.field("result", pa.binary())])
_OPEN_BYTES: Final = 4 << 20
"""What opening one more piece costs, in bytes of reading."""
_TASK_BYTES: Final = 32 << 20
_SHIPPED_MAX: Final = 4 << 20
"""Bytes that go to every worker with the function; a larger list goes through a shuffle, each piece to its task."""
_ROUNDS: Final = 4
"""Tasks for each core: enough to even out pieces that take longer."""
_UNSEEN_TASK_BYTES: Final = 256 << 20
_SLOTS_LEAST: Final = 16
_SLOTS_MOST: Final = 2_500
T = TypeVar("T")


def distribute(
    session: SparkSession,
    pieces: Sequence[Any],
    work: Callable[[Any], Iterator[pa.RecordBatch]],
    schema: StructType | str,
    rows: int = 0,
) -> DataFrame:
    """A DataFrame whose partition ``i`` holds the rows of ``work(pieces[i])``; runs nothing yet.

    ``rows``: for how many Spark's planner takes them, as ``rows_as_planned`` says; what may come into a join needs it.
    """
    if not pieces:
        return session.createDataFrame([], schema)
    bodies = [pickle.dumps(piece) for piece in pieces]
    if sum(map(len, bodies)) > _SHIPPED_MAX:
        return over_rows(_as_rows(session, bodies), work, schema, rows)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from work(pickle.loads(bodies[number]))

    return numbers(session, len(bodies), rows).mapInArrow(run, schema)


def map_batches(
    frame: DataFrame,
    work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """``frame.mapInArrow``, whatever its columns are called, and whatever Java leaves out of batches.

    PySpark's own takes a column ``c.d`` for the field ``d`` of ``c``, and finds none whose name has a backtick.
    """
    names = frame.columns

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from work(with_offsets(batch.rename_columns(names)) for batch in batches)

    return frame.toDF(*map(str, range(len(names)))).mapInArrow(run, schema)


def over_rows(
    pieces: DataFrame,
    work: Callable[[Any], Iterator[pa.RecordBatch]],
    schema: StructType | str,
    rows: int = 0,
) -> DataFrame:
    """The rows of ``work`` on each pickled piece of ``pieces``, a DataFrame of one binary column."""
    sized = taken_for(pieces, rows) if rows else pieces
    return sized.mapInArrow(_unpickling(work), schema)


def _unpickling(
    work: Callable[[Any], Iterator[pa.RecordBatch]],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carried():
            for batch in batches:
                for body in batch.column(0):
                    yield from work(pickle.loads(body.as_py()))

    return run


def _as_rows(session: SparkSession, bodies: Sequence[bytes]) -> DataFrame:
    """Each of ``bodies`` in a partition of its own: a worker gets its own and no other."""
    places = pa.array(range(len(bodies)), pa.int32())
    rows = session.createDataFrame(pa.table([places, bodies], ["number", "body"]))
    return rows.repartitionById(len(bodies), rows["number"]).select("body")


def groups_of(
    items: Sequence[T], weight: Callable[[T], int], slots: int, asked: int | None = None
) -> list[list[T]]:
    """``items``, in order, as groups for tasks: as few as their bytes need, and as even as they can be.

    More groups than run at once come in whole rounds of ``slots``.  An item goes where its middle lies, so
    no group is larger than an even share and one item.  ``asked``: so many groups at most, whatever their bytes.
    """
    weights = [weight(item) + _OPEN_BYTES for item in items]
    slots, total = max(1, slots), sum(weights)
    count = math.ceil(total / max(total / (slots * _ROUNDS), _TASK_BYTES)) if weights else 0
    if count > slots:
        count = -(-count // slots) * slots
    if asked is not None and weights:
        count = min(asked, len(weights))
    groups: list[list[T]] = [[] for _ in range(count)]
    before = 0
    for item, size in zip(items, weights, strict=True):
        groups[int((before + size / 2) * count / total)].append(item)
        before += size
    return [group for group in groups if group]


def slots_unseen(splits: Iterable[Split]) -> int:
    """For ``groups_of``, where nobody says how many cores there are: more with more data.

    1 TiB of splits is 4,096 tasks, each of 256 MiB; without end the driver would hold too many.
    """
    wanted = sum(split.size for split in splits) // (_ROUNDS * _UNSEEN_TASK_BYTES)
    return min(max(_SLOTS_LEAST, wanted), _SLOTS_MOST)


def keeps_order(schema: TableSchema) -> bool:
    """Whether changes of one bucket have an order that a reader must keep: of keys, or as written."""
    return schema.is_key_table or schema.bucket > 0


def tasks_of(
    work: Sequence[Split], slots: int, *, ordered: bool, asked: int | None = None
) -> list[list[Split]]:
    """``work`` for tasks; where changes have an order, what is of one bucket stays together, in order."""
    together: dict[object, list[Split]] = {}
    for number, split in enumerate(work):
        name = (split.partition, split.bucket) if ordered else number
        together.setdefault(name, []).append(split)
    groups = groups_of(
        list(together.values()), lambda splits: sum(split.size for split in splits), slots, asked
    )
    return [[split for splits in group for split in splits] for group in groups]


def packed(result: object) -> pa.RecordBatch:
    """What a task hands to the driver, as its only row."""
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(result)])], schema=_RESULT)


def map_pieces(
    spark: SparkSession | Callable[[], SparkSession],
    work: Callable[[Any], Any],
    pieces: Sequence[Any],
) -> Iterator[Any]:
    """What ``work`` makes of each piece, in order; as many at once as there are cores."""
    session = started(spark)
    slots = parallelism(session)
    for first in range(0, len(pieces), slots):
        with translated():
            outcomes = unpacked(
                distribute(
                    session,
                    pieces[first : first + slots],
                    lambda piece: iter([packed(work(piece))]),
                    RESULT_TYPE,
                )
            )
        yield from outcomes


def share(
    spark: SparkSession | Callable[[], SparkSession],
    work: Callable[[Sequence[Any]], Any],
    items: Sequence[Any],
    weight: Callable[[Any], int],
) -> Iterator[Any]:
    """What ``work`` makes of each group of ``items``; no session is started for less than a task's."""
    is_small = callable(spark) and sum(map(weight, items)) <= _TASK_BYTES
    groups = [] if is_small else groups_of(items, weight, parallelism(started(spark)))
    if len(groups) <= 1:
        yield from alone(work, items, weight)
        return
    with translated():
        batches = distribute(
            started(spark), groups, lambda group: iter([packed(work(group))]), RESULT_TYPE
        )
        results = unpacked(batches)
    yield from results


def results_of(
    session: SparkSession,
    pieces: Sequence[Any],
    work: Callable[[Any], Iterator[pa.RecordBatch]],
    files: Callable[[Any], int],
) -> list[Any]:
    """What each task hands over that has done ``work`` on a piece, in order.

    ``files``: how many a piece has; how many are done is told meanwhile.
    """
    if not pieces:
        return []
    with files_planned(session, [files(piece) for piece in pieces]) as ended:

        def run(numbered: tuple[int, Any]) -> Iterator[pa.RecordBatch]:
            number, piece = numbered
            yield from work(piece)
            ended(number)

        return unpacked(distribute(session, list(enumerate(pieces)), run, RESULT_TYPE))


def unpacked(frame: DataFrame) -> list[Any]:
    """Run the tasks of ``frame``; what each attempt that Spark counts handed over."""
    rows = frame.collect()
    rows.reverse()
    results = []
    while rows:  # a result is held once: as bytes, or as what they mean
        results.append(pickle.loads(rows.pop()[0]))
    return results
