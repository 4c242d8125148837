"""Reads change events out of files, in the order of the source where the files tell it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.batch import SourceBatch
from table_core.cdc.debezium import DebeziumDecoder
from table_core.cdc.foreign import decode_foreign
from table_core.cdc.position import FilesPosition
from table_core.cdc.record import LineBlock
from table_core.cdc.table_news import news_in
from table_core.cdc.told import told_from, told_text
from table_core.cdc.window import Window
from table_core.cdc.wire import PlainSettings
from table_core.errors import EventError
from table_core.storage.locate import open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.changes import Changes
    from table_core.cdc.embedded_schema import Declared
    from table_core.cdc.position import Piece
    from table_core.cdc.record import EventLines, SourceTable
    from table_core.cdc.table_news import TableNews
    from table_core.datatypes.kinds import Field
    from table_core.ports import Clock
    from table_core.sources.files import FilesSource, TextBlock
    from table_core.table.cdc.dead import DeadLetters

__all__ = ["FilesReader", "LineDecoder", "plain_settings"]

_WINDOW_BYTES: Final = 16 << 20
_BLOCK_BYTES: Final = 8 << 20
_POLL_MS: Final = 1000


def plain_settings(source: Any) -> PlainSettings:
    """What a source says of events without schema."""
    return PlainSettings(
        decimals=source.decimals,
        binary=source.binary,
        timestamps=source.timestamps,
        times=source.times,
    )


@dataclass(slots=True, kw_only=True)
class LineDecoder:
    """Turns windows of lines into changes; knows the columns that a schema topic told."""

    wants: Callable[[SourceTable], bool]
    fields_of: Callable[[SourceTable], Sequence[Field] | None]
    settings: PlainSettings
    dead: DeadLetters | None = None
    format: str = "debezium-json"
    told: dict[SourceTable, Mapping[str, Declared]] = field(default_factory=dict)
    keys: dict[SourceTable, tuple[str, ...]] = field(default_factory=dict)
    _decoder: DebeziumDecoder | None = None

    def decode(self, window: Window) -> tuple[list[Changes], list[TableNews]]:
        """The changes of a window and the schema changes in it."""
        news = news_in(window, self.settings)
        cuts = [one for one in news if not one.in_snapshot]
        for one in news:
            if one.in_snapshot:
                self._learn(one)
        changes: list[Changes] = []
        first = 0
        for one in cuts:
            changes += self._part(window, first, one.number)
            first = one.number
            self._learn(one)
        changes += self._part(window, first, len(window.lines))
        return changes, news

    def _learn(self, one: TableNews) -> None:
        if one.columns:
            self.told[one.table] = one.columns
            self.keys[one.table] = one.key

    def remembered(self, tables: Iterable[SourceTable]) -> str | None:
        """What a later run has to know to read events without schema of ``tables``."""
        known = {t: self.told[t] for t in tables if t in self.told}
        return told_text(known) if known else None

    def recall(self, text: str | None) -> None:
        """Take up what an earlier run remembered."""
        for table, columns in told_from(text).items():
            self.told.setdefault(table, columns)

    def _part(self, window: Window, first: int, end: int) -> list[Changes]:
        if first == end:
            return []
        without: set[int] = set()
        while True:
            try:
                found = self._decoded(window.segment(first, end, frozenset(without)))
            except EventError as error:
                number = error.facts.get("row")
                if self.dead is None or not isinstance(number, int) or number in without:
                    raise
                self.dead.put(error, window.lines[number].as_py())
                without.add(number)
                continue
            return [self._with_told(one) for one in found]

    def _decoded(self, lines: EventLines) -> list[Changes]:
        if self.format != "debezium-json":
            return decode_foreign(self.format, lines, self.wants)
        if self._decoder is None:
            self._decoder = DebeziumDecoder(self.fields_of, self.wants, self.settings)
        return self._decoder.decode(lines)

    def _with_told(self, one: Changes) -> Changes:
        """Events without schema get the columns that the schema topic told."""
        told = self.told.get(one.table)
        return one if one.declared is not None or told is None else replace(one, declared=told)

    def key_of(self, window: Window, table: SourceTable) -> tuple[str, ...] | None:
        """The primary key of a source table."""
        known = self.keys.get(table)
        return window.key_of(table) if known is None else known


@dataclass(slots=True, kw_only=True)
class FilesReader:
    """Batches of a ``FilesSource``."""

    source: FilesSource
    decoder: LineDecoder
    rereads: bool = True
    poll: Clock | None = None
    """Waits for more when all is read; None ends there."""

    def parse(self, text: str | None) -> FilesPosition:
        """The position that a table holds."""
        return FilesPosition.parse(text)

    def batches(self, start: FilesPosition, end: FilesPosition | None) -> Iterator[SourceBatch]:
        """What comes after ``start``: until ``end``, or what is there now, or for ever."""
        reached: Any = start
        while True:
            for batch in self._pass(reached, end):
                reached = batch.position
                yield batch
            if self.poll is None or end is not None:
                return
            self.poll.sleep_ms(_POLL_MS)
            yield self._nothing(reached)

    def _nothing(self, reached: FilesPosition) -> SourceBatch:
        """Lets a run that waits commit what it has."""
        return SourceBatch(
            changes=(), position=reached, events=0, consumed=lambda _, numbers: numbers >= 0
        )

    def _pass(self, start: FilesPosition, end: FilesPosition | None) -> Iterator[SourceBatch]:
        reached = start
        for blocks in self._windows(start, end):
            lines = [
                (name, LineBlock(self._whole(name), b.first_line, b.body)) for name, b in blocks
            ]
            for name, block in blocks:
                reached = reached.after(name, block.lines, block.offset)
            window = Window.of(lines)
            changes, news = self.decoder.decode(window)
            yield SourceBatch(
                changes=changes,
                position=reached,
                events=len(window.lines),
                consumed=window.consumed,
                news=news,
                key_of=partial(self.decoder.key_of, window),
                old_key=window.old_key,
                text_of=window.text_of,
            )

    def history(self, until: FilesPosition) -> Iterator[SourceBatch]:
        """All that was consumed at ``until``, once more."""
        decoder = LineDecoder(
            wants=self.decoder.wants,
            fields_of=self.decoder.fields_of,
            settings=self.decoder.settings,
            dead=self.decoder.dead and self.decoder.dead.silent(),
            format=self.decoder.format,
        )
        again = FilesReader(source=self.source, decoder=decoder)
        yield from again.batches(FilesPosition(), until)

    def remembered(self, tables: Iterable[SourceTable]) -> str | None:
        """See ``LineDecoder``."""
        return self.decoder.remembered(tables)

    def recall(self, text: str | None) -> None:
        """See ``LineDecoder``."""
        self.decoder.recall(text)

    def committed(self, position: FilesPosition) -> None:
        """Nothing: files stay."""

    def tables(self) -> list[SourceTable]:
        """The source tables that occur in the files now; reads them all."""
        found: dict[SourceTable, None] = {}
        for batch in self._pass(FilesPosition(), None):
            found.update(dict.fromkeys(one.table for one in batch.changes))
        return list(found)

    def _whole(self, name: str) -> str:
        return f"{self.source.folder.rstrip('/')}/{name}"

    def _windows(
        self, start: FilesPosition, end: FilesPosition | None
    ) -> Iterator[list[tuple[str, TextBlock]]]:
        waiting: list[tuple[str, TextBlock]] = []
        size = 0
        for name, block in self._blocks(start, end):
            waiting.append((name, block))
            size += len(block.body)
            if size >= _WINDOW_BYTES:
                yield waiting
                waiting, size = [], 0
        if waiting:
            yield waiting

    def _blocks(
        self, start: FilesPosition, end: FilesPosition | None
    ) -> Iterator[tuple[str, TextBlock]]:
        storage = open_storage(self.source.folder, self.source.storage_options)
        for piece in self._pieces(storage, start, end):
            for block in self.source.blocks(
                storage,
                piece.name,
                size=piece.size,
                lines=piece.lines,
                offset=piece.offset,
                block_bytes=_BLOCK_BYTES,
            ):
                yield piece.name, block

    def _pieces(self, storage: Any, start: FilesPosition, end: FilesPosition | None) -> list[Piece]:
        if end is None:
            return start.ahead(self.source.listing(storage))
        return start.ahead([(name, size) for name, (_, size) in end.consumed.items()])
