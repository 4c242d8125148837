"""Reads change events out of files, in the order of the source where the files tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.position import FilesPosition
from table_core.cdc.record import LineBlock
from table_core.cdc.window import Window
from table_core.storage.locate import open_storage
from table_core.table.cdc.lines import WINDOW_BYTES, LineReader, window_is_full

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.cdc.batch import SourceBatch
    from table_core.cdc.position import Piece
    from table_core.sources.files import FilesSource, TextBlock

__all__ = ["FilesReader"]

_BLOCK_BYTES: Final = WINDOW_BYTES + (1 << 20)
"""One block of a large file fills a window: several would have to be joined."""


@dataclass(slots=True, kw_only=True)
class FilesReader(LineReader):
    """Batches of a ``FilesSource``."""

    source: FilesSource

    def parse(self, text: str | None) -> FilesPosition:
        """The position that a table holds."""
        return FilesPosition.parse(text)

    def _pass(self, start: FilesPosition, end: FilesPosition | None) -> Iterator[SourceBatch]:
        reached = start
        for blocks in self._windows(start, end):
            lines = [
                (name, LineBlock(self._whole(name), b.first_line, b.body)) for name, b in blocks
            ]
            for name, block in blocks:
                reached = reached.after(name, block.lines, block.offset)
            yield self._batch(Window.of(lines), reached)

    def _whole(self, name: str) -> str:
        return f"{self.source.folder.rstrip('/')}/{name}"

    def _windows(
        self, start: FilesPosition, end: FilesPosition | None
    ) -> Iterator[list[tuple[str, TextBlock]]]:
        waiting: list[tuple[str, TextBlock]] = []
        size = lines = 0
        for name, block in self._blocks(start, end):
            waiting.append((name, block))
            size += len(block.body)
            lines += block.lines - block.first_line + 1
            if window_is_full(size, lines):
                yield waiting
                waiting, size, lines = [], 0, 0
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
