"""Many records of topics at once: others read and decode them, and the run checks what for.

Parallel batches are a part of every partition, cut into windows, each decoded with what was known of
the tables when they began.  Where more is known once its turn comes (a column was added, say), or where it
has an event that cannot be read, the run decodes it anew from the same lines: the outcome is that of
a run that reads alone.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from table_core.cdc.model.parallel_batches import DecodedWindow, Known, ParallelBatches
from table_core.cdc.model.window import Window
from table_core.cdc.source.kafka.records import record_line
from table_core.cdc.source.lines import WINDOW_BYTES, WINDOW_LINES, LineDecoder
from table_core.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.model.encoding import PlainSettings
    from table_core.cdc.model.parallel_batches import RecordsBy
    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.source.kafka.records import RecordForm
    from table_core.cdc.source.kafka.source import KafkaSource
    from table_core.datatypes.kinds import Field
    from table_core.schema.type_mapping import TypeMapping

    Offsets: TypeAlias = Mapping[tuple[str, int], int]

__all__ = ["ParallelReader", "WindowWork", "records_window"]

_MANY: Final = 100_000
"""Records that are worth it."""
_WINDOWS: Final = 8
_GROWTH: Final = 4
_LARGEST_WINDOW: Final = 6 * WINDOW_BYTES
_RECORD_COLUMNS: Final = ("topic", "partition", "offset", "headers", "key", "value")


def next_parallel_batches(begin: Offsets, last: Offsets, records: int) -> ParallelBatches | None:
    """Windows of so many ``records``; None where few are left.

    Each partition gives as many, so a short one (that of schema changes, say) is read early, as one
    process reads it.
    """
    left = {at: end - begin.get(at, 0) for at, end in last.items() if end > begin.get(at, 0)}
    if sum(left.values()) < _MANY:
        return None
    step = max(1, records // len(left))
    first = {at: begin.get(at, 0) for at in left}
    return ParallelBatches(
        {at: (first[at], first[at] + min(n, _WINDOWS * step)) for at, n in left.items()}, step
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowWork:
    """Decodes the records of one window; travels to where they are."""

    known: Known
    route: Callable[[SourceTable], str | None]
    form: RecordForm
    format: str
    settings: PlainSettings
    mapping: TypeMapping
    by_topic: bool

    def __call__(self, records: Iterable[pa.RecordBatch]) -> bytes | None:
        """A ``DecodedWindow``, pickled; b"" for more than fits into memory, None for no records.

        Columns: ``topic, partition, offset, headers, key, value``, in any order of rows.
        """
        batches, size = [], 0
        for batch in records:
            batches.append(batch.select(_RECORD_COLUMNS))
            size += batch.nbytes
            if size > _LARGEST_WINDOW:
                return b""
        table = pa.Table.from_batches(batches) if batches else None
        if table is None or not table.num_rows:
            return None
        return pickle.dumps(self._decoded(table))

    def _decoded(self, records: pa.Table) -> DecodedWindow:
        records = records.sort_by([(name, "ascending") for name in _RECORD_COLUMNS[:3]])
        columns = (records[name].to_pylist() for name in _RECORD_COLUMNS)
        places, lines = [], []
        for topic, partition, offset, headers, key, value in zip(*columns, strict=True):
            at = (topic, partition, offset)
            texts = [(h["key"], h["value"]) for h in headers or ()]
            places.append(at)
            lines.append(record_line(at, texts, key, value, self.form))
        window = records_window(places, lines)
        known = self.known
        decoder = LineDecoder(
            wants=self._wants,
            fields_of=self._fields_of,
            target_key=self._target_key,
            settings=self.settings,
            format=self.format,
            mapping=self.mapping,
            by_topic=self.by_topic,
            source_schemas=dict(known.source_schemas),
            keys=dict(known.keys),
            known_sources=lambda: known.sources,
            topics=dict(known.topics),
        )
        try:
            changes, schema_changes = decoder.decode(window)
        except TableError:  # the run meets it again, and knows what to do with it
            return DecodedWindow(window, places, [], [], None)
        after = replace(
            known, source_schemas=decoder.source_schemas, keys=decoder.keys, topics=decoder.topics
        )
        changes = [replace(one, place=window.place) for one in changes]  # not its lines once more
        return DecodedWindow(window, places, changes, schema_changes, after, decoder.marks)

    def _wants(self, table: SourceTable) -> bool:
        name = self.route(table)
        return name is not None and name not in self.known.skipped

    def _target_key(self, table: SourceTable) -> tuple[str, ...]:
        return self.known.primary_keys.get(self.route(table) or "", ())

    def _fields_of(self, table: SourceTable) -> Sequence[Field] | None:
        return self.known.fields.get(self.route(table) or "")


def records_window(places: Sequence[tuple[str, int, int]], lines: Sequence[bytes]) -> Window:
    """Records (topic, partition, offset) as lines, put into the order of the source."""
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


@dataclass(slots=True, kw_only=True)
class ParallelReader:
    """Has the records of topics read, some windows of every partition at a time."""

    tables: SyncTables
    source: KafkaSource
    form: RecordForm
    records_by: RecordsBy

    def known(self, decoder: LineDecoder) -> Known:
        """What is known now."""
        tables = {n: f.state.table for n, f in self.tables.feeds.items()}
        return Known(
            fields={n: t.definition.fields for n, t in tables.items() if t is not None},
            primary_keys={n: tuple(t.primary_key) for n, t in tables.items() if t is not None},
            sources=self.tables.known_sources,
            topics=dict(decoder.topics),
            skipped=frozenset(self.tables.skipped),
            source_schemas=dict(decoder.source_schemas),
            keys=dict(decoder.keys),
        )

    def worth(self, begin: Offsets, last: Offsets) -> bool:
        """Whether there are many records."""
        return next_parallel_batches(begin, last, 1) is not None

    def windows(
        self, decoder: LineDecoder, begin: Offsets, last: Offsets, records: int
    ) -> Iterator[tuple[DecodedWindow, bool]]:
        """Windows until few records are left, and whether each was decoded as it would be now.

        Ends early where nobody else reads the source, or where a window is too large for a task.
        The first ones have about so many ``records``.
        """
        if not self.worth(begin, last) or (read := self.records_by(self.source)) is None:
            return
        reached = dict(begin)
        while (batches := next_parallel_batches(reached, last, records)) is not None:
            work = self._work(decoder)
            size = count = 0
            for body in read(batches, work):
                if not body:
                    return
                decoded: DecodedWindow = pickle.loads(body)
                lines = decoded.window.lines
                size, count = size + lines.nbytes, count + len(lines)
                usable = decoded.after is not None and self.known(decoder) == work.known
                yield decoded, usable
            reached |= {at: end for at, (_, end) in batches.ranges.items()}
            records = _records_of(records, size / count if count else 0.0)

    def _work(self, decoder: LineDecoder) -> WindowWork:
        return WindowWork(
            known=self.known(decoder),
            route=self.tables.context.route,
            form=self.form,
            format=self.source.format,
            settings=decoder.settings,
            mapping=decoder.mapping,
            by_topic=decoder.by_topic,
        )


def _records_of(before: int, bytes_per_record: float) -> int:
    """Records of a window, as large as those that one process puts into order."""
    wanted = (
        max(WINDOW_LINES, int(WINDOW_BYTES / bytes_per_record))
        if bytes_per_record
        else WINDOW_LINES
    )
    most = int(_LARGEST_WINDOW / 2 / bytes_per_record) if bytes_per_record else wanted
    return max(1, min(wanted, most, before * _GROWTH))
