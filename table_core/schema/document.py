"""The ``schema/schema-<id>`` file.

Source: ``org.apache.paimon.schema.SchemaSerializer``; format 2.1.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from table_core.datatypes.kinds import Array, Map, Multiset, Row, Vector
from table_core.datatypes.text import field_from_json, field_to_json
from table_core.errors import CorruptFileError, SchemaError, UnsupportedFeatureError
from table_core.options.stored_json import json_object
from table_core.schema.table_schema import TableSchema
from table_core.validation_errors import ValidationErrors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from table_core.datatypes.kinds import DataType, Field

__all__ = ["schema_from_json", "schema_to_json"]

_VERSION: Final = 3
_KNOWN: Final = frozenset(
    [
        "version",
        "id",
        "fields",
        "highestFieldId",
        "partitionKeys",
        "primaryKeys",
        "options",
        "comment",
        "timeMillis",
    ]
)


def schema_to_json(schema: TableSchema) -> bytes:
    """Encode with known members first, then those that were kept.

    Raises:
        SchemaError: a member is of a wrong type: nobody could read the document any more.
    """
    document: dict[str, object] = {
        "version": _VERSION,
        "id": schema.id,
        "fields": [field_to_json(f) for f in schema.fields],
        "highestFieldId": schema.highest_field_id,
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": dict(schema.raw_options),
    }
    if schema.comment is not None:
        document["comment"] = schema.comment
    document["timeMillis"] = schema.time_millis
    whole = document | dict(schema.extra)
    problems = _unreadable(schema)
    if not problems:
        try:
            body = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False).encode()
            schema_from_json(body, path=f"schema-{schema.id}")
        except (TypeError, ValueError) as error:  # a CorruptFileError is a ValueError
            reasons = (
                error.facts["problems"] if isinstance(error, CorruptFileError) else [str(error)]
            )
            problems = (
                [str(one) for one in reasons] if isinstance(reasons, list) else [str(reasons)]
            )
        else:
            return body
    what = f"schema {schema.id} could not be read again: {'; '.join(problems)}"
    raise SchemaError(what, problems=problems)


def _unreadable(schema: TableSchema) -> list[str]:
    """Members that JSON takes and readers do not."""
    texts: list[tuple[str, object]] = [("comment", schema.comment)]
    for field in _with_members(schema.fields):
        texts += [
            (f"description of {field.name!r}", field.description),
            (f"defaultValue of {field.name!r}", field.default),
        ]
    return [
        f"{where}: expected text, got {value!r}"
        for where, value in texts
        if value is not None and type(value) is not str
    ]


def _with_members(fields: Iterable[Field]) -> Iterator[Field]:
    for field in fields:
        yield field
        yield from _members_of(field.type)


def _members_of(type_: DataType) -> Iterator[Field]:
    match type_:
        case Row(fields):
            yield from _with_members(fields)
        case Array(element) | Multiset(element) | Vector(element):
            yield from _members_of(element)
        case Map(key, value):
            yield from _members_of(key)
            yield from _members_of(value)


def schema_from_json(body: bytes, *, path: str) -> TableSchema:
    """Decode ``body`` read from ``path``.

    Raises:
        CorruptFileError: not JSON, members missing or of the wrong type, or another number than
            ``path`` has; all at once.
        UnsupportedFeatureError: a version newer than 3.
    """
    document = json_object(body, path=path)
    problems = ValidationErrors(path)
    version = problems.take(document, "version", int, 1) or 1
    if version > _VERSION:
        raise UnsupportedFeatureError(
            f"{path}: schema version {version} is newer than {_VERSION}",
            feature=f"schema version {version}",
        )
    if document.get("fields") == []:
        problems.add("fields", "no columns")
    fields = []
    for at, member in enumerate(problems.need(document, "fields", list, [])):
        try:
            fields.append(field_from_json(member))
        except SchemaError as error:
            problems.add(f"fields[{at}]", str(error))
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(
                f"{path}: fields[{at}]: {error}", **error.facts
            ) from error
    schema = TableSchema(
        id=problems.need(document, "id", int, 0),
        fields=tuple(fields),
        highest_field_id=problems.need(document, "highestFieldId", int, -1),
        partition_keys=_names(problems, document, "partitionKeys"),
        primary_keys=_names(problems, document, "primaryKeys"),
        raw_options=_options(problems, document, version),
        comment=problems.take(document, "comment", str),
        time_millis=problems.take(document, "timeMillis", int, 0) or 0,
        extra={k: v for k, v in document.items() if k not in _KNOWN},
    )
    problems.as_named(document, "id", "schema-")
    for name in (*schema.partition_keys, *schema.primary_keys):
        if name not in schema.by_name:
            problems.add("fields", f"key column {name!r} is missing")
    problems.raise_if_any()
    return schema


def _names(problems: ValidationErrors, document: dict[str, Any], key: str) -> tuple[str, ...]:
    names: list[Any] = problems.need(document, key, list, [])
    if not all(isinstance(name, str) for name in names):
        problems.add(key, f"expected names, got {names!r}")
        return ()
    return tuple(names)


def _options(problems: ValidationErrors, document: dict[str, Any], version: int) -> dict[str, str]:
    """Stored options, with what old versions left out (format 2.1)."""
    options: dict[str, Any] = dict(problems.need(document, "options", dict, {}))
    for key, value in options.items():
        if not isinstance(value, str):
            problems.add(f"options.{key}", f"expected text, got {value!r}")
            options[key] = str(value)
    if version <= 1:
        options.setdefault("bucket", "1")
    if version <= 2:
        options.setdefault("file.format", "orc")
    return options
