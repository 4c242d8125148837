"""How results are shown: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console

from table_core.cli.rows import show_records
from table_core.datatypes.text import type_to_json
from table_core.options.shown import shown

if TYPE_CHECKING:
    from table_core.table.api.table import Table
    from table_core.table.maintenance.health import Health
    from table_core.table.metadata.results import ResultDocument

__all__ = ["show_description", "show_health", "show_result", "utc"]


def utc(epoch_ms: int) -> str:
    """A point in time for people."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="milliseconds")


def show_result(result: ResultDocument, *, as_json: bool) -> None:
    """A result document."""
    document = result.to_document()
    if as_json:
        _print(json.dumps(document, default=str))
        return
    show_records([{"member": k, "value": v} for k, v in document.items()], as_json=False)


def show_description(table: Table, *, as_json: bool) -> None:
    """The schema of a table."""
    definition = table.definition
    columns = [
        {
            "column": f.name,
            "type": type_to_json(f.type),
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
    Console(markup=False, emoji=False, highlight=False).print(
        shown(f"{table.name}  {table.uri}  schema {definition.id}")
    )
    show_records(columns, as_json=False)
    show_records(
        [{"option": k, "value": v} for k, v in sorted(table.options.items())], as_json=False
    )


def show_health(found: Health, *, as_json: bool) -> None:
    """Verdicts first, then the numbers."""
    document = found.to_document()
    if as_json:
        _print(json.dumps(document, default=str))
        return
    show_records(
        [
            {"action": v.action, "verdict": v.urgency.value, "reasons": "; ".join(v.reasons)}
            for v in found.verdicts
        ],
        as_json=False,
    )
    plain = {k: v for k, v in document.items() if not isinstance(v, dict | list)}
    show_records([{"number": k, "value": v} for k, v in plain.items()], as_json=False)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
