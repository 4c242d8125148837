"""Files done of files planned: what tasks tell of their pieces while a verb runs.

A piece that is tried again, or by two tasks at once, is counted once.  A Spark Connect client hears nothing of it.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.accumulators import Accumulator, AccumulatorParam

from table_core.spark.session.create import context_of
from table_core.spark.session.doing import described

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = ["Ended", "files_now", "files_planned"]

_Pieces: TypeAlias = "dict[tuple[int, int], int]"
"""How many files a piece of a run has had, of those that have ended."""


class _Together(AccumulatorParam["_Pieces"]):
    def zero(self, value: _Pieces) -> _Pieces:  # noqa: ARG002 - as PySpark calls it
        return {}

    def addInPlace(self, value1: _Pieces, value2: _Pieces) -> _Pieces:  # noqa: N802
        value1.update(value2)
        return value1


_RUNS: Final = count()
_TOLD: Final[dict[str, Accumulator[_Pieces]]] = {}
"""What was told, by application: PySpark keeps each accumulator for ever, so there is one."""
_PLANNED: Final[dict[str, dict[int, int]]] = {}
"""How many files the runs have that are under way."""


class Ended:
    """For a task: says that a piece has ended."""

    def __init__(self, told: Accumulator[_Pieces] | None, run: int, files: Sequence[int]) -> None:
        self._told, self._run, self._files = told, run, files

    def __call__(self, piece: int) -> None:
        """The piece of this number has."""
        if self._told is not None:
            self._told.add({(self._run, piece): self._files[piece]})


@contextmanager
def files_planned(session: SparkSession, files: Sequence[int]) -> Iterator[Ended]:
    """Meanwhile as many files are planned as the pieces have; jobs say so, and ``Ended`` which are done."""
    context = context_of(session)
    run = next(_RUNS)
    if context is None:
        yield Ended(None, run, ())
        return
    told, planned = _told(context), _PLANNED.setdefault(context.applicationId, {})
    planned[run] = sum(files)
    try:
        with described(context, f"{planned[run]:,} files"):
            yield Ended(told, run, files)
    finally:
        del planned[run]
        for piece in range(len(files)):
            told.value.pop((run, piece), None)


def files_now(context: SparkContext) -> tuple[int, int]:
    """How many files are done of those that are planned now."""
    planned = dict(_PLANNED.get(context.applicationId, {}))
    if not planned:
        return 0, 0
    ended = list(_told(context).value.items())
    return sum(files for (run, _), files in ended if run in planned), sum(planned.values())


def _told(context: SparkContext) -> Accumulator[_Pieces]:
    told = _TOLD.get(context.applicationId)
    if told is None:
        told = _TOLD[context.applicationId] = context.accumulator({}, _Together())
    return told
