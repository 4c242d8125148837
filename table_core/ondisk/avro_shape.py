"""The schema that an Avro file carries: is it safe to decode with, and does it hold what we need.

Checked before any record is decoded.  A schema may not make values of no bytes, because then the
counts in a damaged file could be anything; nor a record inside itself.

Source: Avro 1.11 specification, "Schema Resolution"; format 4.1.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import fastavro

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Plain", "mismatches", "read_schema"]

_DEPTH_MAX: Final = 32
_PRIMITIVES: Final = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
)


@dataclass(frozen=True, slots=True)
class Plain:
    """A file's schema without logical types: expanded for looking at, parsed for fastavro."""

    schema: Mapping[str, Any]
    """References to named types replaced by what they name."""
    parsed: Any


@functools.lru_cache(maxsize=64)
def read_schema(text: bytes) -> tuple[Mapping[str, Any], Plain]:
    """A schema as written and as read; files of one table mostly have the same.

    Raises:
        ValueError: no schema, or one that is not safe to decode with.
    """
    schema = json.loads(text)
    return schema, _plain_schema(schema)


def _plain_schema(schema: object) -> Plain:
    """Check the schema that a file carries.

    Raises:
        ValueError: no record, nested without end, or with values that take no bytes (counts of
            them could be anything).
    """
    bare = _bare(schema, 0)
    expanded, _ = _expand(bare, {})
    if not isinstance(expanded, dict) or expanded["type"] != "record":
        raise ValueError("its schema is no record")
    try:
        parsed = fastavro.parse_schema(bare)
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise ValueError(f"its schema is no Avro schema: {error!r}") from error
    return Plain(expanded, parsed)


def _bare(schema: Any, depth: int) -> Any:
    """``schema`` with only the members that shape bytes."""
    if depth > _DEPTH_MAX:
        raise ValueError("its schema is nested too deep")
    if isinstance(schema, list):
        return [_bare(branch, depth + 1) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if not isinstance(kind, str):
        return _bare(kind, depth + 1)
    if kind == "record":
        fields = [
            {"name": f["name"], "type": _bare(f["type"], depth + 1)} for f in schema["fields"]
        ]
        names = {key: schema[key] for key in ("name", "namespace") if key in schema}
        return {"type": kind, **names, "fields": fields}
    parts = {k: _bare(schema[k], depth + 1) for k in ("items", "values") if k in schema}
    members = ("name", "namespace", "symbols", "size")
    rest = {key: schema[key] for key in members if key in schema}
    return {"type": kind, **rest, **parts} if parts or rest else kind


_Expanded: TypeAlias = "tuple[Any, int]"
"""A schema without references, and the fewest bytes that a value of it takes."""


def _expand(schema: Any, named: dict[str, _Expanded]) -> _Expanded:
    if isinstance(schema, list):
        return [_expand(branch, named)[0] for branch in schema], 1
    if isinstance(schema, dict):
        return _expand_parts(schema, named)
    if schema in _PRIMITIVES:
        return schema, {"null": 0, "float": 4, "double": 8}.get(schema, 1)
    expanded = named.get(str(schema).rpartition(".")[2])
    if expanded is None:  # also a record inside itself: it gets its name when it ends
        raise ValueError(f"its schema does not say what {schema!r} is")
    return expanded


def _expand_parts(schema: Mapping[str, Any], named: dict[str, _Expanded]) -> _Expanded:
    kind = schema["type"]
    if kind == "map":
        return {"type": kind, "values": _expand(schema["values"], named)[0]}, 1
    if kind == "array":
        items, width = _expand(schema["items"], named)
        if width == 0:
            raise ValueError("its schema has a list of nothing")
        return {"type": kind, "items": items}, 1
    if kind == "record":
        parts = [(f["name"], *_expand(f["type"], named)) for f in schema["fields"]]
        width = sum(part_width for _, _, part_width in parts)
        fields = [{"name": name, "type": part} for name, part, _ in parts]
        result: _Expanded = ({"type": kind, "fields": fields}, width)
    elif kind == "fixed":
        result = ({"type": kind}, int(schema["size"]))
    elif kind == "enum":
        result = ({"type": kind}, 1)
    else:
        raise ValueError(f"its schema holds {kind!r}")
    if result[1] <= 0:
        raise ValueError(f"its schema has a {kind} of no bytes")
    named[str(schema["name"]).rpartition(".")[2]] = result
    return result


def mismatches(actual: Any, expected: Any, at: str = "") -> list[str]:
    """What keeps data of the expanded schema ``actual`` from being read as ``expected``.

    Members are matched by name; unknown ones do not disturb, nullable ones may be missing, and a
    nullable one may be there without its null.
    """
    if isinstance(expected, list):
        inner = next(branch for branch in expected if branch != "null")
        if isinstance(actual, list):
            rest = [branch for branch in actual if branch != "null"]
            if len(rest) != 1:
                return [f"{at}: expected one type or null, got {_said(actual)}"]
            actual = rest[0]
        return [] if actual == "null" else mismatches(actual, inner, at)
    if isinstance(expected, str):
        fits = actual == expected or (expected, actual) in {("long", "int"), ("int", "long")}
        return [] if fits else [f"{at}: expected {expected}, got {_said(actual)}"]
    kind = expected["type"]
    if kind not in {"record", "array"}:  # a logical type on top of a primitive
        return mismatches(actual, kind, at)
    if not isinstance(actual, dict) or actual["type"] != kind:
        return [f"{at}: expected {kind}, got {_said(actual)}"]
    if kind == "array":
        return mismatches(actual["items"], expected["items"], f"{at}[]")
    there = {f["name"]: f["type"] for f in actual["fields"]}
    problems: list[str] = []
    for field in expected["fields"]:
        name = f"{at}.{field['name']}" if at else field["name"]
        if field["name"] in there:
            problems += mismatches(there[field["name"]], field["type"], name)
        elif not isinstance(field["type"], list):
            problems.append(f"{name}: missing")
    return problems


def _said(schema: Any) -> str:
    if isinstance(schema, list):
        return f"[{', '.join(_said(branch) for branch in schema)}]"
    return str(schema["type"]) if isinstance(schema, dict) else str(schema)
