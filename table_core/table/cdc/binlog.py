"""Reads the files of a MySQL or MariaDB binary log, without the server that wrote them."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.binlog import FORMAT, HEADER_BYTES, ROTATE, header_of
from table_core.cdc.binlog_rows import BinlogRows, file_number
from table_core.cdc.log_position import LogPosition
from table_core.errors import EventError
from table_core.storage.locate import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.cdc.batch import SourceBatch
    from table_core.cdc.record import SourceTable
    from table_core.sources.files import FilesSource
    from table_core.table.cdc.run import SyncRun

__all__ = ["BinlogFilesReader"]

_BATCH_ROWS: Final = 20_000
_MAGIC: Final = b"\xfebin"
_CHECKSUM_BYTES: Final = 4
_NAME: Final = re.compile(r"\.\d{6,}(\.gz)?$")


@dataclass(slots=True, kw_only=True)
class BinlogFilesReader:
    """Batches of a ``FilesSource`` of format ``mysql-binlog``.

    Types are those that the log tells: it does not know the length of texts or TINYINT(1).
    """

    source: FilesSource
    run: SyncRun

    def parse(self, text: str | None) -> LogPosition:
        """The position that a table holds."""
        return _START if text is None else LogPosition.parse(text, "mysql")

    def history(self, until: LogPosition) -> Iterator[SourceBatch]:
        """All that was consumed at ``until``, once more."""
        return self.batches(_START, until)

    def remembered(self, _: Iterable[SourceTable]) -> str | None:
        """Nothing: the log tells all."""
        return None

    def recall(self, text: str | None) -> None:
        """Nothing."""

    def committed(self, position: Any) -> None:
        """Nothing: files stay."""

    def tables(self) -> list[SourceTable]:
        """The source tables with changes in the files; reads them all."""
        found: dict[SourceTable, None] = {}
        for batch in self.batches(_START, None):
            found.update(dict.fromkeys(one.table for one in batch.changes))
        return list(found)

    def batches(self, start: LogPosition, end: LogPosition | None) -> Iterator[SourceBatch]:
        """What comes after ``start``: until ``end``, or what is there now."""
        storage = open_storage(self.source.folder, self.source.storage_options)
        names = [n for n, _ in self.source.listing(storage) if _NAME.search(n)]
        rows = BinlogRows(
            wants=self.run.wants,
            described=lambda *_: None,
            mapping=self.run.settings.mapping,
            file=start.name,
            gtid=start.gtid,
            transaction=start.order,
        )
        for name in sorted(names, key=file_number_of):
            plain = name.removesuffix(".gz")
            if file_number(plain) < start.order[0]:
                continue
            at = start.order[1] if file_number(plain) == start.order[0] else len(_MAGIC)
            with storage.open_input(name) as file:
                body = gzip.decompress(file.read()) if name.endswith(".gz") else file.read()
            rows.rotate(plain, at)
            for event, behind in _events(plain, bytes(body), at):
                ended = rows.take(event, behind)
                if rows.rows.count >= _BATCH_ROWS:
                    yield rows.batch()
                if ended and end is not None and rows.transaction >= end.order:
                    yield rows.batch()
                    return
        if rows.rows.count or rows.position != start:
            yield rows.batch()


_START: Final = LogPosition("mysql", (0, 0))


def file_number_of(name: str) -> int:
    """The number of a file of the log, compressed or not."""
    return file_number(name.removesuffix(".gz"))


def _events(name: str, body: bytes, start: int) -> Iterator[tuple[bytes, int]]:
    """Events from a position on, without checksums, and where each ends."""
    if body[: len(_MAGIC)] != _MAGIC:
        raise EventError(f"{name} is no binary log", file=name, line=0)
    at, checksum = len(_MAGIC), 0
    while at + HEADER_BYTES <= len(body):
        header = header_of(body[at : at + HEADER_BYTES])
        behind = at + header.size
        if header.size < HEADER_BYTES or behind > len(body):
            return  # the server is still writing it
        if header.kind == FORMAT:
            checksum = _CHECKSUM_BYTES if body[behind - 5] == 1 else 0
        if at >= start and header.kind not in {FORMAT, ROTATE}:
            yield body[at : behind - checksum], behind
        at = behind
