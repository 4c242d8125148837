"""The columns of a table to be, from a file that is there: rows, a schema document, or ``describe --json``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.datatypes.arrow import fields_from_arrow
from table_core.datatypes.text import type_from_json, type_text
from table_core.errors import ArgumentError, NotFoundError
from table_core.options.row_options import RowOptions
from table_core.schema.document import schema_from_json
from table_core.storage.row_files import format_of, guessed_columns
from table_core.storage.stores.locate import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.datatypes.kinds import Field
    from table_core.storage.guessed_types import GuessedType

__all__ = ["Likeness", "like_file"]

_DOCUMENT_MAX: Final = 16 << 20
"""A schema document is small; rows in JSON may be long."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a file says of a table, in the words of the action that creates one."""

    columns: dict[str, Any]
    """Name to type, or to ``{"type", "comment", "default"}``."""
    primary_key: list[str] = field(default_factory=list)
    partition_by: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    guesses: list[GuessedType] = field(default_factory=list)
    """Of rows whose file has no types."""


def like_file(name: str, format: str | None, rows_options: Mapping[str, Any] | None) -> Likeness:
    """What the file ``name`` says: a schema document says all, rows say their columns.

    Raises:
        NotFoundError: there is no such file.
        ArgumentError: it is neither.
    """
    path = Path(name)
    if not path.is_file():
        raise NotFoundError(f"no file {name}", name=name)
    if format is None and (document := _document(path)) is not None:
        return _of_document(document, name)
    storage = open_storage(str(path.absolute().parent), {})
    format = format or format_of(path.name)
    guesses = guessed_columns(storage, path.name, format, RowOptions.of(rows_options))
    schema = pa.schema([(guess.name, guess.type) for guess in guesses])
    columns = _columns(fields_from_arrow(schema))
    return Likeness(columns, guesses=[] if format == "parquet" else guesses)


def _document(path: Path) -> dict[str, Any] | None:
    """The one JSON object that the file is; None if it is none."""
    if path.stat().st_size > _DOCUMENT_MAX:
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    is_schema = isinstance(document, dict) and isinstance(
        document.get("fields", document.get("columns")), list
    )
    return document if is_schema else None


def _of_document(document: dict[str, Any], name: str) -> Likeness:
    if "fields" in document:
        schema = schema_from_json(json.dumps(document).encode(), path=name)
        return Likeness(
            _columns(schema.fields),
            list(schema.primary_keys),
            list(schema.partition_keys),
            dict(schema.raw_options),
            schema.comment,
        )
    try:
        columns = {
            one["column"]: _said(type_text(type_from_json(one["type"])), one.get("comment"), None)
            for one in document["columns"]
        }
    except (KeyError, TypeError) as error:
        raise ArgumentError(
            f"--like {name}: neither a schema document, nor what describe --json prints: {error}",
            argument="like",
            value=name,
        ) from error
    return Likeness(
        columns,
        list(document.get("primary_key") or ()),
        list(document.get("partition_by") or ()),
        dict(document.get("options") or {}),
        document.get("comment"),
    )


def _columns(fields: Iterable[Field]) -> dict[str, Any]:
    return {f.name: _said(type_text(f.type), f.description, f.default) for f in fields}


def _said(type_: str, comment: str | None, default: str | None) -> Any:
    """The type alone where there is no more to say."""
    more = {"comment": comment, "default": default}
    known = {name: value for name, value in more.items() if value is not None}
    return {"type": type_, **known} if known else type_
