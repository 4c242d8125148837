"""Reads lines of change events, from wherever they come, in the order of the source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from table_core.cdc.debezium.json_blocks import DebeziumDecoder
from table_core.cdc.debezium.other_formats import Targets, decode_other_format
from table_core.cdc.debezium.tombstones import lone_tombstones, topics_of
from table_core.cdc.model.bad import BadEvents
from table_core.cdc.model.batch import SourceBatch
from table_core.cdc.model.schema_change_event import schema_change_events
from table_core.cdc.model.source_schema import source_schema_text, source_schemas_from
from table_core.cdc.model.units import settled, without_sign
from table_core.position.lines import FilesRead, OffsetsPlace
from table_core.schema.type_mapping import TypeMapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.apply.dead_letters import DeadLetters
    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.claims import Claim
    from table_core.cdc.model.embedded_schema import Declared
    from table_core.cdc.model.encoding import PlainSettings
    from table_core.cdc.model.parallel_batches import DecodedWindow
    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.model.schema_change_event import SchemaChangeEvent
    from table_core.cdc.model.window import Segment, Window
    from table_core.datatypes.kinds import Field
    from table_core.ports import Clock
    from table_core.position.source import SourceId

__all__ = ["WINDOW_BYTES", "LineDecoder", "LineReader", "window_is_full"]

AtLines = TypeVar("AtLines", FilesRead, OffsetsPlace)
"""How far lines were read: in files, or in topics."""
WINDOW_BYTES: Final = 8 << 20
WINDOW_LINES: Final = 20_000
_LARGEST: Final = 6
_SCHEMA_MEMBER: Final = b'"schema":'
_HEAD_BYTES: Final = 1 << 10
"""A line with an embedded schema begins with it, behind what tells of its record."""


def window_is_full(size: int, lines: int, newest: bytes) -> bool:
    """Whether so much of the source is put into order at once, and no more; ``newest`` begins with a line of it.

    Embedded schemas are cut out before anything is parsed, so of lines that are long by them there may be more.
    """
    if size < WINDOW_BYTES or size >= _LARGEST * WINDOW_BYTES:
        return size >= WINDOW_BYTES
    has_schema = newest.find(_SCHEMA_MEMBER, 0, _HEAD_BYTES) >= 0
    return not has_schema or lines >= WINDOW_LINES


@dataclass(slots=True, kw_only=True)
class LineDecoder:
    """Turns windows of lines into changes; knows the columns that a schema topic told."""

    wants: Callable[[SourceTable], bool]
    fields_of: Callable[[SourceTable], Sequence[Field] | None]
    settings: PlainSettings
    target_key: Callable[[SourceTable], tuple[str, ...]] = lambda _: ()
    """The primary key of the table that a source table feeds; () if nobody knows it yet."""
    known_sources: Callable[[], frozenset[SourceTable]] = frozenset
    """The source tables that feed a table already."""
    dead_letters: DeadLetters | None = None
    format: str = "debezium-json"
    mapping: TypeMapping = field(default_factory=TypeMapping)
    by_topic: bool = False
    """Whether rows without a table are of the one that their topic names."""
    source_schemas: dict[SourceTable, Mapping[str, Declared]] = field(default_factory=dict)
    keys: dict[SourceTable, tuple[str, ...]] = field(default_factory=dict)
    topics: dict[str, SourceTable] = field(default_factory=dict)
    """The tables of topics, as their events told them."""
    marks: list[tuple[int, Mapping[SourceTable, Mapping[str, Declared]]]] = field(
        default_factory=lambda: [(-1, {})]
    )
    """What was known behind which line of the newest window."""
    _bad: set[int] = field(default_factory=set)
    """Lines of the newest window that cannot be read."""
    _decoder: DebeziumDecoder | None = None

    @property
    def is_debezium(self) -> bool:
        """Whether the lines are Debezium's events."""
        return self.format.startswith("debezium-")

    def decode(self, window: Window) -> tuple[list[Changes], list[SchemaChangeEvent]]:
        """The changes of a window and the schema changes in it."""
        self.marks = [(-1, dict(self.source_schemas))]
        self._bad.clear()
        schema_changes = self._schema_change_events(window)
        cuts = [event for event in schema_changes if not event.in_snapshot]
        for event in schema_changes:
            if event.in_snapshot:
                self._learn(event)
        self.marks.append((0, dict(self.source_schemas)))
        changes: list[Changes] = []
        first = 0
        for event in cuts:
            changes += self._part(window, first, event.number)
            first = event.number
            self._learn(event)
            self.marks.append((first, dict(self.source_schemas)))
        changes += self._part(window, first, len(window.lines))
        return changes, schema_changes

    def _schema_change_events(self, window: Window) -> list[SchemaChangeEvent]:
        try:
            return schema_change_events(
                window, self.settings, together=self.dead_letters is not None
            )
        except BadEvents as bad:
            self._put(bad, window)
        whole = window.segment(0, len(window.lines), frozenset(self._bad))
        return schema_change_events(whole, self.settings)

    def _learn(self, one: SchemaChangeEvent) -> None:
        if one.columns:
            self.source_schemas[one.table] = one.columns
            self.keys[one.table] = one.key

    def again(self) -> LineDecoder:
        """One that reads the same lines once more and keeps no bad ones: they were told before."""
        dead_letters = self.dead_letters and self.dead_letters.silent()
        return replace(
            self,
            dead_letters=dead_letters,
            source_schemas={},
            keys={},
            marks=[(-1, {})],
            _bad=set(),
            _decoder=None,
        )

    def remembered(self, tables: Iterable[SourceTable], number: int | None = None) -> str | None:
        """What a later run has to know to read events without schema of ``tables``.

        ``number``: of the line of the newest window where it begins; None: behind the window.
        """
        source_schemas: Mapping[SourceTable, Mapping[str, Declared]] = self.source_schemas
        if number is not None:
            source_schemas = [known for mark, known in self.marks if mark < number][-1]
        known = {t: source_schemas[t] for t in tables if t in source_schemas}
        return source_schema_text(known) if known else None

    def unfed(self, fed: Iterable[SourceTable]) -> list[SourceTable]:
        """Tables that are known and feed none yet."""
        return sorted(self.source_schemas.keys() - set(fed))

    def recall(self, text: str | None) -> None:
        """Take up what an earlier run remembered."""
        for table, columns in source_schemas_from(text).items():
            self.source_schemas.setdefault(table, columns)

    def _part(self, window: Window, first: int, end: int) -> list[Changes]:
        if first == end:
            return []
        while True:
            try:
                decoded = self._decoded(window.segment(first, end, frozenset(self._bad)))
                self.source_schemas = dict(
                    settled(self.source_schemas, decoded, together=self.dead_letters is not None)
                )
            except BadEvents as bad:
                self._put(bad, window)
                continue
            self.marks.append((first, dict(self.source_schemas)))
            return [self._with_source_schema(one) for one in decoded]

    def _put(self, bad: BadEvents, window: Window) -> None:
        """Keep what cannot be read, and go on without it."""
        assert self.dead_letters is not None
        for number, error in sorted(bad.errors.items()):
            self.dead_letters.put(error, window.place(number).text, window.text_of(number))
        self._bad |= bad.errors.keys()

    def _decoded(self, lines: Segment) -> list[Changes]:
        together = self.dead_letters is not None
        if not self.is_debezium:
            return decode_other_format(
                self.format,
                lines,
                self.wants,
                self.mapping,
                self.keys,
                targets=Targets(self.target_key, self.fields_of),
                by_topic=self.by_topic,
                together=together,
            )
        if self._decoder is None:
            self._decoder = DebeziumDecoder(self.fields_of, self.wants, self.settings)
        decoded = self._decoder.decode(lines, together=together)
        self.topics |= topics_of(lines, decoded)
        lone = lone_tombstones(lines, decoded, self.known_sources(), self.topics, self.target_key)
        return [*decoded, *lone]

    def _with_source_schema(self, changes: Changes) -> Changes:
        """Events without schema get the columns that the schema topic told."""
        columns = self.source_schemas.get(changes.table)
        if columns is None:
            return changes
        declared = columns if changes.declared is None else without_sign(changes.declared, columns)
        return replace(changes, declared=declared)

    def key_of(self, window: Window, table: SourceTable) -> tuple[str, ...] | None:
        """The primary key of a source table."""
        known = self.keys.get(table)
        return window.key_of(table) if known is None and self.is_debezium else known


@dataclass(slots=True, kw_only=True)
class LineReader(ABC, Generic[AtLines]):
    """Batches of lines."""

    decoder: LineDecoder
    poll: Clock | None = None
    """Waits for more when all is read; None ends there."""
    poll_ms: int = 1000

    @abstractmethod
    def parse(self, text: str | None) -> AtLines:
        """The position that a table holds; None is the start."""

    @property
    def by_table(self) -> bool:
        """No: a source table that is new is read from the start of all."""
        return False

    @property
    def details(self) -> dict[str, object]:
        """Nothing: all is read."""
        return {}

    @property
    def forgets(self) -> bool:
        """No: what was read of files may stay or go."""
        return False

    @property
    def may_repeat(self) -> bool:
        """Whether what wrote the lines delivers at least once: connectors do, rows without events are once there."""
        return self.decoder.format != "json"

    @abstractmethod
    def identity(self) -> tuple[SourceId, str]:
        """What tells the source from others, and where it is."""

    @abstractmethod
    def check(self, claims: Sequence[Claim]) -> None:
        """Refuse a source that is not what was read.

        Raises:
            SourceDivergedError: it is so.
        """

    def settled(self, position: AtLines) -> AtLines:
        """A stored position as it is to be taken now."""
        return position

    @abstractmethod
    def _pass(self, start: AtLines, end: AtLines | None) -> Iterator[SourceBatch[AtLines]]:
        """What comes after ``start``: until ``end``, or what is there now."""

    def batches(self, start: AtLines | None, end: AtLines | None) -> Iterator[SourceBatch[AtLines]]:
        """What comes after ``start``: until ``end``, or what is there now, or for ever."""
        reached = self.parse(None) if start is None else start
        while True:
            for batch in self._pass(reached, end):
                reached = batch.position
                yield batch
            if self.poll is None or end is not None:
                return
            self.poll.sleep_ms(self.poll_ms)
            yield SourceBatch(  # lets a run that waits commit what it has
                changes=(), position=reached, events=0, consumed=lambda _, numbers: numbers >= 0
            )

    def history(self, until: AtLines) -> Iterator[SourceBatch[AtLines]]:
        """All that was consumed at ``until``, once more."""
        again = replace(self, decoder=self.decoder.again(), poll=None)
        return again.batches(self.parse(None), until)

    def remembered(self, tables: Iterable[SourceTable], number: int | None = None) -> str | None:
        """See ``LineDecoder``."""
        return self.decoder.remembered(tables, number)

    def unfed(self, fed: Iterable[SourceTable]) -> list[SourceTable]:
        """See ``LineDecoder``."""
        return self.decoder.unfed(fed)

    def recall(self, text: str | None) -> None:
        """See ``LineDecoder``."""
        self.decoder.recall(text)

    def committed(self, position: AtLines) -> None:
        """Nothing: the tables keep how far they are."""

    def tables(self) -> list[SourceTable]:
        """The source tables that occur now; reads everything."""
        tables: dict[SourceTable, None] = {}
        for batch in self._pass(self.parse(None), None):
            tables.update(dict.fromkeys(one.table for one in batch.changes))
        return list(tables)

    def _batch(
        self,
        window: Window,
        start: AtLines,
        reached: AtLines,
        decoded: DecodedWindow | None = None,
    ) -> SourceBatch[AtLines]:
        changes, schema_changes = (
            self.decoder.decode(window) if decoded is None else self._taken(decoded)
        )
        return SourceBatch(
            changes=changes,
            position=reached,
            events=len(window.lines),
            consumed=window.consumed,
            before=lambda number: replace(start, beyond=window.beyond(number, start)),
            schema_changes=schema_changes,
            key_of=partial(self.decoder.key_of, window),
            old_key=window.old_key,
            place=window.place,
            text_of=window.text_of,
            decoded_elsewhere=decoded is not None,
            may_repeat=self.may_repeat,
            deliveries=window.deliveries if self.decoder.is_debezium else lambda _: None,
        )

    def _taken(self, decoded: DecodedWindow) -> tuple[list[Changes], list[SchemaChangeEvent]]:
        """What another decoder made of a window, and learned."""
        assert decoded.after is not None
        self.decoder.source_schemas, self.decoder.keys = (
            dict(decoded.after.source_schemas),
            dict(decoded.after.keys),
        )
        self.decoder.marks = decoded.marks
        self.decoder.topics = dict(decoded.after.topics)
        return decoded.changes, decoded.schema_changes
