"""Events line by line: slow, exact, and it knows the line of every fault.

``debezium`` reads blocks by Arrow and falls back to this for a block that Arrow cannot read: one
with a bad line, with values of two JSON types in one column, or with structures in columns.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.cdc.model.bad import UNFORESEEN, refuse, unusable
from table_core.cdc.model.changes import Changes, RowImages
from table_core.cdc.model.embedded_schema import Declared, declared_columns
from table_core.cdc.model.envelope import bad_line, read_event, read_line
from table_core.cdc.model.geometry import shape_text
from table_core.cdc.model.json_numbers import WrittenNumber, json_text
from table_core.cdc.model.logical_type import LogicalType
from table_core.cdc.model.single_values import plain_text, unscaled, unscaled_text
from table_core.cdc.model.unavailable_values import UNCHANGED
from table_core.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.model.encoding import Encoding
    from table_core.cdc.model.envelope import Event
    from table_core.cdc.model.record import EventLines, Place, SourceTable

__all__ = ["decode_events", "decode_json_fallback"]

_HUGE: Final = 2**63
_NUMBERS: Final = (int, Decimal, WrittenNumber)
_TEXT: Final = "text"
_GROUPS_TRIED: Final = 32
_COLUMNS_APART: Final = 64


def decode_json_fallback(
    block: EventLines,
    wants: Callable[[SourceTable], bool],
    *,
    texts: Callable[[SourceTable], Collection[str]] = lambda _: (),
    together: bool = False,
) -> list[Changes]:
    """The row changes of ``block``, by table and embedded schema; ``texts`` as of ``decode_events``.

    Raises:
        EventError: the first line that cannot be read.
        BadEvents: with ``together``: all of them.
    """
    bad: list[EventError] = []

    def events() -> Iterator[tuple[int, Event]]:
        for number, line in zip(block.numbers.tolist(), block.lines, strict=True):
            place = block.place(number)
            try:
                event = read_event(read_line(line.as_py(), place), place)
            except (EventError, *UNFORESEEN) as error:
                bad.append(unusable(place, error))
                if not together:
                    raise bad[0] from error
                continue
            if event is not None and wants(event.table):
                yield number, event

    return decode_events(
        events(), block.place, declared_columns, bad, texts=texts, together=together
    )


def decode_events(
    events: Iterable[tuple[int, Event]],
    place: Callable[[int], Place],
    declared: Callable[[Mapping[str, Any]], Mapping[str, Declared]],
    bad: list[EventError],
    *,
    texts: Callable[[SourceTable], Collection[str]] = lambda _: (),
    together: bool = False,
) -> list[Changes]:
    """Numbered events in columns, by table and schema; ``declared`` reads a schema.

    ``texts``: the columns of text of the table that a source table feeds: they take numbers as they were written.

    The events are also apart by the JSON types of their values: what a value means does not depend on
    its neighbours.

    Raises:
        EventError: ``bad`` holds one, or another one cannot be used.
        BadEvents: with ``together``: all of them.
    """
    groups: dict[tuple[SourceTable, str], list[tuple[int, Event]]] = {}
    for number, event in events:
        try:
            _check_names(event)
            flat = replace(event, before=_flat(event.before), after=_flat(event.after))
            schema = json.dumps(event.row_schema, sort_keys=True, default=str)
        except UNFORESEEN as error:
            bad.append(unusable(place(number), error))
            continue
        groups.setdefault((event.table, schema), []).append((number, flat))
    decoded = []
    for those in groups.values():
        row_schema = those[0][1].row_schema
        try:
            columns = None if row_schema is None else declared(row_schema)
        except UNFORESEEN as error:
            bad += [unusable(place(number), error) for number, _ in those]
            continue
        whole = [one for one in those if not _has_half_a_character(one, place, bad)]
        decoded += [
            _changes(place, part, columns, texts(part[0][1].table))
            for part in _grouped_by_kinds(whole)
        ]
    refuse(bad, together=together)
    return decoded


def _flat(row: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """With structures as the text that they become: a window of them would take twenty times its size."""
    if row is None:
        return None
    return {n: _text(v) if isinstance(v, dict | list) else v for n, v in row.items()}


def _check_names(event: Event) -> None:
    """Names have to be text that can be written."""
    event.table.database.encode()
    event.table.name.encode()
    for row in (event.before, event.after):
        for name in row or ():
            name.encode()


def _has_half_a_character(
    numbered: tuple[int, Event], place: Callable[[int], Place], bad: list[EventError]
) -> bool:
    """Whether a text of the event cannot be written, which is told in ``bad``."""
    number, event = numbered
    for row in (event.before, event.after):
        for name, value in (row or {}).items():
            try:
                if not isinstance(value, int | None):
                    (_text(value) or "").encode()
            except UnicodeEncodeError:
                why = f"column {name!r} has half a character"
                bad.append(bad_line(place(number), why, column=name))
                return True
            except UNFORESEEN as error:
                bad.append(unusable(place(number), error))
                return True
    return False


def _grouped_by_kinds(events: Sequence[tuple[int, Event]]) -> list[list[tuple[int, Event]]]:
    """The events in groups within which each column has values of one JSON type.

    Groups are made of events with about the same columns: each row has room for all of its group.
    """
    groups: list[tuple[dict[str, str], list[tuple[int, Event]], int]] = []
    for numbered in events:
        kinds = _kinds(numbered[1])
        if kinds is None:
            groups.append(({}, [numbered], 0))
            continue
        for known, members, room in groups[:_GROUPS_TRIED]:
            more = kinds.keys() - known.keys()
            roomy = len(known) + len(more) <= room
            if roomy and all(known.get(name, kind) == kind for name, kind in kinds.items()):
                known.update(kinds)
                members.append(numbered)
                break
        else:
            groups.append((kinds, [numbered], 2 * len(kinds) + _COLUMNS_APART))
    return [members for _, members, _ in groups]


def _kinds(event: Event) -> dict[str, str] | None:
    """The JSON types of its columns; None where the two rows differ in one."""
    kinds: dict[str, str] = {}
    for row in (event.before, event.after):
        for name, value in (row or {}).items():
            if value is not None and kinds.setdefault(name, _kind(value)) != _kind(value):
                return None
    return kinds


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int() if -_HUGE <= value < _HUGE:
            return "whole"
        case int() | Decimal() if _is_double(value):
            return "double"
    return _TEXT


def _changes(
    place: Callable[[int], Place],
    events: Sequence[tuple[int, Event]],
    declared: Mapping[str, Declared] | None,
    texts: Collection[str],
) -> Changes:
    numbers = [number for number, _ in events]
    befores = [event.before for _, event in events]
    afters = [event.after for _, event in events]
    names = dict.fromkeys(name for row in (*befores, *afters) if row is not None for name in row)
    before: dict[str, pa.Array] = {}
    after: dict[str, pa.Array] = {}
    unchanged: dict[str, np.ndarray[Any, np.dtype[np.bool_]]] = {}
    for name in names:
        expected = declared.get(name) if declared is not None else None
        columns = [
            [None if row is None else row.get(name) for row in rows] for rows in (befores, afters)
        ]
        if any(value is UNCHANGED for value in columns[1]):
            unchanged[name] = np.array([value is UNCHANGED for value in columns[1]])
            columns[1] = [None if value is UNCHANGED else value for value in columns[1]]
        before[name], after[name] = _typed(columns, expected, as_text=name in texts)
    times = [event.time_ms for _, event in events if event.time_ms is not None]
    return Changes(
        events[0][1].table,
        place,
        np.array(numbers, np.int64),
        pa.array([event.op for _, event in events], pa.string()),
        RowImages(_there(befores), before),
        RowImages(_there(afters), after, unchanged),
        declared,
        max(times, default=None),
        pa.array([event.time_ms for _, event in events], pa.int64()),
    )


def _there(rows: Iterable[Any]) -> pa.BooleanArray:
    return pa.array([row is not None for row in rows], pa.bool_())


def _typed(
    columns: Sequence[list[Any]], expected: Declared | None, *, as_text: bool
) -> list[pa.Array]:
    """Both images of one column as one Arrow type: text unless all values are of one JSON type."""
    if expected is not None and expected.encoding is not None:
        columns = _as_base64(columns, expected.encoding)
    values = [value for column in columns for value in column if value is not None]
    kinds = {type(value) for value in values}
    if not kinds:
        return [pa.nulls(len(column)) for column in columns]
    if kinds == {bool}:
        return [pa.array(column, pa.bool_()) for column in columns]
    wants_double = expected is not None and expected.json == pa.float64()
    if kinds == {int} and not wants_double and all(-_HUGE <= value < _HUGE for value in values):
        return [pa.array(column, pa.int64()) for column in columns]
    may_be_double = (expected is None or wants_double) and not as_text
    if (
        kinds <= {int, Decimal, WrittenNumber}
        and may_be_double
        and all(_is_double(value) for value in values)
    ):
        return [pa.array([_double(v) for v in column], pa.float64()) for column in columns]
    return [pa.array([_text(v) for v in column], pa.string()) for column in columns]


def _as_base64(columns: Sequence[list[Any]], encoding: Encoding) -> Sequence[list[Any]]:
    """Numbers of Kafka Connect's ``decimal.format=NUMERIC`` as the base64 that its schema promises.

    ``12.5`` with two digits behind the point is 1250, and travels as ``BOI=``.
    """
    if encoding.logical_type is not LogicalType.UNSCALED:
        return columns
    scale = encoding.scale or 0
    return [[unscaled_text(v, scale) if type(v) in _NUMBERS else v for v in c] for c in columns]


def _is_double(value: Any) -> bool:
    """Whether the shortest text of the double is the number, so nothing is lost."""
    try:
        return bool(Decimal(repr(float(value))) == value)
    except OverflowError:
        return False


def _double(value: Any) -> float | None:
    return None if value is None else float(value)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict) and _is_variable_decimal(value):
        return plain_text(unscaled(value["value"], value["scale"]))
    if isinstance(value, dict) and (geometry := shape_text(value)) is not None:
        return geometry
    if isinstance(value, list):
        value = [_text(v) if isinstance(v, dict) and _is_variable_decimal(v) else v for v in value]
    if isinstance(value, bool | dict | list):
        return json_text(value)
    return value.written if isinstance(value, WrittenNumber) else str(value)


def _is_variable_decimal(value: Mapping[str, Any]) -> bool:
    """PostgreSQL's numeric without precision: ``{"scale": 2, "value": "BNI="}``."""
    return (
        value.keys() == {"scale", "value"}
        and type(value["scale"]) is int
        and isinstance(value["value"], str)
    )
