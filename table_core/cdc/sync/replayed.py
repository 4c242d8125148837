"""Dead letters as the lines that they were, for the reader of their source."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.cdc.model.window import Window
from table_core.cdc.source.files.reader import FilesReader
from table_core.cdc.source.kafka.reader import KafkaReader
from table_core.cdc.source.kafka.records import record_line
from table_core.cdc.source.lines import LineReader
from table_core.errors import ArgumentError
from table_core.position.source import FilesId, TopicsId
from table_core.validation_errors import unreadable_parts, unreadable_why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.claims import Claim
    from table_core.position.source import SourceId

__all__ = ["LetterLines", "LetterReader"]

_RECORD: Final = re.compile(
    r"topic (.*), partition (\d+), offset (\d+)(?: of kafka .*)?", re.DOTALL
)
_LINE: Final = re.compile(r"(.*), line (\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LetterLines:
    """One dead letter."""

    row: Mapping[str, Any]

    @staticmethod
    def order_of(place: str) -> tuple[str, int, int]:
        """What puts places of one source into its order."""
        if record := _RECORD.fullmatch(place):
            return record[1], int(record[2]), int(record[3])
        line = _LINE.fullmatch(place)
        return (line[1], 0, int(line[2])) if line else (place, 0, 0)

    @staticmethod
    def is_of(source: SourceId | None, name: str, place: str) -> bool:
        """Whether a letter is of the source that is asked: its topics, made anew or not, or its files.

        ``name``: of its source, as the letter has it; '' in one of an earlier release, and of files.
        """
        if isinstance(source, TopicsId):
            record = _RECORD.fullmatch(place)
            has_topic = record is not None and record[1] in source.topics
            return has_topic and (not name or name.startswith(f"kafka {source.cluster}/"))
        if isinstance(source, FilesId):
            return not name and place.startswith(f"{source.folder}/")
        return False

    def window(self, reader: LineReader[Any]) -> Window:
        """The event at its place."""
        place = str(self.row["place"])
        event = self.row.get("event_bytes") or str(self.row["event"] or "").encode()
        if (record := _RECORD.fullmatch(place)) is not None:
            topic, number, offset = record[1], int(record[2]), int(record[3])
            line = _read_again(event, (topic, number, offset), reader)
            file, name, at = f"topic {topic}, partition {number}", f"{topic}\0{number}", offset + 1
        else:
            of_file = _LINE.fullmatch(place)
            file, at = (of_file[1], int(of_file[2])) if of_file else (place, 1)
            name, line = file, event
            if _is_unread(event) and isinstance(reader, FilesReader):
                line = reader.line(file, at) or event
        lines = pa.array([line.rstrip(b"\n") + b"\n"], pa.large_binary())
        here = np.zeros(1, np.int64)
        return Window((file,), (name,), lines, here, here + at, record is not None)


def _is_unread(event: bytes) -> bool:
    """Whether a line of a file could not be read: one that is too long is in the file alone."""
    try:
        value = json.loads(event)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and unreadable_why(value) is not None


def _read_again(event: bytes, at: tuple[str, int, int], reader: LineReader[Any]) -> bytes:
    """The line of a record; one that could not be read is tried from its bytes."""
    try:
        record = json.loads(event)
        value = record["value"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return event
    if not isinstance(value, dict) or unreadable_why(value) is None:
        return event
    body, key = unreadable_parts(value)
    if body is None or not isinstance(reader, KafkaReader):
        return event
    headers = record.get("headers") or {}
    texts = [(name, None if text is None else str(text).encode()) for name, text in headers.items()]
    return record_line(at, texts, key, body, reader.form)


@dataclass(slots=True, kw_only=True)
class LetterReader(LineReader[Any]):
    """Reads dead letters instead of a source, and stays at the position where the tables are."""

    inner: LineReader[Any]
    letters: Callable[[], Iterator[LetterLines]]

    def parse(self, text: str | None) -> Any:
        """As the source does."""
        return self.inner.parse(text)

    def identity(self) -> tuple[SourceId, str]:
        """That of the source: its tables are fed."""
        return self.inner.identity()

    def check(self, claims: Sequence[Claim]) -> None:
        """Nothing: the source itself is not read."""

    def settled(self, position: Any) -> Any:
        """As the source does."""
        return self.inner.settled(position)

    def _pass(self, start: Any, end: Any) -> Iterator[SourceBatch[Any]]:  # noqa: ARG002 - see LineReader
        if start == self.parse(None):
            raise ArgumentError(
                "no sync of this source, and this choice of tables, has fed a table here: give what the "
                "sync was given that wrote the dead letters",
                argument="target",
            )
        for letter in self.letters():
            window = letter.window(self.inner)
            batch = self._batch(window, start, start)
            yield replace(
                batch,
                before=None,
                consumed=lambda _, numbers: np.zeros(len(numbers), bool),
                may_repeat=False,
                deliveries=lambda _: None,
            )

    def history(self, until: Any) -> Iterator[SourceBatch[Any]]:
        """As the source does."""
        return self.inner.history(until)
