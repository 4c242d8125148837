"""Many sorted runs as one merged stream, window by window.

A window takes from every run what lies at or below the smallest last key in hand.  So all
versions of its keys are in it, and memory is the number of runs times their batch size.

Source: ``org.apache.paimon.mergetree.compact.SortMergeReaderWithLoserTree``; spec 7.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.merge.sort import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from table_core.merge.engine import MergeEngine

__all__ = ["merge_runs"]


def merge_runs(runs: Sequence[Iterator[pa.RecordBatch]], engine: MergeEngine) -> Iterator[pa.Table]:
    """Merge sorted ``runs``, given in any order, to tables of ascending keys that never repeat.

    Each run is sorted by key; a key may repeat in a run and go on in its next batch.

    Shape: KV rows to KV rows, one a key; retracts are kept.
    """
    hands = [hand for run in runs if (hand := _Hand.of(run, engine.order.key)) is not None]
    while hands:
        bound = min(hand.last for hand in hands)
        window = [part for hand in hands for part in hand.take_to(bound)]
        hands = [hand for hand in hands if hand.rows is not None]
        table = pa.Table.from_batches(window)
        if len(window) > 1:
            table = table.combine_chunks()
        yield engine.fold(table, runs_of(table, engine.order))


@dataclass(slots=True)
class _Hand:
    """What is left of a run's batch in hand, and where to get more."""

    source: Iterator[pa.RecordBatch]
    key: Sequence[str]
    rows: pa.RecordBatch | None
    last: tuple[Any, ...]

    @classmethod
    def of(cls, source: Iterator[pa.RecordBatch], key: Sequence[str]) -> _Hand | None:
        hand = cls(source, key, None, ())
        hand._refill()
        return hand if hand.rows is not None else None

    def _refill(self) -> None:
        self.rows = next((batch for batch in self.source if batch.num_rows), None)
        if self.rows is not None:
            self.last = self._key_at(self.rows, self.rows.num_rows - 1)

    def take_to(self, bound: tuple[Any, ...]) -> Iterator[pa.RecordBatch]:
        """Give up the rows at or below ``bound``."""
        while self.rows is not None:
            if self.last <= bound:
                yield self.rows
                self._refill()
                continue
            count = self._rows_to(bound)
            if count:
                yield self.rows.slice(0, count)
                self.rows = self.rows.slice(count)
            return

    def _rows_to(self, bound: tuple[Any, ...]) -> int:
        assert self.rows is not None
        low, high = 0, self.rows.num_rows - 1
        while low < high:
            middle = (low + high) // 2
            if self._key_at(self.rows, middle) <= bound:
                low = middle + 1
            else:
                high = middle
        return low

    def _key_at(self, rows: pa.RecordBatch, row: int) -> tuple[Any, ...]:
        return tuple(_rank(rows.column(name)[row]) for name in self.key)


def _rank(scalar: pa.Scalar) -> tuple[Any, ...]:
    """A Python value that compares as Paimon compares: null first, -0.0 < 0.0, NaN last."""
    if not scalar.is_valid:
        return ()
    type_ = scalar.type
    if pa.types.is_timestamp(type_) or pa.types.is_time(type_) or pa.types.is_date(type_):
        return (scalar.value,)
    value = scalar.as_py()
    if isinstance(value, float):
        nan = math.isnan(value)
        return (nan, 0.0 if nan else value, not nan and math.copysign(1.0, value) > 0)
    return (value.encode() if isinstance(value, str) else value,)
