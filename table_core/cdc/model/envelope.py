"""The envelope around a row: Kafka record, schema and payload, ``before``, ``after``, ``op``.

One event as a Python value is what this module understands; ``debezium`` reads whole blocks and
comes here for what does not fit the common case.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.json_numbers import WrittenNumber
from table_core.cdc.model.record import UNNAMED, SourceTable, shortened
from table_core.errors import EventError
from table_core.validation_errors import unreadable_why

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.cdc.model.record import Place

__all__ = [
    "OPS",
    "TIME_MAX_MS",
    "Event",
    "bad_line",
    "checked_time",
    "json_value",
    "read_event",
    "read_line",
    "source_table",
    "unwrap",
]

OPS: Final = ("c", "r", "u", "d", "t")
"""Create, read (snapshot), update, delete, truncate."""
_MESSAGE: Final = "m"
TIME_MAX_MS: Final = 253_402_300_799_999
"""The end of the year 9999."""
_FLATTENED: Final = frozenset({"__deleted", "__op"})
_OF_ROUTER: Final = "__dbz__physicalTableIdentifier"
"""What Debezium's ``ByLogicalTableRouter`` adds to keys; no column."""
_RECORD_MEMBERS: Final = frozenset({"topic", "key", "partition", "offset", "headers"})


@dataclass(frozen=True, slots=True)
class Event:
    """One row change, not yet typed."""

    table: SourceTable
    op: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    row_schema: Mapping[str, Any] | None
    """The struct of the embedded schema that describes the row, if there is one."""
    time_ms: int | None


def bad_line(place: Place, why: str, **facts: object) -> EventError:
    """The error for an event that cannot be read."""
    return EventError(f"{place.text}: {why}", **place.facts, row=place.number, **facts)


def checked_time(event: Event, place: Place) -> Event:
    """``event``, if its time is one.

    Raises:
        EventError: it is none of years with four digits.
    """
    time_ms: Any = event.time_ms
    if time_ms is None or (type(time_ms) is int and abs(time_ms) <= TIME_MAX_MS):
        return event
    raise bad_line(place, f"its time is none: {shortened(time_ms)}")


def read_line(text: bytes, place: Place) -> Any:
    """The JSON value of one line; numbers with a point keep all their digits.

    Raises:
        EventError: no JSON, or no UTF-8; says where.
    """
    try:
        return json_value(text.decode())
    except UnicodeDecodeError as error:
        raise bad_line(place, f"no UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        shown = shortened(text.decode(errors="replace").strip())
        why = f"no JSON: {error.msg} at column {error.colno}: {shown}"
        raise bad_line(place, why, column=error.colno) from error
    except RecursionError as error:
        raise bad_line(place, "it is nested too deep") from error
    except ValueError as error:
        raise bad_line(place, f"no JSON: {error}") from error


def json_value(text: str) -> Any:
    """The value; what readers of JSON do not agree on is refused.

    Raises:
        ValueError: it is no JSON, or a member occurs twice.
    """
    return json.loads(
        text, parse_float=WrittenNumber, parse_constant=_refuse, object_pairs_hook=_members
    )


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"member {shortened(twice)!r} occurs twice")
    return members


def unwrap(value: Any) -> tuple[Any, Any, Any]:
    """Take the wrappings off: (event or None for a tombstone, its schema or None, the key)."""
    key = None
    if isinstance(value, dict) and "value" in value and value.keys() & _RECORD_MEMBERS:
        key = value.get("key")
        value = value["value"]
        if isinstance(value, str):
            value = json_value(value)
        if isinstance(key, dict) and key.keys() == {"schema", "payload"}:
            key = key["payload"]
        if isinstance(key, dict):
            key.pop(_OF_ROUTER, None)
    schema = None
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        schema, value = value["schema"], value["payload"]
    return value, schema, key


def read_event(value: Any, place: Place) -> Event | None:
    """The row change in the JSON ``value`` of a line, or None if it is none.

    Tombstones, heartbeats, transaction marks, schema-change records and logical messages are none.

    Raises:
        EventError: it looks like nothing that Debezium writes.
    """
    try:
        event, schema, key = unwrap(value)
    except RecursionError as error:
        raise bad_line(place, "its value is nested too deep") from error
    except ValueError as error:
        raise bad_line(place, f"its value is text, but no JSON: {error}") from error
    if event is None:
        return None
    if not isinstance(event, dict):
        raise bad_line(place, f"expected an event, found {shortened(event)}")
    if (why := unreadable_why(event)) is not None:
        raise bad_line(place, why)
    op = event.get("op")
    if op is None and _is_control(event):
        return None
    if op == _MESSAGE:
        return None
    if not isinstance(op, str) or op not in OPS:
        why = f"no member 'op' with one of {', '.join(OPS)}: {shortened(json.dumps(event, default=str))}"
        if event.keys() & _FLATTENED:
            why = "a row that ExtractNewRecordState flattened: read it with format='json'"
        raise bad_line(place, why)
    before, after = _row(event, "before", place), _row(event, "after", place)
    if op == "d" and before is None and isinstance(key, dict):
        before = key
    _refuse_source(event.get("source"), place)
    table, row_schema = source_table(event.get("source")), _row_schema(schema)
    return checked_time(Event(table, op, before, after, row_schema, _time_ms(event)), place)


def source_table(source: Any) -> SourceTable:
    """Which table a ``source`` block names; databases with schemas go by their schema."""
    table = source.get("table") if isinstance(source, dict) else None
    if not isinstance(table, str) or not table:
        return UNNAMED
    database = source.get("schema") or source.get("db") or ""
    return SourceTable(str(database), table)


def _refuse_source(source: Any, place: Place) -> None:
    """An event without a source block may be of the only table; one with a broken block is of none."""
    if source is None:
        return
    if not isinstance(source, dict):
        raise bad_line(place, f"'source' is no block but {shortened(source)}")
    table = source.get("table")
    if table is not None and not isinstance(table, str):
        raise bad_line(place, f"'table' of its source is no text: {shortened(table)}")


def _row(event: Mapping[str, Any], side: str, place: Place) -> Mapping[str, Any] | None:
    row = event.get(side)
    if row is None or isinstance(row, dict):
        return row
    raise bad_line(place, f"{side!r} is no row but {shortened(row)}")


def _is_control(event: Mapping[str, Any]) -> bool:
    """Schema changes, BEGIN and END, and heartbeats have no operation."""
    return (
        "tableChanges" in event
        or (str(event.get("status")) in {"BEGIN", "END"} and "id" in event)
        or (bool(event) and event.keys() <= {"ts_ms", "ts_us", "ts_ns"})
    )


def _row_schema(schema: Any) -> Mapping[str, Any] | None:
    if not isinstance(schema, dict):
        return None
    nodes = schema.get("fields", ())
    for node in nodes if isinstance(nodes, list) else ():
        if (
            isinstance(node, dict)
            and node.get("field") == "after"
            and isinstance(node.get("fields"), list)
        ):
            row_schema: Mapping[str, Any] = node
            return row_schema
    return None


def _time_ms(event: Mapping[str, Any]) -> int | None:
    source = event.get("source")
    of_source = source.get("ts_ms") if isinstance(source, dict) else None
    time_ms = of_source if of_source is not None else event.get("ts_ms")
    return time_ms if isinstance(time_ms, int) else None
