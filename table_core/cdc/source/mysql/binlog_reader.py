"""Reads the files of a MySQL or MariaDB binary log, without the server that wrote them."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.added_defaults import added_defaults_text, recall_added_defaults
from table_core.cdc.source.mysql.binlog import (
    EVENT_BYTES,
    FORMAT,
    HEADER_BYTES,
    MAGIC,
    ROTATE,
    header_of,
)
from table_core.cdc.source.mysql.binlog_rows import BinlogRows, file_number
from table_core.cdc.source.mysql.surroundings import Surroundings
from table_core.errors import EventError
from table_core.position.log import LogPlace
from table_core.position.source import MySqlId
from table_core.storage.stores.locate import open_storage
from table_core.validation_errors import too_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.apply.tables import SyncTables
    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.claims import Claim
    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.source.files.source import FilesSource
    from table_core.position.source import SourceId

__all__ = ["BinlogFilesReader"]

_BATCH_ROWS: Final = 20_000
_CHECKSUM_BYTES: Final = 4
_BUFFER: Final = 4 << 20
_NAME: Final = re.compile(r"\.\d{6,}(\.gz)?$")


@dataclass(slots=True, kw_only=True)
class BinlogFilesReader:
    """Batches of a ``FilesSource`` of format ``mysql-binlog``.

    Types are those that the log tells: it does not know the length of texts or TINYINT(1).
    """

    source: FilesSource
    context: SyncContext
    fed: SyncTables
    defaults: dict[SourceTable, dict[str, str | None]] = field(default_factory=dict)
    """Of columns that were added, by source table."""

    def parse(self, text: str | None) -> LogPlace:
        """The position that a table holds."""
        return _START if text is None else LogPlace.parse(text, "mysql")

    @property
    def by_table(self) -> bool:
        """No: all files are read from the first."""
        return False

    @property
    def details(self) -> dict[str, object]:
        """Nothing: the files are read to their ends."""
        return {}

    @property
    def forgets(self) -> bool:
        """No: what was read of files may stay or go."""
        return False

    def settled(self, position: LogPlace) -> LogPlace:
        """As it is."""
        return position

    def identity(self) -> tuple[SourceId, str]:
        """The server that wrote the files, by its number in the first of them."""
        storage = open_storage(self.source.folder, self.source.storage_options)
        names = [i.path for i in self.source.listing(storage) if _NAME.search(i.path)]
        if not names:
            return MySqlId(), ""
        with storage.open_input(names[0]) as raw, _buffered(names[0], raw) as file:
            head = _bytes(names[0], 0, file, len(MAGIC) + HEADER_BYTES)
        number = int.from_bytes(head[len(MAGIC) + 5 : len(MAGIC) + 9], "little")
        return MySqlId(server=f"files of server {number}"), ""

    def check(self, claims: Sequence[Claim]) -> None:
        """Nothing: gaps between files are refused where they are read."""

    def history(self, until: LogPlace) -> Iterator[SourceBatch[LogPlace]]:
        """All that was consumed at ``until``, once more."""
        return self.batches(_START, until)

    def remembered(self, tables: Iterable[SourceTable], _: int | None = None) -> str | None:
        """Defaults of columns that were added, until a row has them."""
        return added_defaults_text(self.defaults, tables)

    def unfed(self, _: Iterable[SourceTable]) -> list[SourceTable]:
        """None: the log tells all."""
        return []

    def recall(self, text: str | None) -> None:
        """Take up what an earlier run remembered."""
        recall_added_defaults(self.defaults, text)

    def committed(self, position: LogPlace) -> None:
        """Nothing: files stay."""

    def tables(self) -> list[SourceTable]:
        """The source tables with changes in the files; reads them all."""
        tables: dict[SourceTable, None] = {}
        for batch in self.batches(_START, None):
            tables.update(dict.fromkeys(one.table for one in batch.changes))
        return list(tables)

    def batches(
        self, start: LogPlace | None, end: LogPlace | None
    ) -> Iterator[SourceBatch[LogPlace]]:
        """What comes after ``start``: until ``end``, or what is there now."""
        start = start or _START
        storage = open_storage(self.source.folder, self.source.storage_options)
        names = [i.path for i in self.source.listing(storage) if _NAME.search(i.path)]
        names = _one_after_the_other(names, start)
        most = max(EVENT_BYTES, self.source.max_event_bytes)
        rows = BinlogRows(
            event_bytes=most,
            wants=self.fed.wants,
            described=lambda *_: None,
            mapping=self.context.settings.mapping,
            file=start.name,
            gtid=start.gtid,
            transaction=start.order,
            defaults=self.defaults,
            around=Surroundings(
                known=lambda: {t for feed in self.fed.feeds.values() for t in feed.state.sources}
            ),
        )
        for name in names:
            newest = name == names[-1]
            plain = name.removesuffix(".gz")
            at = start.order[1] if file_number(plain) == start.order[0] else len(MAGIC)
            rows.rotate(plain, at)
            with storage.open_input(name) as raw, _buffered(name, raw) as file:
                for event, behind in _events(plain, file, at, newest=newest, most=most):
                    ended = rows.take(event, behind)
                    if rows.rows.count >= _BATCH_ROWS:
                        yield rows.batch()
                    if ended and end is not None and rows.transaction >= end.order:
                        yield rows.batch()
                        return
        if rows.rows.count or rows.position != start:
            yield rows.batch()


_START: Final = LogPlace("mysql", (0, 0))


def _one_after_the_other(names: Iterable[str], start: LogPlace) -> list[str]:
    """The files that are left to read, in order.

    Raises:
        EventError: one is missing between them, or there are two of a number.
    """
    unread = sorted(names, key=file_number_of)
    unread = [name for name in unread if file_number_of(name) >= start.order[0]]
    read = [start.name] if start.name else []
    for before, name in pairwise([*read, *unread]):
        step = file_number_of(name) - file_number_of(before)
        if step != 1 and (step or before is not start.name):
            problem = "have one number" if not step else "do not follow each other"
            raise EventError(
                f"{before} and {name} {problem}: give all files of one server's log, or drop the "
                "tables and take a new snapshot",
                file=name,
                line=0,
            )
    return unread


def file_number_of(name: str) -> int:
    """The number of a file of the log, compressed or not."""
    return file_number(name.removesuffix(".gz"))


def _buffered(name: str, raw: Any) -> Any:
    return gzip.GzipFile(fileobj=raw) if name.endswith(".gz") else io.BufferedReader(raw, _BUFFER)


def _events(
    name: str, file: Any, start: int, *, newest: bool, most: int
) -> Iterator[tuple[bytes, int]]:
    """Events from a position on, without checksums, and where each ends.

    Raises:
        EventError: the file is damaged, or ends within an event and is not the ``newest``.
    """
    if _bytes(name, 0, file, len(MAGIC)) != MAGIC:
        raise EventError(f"{name} is no binary log", file=name, line=0)
    at, checksum = len(MAGIC), 0
    while head := _bytes(name, at, file, HEADER_BYTES):
        header = header_of(head) if len(head) == HEADER_BYTES else None
        if header is not None and header.size < HEADER_BYTES:
            raise _damaged(name, at, f"an event of {header.size} bytes")
        if header is not None and header.size > most:
            raise EventError(
                f"{name}, position {at}: {too_large(header.size, most)}", file=name, line=0
            )
        event = head + (_bytes(name, at, file, header.size - HEADER_BYTES) if header else b"")
        if header is None or len(event) != header.size:
            if newest:
                return  # the server is still writing it
            raise _damaged(name, at, "the file ends within the event, and there is a newer file")
        behind = at + header.size
        if header.kind == FORMAT:
            checksum = _CHECKSUM_BYTES if event[-_CHECKSUM_BYTES - 1] == 1 else 0
        if at >= start and header.kind not in {FORMAT, ROTATE}:
            if checksum and zlib.crc32(event[:-4]) != int.from_bytes(event[-4:], "little"):
                raise _damaged(name, at, "the event is damaged")
            yield event[: len(event) - checksum], behind
        at = behind


def _bytes(name: str, at: int, file: Any, count: int) -> bytes:
    try:
        content: bytes = file.read(count)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(name, at, f"it cannot be decompressed: {error}") from error
    return content


def _damaged(name: str, at: int, why: str) -> EventError:
    return EventError(
        f"{name}, position {at}: {why}: fetch the file again", file=name, line=0, position=str(at)
    )
