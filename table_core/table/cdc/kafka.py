"""Reads change events out of Kafka topics, in the order of the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from table_core.cdc.position import OffsetsPosition
from table_core.cdc.window import Window
from table_core.errors import EventError
from table_core.sources.kafka import JsonRecords
from table_core.table.cdc.lines import LineReader, window_is_full

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.cdc.batch import SourceBatch
    from table_core.sources.kafka import KafkaReading, KafkaSource, RecordForm

__all__ = ["KafkaReader"]


@dataclass(slots=True, kw_only=True)
class KafkaReader(LineReader):
    """Batches of a ``KafkaSource``."""

    source: KafkaSource
    form: RecordForm = field(default_factory=JsonRecords)

    def parse(self, text: str | None) -> OffsetsPosition:
        """The position that a table holds."""
        return OffsetsPosition.parse(text)

    def _pass(self, start: OffsetsPosition, end: OffsetsPosition | None) -> Iterator[SourceBatch]:
        reading = self.source.open()
        try:
            there = reading.partitions()
            begin = {}
            for at, (first, _) in there.items():
                begin[at] = start.next_of(*at)
                if begin[at] < first and at in start.offsets:
                    raise EventError(
                        f"topic {at[0]}, partition {at[1]}: offsets {begin[at]} to {first - 1} "
                        "were deleted before they were read; drop the tables and take a new "
                        "snapshot, and raise the topic's retention.ms",
                        topic=at[0],
                        partition=at[1],
                        offset=begin[at],
                    )
                begin[at] = max(begin[at], first)
            last = {
                at: next_ if end is None else min(next_, end.next_of(*at))
                for at, (_, next_) in there.items()
            }
            yield from self._windows(reading, start, begin, last)
        finally:
            reading.close()

    def _windows(
        self,
        reading: KafkaReading,
        start: OffsetsPosition,
        begin: dict[tuple[str, int], int],
        last: dict[tuple[str, int], int],
    ) -> Iterator[SourceBatch]:
        reached, places, lines, size = start, list[tuple[str, int, int]](), list[bytes](), 0
        for topic, number, offset, line in reading.lines(begin, last, self.form):
            places.append((topic, number, offset))
            lines.append(line)
            size += len(line)
            if window_is_full(size, len(lines)):
                reached = reached.after(places)
                yield self._batch(_window(places, lines), reached)
                places, lines, size = [], [], 0
        if lines:
            yield self._batch(_window(places, lines), reached.after(places))

    def history(self, until: OffsetsPosition) -> Iterator[SourceBatch]:
        """All that was consumed at ``until``, once more.

        Raises:
            EventError: the topic no longer has its beginning.
        """
        reading = self.source.open()
        try:
            for at, (first, _) in reading.partitions().items():
                if first and until.next_of(*at):
                    raise EventError(
                        f"topic {at[0]}, partition {at[1]} was truncated at the source, and the "
                        "topic no longer has its beginning to tell whose rows are whose: add "
                        "metadata_columns=('database_name', 'table_name')",
                        topic=at[0],
                        partition=at[1],
                        offset=first,
                    )
        finally:
            reading.close()
        return LineReader.history(self, until)


def _window(places: list[tuple[str, int, int]], lines: list[bytes]) -> Window:
    partitions = list(dict.fromkeys((topic, number) for topic, number, _ in places))
    index = {at: n for n, at in enumerate(partitions)}
    return Window.arranged(
        tuple(f"topic {topic}, partition {number}" for topic, number in partitions),
        tuple(f"{topic}\0{number}" for topic, number in partitions),
        pa.array(lines, pa.large_binary()),
        np.array([index[topic, number] for topic, number, _ in places], np.int64),
        np.array([offset + 1 for _, _, offset in places], np.int64),
        offsets=True,
    )
