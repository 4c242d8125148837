"""How results are shown: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rich.filesize import decimal

from table_core.cli.grid import Layout
from table_core.cli.rows import show_records
from table_core.datatypes.text import type_text, type_to_json
from table_core.options.shown import shown
from table_core.position.document import Positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from table_core.table.api.table import Table
    from table_core.table.maintenance.health import Health
    from table_core.table.metadata.results import ResultDocument

__all__ = ["Bytes", "moment_of", "show_description", "show_health", "show_result"]

_RESULT: Final = Layout(wraps=("value",), heads=False)
_HEALTH: Final = Layout(wraps=("reasons",))
_COLUMNS: Final = Layout(wraps=("type", "comment"), yields=("comment",))
_OPTIONS: Final = Layout(wraps=("value",))


_SAID: Final = frozenset({"snapshot", "files", "size", "seconds"})
"""What every result says; a detail of that name is another number."""


class Bytes(int):
    """A number of bytes: JSON has the number, people read ``1.2 MB``."""

    def __str__(self) -> str:
        return decimal(int(self))


def moment_of(epoch_ms: int) -> datetime:
    """A point in time, in UTC."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC)


def show_result(result: ResultDocument, *, as_json: bool) -> None:
    """A result document; people get what there is to say of it."""
    document = result.to_document()
    if as_json:
        _print(json.dumps(document, default=str))
        return
    tried = ": a dry run, nothing was done" if document["dry_run"] else ""
    _print(shown(f"{document['action']} {document['table']}{tried}"))
    rows = [{"member": name, "value": value} for name, value in _told(document)]
    show_records(rows, as_json=False, layout=_RESULT)


def _told(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The members of a result, each pair of numbers as one, and its details as members."""
    yield "snapshot", _change(document["snapshot_before"], document["snapshot_after"])
    if "files_before" in document and "files_after" in document:
        yield "files", _change(document["files_before"], document["files_after"])
    if "bytes_before" in document and "bytes_after" in document:
        sizes = (Bytes(document[name]) for name in ("bytes_before", "bytes_after"))
        yield "size", _change(*map(str, sizes))
    if document.get("files_deleted"):
        size = Bytes(document["bytes_deleted"]) if document.get("bytes_deleted") else ""
        yield "files deleted", f"{document['files_deleted']} {size}".strip()
    if document.get("rows_written"):
        yield "rows written", str(document["rows_written"])
    yield "seconds", f"{document['seconds']:.2f}"
    for name, value in document["details"].items():
        if name == "tables" and isinstance(value, dict):
            yield from ((table, _of_table(one)) for table, one in value.items())
        elif value not in (None, False, [], {}, ""):
            label = name.replace("_", " ")
            yield f"{label} of the verb" if label in _SAID else label, _value(value)


def _of_table(document: Any) -> str:
    """What a verb on a database did to one of its tables."""
    if not isinstance(document, dict) or "action" not in document:
        return _value(document)
    told = dict(_told(document))
    return (
        ", ".join(
            f"{name} {told[name]}" for name in ("files", "size", "files deleted") if name in told
        )
        or "done"
    )


def _measure(name: str, value: Any) -> Any:
    """A number of a table's health in its unit."""
    if name.endswith("_ms"):
        return f"{value / 1000:.0f} s"
    if name == "seconds":
        return f"{value:.2f}"
    return Bytes(value) if name.endswith("bytes") else value


def _value(value: Any) -> str:
    if value is True:
        return "yes"
    if not isinstance(value, str):
        return json.dumps(value, default=str)
    held = Positions.parse(value) if value.startswith("{") else None
    return value if held is None else ", ".join(str(one.place) for one in held)


def _change(before: Any, after: Any) -> str:
    told = ["none" if one is None else str(one) for one in (before, after)]
    return told[0] if told[0] == told[1] else " → ".join(told)


def show_description(table: Table, *, as_json: bool) -> None:
    """The schema of a table."""
    definition = table.definition
    columns: list[dict[str, Any]] = [
        {
            "column": f.name,
            "type": type_to_json(f.type) if as_json else type_text(f.type),
            "key": "primary" if f.name in definition.primary_keys else "",
            "partition": "yes" if f.name in definition.partition_keys else "",
            "comment": f.description,
        }
        for f in definition.fields
    ]
    if as_json:
        document = {
            "table": table.name,
            "uri": table.uri,
            "schema_id": definition.id,
            "columns": columns,
            "primary_key": list(definition.primary_keys),
            "partition_by": list(definition.partition_keys),
            "options": table.options,
            "comment": definition.comment,
        }
        _print(json.dumps(document))
        return
    _print(shown(f"{table.name}, schema {definition.id}"))
    _print(shown(table.uri))
    if definition.comment:
        _print(shown(definition.comment))
    show_records(columns, as_json=False, layout=_COLUMNS)
    options = [{"option": k, "value": v} for k, v in sorted(table.options.items())]
    if options:
        show_records(options, as_json=False, layout=_OPTIONS)
    else:
        _print("no options: all have their defaults")


def show_health(health: Health, *, as_json: bool) -> None:
    """Verdicts first, then the numbers."""
    document = health.to_document()
    if as_json:
        _print(json.dumps(document, default=str))
        return
    verdicts = [
        {"action": v.action, "verdict": v.urgency.value, "reasons": "; ".join(v.reasons)}
        for v in health.verdicts
    ]
    show_records(verdicts, as_json=False, layout=_HEALTH)
    plain = {k: v for k, v in document.items() if not isinstance(v, dict | list)}
    numbers = [
        {"number": name.removesuffix("_ms").replace("_", " "), "value": _measure(name, value)}
        for name, value in plain.items()
        if value is not None and name not in {"action", "table"}
    ]
    show_records(numbers, as_json=False, layout=_RESULT)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
