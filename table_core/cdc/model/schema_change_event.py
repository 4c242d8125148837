"""What Debezium's schema-change topic says of tables: their columns, and that they are gone.

Events without schema get the types of their columns from here.  PostgreSQL has no such topic.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.bad import UNFORESEEN, refuse, unusable
from table_core.cdc.model.embedded_schema import Declared, writable
from table_core.cdc.model.encoding import NUMBER, TIME_TYPES, Encoding
from table_core.cdc.model.envelope import unwrap
from table_core.cdc.model.json_lines import ends_of
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.mysql_types import MySqlColumn, mysql_type
from table_core.cdc.model.record import SourceTable
from table_core.datatypes.kinds import STRING
from table_core.schema.type_mapping import TypeMapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.cdc.model.encoding import PlainSettings
    from table_core.cdc.model.record import EventLines
    from table_core.errors import EventError

__all__ = ["SchemaChangeEvent", "number_default", "schema_change_events"]

_MEMBER: Final = b'"tableChanges"'
_PIECE: Final = 1 << 20
_ID: Final = re.compile(r'"((?:[^"]|"")*)"')
_AS_THEY_TRAVEL: Final = TypeMapping(tinyint1_not_bool=True, char_to_string=True)
_MILLIS_DIGITS: Final = 3
_DIGITS: Final = frozenset({LogicalType.DECIMAL, LogicalType.UNSCALED, LogicalType.UNSIGNED})


@dataclass(frozen=True, slots=True)
class SchemaChangeEvent:
    """One change of one source table."""

    number: int
    """Of the line that says so."""
    table: SourceTable
    dropped: bool
    in_snapshot: bool
    columns: Mapping[str, Declared]
    key: tuple[str, ...]


def schema_change_events(
    block: EventLines, settings: PlainSettings, *, together: bool = False
) -> list[SchemaChangeEvent]:
    """The schema changes of ``block``, in order.

    Raises:
        EventError: one cannot be read.
        BadEvents: with ``together``: all of those.
    """
    lines = block.lines
    events: list[SchemaChangeEvent] = []
    if not _occurs(lines, _MEMBER):  # so it is most often, and this is quicker to tell
        return events
    bad: list[EventError] = []
    for row in np.flatnonzero(np.asarray(pc.match_substring(lines, _MEMBER))).tolist():
        try:
            event, _, _ = unwrap(json.loads(lines[row].as_py()))
        except (ValueError, RecursionError):
            continue  # the decoder says what is wrong with the line
        if not isinstance(event, dict) or not isinstance(event.get("tableChanges"), list):
            continue
        number = int(block.numbers[row])
        try:
            events += list(_changes(number, event, settings))
        except UNFORESEEN as error:
            bad.append(unusable(block.place(number), error))
    refuse(bad, together=together)
    return events


def _occurs(lines: pa.LargeBinaryArray, text: bytes) -> bool:
    """Whether any line has ``text``; a piece at a time, because it has to be copied for that."""
    offsets, body = ends_of(lines), memoryview(lines.buffers()[2])
    first, end = int(offsets[0]), int(offsets[-1])
    return any(
        text in bytes(body[at : min(at + _PIECE + len(text), end)])
        for at in range(first, end, _PIECE)
    )


def _changes(
    number: int, event: Mapping[str, Any], settings: PlainSettings
) -> Iterator[SchemaChangeEvent]:
    source = event.get("source") or {}
    in_snapshot = str(source.get("snapshot", "false")) not in {"false", "None"}
    for change in event["tableChanges"]:
        names = [name.replace('""', '"') for name in _ID.findall(str(change.get("id")))]
        if not names:
            continue
        table = SourceTable(names[-2] if len(names) > 1 else "", names[-1])
        described = change.get("table") or {}
        columns = {
            c["name"]: _declared(c, settings) for c in _ordered(described.get("columns") or ())
        }
        key = tuple(described.get("primaryKeyColumnNames") or ())
        for name in (*names, *key):
            name.encode()
        yield SchemaChangeEvent(
            number,
            table,
            dropped=change.get("type") == "DROP",
            in_snapshot=in_snapshot,
            columns=writable(columns),
            key=key,
        )


def _ordered(columns: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(columns, key=lambda c: c.get("position") or 0)


def _declared(column: Mapping[str, Any], settings: PlainSettings) -> Declared:
    words = str(column.get("typeName", "")).lower().split()
    unsigned = "unsigned" in words
    name = " ".join(w for w in words if w not in {"unsigned", "zerofill", "signed"})
    sizes = [column.get("length"), column.get("scale")]
    source_type = MySqlColumn(name, tuple(str(s) for s in sizes if s is not None), unsigned)
    type_ = STRING if name == "set" else mysql_type(source_type, _AS_THEY_TRAVEL) or STRING
    encoding = _encoding(source_type, settings)
    return Declared(
        type_,
        encoding,
        None,
        nullable=bool(column.get("optional", True)),
        default=number_default(_default(column), encoding),
        comment=column.get("comment"),
    )


def number_default(default: str | None, encoding: Encoding | None) -> str | Decimal | None:
    """A default told as text, as the number that it is where other texts are the digits of one."""
    if default is None or encoding is None or encoding.logical_type not in _DIGITS:
        return default
    return Decimal(default) if re.match(NUMBER, default) else None


def _default(column: Mapping[str, Any]) -> str | None:
    """Text of a constant default; expressions are not evaluated."""
    text = column.get("defaultValueExpression")
    has_default = column.get("hasDefaultValue", True) and isinstance(text, str)
    return text if has_default and isinstance(text, str) else None


def _encoding(column: MySqlColumn, settings: PlainSettings) -> Encoding | None:
    if column.name == "time":
        return Encoding(LogicalType.TIME if settings.times is None else TIME_TYPES[settings.times])
    if column.name == "datetime" and settings.timestamps in {"auto", "adaptive"}:
        if column.number(0, 0) <= _MILLIS_DIGITS:
            return Encoding(LogicalType.MILLIS)
        return Encoding(LogicalType.MOMENT if settings.timestamps == "auto" else LogicalType.MICROS)
    if column.name in {"decimal", "numeric"}:
        return Encoding(LogicalType.DECIMAL, column.number(1, 0))
    if column.name == "bigint" and column.unsigned:
        return Encoding(LogicalType.UNSIGNED)
    if column.name == "bit" and column.number(0, 1) > 1:
        return Encoding(LogicalType.BITS)
    return None
