"""Canal, Maxwell, Oracle GoldenGate and plain JSON: their events as Debezium's.

Written from their documentation; no server that writes them was at hand to test against.

Source: ``org.apache.paimon.flink.action.cdc.format``: the record parsers of these formats.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from table_core.cdc.debezium.canal_values import as_text
from table_core.cdc.debezium.json_fallback import decode_events
from table_core.cdc.model.bad import UNFORESEEN, unusable
from table_core.cdc.model.embedded_schema import Declared, writable
from table_core.cdc.model.encoding import Encoding, text_columns
from table_core.cdc.model.envelope import (
    OPS,
    Event,
    bad_line,
    checked_time,
    read_line,
    unwrap,
)
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.mysql_types import is_bytes, mysql_column, mysql_type
from table_core.cdc.model.record import UNNAMED, SourceTable, shortened
from table_core.cdc.model.unavailable_values import UNCHANGED
from table_core.datatypes.kinds import STRING, Atomic, Root
from table_core.errors import EventError
from table_core.validation_errors import unreadable_why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.mysql_types import MySqlColumn
    from table_core.cdc.model.record import EventLines, Place
    from table_core.datatypes.kinds import DataType, Field
    from table_core.schema.type_mapping import TypeMapping

    _Read: TypeAlias = Callable[[Mapping[str, Any], Place], Iterator[Event]]

__all__ = ["Targets", "decode_other_format"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_OF_MYSQL: Final = {"canal-json", "maxwell-json"}
_ZERO_DATE: Final = re.compile(r"(?:0000-\d\d-\d\d|\d{4}-00-\d\d|\d{4}-\d\d-00)(?: |T|$)")
_DATED: Final = {Root.DATE, Root.TIMESTAMP, Root.TIMESTAMP_LTZ}
_CANAL_OPS: Final = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}
_CANAL_OTHERS: Final = frozenset(
    {"CREATE", "ALTER", "ERASE", "QUERY", "RENAME", "CINDEX", "DINDEX"}
)
_MAXWELL_OPS: Final = {"insert": "c", "update": "u", "delete": "d", "bootstrap-insert": "r"}
_KEY_MEMBERS: Final = ("pkNames", "primary_key_columns", "primary_keys")
_DELETED: Final = frozenset({"none", "false", "true"})
_OGG_OPS: Final = {"I": "c", "U": "u", "D": "d", "T": "t"}


@dataclass(frozen=True, slots=True)
class Targets:
    """What is known of the table that a source table feeds."""

    key_of: Callable[[SourceTable], tuple[str, ...]]
    """Its primary key; () if there is none, or nobody knows it yet."""
    fields_of: Callable[[SourceTable], Sequence[Field] | None]
    """Its columns; None if it is not there."""


def decode_other_format(
    format: str,
    lines: EventLines,
    wants: Callable[[SourceTable], bool],
    mapping: TypeMapping,
    keys: dict[SourceTable, tuple[str, ...]],
    *,
    targets: Targets,
    by_topic: bool = False,
    together: bool = False,
) -> list[Changes]:
    """The row changes of ``lines``, by table.

    Args:
        format: which of them.
        lines: the events.
        wants: source tables that are meant.
        mapping: how Canal's types of columns become types of the table.
        keys: takes the primary keys that the events name, or the records of plain rows.
        targets: the tables that source tables feed.
        by_topic: whether rows that do not name their table are of the one that their topic names.
        together: tell all lines that cannot be read, not the first alone.

    Raises:
        EventError: the first line that cannot be read.
        BadEvents: with ``together``: all of them.
    """
    read = _FORMATS[format]
    bad: list[EventError] = []
    seen: dict[SourceTable, set[str]] = {}

    def of_line(text: bytes, place: Place) -> Iterator[Event]:
        value, _, key = unwrap(record := read_line(text, place))
        unnamed = _of_topic(record, place) if by_topic and format == "json" else UNNAMED
        if unnamed != UNNAMED and _is_no_row(record["topic"], value):
            return
        decoded_values = (
            _of_plain_value(value, key, place, targets.key_of(unnamed))
            if format == "json"
            else _of_value(read, value, place)
        )
        for decoded in decoded_values:
            event = replace(decoded, table=unnamed) if decoded.table == UNNAMED else decoded
            if wants(event.table):
                event = _without_zero_dates(format, _checked(event, place), targets, mapping)
                event = _as_it_was(event, targets, seen) if format == "ogg-json" else event
                names = _key_names(value, key, format)
                if names is not None and (event.table not in keys or _has_all(event, names)):
                    keys[event.table] = names
                yield event

    events = _numbered(lines, of_line, bad, together=together)
    return decode_events(
        events,
        lines.place,
        lambda types: _declared(types, mapping),
        bad,
        texts=lambda table: text_columns(targets.fields_of(table) or ()),
        together=together,
    )


def _without_zero_dates(format: str, event: Event, targets: Targets, mapping: TypeMapping) -> Event:
    """Dates of MySQL that there are not, such as 0000-00-00 and 2024-02-00, are null, as from its log."""
    rows = (event.before, event.after)
    zero = {
        name
        for row in rows
        for name, value in (row or {}).items()
        if isinstance(value, str) and _ZERO_DATE.match(value)
    }
    if not zero or format not in _OF_MYSQL:
        return event
    types = {f.name: f.type for f in targets.fields_of(event.table) or ()}
    if event.row_schema is not None:
        types = {n: d.type for n, d in _declared(event.row_schema, mapping).items()} | types
    dates = {name for name in zero if getattr(types.get(name), "root", None) in _DATED}
    before, after = (row and {n: None if n in dates else v for n, v in row.items()} for row in rows)
    return replace(event, before=before, after=after)


def _as_it_was(event: Event, targets: Targets, seen: dict[SourceTable, set[str]]) -> Event:
    """GoldenGate may write the changed columns of an update alone; the others keep what they had.

    ``seen``: the columns of the rows before it; takes those of an inserted one.
    """
    after = event.after or {}
    if event.op != "u":
        seen.setdefault(event.table, set()).update(after)
        return event
    known = {f.name for f in targets.fields_of(event.table) or ()} | seen.get(event.table, set())
    others = dict.fromkeys(sorted(known - after.keys()), UNCHANGED)
    return replace(event, after={**after, **others}) if others else event


def _numbered(
    lines: EventLines,
    of_line: Callable[[bytes, Place], Iterator[Event]],
    bad: list[EventError],
    *,
    together: bool,
) -> Iterator[tuple[int, Event]]:
    """The events of each line with its number; a line that cannot be read goes to ``bad``."""
    for number, line in zip(lines.numbers.tolist(), lines.lines, strict=True):
        place = lines.place(number)
        try:
            decoded = list(of_line(line.as_py(), place))
        except (EventError, *UNFORESEEN) as error:
            bad.append(unusable(place, error))
            if not together:
                raise bad[0] from error
            continue
        yield from ((number, event) for event in decoded)


def _of_value(read: _Read, value: Any, place: Place) -> Iterator[Event]:
    """The events in a value."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise bad_line(place, f"expected an event, found {shortened(value)}")
    if (why := unreadable_why(value)) is not None:
        raise bad_line(place, why)
    yield from read(value, place)


def _of_plain_value(
    value: Any, key: Any, place: Place, columns: tuple[str, ...]
) -> Iterator[Event]:
    """The row of a record; one without a value is gone, as its key says.

    ``columns``: the primary key of its table.  If that is ``id``, the key ``7`` is that of ``{"id": 7}``,
    and a row that lacks ``id`` gets it from there.
    """
    if key is None:
        yield from _of_value(_json, value, place)
        return
    row = key if isinstance(key, dict) else None
    if row is None and len(columns) == 1 and not isinstance(key, list):
        if isinstance(key, str) and "\ufffd" in key:
            raise bad_line(place, f"its key is no text: {shortened(key)}")
        row = {columns[0]: key}
    if value is not None:
        of_key = row or {}
        more = {n: v for n, v in of_key.items() if not columns or n in columns}
        for event in _of_value(_json, value, place):
            yield replace(
                event, before=_with_key(event.before, more), after=_with_key(event.after, more)
            )
        return
    if row is None:
        why = (
            f"it has no value, and its key {shortened(key)} names no column: the row to remove is known "
            "by an object, or where the table has a primary key of one column"
        )
        raise bad_line(place, why)
    yield Event(UNNAMED, "d", row, None, None, None)


def _with_key(row: Any, key: Mapping[str, Any]) -> Any:
    """A row with the columns that only its key has."""
    if not isinstance(row, dict) or key.keys() <= row.keys():
        return row
    return {**{n: v for n, v in key.items() if n not in row}, **row}


def _checked(event: Event, place: Place) -> Event:
    """``event``, if its rows are objects, the one that its kind of change is about is there, and its time is one."""
    for row in (event.before, event.after):
        if row is not None and not isinstance(row, dict):
            raise bad_line(place, f"expected a row, found {shortened(row)}")
    needed = {"d": event.before, "t": {}}.get(event.op, event.after)
    if needed is None:
        raise bad_line(place, f"a change {event.op!r} without its row")
    return checked_time(event, place)


def _of_topic(record: Any, place: Place) -> SourceTable:
    """The table that the topic ``PREFIX.DATABASE.TABLE`` names."""
    topic = record.get("topic") if isinstance(record, dict) else None
    if not isinstance(topic, str):
        why = "nothing says of which table the row is: read it with sync_table"
        raise bad_line(place, why)
    rest, _, name = topic.rpartition(".")
    return SourceTable(rest.rpartition(".")[2], name)


def _is_no_row(topic: str, value: Any) -> bool:
    """Heartbeats, marks of transactions, messages and schema changes: no transform flattens them."""
    members = value.keys() if isinstance(value, dict) else set()
    return (
        topic.startswith("__debezium-heartbeat")
        or (topic.endswith(".transaction") and members >= {"status", "id", "event_count"})
        or members >= {"ddl", "databaseName", "tableChanges"}
        or (members >= {"op", "message", "source"} and value["op"] == "m")
    )


def _key_names(value: Any, key: Any, format: str) -> tuple[str, ...] | None:
    """Canal's ``pkNames``, Maxwell's ``primary_key_columns``, GoldenGate's ``primary_keys``.

    Of plain rows the names in the key of their record.

    Raises:
        ValueError: a name cannot be written; so may ``AttributeError``.
    """
    if value is None:
        return None
    key_names = [names for member in _KEY_MEMBERS if isinstance(names := value.get(member), list)]
    if not key_names and not (format == "json" and isinstance(key, dict)):
        return None
    columns = tuple(key_names[0] if key_names else key)
    for name in columns:
        name.encode()
    return columns


def _has_all(event: Event, names: tuple[str, ...]) -> bool:
    """Whether an event has the columns: one that names others does not change what is known."""
    return (event.before or event.after or {}).keys() >= set(names)


def _declared(types: Mapping[str, Any], mapping: TypeMapping) -> dict[str, Declared]:
    """The columns of Canal's ``mysqlType``; all of their values are text."""
    columns = {}
    for name, text in types.items():
        column = mysql_column(str(text))
        type_ = mysql_type(column, mapping) or STRING
        columns[name] = Declared(type_, _encoding(column, type_), None)
    return writable(columns)


def _encoding(column: MySqlColumn, type_: DataType) -> Encoding:
    """How Canal writes the values of ``column``, which are to be of ``type_``."""
    if isinstance(type_, Atomic) and type_.root is Root.TIMESTAMP_LTZ:
        return Encoding(LogicalType.ZONED)
    if isinstance(type_, Atomic) and type_.root is Root.BINARY and column.name == "bit":
        return Encoding(LogicalType.BIT_NUMBER, type_.length)
    if column.name == "set":
        return Encoding(LogicalType.SET)
    return Encoding(LogicalType.LATIN1 if is_bytes(column) else LogicalType.PLAIN)


def _canal(value: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """``{"type", "database", "table", "data": [rows], "old": [changed columns], "isDdl"}``."""
    kind = str(value.get("type", "")).upper()
    table = _named(value, place)
    time_ms = value.get("es")
    if kind == "TRUNCATE":
        yield Event(table, "t", None, None, None, time_ms)
        return
    if value.get("isDdl") or kind in _CANAL_OTHERS:
        return
    op, rows = _CANAL_OPS.get(kind), value.get("data")
    if op is None or not isinstance(rows, list):
        raise _refused(place, "Canal", value)
    olds = value.get("old") if op == "u" else None
    olds = olds or [None] * len(rows)
    if len(olds) != len(rows):
        why = f"'old' has {len(olds)} rows, and 'data' has {len(rows)}"
        raise bad_line(place, why)
    types = value.get("mysqlType")
    texts = ([as_text(row, types or {}) for row in images] for images in (rows, olds))
    for row, old in zip(*texts, strict=True):
        before = {**row, **(old or {})} if op == "u" else row if op == "d" else None
        yield Event(table, op, before, None if op == "d" else row, types, time_ms)


def _maxwell(value: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """``{"type", "database", "table", "ts", "data": row, "old": changed columns}``."""
    kind = str(value.get("type", ""))
    if kind in {"bootstrap-start", "bootstrap-complete"} or "table-" in kind or "database-" in kind:
        return
    op, row = _MAXWELL_OPS.get(kind), value.get("data")
    if op is None or not isinstance(row, dict):
        raise _refused(place, "Maxwell", value)
    table, seconds = _named(value, place), value.get("ts")
    time_ms = seconds * 1000 if isinstance(seconds, int) else seconds
    before = {**row, **(value.get("old") or {})} if op == "u" else row if op == "d" else None
    yield Event(table, op, before, None if op == "d" else row, None, time_ms)


def _ogg(value: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """``{"table": "OWNER.TABLE", "op_type": I, U, D or T, "op_ts", "before": row, "after": row}``."""
    op = _OGG_OPS.get(str(value.get("op_type", "")))
    if op is None:
        raise _refused(place, "GoldenGate", value)
    owner, _, name = _text(value, "table", place).rpartition(".")
    before, after = value.get("before"), value.get("after")
    if op == "u" and isinstance(before, dict) and isinstance(after, dict):
        after = {**before, **after}
    before = before if op != "c" else None
    yield Event(SourceTable(owner, name), op, before, after, None, _moment_ms(value, place))


def _named(value: Mapping[str, Any], place: Place) -> SourceTable:
    return SourceTable(_text(value, "database", place), _text(value, "table", place))


def _text(value: Mapping[str, Any], member: str, place: Place) -> str:
    """The text of a member, '' without it."""
    text = value.get(member)
    if text is None or isinstance(text, str):
        return text or ""
    raise bad_line(place, f"{member!r} is no text: {shortened(text)}")


def _moment_ms(value: Mapping[str, Any], place: Place) -> int | None:
    """``op_ts``, text in UTC, as milliseconds."""
    text = value.get("op_ts")
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(str(text)).replace(tzinfo=UTC)
    except ValueError as error:
        raise bad_line(place, f"'op_ts' is no time: {shortened(text)}") from error
    return (moment - _EPOCH) // _MILLISECOND


def _json(value: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """A row to insert, or to put in the place of that with its key.

    Rows that Debezium's ``ExtractNewRecordState`` took out of their events are such; what it added
    about them begins with two underscores, and ``__deleted`` says that the row is gone.
    """
    if "__deleted" not in value and "__op" not in value:
        yield Event(UNNAMED, "c", None, value, None, None)
        return
    op, deleted = value.get("__op"), str(value.get("__deleted")).lower()
    if op not in (None, *OPS) or deleted not in _DELETED:
        why = f"'__op' or '__deleted' is none that there is: {shortened([op, deleted])}"
        raise bad_line(place, why)
    row = {name: part for name, part in value.items() if not name.startswith("__")}
    time_ms = value.get("__source_ts_ms", value.get("__ts_ms"))
    if op == "d" or deleted == "true":
        yield Event(UNNAMED, "d", row, None, None, time_ms)
    else:
        yield Event(UNNAMED, "c", None, row, None, time_ms)


def _refused(place: Place, form: str, value: Mapping[str, Any]) -> Exception:
    return bad_line(place, f"no event of {form}: {shortened(json.dumps(value, default=str))}")


_FORMATS: Final[dict[str, _Read]] = {
    "canal-json": _canal,
    "maxwell-json": _maxwell,
    "ogg-json": _ogg,
    "json": _json,
}
