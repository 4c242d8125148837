"""Canal, Maxwell, Oracle GoldenGate and plain JSON: their events as Debezium's.

Written from their documentation; no server that writes them was at hand to test against.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.by_line import decode_events
from table_core.cdc.envelope import Event, bad_line, read_line, unwrap
from table_core.cdc.record import UNNAMED, SourceTable, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from table_core.cdc.changes import Changes
    from table_core.cdc.record import EventLines, Place

__all__ = ["decode_foreign"]

_CANAL_OPS: Final = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}
_CANAL_OTHERS: Final = frozenset(
    {"CREATE", "ALTER", "ERASE", "QUERY", "RENAME", "CINDEX", "DINDEX"}
)
_MAXWELL_OPS: Final = {"insert": "c", "update": "u", "delete": "d", "bootstrap-insert": "r"}
_OGG_OPS: Final = {"I": "c", "U": "u", "D": "d", "T": "t"}


def decode_foreign(
    format: str, lines: EventLines, wants: Callable[[SourceTable], bool]
) -> list[Changes]:
    """The row changes of ``lines``, by table.

    Raises:
        EventError: the first line that cannot be read.
    """
    read = _FORMATS[format]

    def events() -> Iterator[tuple[int, Event]]:
        for number, line in zip(lines.numbers.tolist(), lines.lines, strict=True):
            place = lines.place(number)
            value, _, _ = unwrap(read_line(line.as_py(), place))
            if value is None:
                continue
            if not isinstance(value, dict):
                raise bad_line(place, f"expected an event, found {shortened(value)}")
            for event in read(value, place):
                if wants(event.table):
                    yield number, event

    return decode_events(events(), lines.place)


def _canal(value: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """``{"type", "database", "table", "data": [rows], "old": [changed columns], "isDdl"}``."""
    kind = str(value.get("type", "")).upper()
    table = SourceTable(str(value.get("database") or ""), str(value.get("table") or ""))
    time_ms = value.get("es")
    if kind == "TRUNCATE":
        yield Event(table, "t", None, None, None, time_ms)
        return
    if value.get("isDdl") or kind in _CANAL_OTHERS:
        return
    op, rows = _CANAL_OPS.get(kind), value.get("data")
    if op is None or not isinstance(rows, list):
        raise _refused(place, "Canal", value)
    olds = value.get("old") or [None] * len(rows)
    for row, old in zip(rows, olds, strict=False):
        before = {**row, **(old or {})} if op == "u" else row if op == "d" else None
        yield Event(table, op, before, None if op == "d" else row, None, time_ms)


def _maxwell(value: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """``{"type", "database", "table", "ts", "data": row, "old": changed columns}``."""
    kind = str(value.get("type", ""))
    if kind in {"bootstrap-start", "bootstrap-complete"} or "table-" in kind or "database-" in kind:
        return
    op, row = _MAXWELL_OPS.get(kind), value.get("data")
    if op is None or not isinstance(row, dict):
        raise _refused(place, "Maxwell", value)
    table = SourceTable(str(value.get("database") or ""), str(value.get("table") or ""))
    seconds = value.get("ts")
    time_ms = seconds * 1000 if isinstance(seconds, int) else None
    before = {**row, **(value.get("old") or {})} if op == "u" else row if op == "d" else None
    yield Event(table, op, before, None if op == "d" else row, None, time_ms)


def _ogg(value: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """``{"table": "OWNER.TABLE", "op_type": I, U, D or T, "before": row, "after": row}``."""
    op = _OGG_OPS.get(str(value.get("op_type", "")))
    if op is None:
        raise _refused(place, "GoldenGate", value)
    owner, _, name = str(value.get("table", "")).rpartition(".")
    before, after = value.get("before"), value.get("after")
    if op == "u" and isinstance(before, dict) and isinstance(after, dict):
        after = {**before, **after}
    yield Event(SourceTable(owner, name), op, before if op != "c" else None, after, None, None)


def _json(value: Mapping[str, Any], _: Place) -> Iterator[Event]:
    """A row to insert, or to put in the place of that with its key."""
    yield Event(UNNAMED, "c", None, value, None, None)


def _refused(place: Place, form: str, value: Mapping[str, Any]) -> Exception:
    return bad_line(place, f"no event of {form}: {shortened(json.dumps(value, default=str))}")


_FORMATS: Final[dict[str, Callable[[Mapping[str, Any], Place], Iterator[Event]]]] = {
    "canal-json": _canal,
    "maxwell-json": _maxwell,
    "ogg-json": _ogg,
    "json": _json,
}
