"""What ``--json`` prints, as JSON Schemas: a promise to programs.

Members stay as they are; new ones may come.  A command that prints rows of a table prints one object a
line, with the columns of the table: it has no schema here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from table_core.cli.commands import Entry
from table_core.jobs.action import Heading
from table_core.jobs.registry import ACTIONS
from table_core.options.nearest import require_one_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ENTRIES", "ROWS", "SCHEMAS"]

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_FLAG: Final = {"type": "boolean"}
_ANY: Final[dict[str, Any]] = {}
_TIME: Final = {"type": "string", "format": "date-time"}
ROWS: Final = frozenset({("read",), ("changes",), ("follow",), ("diff",), ("sql",)})
"""Commands that print rows of tables."""


def _or_null(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [of, {"type": "null"}]}


def _object(
    members: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "type": "object",
        "required": sorted(members),
        "properties": {**members, **(optional or {})},
    }


def _list(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _map(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": of}


_COUNTS: Final = (
    *("files_before", "files_after", "bytes_before", "bytes_after"),
    *("files_deleted", "bytes_deleted", "rows_written"),
)
_RESULT: Final = _object(
    {
        "action": _TEXT,
        "table": _TEXT,
        "snapshot_before": _or_null(_NUMBER),
        "snapshot_after": _or_null(_NUMBER),
        "seconds": {"type": "number"},
        "dry_run": _FLAG,
        "details": {"type": "object"},
    },
    dict.fromkeys(_COUNTS, _NUMBER),
)
"""The result document of docs/upkeep.md; a number that nobody can know is absent."""
_FILE: Final = {
    "partition": _or_null(_TEXT),
    "bucket": _NUMBER,
    "level": _NUMBER,
    "rows": _NUMBER,
    "size": _NUMBER,
    "min_key": _or_null(_TEXT),
    "max_key": _or_null(_TEXT),
    "format": _TEXT,
    "schema": _NUMBER,
    "created": _or_null(_TIME),
    "file": _TEXT,
}
_CHANGE: Final = _object(
    {
        "table": _TEXT,
        "action": {"enum": ["create", "alter", "refused", "none"]},
        "changes": _list(_TEXT),
        "refused": _list(_TEXT),
        "kept": _list(_TEXT),
        "fixed": _list(_TEXT),
        "differences": _list({"type": "object"}),
    }
)
_PLAN: Final = _object({"tables": _list(_CHANGE), "only_there": _list(_TEXT)})
_OWN: Final[Mapping[tuple[str, ...], dict[str, Any]]] = {
    ("databases",): _list(_object({"database": _TEXT})),
    ("tables",): _list(_object({"table": _TEXT, "snapshot": _or_null(_NUMBER)})),
    ("describe",): _object(
        {
            "table": _TEXT,
            "uri": _TEXT,
            "schema_id": _NUMBER,
            "columns": _list(
                _object(
                    {
                        "column": _TEXT,
                        "type": {"type": ["string", "object"]},
                        "key": {"enum": ["primary", ""]},
                        "partition": {"enum": ["yes", ""]},
                        "comment": _or_null(_TEXT),
                    }
                )
            ),
            "primary_key": _list(_TEXT),
            "partition_by": _list(_TEXT),
            "options": _map(_TEXT),
            "comment": _or_null(_TEXT),
        }
    ),
    ("snapshots",): _list(
        _object(
            {
                "id": _NUMBER,
                "kind": {"enum": ["APPEND", "COMPACT", "OVERWRITE", "ANALYZE"]},
                "time": _TIME,
                "user": _TEXT,
                "identifier": _NUMBER,
                "rows": _or_null(_NUMBER),
                "delta": _or_null(_NUMBER),
                "changelog": _or_null(_NUMBER),
                "watermark": _or_null(_NUMBER),
            }
        )
    ),
    ("files",): _list(_object(_FILE)),
    ("options",): _list(
        _object(
            {
                "option": _TEXT,
                "value": _or_null(_TEXT),
                "default": _or_null(_TEXT),
                "class": _or_null({"enum": ["honoured", "harmless", "refused"]}),
                "meaning": _TEXT,
            }
        )
    ),
    ("diff", "--what", "files"): _list(
        _object({"change": {"enum": ["added", "removed"]}, **_FILE})
    ),
    ("diff", "--what", "options"): _list(
        _object({"option": _TEXT, "before": _or_null(_TEXT), "after": _or_null(_TEXT)})
    ),
    ("diff", "--what", "schema"): _list(
        _object(
            {
                "what": {"enum": ["column", "key", "comment"]},
                "name": _TEXT,
                "before": _or_null(_TEXT),
                "after": _or_null(_TEXT),
            }
        )
    ),
    ("health",): _object(
        {
            "action": {"const": "health"},
            "table": _TEXT,
            "snapshot": _or_null(_NUMBER),
            "verdict": {"enum": ["ok", "due", "urgent"]},
            "actions": _map(
                _object({"verdict": {"enum": ["ok", "due", "urgent"]}, "reasons": _list(_TEXT)})
            ),
            "files": _NUMBER,
            "bytes": _NUMBER,
            "rows": _NUMBER,
        }
    ),
    ("tag", "list"): _list(
        _object(
            {
                "tag": _TEXT,
                "snapshot": _NUMBER,
                "committed": _TIME,
                "retained_hours": _or_null({"type": "number"}),
            }
        )
    ),
    ("tag", "create"): _list(_object({"tag": _TEXT, "snapshot": _NUMBER})),
    ("branch", "list"): _list(_object({"branch": _TEXT, "snapshot": _or_null(_NUMBER)})),
    ("consumer", "list"): _list(_object({"consumer": _TEXT, "next_snapshot": _NUMBER})),
    ("position", "list"): _list(
        _object(dict.fromkeys(("position", "kind", "reader", "source", "place"), _ANY))
    ),
    ("validate",): _object(
        dict.fromkeys(
            ("faults", "warnings"),
            _list(_object({"file": _TEXT, "line": _NUMBER, "column": _NUMBER, "message": _TEXT})),
        )
    ),
    ("plan",): _PLAN,
    ("apply",): _PLAN,
    ("dags",): _object(
        {"dags": _list(_object({"id": _TEXT, "tags": _list(_TEXT), "tasks": _ANY}))}
    ),
    ("doctor",): _object(
        {
            "findings": _list(
                _object(
                    {
                        "check": _TEXT,
                        "state": {"enum": ["ok", "warning", "fault", "skipped"]},
                        "found": _TEXT,
                        "remedy": _TEXT,
                    }
                )
            ),
            "faults": _NUMBER,
        }
    ),
}
_RESULTS: Final = (
    *(("create",), ("write",), ("merge-into",), ("truncate",)),
    *(("clone",), ("clone-database",), ("sync",), ("pipeline",)),
    *(("tag", "replace"), ("tag", "rename"), ("branch", "rename"), ("branch", "fast-forward")),
    *(("consumer", "reset"), ("consumer", "delete"), ("position", "set"), ("position", "reset")),
)


def _all() -> dict[str, dict[str, Any]]:
    of_actions = [a.command.path or (a.name,) for a in ACTIONS.values() if a.command is not None]
    schemas = {**dict.fromkeys((*_RESULTS, *of_actions), _RESULT), **_OWN}
    return {
        " ".join(path): {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
        for path, schema in sorted(schemas.items())
    }


SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = _all()
"""By the words of the command."""


def json_schema(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command; without one, all.")
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --json."""
    if not command:
        typer.echo(json.dumps(SCHEMAS, indent=2))
        return
    words = " ".join(command)
    require_one_of("command", words, list(SCHEMAS))
    typer.echo(json.dumps(SCHEMAS[words], indent=2))


ENTRIES: Final[Sequence[Entry]] = (Entry(("json-schema",), Heading.HERE, json_schema, "tag list"),)
