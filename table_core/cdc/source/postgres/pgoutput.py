"""PostgreSQL's ``pgoutput`` messages, version 1, with values as text.

Source: the PostgreSQL manual, "Logical Replication Message Formats".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.model.log_cursor import Cursor
from table_core.cdc.model.log_rows import LogRows, TableRows
from table_core.cdc.model.record import SourceTable
from table_core.cdc.source.diverged import diverged
from table_core.errors import EventError, TableError
from table_core.position.decide import Diverged
from table_core.position.log import LogPlace
from table_core.validation_errors import UNFORESEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from table_core.cdc.model.batch import SourceBatch
    from table_core.cdc.model.embedded_schema import Declared

__all__ = ["PgOutputRows", "Relation", "array_items", "lsn_text", "mark_of", "text_value"]

_FAR: Final = 16 << 20
"""Bytes of log about other tables after which the position moves on: a file of it, as servers make them."""
_EPOCH_MS: Final = 946_684_800_000
"""PostgreSQL counts from 2000."""
UNAVAILABLE: Final = object()


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the stream describes it."""

    table: SourceTable
    names: tuple[str, ...]
    types: tuple[tuple[int, int], ...]
    """Number and modifier of each column's type."""
    key: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class PgOutputRows:
    """Takes messages in order, gives batches."""

    wants: Callable[[SourceTable], bool]
    described: Callable[[Relation], Mapping[str, Declared]]
    slot: str
    position: LogPlace
    keys: dict[SourceTable, tuple[str, ...]] = field(default_factory=dict)
    homes: Mapping[int, SourceTable] = field(default_factory=dict)
    """The names that tables have by their numbers, of those whose rows are here."""
    deferrable: AbstractSet[SourceTable] = frozenset()
    """Tables in which two rows may have one key until a transaction ends."""
    rows: LogRows = field(default_factory=LogRows)
    _relations: dict[int, Relation] = field(default_factory=dict)
    _astray: set[int] = field(default_factory=set)
    """Relations whose rows are those of a table of another name, which is read again."""
    _declared: dict[Relation, Mapping[str, Declared]] = field(default_factory=dict)
    expected: dict[int, str] = field(default_factory=dict)
    """Ends of transactions that the log has to have, with their marks: it is another one if it has not."""
    rewritten: Callable[[SourceTable, tuple[int, int], str, str], bool] = lambda *_: False
    """Told of a table whose rows the log does not tell apart: place, why, and where.

    Says whether it counts, because the rows here are older."""
    _moved: dict[SourceTable, dict[Any, Any]] = field(default_factory=dict)
    """Keys that the transaction at hand gave to rows, and the rows; of tables that are ``deferrable`` no rows."""
    _commit: int = 0
    _mark: str = ""
    _time_ms: int = 0
    _ordinal: int = 0
    _is_open: bool = False

    def take(self, message: bytes) -> None:
        """One message.

        Raises:
            EventError: it is none that this version knows, or cannot be read.
        """
        try:
            self._take(message)
        except TableError:
            raise
        except UNFORESEEN as error:
            where = self._where
            raise EventError(
                f"{where}: a message {message[:1]!r} cannot be read: {error}", position=where
            ) from error

    @property
    def _where(self) -> str:
        return f"slot {self.slot}, LSN {lsn_text(self._commit)}"

    def _take(self, message: bytes) -> None:
        kind, cursor = message[:1], Cursor(message[1:])
        match kind:
            case b"B":
                commit, time = _lsn(cursor), _signed(cursor)
                self._commit, self._time_ms = commit, time // 1000 + _EPOCH_MS
                self._moved.clear()
                self._is_open = True
                self._ordinal, self._mark = 0, f"{cursor.big(4)}@{time}"
            case b"C":
                cursor.skip(9)
                self._ends(_lsn(cursor))
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

    def _ends(self, lsn: int) -> None:
        """A transaction ends."""
        self._is_open = False
        if self.expected.get(lsn) == self._mark:
            del self.expected[lsn]
        self.refuse_lacking(lsn)
        self.position = LogPlace("postgres", (lsn, 0), self.slot, mark=self._mark)

    def passed(self, lsn: int) -> None:
        """There is nothing for us up to ``lsn``: if that is far, the server need not keep it."""
        if lsn - self.position.order[0] >= _FAR:
            mark = self.position.mark
            if mark and mark.count("@") == 1:
                mark += f"@{self.position.order[0]}"
            self.position = LogPlace("postgres", (lsn, 0), self.slot, mark=mark)

    def refuse_lacking(self, until: int) -> None:
        """Refuse a log that lacks a transaction before ``until`` which was read before.

        Raises:
            SourceDivergedError: it does.
        """
        for lsn, mark in self.expected.items():
            if lsn <= until:
                raise diverged(_lacking(self.slot, lsn, mark))

    def batch(self) -> SourceBatch[LogPlace]:
        """The rows so far."""
        rows, self.rows = self.rows, LogRows()
        at = self.position
        if self._is_open:  # the rows of the transaction that are to come count from here on
            at = LogPlace("postgres", (self._commit, 0), self.slot, skip=self._ordinal)
        return rows.batch(at, self.keys.get)

    def _relation(self, cursor: Cursor) -> None:
        id, schema, name = cursor.big(4), cursor.text(), cursor.text()
        identity = cursor.take(1)
        names, types, key = [], [], []
        for _ in range(cursor.big(2)):
            flags, column = cursor.big(1), cursor.text()
            names.append(column)
            types.append((cursor.big(4), cursor.big(4)))
            if flags & 1:
                key.append(column)
        table = SourceTable(schema, name)
        self._astray.discard(id)
        if (home := self.homes.get(id, table)) != table and self.rewritten(
            home, (self._commit, 0), f"it was called {table} for a while", self._where
        ):
            self._astray.add(id)
        primary = set(self.keys.get(table, ()))
        if identity == b"i" and primary and primary != set(key) and self.wants(table):
            raise EventError(
                f"slot {self.slot}: the log identifies old rows of {table} by an index that is not its "
                f"primary key: run ALTER TABLE {table} REPLICA IDENTITY DEFAULT, drop the table here "
                "and take a new snapshot",
                slot=self.slot,
            )
        self._relations[id] = Relation(table, tuple(names), tuple(types), tuple(key))

    def _row(self, kind: str, cursor: Cursor) -> None:
        id = cursor.big(4)
        relation = self._relations[id]
        if id in self._astray or not self.wants(relation.table):
            return
        rows: dict[bytes, list[Any]] = {}
        while cursor.at < cursor.end:
            mark = cursor.take(1)
            rows[mark] = _tuple(cursor, len(relation.names))
        after = rows.pop(b"N", None)
        if rows.keys() - {b"K", b"O"} or (after is None) != (kind == "D") or not (rows or after):
            raise ValueError(f"a change {kind} with the rows {sorted(rows)}")
        before = next(iter(rows.values()), None)
        if after is not None and (old := rows.get(b"O")) is not None:
            # with REPLICA IDENTITY FULL the old row has the large values that did not change
            after = [o if n is UNAVAILABLE else n for n, o in zip(after, old, strict=True)]
        if b"O" in rows or relation.table in self.deferrable:
            self._follow_keys(relation, rows.get(b"O"), after)
        part = self._part(relation)
        images = _columns(part, before), _columns(part, after)
        number = self._number()
        op = {"I": "c", "U": "u", "D": "d"}[kind]
        at = len(part.numbers)
        part.put(op, 1, number, self._time_ms, *images)
        for name, value in zip(part.names, after or (), strict=False):
            if value is UNAVAILABLE:
                part.unavailable.setdefault(name, []).append(at)

    def _follow_keys(
        self, relation: Relation, old: Sequence[Any] | None, after: Sequence[Any] | None
    ) -> None:
        """Notice rows that have one key for a while, which a deferred constraint allows.

        ``UPDATE t SET id = 3 - id`` moves 1 to 2 and then 2 to 1.  One after the other the second would
        move the row that has just come, and the other one would be lost.  If both rows are equal but for
        their keys, nothing shows which of them it is: then it is enough that the key was given and left.
        """
        key = [relation.names.index(n) for n in self.keys.get(relation.table, ())]
        if not key:
            return
        is_deferrable = relation.table in self.deferrable
        moved = self._moved.setdefault(relation.table, {})
        before = None if old is None else tuple(old[n] for n in key)
        now = None if after is None else tuple(after[n] for n in key)
        was_given = before in moved
        if was_given:
            row = moved.pop(before)
            if now != before if is_deferrable else row != old:
                why = "two of its rows had one key"
                self.rewritten(relation.table, (self._commit, 0), why, self._where)
        if after is not None and (now != before or was_given):
            moved[now] = None if is_deferrable else list(after)

    def _number(self) -> int:
        """Of a row or statement that comes next."""
        number = self.rows.number((self._commit, 0), self._ordinal, 1, self._where)
        self._ordinal += 1
        return number

    def _truncate(self, cursor: Cursor) -> None:
        count = cursor.big(4)
        cursor.skip(1)
        for _ in range(count):
            id = cursor.big(4)
            relation = self._relations[id]
            if id not in self._astray and self.wants(relation.table):
                self.rows.truncated(relation.table, self._number(), self._time_ms)

    def _part(self, relation: Relation) -> TableRows:
        part = self.rows.parts.get(relation)
        if part is None:
            declared = self._declared.get(relation)
            if declared is None:
                declared = self._declared[relation] = self.described(relation)
            part = self.rows.parts[relation] = TableRows(
                table=relation.table,
                names=relation.names,
                types=[declared[name].json or pa.string() for name in relation.names],
                declared=declared,
            )
        return part


def mark_of(position: LogPlace) -> tuple[int, str]:
    """Where the transaction ends that was read last, and its mark: ``number@time``.

    Behind it there may be much log about other tables; then the mark has the place too.
    """
    mark, _, lsn = position.mark.rpartition("@")
    if mark.count("@") == 1:
        return int(lsn), mark
    return position.order[0], position.mark


def _lacking(slot: str, lsn: int, mark: str) -> Diverged:
    number, _, time = mark.partition("@")
    when = datetime.fromtimestamp((int(time) // 1000 + _EPOCH_MS) / 1000, UTC)
    return Diverged(
        reason="went-back",
        why=f"slot {slot!r} was read up to {lsn_text(lsn)}, the end of transaction {number} of "
        f"{when:%Y-%m-%d %H:%M:%S} UTC, and its log has another one there: the server was restored from "
        "a backup",
        reader="sync",
        source=f"slot {slot!r}",
        stored=f"{lsn_text(lsn)} {mark}",
    )


def _lsn(cursor: Cursor) -> int:
    """A place in the log, which we keep as a signed number."""
    lsn = cursor.big(8)
    if lsn >> 63:
        raise ValueError(f"no log is as long as {lsn}")
    return lsn


def _signed(cursor: Cursor) -> int:
    return int.from_bytes(cursor.take(8), "big", signed=True)


def _tuple(cursor: Cursor, columns: int) -> list[Any]:
    values: list[Any] = []
    if (count := cursor.big(2)) != columns:
        raise ValueError(f"a row of {count} columns in a table of {columns}")
    for _ in range(count):
        match cursor.take(1):
            case b"n":
                values.append(None)
            case b"u":
                values.append(UNAVAILABLE)
            case b"t":
                values.append(cursor.take(cursor.big(4)).decode())
            case mark:
                raise ValueError(f"a value of the kind {mark!r}")
    return values


def _columns(part: TableRows, values: Sequence[Any] | None) -> list[list[Any]] | None:
    if values is None:
        return None
    return [
        [None if v is UNAVAILABLE else text_value(v, type_)]
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
    """The elements of an array in text form; inner arrays stay text.

    Raises:
        ValueError: the text is no array; so may ``IndexError``.
    """
    elements: list[str | None] = []
    at, end = text.index("{") + 1, len(text) - 1
    while at < end:
        if text[at] == '"':
            at, item = _quoted(text, at + 1)
            elements.append(item)
        else:
            stop = _plain_end(text, at, end)
            word = text[at:stop]
            elements.append(None if word == "NULL" else word)
            at = stop
        at += 1  # the comma
    return elements


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
