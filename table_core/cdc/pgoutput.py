"""PostgreSQL's ``pgoutput`` messages, version 1, with values as text.

Source: the PostgreSQL manual, "Logical Replication Message Formats".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.log_position import LogPosition
from table_core.cdc.log_rows import LogRows, TableRows
from table_core.cdc.record import SourceTable
from table_core.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.cdc.batch import SourceBatch
    from table_core.cdc.embedded_schema import Declared

__all__ = ["PgOutputRows", "Relation", "array_items", "lsn_text", "text_value"]

_EPOCH_MS: Final = 946_684_800_000
"""PostgreSQL counts from 2000."""
UNSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the stream describes it."""

    table: SourceTable
    names: tuple[str, ...]
    types: tuple[tuple[int, int], ...]
    """Number and modifier of each column's type."""
    key: tuple[str, ...]


class _Cursor:
    __slots__ = ("at", "body")

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def number(self, size: int) -> int:
        self.at += size
        return int.from_bytes(self.body[self.at - size : self.at], "big")

    def text(self) -> str:
        end = self.body.index(b"\0", self.at)
        found = self.body[self.at : end].decode()
        self.at = end + 1
        return found

    def take(self, size: int) -> bytes:
        self.at += size
        return self.body[self.at - size : self.at]


@dataclass(slots=True, kw_only=True)
class PgOutputRows:
    """Takes messages in order, gives batches."""

    wants: Callable[[SourceTable], bool]
    described: Callable[[Relation], Mapping[str, Declared]]
    slot: str
    position: LogPosition
    keys: dict[SourceTable, tuple[str, ...]] = field(default_factory=dict)
    rows: LogRows = field(default_factory=LogRows)
    _relations: dict[int, Relation] = field(default_factory=dict)
    _declared: dict[Relation, Mapping[str, Declared]] = field(default_factory=dict)
    _commit: int = 0
    _time_ms: int = 0
    _ordinal: int = 0

    def take(self, message: bytes) -> None:
        """One message.

        Raises:
            EventError: it is none that this version knows.
        """
        kind, cursor = message[:1], _Cursor(message[1:])
        match kind:
            case b"B":
                self._commit = cursor.number(8)
                self._time_ms = cursor.number(8) // 1000 + _EPOCH_MS
                self._ordinal = 0
            case b"C":
                cursor.number(9)
                self.position = LogPosition("postgres", (cursor.number(8), 0), self.slot)
            case b"R":
                self._relation(cursor)
            case b"I" | b"U" | b"D":
                self._row(kind.decode(), cursor)
            case b"T":
                self._truncate(cursor)
            case b"Y" | b"O" | b"M":
                pass
            case _:
                raise EventError(
                    f"slot {self.slot}: unknown pgoutput message {kind!r}", slot=self.slot
                )

    def batch(self) -> SourceBatch:
        """The rows so far."""
        rows, self.rows = self.rows, LogRows()
        return rows.batch(self.position, self.keys.get)

    def _relation(self, cursor: _Cursor) -> None:
        id, schema, name = cursor.number(4), cursor.text(), cursor.text()
        identity = cursor.take(1)
        names, types, key = [], [], []
        for _ in range(cursor.number(2)):
            flags, column = cursor.number(1), cursor.text()
            names.append(column)
            types.append((cursor.number(4), cursor.number(4)))
            if flags & 1:
                key.append(column)
        table = SourceTable(schema, name)
        primary = set(self.keys.get(table, ()))
        if identity == b"i" and primary and primary != set(key) and self.wants(table):
            raise EventError(
                f"slot {self.slot}: the log tells old rows of {table} by an index that is not its "
                f"primary key: run ALTER TABLE {table} REPLICA IDENTITY DEFAULT, drop the table here "
                "and take a new snapshot",
                slot=self.slot,
            )
        self._relations[id] = Relation(table, tuple(names), tuple(types), tuple(key))

    def _row(self, kind: str, cursor: _Cursor) -> None:
        relation = self._relations[cursor.number(4)]
        if not self.wants(relation.table):
            return
        before = after = None
        while cursor.at < len(cursor.body):
            mark = cursor.take(1)
            values = _tuple(cursor)
            if mark == b"N":
                after = values
            else:
                before = values
        part = self._part(relation)
        where = f"slot {self.slot}, LSN {lsn_text(self._commit)}"
        number = self.rows.number((self._commit, 0), self._ordinal, 1, where)
        self._ordinal += 1
        op = {"I": "c", "U": "u", "D": "d"}[kind]
        at = len(part.numbers)
        part.put(op, 1, number, self._time_ms, _columns(part, before), _columns(part, after))
        for name, value in zip(part.names, after or (), strict=False):
            if value is UNSENT:
                part.unsent.setdefault(name, []).append(at)

    def _truncate(self, cursor: _Cursor) -> None:
        count = cursor.number(4)
        cursor.number(1)
        for _ in range(count):
            relation = self._relations[cursor.number(4)]
            if self.wants(relation.table):
                where = f"slot {self.slot}, LSN {lsn_text(self._commit)}"
                number = self.rows.number((self._commit, 0), self._ordinal, 1, where)
                self._ordinal += 1
                self.rows.truncated(relation.table, number, self._time_ms)

    def _part(self, relation: Relation) -> TableRows:
        found = self.rows.parts.get(relation)
        if found is None:
            declared = self._declared.get(relation)
            if declared is None:
                declared = self._declared[relation] = self.described(relation)
            found = self.rows.parts[relation] = TableRows(
                table=relation.table,
                names=relation.names,
                types=[declared[name].json or pa.string() for name in relation.names],
                declared=declared,
            )
        return found


def _tuple(cursor: _Cursor) -> list[Any]:
    found: list[Any] = []
    for _ in range(cursor.number(2)):
        mark = cursor.take(1)
        if mark == b"n":
            found.append(None)
        elif mark == b"u":
            found.append(UNSENT)
        else:
            found.append(cursor.take(cursor.number(4)).decode())
    return found


def _columns(part: TableRows, values: Sequence[Any] | None) -> list[list[Any]] | None:
    if values is None:
        return None
    return [
        [None if v is UNSENT else text_value(v, type_)]
        for v, type_ in zip(values, part.types, strict=True)
    ]


def text_value(text: str | None, type_: pa.DataType) -> Any:
    """A value as PostgreSQL prints it, as what a column of ``type_`` is built from."""
    if text is None:
        return None
    if pa.types.is_boolean(type_):
        return text in {"t", "true"}
    if pa.types.is_binary(type_):
        return bytes.fromhex(text.removeprefix("\\x"))
    if pa.types.is_list(type_):
        return [text_value(item, type_.value_type) for item in array_items(text)]
    return text


def array_items(text: str) -> list[str | None]:
    """The elements of an array in text form; inner arrays stay text."""
    found: list[str | None] = []
    at, end = text.index("{") + 1, len(text) - 1
    while at < end:
        if text[at] == '"':
            at, item = _quoted(text, at + 1)
            found.append(item)
        else:
            stop = _plain_end(text, at, end)
            word = text[at:stop]
            found.append(None if word == "NULL" else word)
            at = stop
        at += 1  # the comma
    return found


def _quoted(text: str, at: int) -> tuple[int, str]:
    item = []
    while text[at] != '"':
        if text[at] == "\\":
            at += 1
        item.append(text[at])
        at += 1
    return at + 1, "".join(item)


def _plain_end(text: str, at: int, end: int) -> int:
    depth = 0
    while at < end and (depth or text[at] != ","):
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return at


def lsn_text(lsn: int) -> str:
    """``16/B374D848``."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
