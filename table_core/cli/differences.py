"""The command ``diff``: what two snapshots of a table have apart."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli import rows
from table_core.cli.arguments import (
    AsJson,
    Branch,
    Columns,
    Format,
    Output,
    TableName,
    Warehouse,
    Where,
    names,
    opened,
)
from table_core.cli.commands import Entry
from table_core.cli.data_files import data_files, named_shortly
from table_core.cli.grid import Layout
from table_core.datatypes.text import type_text
from table_core.errors import ArgumentError
from table_core.jobs.action import Heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.schema.table_schema import TableSchema

__all__ = ["ENTRIES"]

_CHANGES: Final = Layout(wraps=("before", "after"))
_FILES: Final = Layout(
    yields=("created", "schema", "format", "file", "min_key", "max_key", "partition")
)


class What(StrEnum):
    """What is compared."""

    ROWS = "rows"
    FILES = "files"
    OPTIONS = "options"
    SCHEMA = "schema"


def diff(
    warehouse: Warehouse,
    table: TableName,
    before: Annotated[
        int, typer.Argument(metavar="BEFORE", help="A snapshot; 0: the empty table.")
    ],
    after: Annotated[int, typer.Argument(metavar="AFTER", help="A later snapshot.")],
    what: Annotated[What, typer.Option(help="What is compared.")] = What.ROWS,
    columns: Columns = None,
    where: Where = None,
    branch: Branch = None,
    format: Format = "table",
    file: Output = None,
    as_json: AsJson = False,
) -> None:
    """Compare two snapshots: their rows, files, options or schema.

    A row that is gone is shown as -D, any other as it is in the later one. For a table without a key, the
    rows of new files are shown.
    """
    format = rows.asked_format(format, as_json=as_json)
    of_rows = {"--columns": columns, "--where": where, "-o": file, "--format": None}
    if format not in {"table", "json"}:
        of_rows["--format"] = format
    if what is not What.ROWS and any(of_rows.values()):
        option = next(name for name, value in of_rows.items() if value)
        raise ArgumentError(
            f"{option} is for rows, and {what} are compared: leave it out",
            argument=option.strip("-"),
        )
    handle = opened(warehouse, table, branch)
    if what is What.ROWS:
        scan = handle.changes(
            after=before, to=after, columns=names(columns), where=where, mode="diff"
        )
        rows.show_rows(scan, format, file)
        return
    records, layout = _OF[what](handle, before, after)
    if what is What.FILES:
        records = named_shortly(records, as_json=format == "json")
    rows.show_records(records, as_json=format == "json", layout=layout)


def _files(handle: Any, before: int, after: int) -> tuple[list[dict[str, Any]], Layout]:
    """Files by path and level: a file that only comes to another level is removed and added."""
    old, new = (
        {(one["file"], one["level"]): one for one in data_files(handle, _state(handle, id))}
        for id in (before, after)
    )
    gone = [{"change": "removed", **one} for key, one in old.items() if key not in new]
    come = [{"change": "added", **one} for key, one in new.items() if key not in old]
    return [*gone, *come], _FILES


def _state(handle: Any, id: int) -> Any:
    return handle.snapshot(id) if id else None


def _options(handle: Any, before: int, after: int) -> tuple[list[dict[str, Any]], Layout]:
    old, new = (_schema(handle, id) for id in (before, after))
    left, right = ({} if one is None else dict(one.raw_options) for one in (old, new))
    return list(_changed("option", left, right)), _CHANGES


def _schemas(handle: Any, before: int, after: int) -> tuple[list[dict[str, Any]], Layout]:
    old, new = (_schema(handle, id) for id in (before, after))
    parts = [_parts(one) for one in (old, new)]
    changes = []
    for what in parts[1]:
        for change in _changed("name", parts[0][what], parts[1][what]):
            name = _name_of(change) if what == "column" else change["name"]
            changes.append({"what": what, **change, "name": name})
    return changes, _CHANGES


def _schema(handle: Any, id: int) -> TableSchema | None:
    if not id:
        return None
    schema: TableSchema = handle.access.metadata.schema(handle.snapshot(id).schema_id)
    return schema


def _parts(schema: TableSchema | None) -> dict[str, dict[Any, str]]:
    """What a schema says, by what is named: a column by its id, which a new name leaves as it is."""
    if schema is None:
        return {"column": {}, "key": {}, "comment": {}}
    return {
        "column": {
            f.id: " ".join(
                part
                for part in (f.name, type_text(f.type), f.description and f"({f.description})")
                if part
            )
            for f in schema.fields
        },
        "key": {
            name: ", ".join(value)
            for name, value in (
                ("primary key", schema.primary_keys),
                ("partition by", schema.partition_keys),
            )
        },
        "comment": {"table": schema.comment or ""},
    }


def _name_of(change: Mapping[str, Any]) -> str:
    """A column by its later name."""
    return str(change["after"] or change["before"]).partition(" ")[0]


def _changed(
    what: str, before: Mapping[Any, str], after: Mapping[Any, str]
) -> Iterator[dict[str, Any]]:
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if old != new:
            yield {what: name, "before": old, "after": new}


_OF: Final[Mapping[What, Callable[[Any, int, int], tuple[list[dict[str, Any]], Layout]]]] = {
    What.FILES: _files,
    What.OPTIONS: _options,
    What.SCHEMA: _schemas,
}
ENTRIES: Final[Sequence[Entry]] = (
    Entry(("diff",), Heading.LOOK, diff, "shop.orders 1 3 --what files"),
)
