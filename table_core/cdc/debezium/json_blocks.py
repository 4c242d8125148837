"""Debezium JSON to columns, a block of lines at a time.

The common case never makes a Python object of a row: Arrow's JSON reader takes the block with the
types that the table's columns should have.  What the reader refuses goes through ``json_fallback``, which
either reads it or says which line is wrong.

Embedded schemas are several times as large as the events; the text of a schema is cut out of all
lines that carry it at once, before anything parses them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.debezium.event_members import (
    SOURCE,
    absent_members,
    event_members,
    has_constants,
    has_many_names,
    members_of,
)
from table_core.cdc.debezium.json_fallback import decode_json_fallback
from table_core.cdc.debezium.source_block import cut_source
from table_core.cdc.model.bad import UNFORESEEN
from table_core.cdc.model.changes import Changes, RowImages
from table_core.cdc.model.embedded_schema import declared_columns
from table_core.cdc.model.encoding import PlainSettings, json_type, text_columns
from table_core.cdc.model.envelope import OPS, TIME_MAX_MS, read_event, read_line, unwrap
from table_core.cdc.model.record import UNNAMED, SourceTable
from table_core.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.cdc.debezium.source_block import CutSource
    from table_core.cdc.model.embedded_schema import Declared
    from table_core.cdc.model.record import EventLines, Place
    from table_core.datatypes.kinds import Field

    Ints = np.ndarray[Any, np.dtype[np.int64]]

__all__ = ["DebeziumDecoder"]

_EXACT_DOUBLE: Final = float(2**53)
_TOMBSTONE: Final = b"null\n"
_SCHEMA_MEMBER: Final = '"schema":'
_SCHEMAS_MAX: Final = 200
"""With more of them in one block it is quicker to read line by line."""


@dataclass(slots=True)
class DebeziumDecoder:
    """Turns blocks of lines into ``Changes``.

    Keeps what it learned about columns from one block to the next (that a column of numbers comes
    as text, say), which saves work and changes no result.
    """

    fields_of: Callable[[SourceTable], Sequence[Field] | None]
    """Columns of the table that a source table feeds, as they are now; None if it is not there."""
    wants: Callable[[SourceTable], bool]
    settings: PlainSettings = field(default_factory=PlainSettings)
    _learned: dict[SourceTable, dict[str, pa.DataType]] = field(default_factory=dict)
    _last: SourceTable | None = None
    """Whose all events of the block before were."""
    _several: bool = False
    """Whether there was a block with events of several tables."""

    def decode(self, block: EventLines, *, together: bool = False) -> list[Changes]:
        """The row changes in ``block``, grouped by table and embedded schema.

        The order of lines is kept inside a group; ``Changes.lines`` puts groups together again.

        Raises:
            EventError: a line is no Debezium event; ``file``, ``line`` and, where it helps,
                ``column`` say where.
            BadEvents: with ``together``: all lines that cannot be read.
        """
        block = _without_tombstones(block)
        try:
            first = _first_event(block)
            if first is None:
                return []
            block.lines.cast(pa.large_string())  # refuses what is no UTF-8
            columnar = None if has_many_names(block.lines) else self._columnar(block, first)
        except (EventError, *UNFORESEEN):  # which line it is, the slow way knows
            columnar = None
        if columnar is not None:
            return columnar
        decoded = decode_json_fallback(block, self.wants, texts=self._texts, together=together)
        for changes in decoded:
            self._learn(changes)
        return decoded

    def _learn(self, changes: Changes) -> None:
        """Remember JSON types that differ from the usual ones, so the next block is read at once."""
        if changes.declared is not None:
            return
        usual = {f.name: json_type(f.type, self.settings) for f in self._fields(changes.table)}
        known = self._learned.setdefault(changes.table, {})
        for images in (changes.before, changes.after):
            for name, column in images.columns.items():
                known_as = usual.get(name)
                if known_as is None or pa.types.is_null(column.type):
                    continue
                takes_numbers = pa.types.is_decimal(known_as) or pa.types.is_floating(known_as)
                if pa.types.is_string(column.type) or not takes_numbers:
                    known[name] = column.type

    def _fields(self, table: SourceTable) -> Sequence[Field]:
        return self.fields_of(table) or ()

    def _texts(self, table: SourceTable) -> frozenset[str]:
        return text_columns(self._fields(table))

    def _columnar(self, block: EventLines, first: Any) -> list[Changes] | None:
        """The changes by columns; None where the block has to be read line by line."""
        path = _path(first)
        if path is None:
            return None
        if path[-1:] == ("payload",):
            return self._with_schema(block, path)
        likely, cut = self._last, None
        if likely is None and not self._several:
            likely, cut = self._only_table(block, first)
        if likely is not None:
            events = self._events(block.lines, block.numbers, path, likely, None, cut)
            if events is None:
                return None
            if events.are_all_of_table:
                changes = events.changes(block)
                self._last = self._last if changes is None else likely
                return changes
        return self._by_table(block, path)

    def _by_table(self, block: EventLines, path: tuple[str, ...]) -> list[Changes] | None:
        """The changes of lines that are of several tables, or of one that their first does not tell."""
        tables = _tables(block.lines, path)
        if tables is None:
            return None
        self._several |= len(tables) > 1
        decoded: list[Changes] = []
        for table, rows in tables:
            is_whole = len(rows) == len(block.lines)
            lines = block.lines if is_whole else block.lines.take(pa.array(rows))
            if table == UNNAMED and (has_ops := _has_ops(lines, path)) is not True:
                if has_ops is None or _has_row_changes(lines, block.numbers[rows], block):
                    return None
            elif self.wants(table):
                changes = self._read(block, lines, block.numbers[rows], path, table, None)
                if changes is None:
                    return None
                decoded += changes
                self._last = table if is_whole else None
        return decoded

    def _only_table(
        self, block: EventLines, first: Any
    ) -> tuple[SourceTable | None, CutSource | None]:
        """The table of the first event, if all lines say at once that they are of it."""
        event = read_event(first, block.place(int(block.numbers[0])))
        if event is not None and self.wants(event.table):
            cut = cut_source(block.lines, event.table)
            if cut is not None and not cut.is_cut.false_count:
                return event.table, cut
        return None, None

    def _with_schema(self, block: EventLines, path: tuple[str, ...]) -> list[Changes] | None:
        """Cut each schema out of every line that has it, and read what is left."""
        lines, numbers = block.lines, block.numbers
        decoded: list[Changes] = []
        for _ in range(_SCHEMAS_MAX):
            if not len(lines):
                return decoded
            text = lines[0].as_py()
            number = int(numbers[0])
            event = read_event(read_line(text, block.place(number)), block.place(number))
            if event is None:
                lines, numbers = lines.slice(1), numbers[1:]
                continue
            if event.row_schema is None or (schema := _schema_text(text, path)) is None:
                return None
            cut = pc.replace_substring(lines, schema, b"", max_replacements=1)
            hit = pc.less(pc.binary_length(cut), pc.binary_length(lines))
            mask = np.asarray(hit)
            if not mask[0]:
                return None
            if self.wants(event.table):
                declared = declared_columns(event.row_schema)
                changes = self._read(
                    block, cut.filter(hit), numbers[mask], path, event.table, declared
                )
                if changes is None:
                    return None
                decoded += changes
            lines, numbers = lines.filter(pc.invert(hit)), numbers[~mask]
        return None

    def _read(
        self,
        block: EventLines,
        lines: pa.LargeBinaryArray,
        numbers: Ints,
        path: tuple[str, ...],
        table: SourceTable,
        declared: Mapping[str, Declared] | None,
    ) -> list[Changes] | None:
        """The changes of lines that are all of ``table``; None where they are not, or not columnar."""
        events = self._events(lines, numbers, path, table, declared)
        return events.changes(block) if events is not None and events.are_all_of_table else None

    def _events(
        self,
        lines: pa.LargeBinaryArray,
        numbers: Ints,
        path: tuple[str, ...],
        table: SourceTable,
        declared: Mapping[str, Declared] | None,
        cut: CutSource | None = None,
    ) -> _Events | None:
        """Lines that should all be of ``table`` in columns; None where they are not columnar."""
        types = self._types(table, declared)
        if types is None:
            return None
        cut = cut or cut_source(lines, table)
        short = lines if cut is None else cut.lines
        absent = absent_members(short, cut)
        members = event_members(short, path, types, absent)
        if members is None or (unread := _mistaken(members, types)) is None:
            return None
        order = _column_names(members)
        if unread:
            members = event_members(short, path, types | unread, absent)
        return (
            None
            if members is None
            else _Events(lines, numbers, table, declared, cut, members, order)
        )

    def _types(
        self, table: SourceTable, declared: Mapping[str, Declared] | None
    ) -> dict[str, pa.DataType] | None:
        """The JSON types to read columns as; None where a column has several."""
        if declared is not None:
            known = {name: c.json for name, c in declared.items() if c.json is not None}
            return known if len(known) == len(declared) else None
        types = {f.name: json_type(f.type, self.settings) for f in self._fields(table)}
        return types | self._learned.get(table, {})


@dataclass(frozen=True, slots=True)
class _Events:
    """Lines that should all be of one table, in columns."""

    lines: pa.LargeBinaryArray
    numbers: Ints
    table: SourceTable
    declared: Mapping[str, Declared] | None
    cut: CutSource | None
    members: Mapping[str, pa.Array]
    order: Sequence[str]
    """The columns as the events order them."""

    @property
    def are_all_of_table(self) -> bool:
        """Whether every row change says that it is of the table."""
        source = self.members.get("source")
        if source is None:
            return True
        names, table = _names(source), self.table
        same = pc.and_(
            pc.equal(names["database"], table.database), pc.equal(names["name"], table.name)
        )
        if self.cut is not None:  # of a line with two blocks one is left, and nobody knows which
            same = pc.if_else(self.cut.is_cut, pc.is_null(source), same)
        return bool(pc.all(pc.or_(same, pc.is_null(self.members["op"]))).as_py())

    def changes(self, block: EventLines) -> list[Changes] | None:
        """Those of the lines that are row changes; None where what is left has to be read line by line."""
        ops = self.members["op"]
        changed = pc.fill_null(pc.is_in(ops, value_set=pa.array(OPS)), False)
        mask = np.asarray(changed)
        if not mask.all():
            others = self.lines.filter(pc.invert(changed))
            if _has_row_changes(others, self.numbers[~mask], block):
                return None
            ops = ops.filter(changed)
        if not len(ops):
            return []
        before, after = (
            _images(self.members.get(side), changed, self.order) for side in ("before", "after")
        )
        missing_key = pc.and_(pc.equal(ops, "d"), pc.invert(before.there))
        if pc.any(missing_key).as_py():
            return None  # the record's key has what the event lacks
        times = _times(self.members, self.cut)
        times = times if mask.all() else times.filter(changed)
        latest = pc.max(times).as_py()
        if latest is not None and latest > TIME_MAX_MS:
            return None
        return [
            Changes(
                self.table,
                block.place,
                self.numbers[mask],
                ops,
                before,
                after,
                self.declared,
                latest,
                times,
            )
        ]


@dataclass(frozen=True, slots=True)
class _SomeLines:
    """Lines of a block."""

    numbers: Ints
    lines: pa.LargeBinaryArray
    place: Callable[[int], Place]


def _without_tombstones(block: EventLines) -> EventLines:
    """The lines that are more than ``null``, which is what a console shows of a tombstone."""
    more = pc.not_equal(block.lines, pa.scalar(_TOMBSTONE, pa.large_binary()))
    if not more.false_count:
        return block
    return _SomeLines(block.numbers[np.asarray(more)], block.lines.filter(more), block.place)


def _first_event(block: EventLines) -> Any:
    """The JSON value of the first line that is a row change; None if no line is."""
    for number, line in zip(block.numbers.tolist(), block.lines, strict=True):
        place = block.place(number)
        value = read_line(line.as_py(), place)
        if read_event(value, place) is not None:
            return value
    return None


def _path(first: Any) -> tuple[str, ...] | None:
    """The members that lead from a line to its event, judged by the first line; None if it is text."""
    event, schema, _ = unwrap(first)
    is_record = event is not first and isinstance(first, dict) and "value" in first
    if is_record and not isinstance(first["value"], dict):
        return None
    return (("value",) if is_record else ()) + (("payload",) if schema is not None else ())


def _schema_text(line: bytes, path: tuple[str, ...]) -> bytes | None:
    """The member ``"schema":…,`` of the value, exactly as it stands in ``line``; None if it is last."""
    text = line.decode()
    start = text.find('"value":') if path[0] == "value" else 0
    start = text.find(_SCHEMA_MEMBER, max(start, 0))
    if start < 0:
        return None
    begin = start + len(_SCHEMA_MEMBER)
    begin += len(text[begin:]) - len(text[begin:].lstrip())
    _, end = json.JSONDecoder().raw_decode(text, begin)
    return text[start : end + 1].encode() if text[end : end + 1] == "," else None


def _tables(
    lines: pa.LargeBinaryArray, path: tuple[str, ...]
) -> list[tuple[SourceTable, Ints]] | None:
    """Which lines are of which table; None where they are not columnar.

    Lines that are no row change come along with ``("", "")``.
    """
    events = members_of(lines, path, {"source": SOURCE}, "ignore")
    if events is None:
        return None
    names = _names(events["source"])
    joined = pc.binary_join_element_wise(names["database"], names["name"], "\0")
    encoded = joined.combine_chunks().dictionary_encode()
    codes = np.asarray(encoded.indices)
    return [
        (SourceTable(*text.split("\0")), np.flatnonzero(codes == code))
        for code, text in enumerate(encoded.dictionary.to_pylist())
    ]


def _names(source: pa.StructArray) -> pa.Table:
    database, schema, table = (pc.struct_field(source, part) for part in ("db", "schema", "table"))
    named = pc.is_valid(table)
    schema = pc.if_else(pc.equal(schema, ""), None, schema)
    return pa.table(
        {
            "database": pc.if_else(named, pc.fill_null(pc.coalesce(schema, database), ""), ""),
            "name": pc.fill_null(table, ""),
        }
    )


def _has_ops(lines: pa.LargeBinaryArray, path: tuple[str, ...]) -> bool | None:
    """Whether any of the lines says what it does; None where they are not columnar."""
    members = members_of(lines, path, {"op": pa.string()}, "ignore")
    return None if members is None else bool(members["op"].null_count < len(members["op"]))


def _has_row_changes(lines: pa.LargeBinaryArray, numbers: Ints, block: EventLines) -> bool:
    """Whether lines without an operation are row changes: wrapped otherwise than the first line.

    Raises:
        EventError: one is no event at all.
    """
    for number, line in zip(numbers.tolist(), lines, strict=True):
        place = block.place(number)
        if read_event(read_line(line.as_py(), place), place) is not None:
            return True
    return False


def _column_names(events: Mapping[str, pa.Array]) -> list[str]:
    """Columns of the rows as the events order them, known ones first."""
    rows = [events.get(side) for side in ("after", "before")]
    return [m.name for one in rows if isinstance(one, pa.StructArray) for m in one.type]


def _images(rows: pa.Array | None, changed: pa.BooleanArray, order: Sequence[str]) -> RowImages:
    if rows is None or not isinstance(rows, pa.StructArray):
        return RowImages(pa.repeat(pa.scalar(value=False), pc.sum(changed).as_py()), {})
    kept = rows if pc.all(changed).as_py() else rows.filter(changed)
    names = [member.name for member in kept.type]
    columns = dict(zip(names, kept.flatten(), strict=True))
    ordered = {name: columns[name] for name in order if name in columns}
    return RowImages(kept.is_valid(), ordered)


def _mistaken(
    events: Mapping[str, pa.Array], known: Mapping[str, pa.DataType]
) -> dict[str, pa.DataType] | None:
    """New columns that Arrow read as something else than their JSON type says.

    None where it may have read a value as another one: that takes a look at each line.
    """
    wrong: dict[str, pa.DataType] = {}
    for side in ("before", "after"):
        rows = events.get(side)
        if has_constants(rows):
            return None
        for member in rows.type if isinstance(rows, pa.StructArray) else ():
            if member.name in known and not pa.types.is_floating(known[member.name]):
                continue
            if pa.types.is_timestamp(member.type):
                wrong[member.name] = pa.string()
            elif pa.types.is_nested(member.type):
                return None
            elif pa.types.is_floating(member.type):
                low, high = pc.min_max(pc.struct_field(rows, member.name)).values()
                if low.is_valid and max(-low.as_py(), high.as_py()) >= _EXACT_DOUBLE:
                    return None  # maybe a whole number that lost digits
    return wrong


def _times(events: Mapping[str, pa.Array], cut: CutSource | None) -> pa.Int64Array:
    times = [] if cut is None else [cut.times_ms]
    if "source" in events:
        times.append(pc.struct_field(events["source"], "ts_ms"))
    return pc.coalesce(*times, events["ts_ms"])
