"""How results are shown: tables for people, JSON for programs, files for both."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table as RichTable

from table_core.datatypes.text import type_to_json
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.table.health import Health
    from table_core.table.results import ResultDocument
    from table_core.table.scan import Scan
    from table_core.table.table import Table

__all__ = [
    "show_description",
    "show_health",
    "show_records",
    "show_result",
    "show_rows",
    "utc",
]

_SHOWN_ROWS: Final = 200


def utc(epoch_ms: int) -> str:
    """A point in time for people."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="milliseconds")


def show_records(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Records with the same members each."""
    if as_json:
        _print(json.dumps(list(rows), default=str))
        return
    table = RichTable()
    for name in rows[0] if rows else ():
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    Console().print(table if rows else "nothing")


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
    Console().print(f"{table.name}  {table.uri}  schema {definition.id}", highlight=False)
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


def show_rows(scan: Scan, format: str, file: str | None) -> None:
    """Rows, to the terminal or into ``file``.

    Raises:
        ArgumentError: an unknown format, or Parquet without a file.
    """
    if format == "parquet":
        if file is None:
            raise ArgumentError("--format parquet needs -o FILE", argument="output")
        _write_parquet(scan, file)
    elif format == "csv":
        _write_csv(scan, file)
    elif format == "json":
        _write_json(scan, file)
    elif format == "table":
        rows: list[dict[str, Any]] = []
        for batch in scan.to_batches():
            rows += batch.slice(0, _SHOWN_ROWS + 1 - len(rows)).to_pylist()
            if len(rows) > _SHOWN_ROWS:
                break
        show_records(rows[:_SHOWN_ROWS], as_json=False)
        if len(rows) > _SHOWN_ROWS:
            Console(stderr=True).print(f"first {_SHOWN_ROWS} rows; --format csv gives all")
    else:
        raise ArgumentError(
            f"--format {format}: use table, json, csv or parquet", argument="format", value=format
        )


def _write_parquet(scan: Scan, file: str) -> None:
    import pyarrow.parquet as pq  # noqa: TID251 - a file of the user's, not of the table

    with pq.ParquetWriter(file, scan.schema) as writer:
        for batch in scan.to_batches():
            writer.write_batch(batch)


def _write_csv(scan: Scan, file: str | None) -> None:
    import pyarrow.csv as pc

    with pc.CSVWriter(file or sys.stdout.buffer, scan.schema) as writer:
        for batch in scan.to_batches():
            writer.write_batch(batch)


def _write_json(scan: Scan, file: str | None) -> None:
    with Path(file).open("w") if file else contextlib.nullcontext(sys.stdout) as out:
        for batch in scan.to_batches():
            for row in batch.to_pylist():
                out.write(json.dumps(row, default=_plain) + "\n")


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
