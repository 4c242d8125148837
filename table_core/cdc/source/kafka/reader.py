"""Reads change events out of Kafka topics, in the order of the source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, cast

from table_core.cdc.model.batch import SourceBatch
from table_core.cdc.model.claims import Claim, together
from table_core.cdc.source.diverged import refuse_diverged
from table_core.cdc.source.kafka.merged_windows import merged_windows
from table_core.cdc.source.kafka.parallel_batches import records_window
from table_core.cdc.source.kafka.records import JsonRecords
from table_core.cdc.source.lines import LineReader
from table_core.errors import EventError
from table_core.position.lines import OffsetsPlace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.cdc.source.kafka.parallel_batches import ParallelReader
    from table_core.cdc.source.kafka.records import RecordForm
    from table_core.cdc.source.kafka.source import KafkaConnection, KafkaSource
    from table_core.position.decide import TopicsNow
    from table_core.position.source import SourceId, TopicsId

__all__ = ["KafkaReader"]


@dataclass(slots=True, kw_only=True)
class KafkaReader(LineReader[OffsetsPlace]):
    """Batches of a ``KafkaSource``."""

    source: KafkaSource
    form: RecordForm = field(default_factory=JsonRecords)
    parallel: ParallelReader | None = None
    """Has records read by others where they are many."""
    _topics_now: TopicsNow | None = None
    _waited: bool = False
    """Whether the topics were read before, and may have become others since."""

    def parse(self, text: str | None) -> OffsetsPlace:
        """The position that a table holds."""
        return OffsetsPlace.parse(text)

    @property
    def forgets(self) -> bool:
        """Yes: a topic keeps its records for a while."""
        return True

    @property
    def may_repeat(self) -> bool:
        """Yes: producers try again."""
        return True

    def identity(self) -> tuple[SourceId, str]:
        """The cluster, and the ids of the topics."""
        connection = self.source.connect()
        try:
            self._topics_now = connection.now()
        finally:
            connection.close()
        return self._topics_now.source, self.source.servers

    def check(self, claims: Sequence[Claim]) -> None:
        """Refuse topics that were recreated, went back, or lost what comes next.

        Raises:
            SourceDivergedError: they did.
        """
        assert self._topics_now is not None
        for claim in claims:
            refuse_diverged(claim, self._topics_now, self.source.servers)

    def _pass(
        self, start: OffsetsPlace, end: OffsetsPlace | None
    ) -> Iterator[SourceBatch[OffsetsPlace]]:
        connection = self.source.connect()
        try:
            there = self._there(connection, start)
            begin = {at: max(start.next_of(*at), first) for at, (first, _) in there.items()}
            last = {
                at: next_ if end is None else min(next_, end.next_of(*at))
                for at, (_, next_) in there.items()
            }
            yield from self._windows(connection, start, begin, last)
        finally:
            connection.close()

    def _there(
        self, connection: KafkaConnection, start: OffsetsPlace
    ) -> Mapping[tuple[str, int], tuple[int, int]]:
        """The partitions; after a wait, if they still are those that were read.

        Raises:
            SourceDivergedError: they are not, or lost what comes next.
        """
        if self._topics_now is None or not self._waited:
            self._waited = self._topics_now is not None
            return connection.partitions()
        now = connection.now()
        source = together(self._topics_now.source, now.source)
        known = Claim(
            source=self._topics_now.source, route="", at=start, address=self.source.servers
        )
        refuse_diverged(known, now, self.source.servers)
        self._topics_now = replace(now, source=cast("TopicsId", source))
        return now.ends

    def _windows(
        self,
        connection: KafkaConnection,
        start: OffsetsPlace,
        begin: dict[tuple[str, int], int],
        last: dict[tuple[str, int], int],
    ) -> Iterator[SourceBatch[OffsetsPlace]]:
        reached, windows = start, self._here(connection, begin, last)
        if self.parallel is not None and self.parallel.worth(begin, last):
            count = 0
            for places, lines in islice(windows, 1):  # schema changes are few, and come with it
                before, reached = reached, reached.after(places)
                count = len(lines)
                yield self._batch(records_window(places, lines), before, reached)
            begin |= {at: reached.next_of(*at) for at in begin if at in reached.offsets}
            for decoded, usable in self.parallel.windows(self.decoder, begin, last, count):
                before, reached = reached, reached.after(decoded.places)
                begin |= {
                    at: reached.next_of(*at) for at in {place[:2] for place in decoded.places}
                }
                yield self._batch(decoded.window, before, reached, decoded if usable else None)
            windows = self._here(connection, begin, last)
        for places, lines in windows:
            before, reached = reached, reached.after(places)
            yield self._batch(records_window(places, lines), before, reached)
        ended = reached.ended(connection.ends)
        if ended != reached:
            yield SourceBatch(
                changes=(), position=ended, events=0, consumed=lambda _, numbers: numbers >= 0
            )

    def _here(
        self,
        connection: KafkaConnection,
        begin: dict[tuple[str, int], int],
        last: dict[tuple[str, int], int],
    ) -> Iterator[tuple[list[tuple[str, int, int]], list[bytes]]]:
        """Windows of records that this process reads: topic, partition and offset, and lines."""
        return merged_windows(connection, begin, last, self.form)

    def history(self, until: OffsetsPlace) -> Iterator[SourceBatch[OffsetsPlace]]:
        """All that was consumed at ``until``, once more.

        Raises:
            EventError: the topic no longer has its beginning.
        """
        connection = self.source.connect()
        try:
            for at, (first, _) in connection.partitions().items():
                if first and until.next_of(*at):
                    raise EventError(
                        f"topic {at[0]}, partition {at[1]} was truncated at the source, and the "
                        "topic no longer has its beginning, so it is unknown which table each row belongs to: add "
                        "metadata_columns=('database_name', 'table_name')",
                        topic=at[0],
                        partition=at[1],
                        offset=first,
                    )
        finally:
            connection.close()
        return LineReader[OffsetsPlace].history(self, until)
