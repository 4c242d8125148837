"""Reads change events out of Kafka topics, in the order of the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.cdc.batch import SourceBatch
from table_core.cdc.position import OffsetsPosition
from table_core.cdc.window import Window
from table_core.errors import EventError
from table_core.table.cdc.files import LineDecoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.cdc.record import SourceTable
    from table_core.ports import Clock
    from table_core.sources.kafka import KafkaReading, KafkaSource

__all__ = ["KafkaReader"]

_WINDOW_BYTES: Final = 16 << 20
_POLL_MS: Final = 500


@dataclass(slots=True, kw_only=True)
class KafkaReader:
    """Batches of a ``KafkaSource``."""

    source: KafkaSource
    decoder: LineDecoder
    rereads: bool = True
    poll: Clock | None = None
    _reading: list[KafkaReading] = field(default_factory=list)

    def parse(self, text: str | None) -> OffsetsPosition:
        """The position that a table holds."""
        return OffsetsPosition.parse(text)

    def batches(self, start: OffsetsPosition, end: OffsetsPosition | None) -> Iterator[SourceBatch]:
        """What comes after ``start``: until ``end``, or what is there now, or for ever."""
        reached: Any = start
        while True:
            for batch in self._pass(reached, end):
                reached = batch.position
                yield batch
            if self.poll is None or end is not None:
                return
            self.poll.sleep_ms(_POLL_MS)
            yield SourceBatch(
                changes=(), position=reached, events=0, consumed=lambda _, numbers: numbers >= 0
            )

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
        for topic, number, offset, line in reading.lines(begin, last):
            places.append((topic, number, offset))
            lines.append(line)
            size += len(line)
            if size >= _WINDOW_BYTES:
                batch = self._batch(reached, places, lines)
                reached, places, lines, size = batch.position, [], [], 0  # type: ignore[assignment]  # of this kind
                yield batch
        if lines:
            yield self._batch(reached, places, lines)

    def _batch(
        self, start: OffsetsPosition, places: list[tuple[str, int, int]], lines: list[bytes]
    ) -> SourceBatch:
        reached = start.after(places)
        partitions = list(dict.fromkeys((topic, number) for topic, number, _ in places))
        index = {at: n for n, at in enumerate(partitions)}
        window = Window.arranged(
            tuple(f"topic {topic}, partition {number}" for topic, number in partitions),
            tuple(f"{topic}\0{number}" for topic, number in partitions),
            pa.array(lines, pa.large_binary()),
            np.array([index[topic, number] for topic, number, _ in places], np.int64),
            np.array([offset + 1 for _, _, offset in places], np.int64),
            offsets=True,
        )
        changes, news = self.decoder.decode(window)
        return SourceBatch(
            changes=changes,
            position=reached,
            events=len(lines),
            consumed=window.consumed,
            news=news,
            key_of=partial(self.decoder.key_of, window),
            old_key=window.old_key,
            text_of=window.text_of,
        )

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
        decoder = LineDecoder(
            wants=self.decoder.wants,
            fields_of=self.decoder.fields_of,
            settings=self.decoder.settings,
            dead=self.decoder.dead and self.decoder.dead.silent(),
            format=self.decoder.format,
        )
        yield from KafkaReader(source=self.source, decoder=decoder).batches(
            OffsetsPosition(), until
        )

    def remembered(self, tables: Iterable[SourceTable]) -> str | None:
        """See ``LineDecoder``."""
        return self.decoder.remembered(tables)

    def recall(self, text: str | None) -> None:
        """See ``LineDecoder``."""
        self.decoder.recall(text)

    def committed(self, position: OffsetsPosition) -> None:
        """Nothing: the offsets are in the tables."""

    def tables(self) -> list[SourceTable]:
        """The source tables that occur in the topics now; reads them all."""
        found: dict[SourceTable, None] = {}
        for batch in self._pass(OffsetsPosition(), None):
            found.update(dict.fromkeys(one.table for one in batch.changes))
        return list(found)
