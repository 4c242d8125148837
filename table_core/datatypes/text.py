"""Types as text and JSON: ``"DECIMAL(10, 2) NOT NULL"`` to and from the tree.

Source: ``org.apache.paimon.types.DataTypeJsonParser``; format 2.3.  Documents with problems
raise ``SchemaError``, whose facts name the text.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Final

from table_core.datatypes.kinds import (
    MAX_LENGTH,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Multiset,
    Root,
    Row,
    Vector,
    with_nullability,
)
from table_core.datatypes.nested_text import parse_parts
from table_core.errors import SchemaError, UnsupportedFeatureError

__all__ = [
    "field_from_json",
    "field_to_json",
    "parse_type",
    "type_from_json",
    "type_text",
    "type_to_json",
]

_ATOMIC: Final = re.compile(
    r"""^\s*(?P<name>[A-Z_]+(?:\s+PRECISION)?)\s*
        (?:\(\s*(?P<a>[0-9]{1,10})\s*(?:,\s*(?P<b>[0-9]{1,10})\s*)?\))?
        (?P<zone>\s+WITH\s+LOCAL\s+TIME\s+ZONE|\s+WITHOUT\s+TIME\s+ZONE|\s+WITH\s+TIME\s+ZONE)?
        (?P<rest>(?:\s+(?:NOT\s+NULL|NULL|ARRAY|MULTISET))*)\s*$""",
    re.VERBOSE,
)
_ALIASES: Final = {
    "INTEGER": "INT",
    "DOUBLE PRECISION": "DOUBLE",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
}
_SUFFIXES: Final = re.compile(r"(?:\s+(?:NOT\s+NULL|NULL|ARRAY|MULTISET))*\s*")
_SUFFIX: Final = re.compile(r"NOT\s+NULL|NULL|ARRAY|MULTISET")
_SHOWN: Final = 200
_PLAIN: Final = {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE"}
_LENGTHS: Final = {"CHAR", "VARCHAR", "BINARY", "VARBINARY"}


@functools.lru_cache(
    maxsize=4096
)  # a declaration, or a warehouse, says the same few types again and again
def parse_type(text: str) -> DataType:
    """Parse a type written in one string, e.g. ``"INT NOT NULL"`` or ``"MAP<STRING, DATE>"``.

    Raises:
        SchemaError: the text is no type, or a length, precision or scale is out of range.
        UnsupportedFeatureError: a type this release knows only by name.
    """
    if "<" in text and (parts := parse_parts(text, parse_type)) is not None:
        whole, rest = parts
        if not _SUFFIXES.fullmatch(rest.upper()):
            what = f"not a type: {text!r}: {rest.strip()!r} cannot follow"
            raise SchemaError(what, problems=[what])
        return _suffixes(whole, rest.upper())
    # One blank where there were many: the pattern would try all ways to share them out.
    match = _ATOMIC.match(" ".join(text.upper().split()))
    if match is None:
        raise SchemaError(
            f"not a type: {text[:_SHOWN]!r}", problems=[f"not a type: {text[:_SHOWN]!r}"]
        )
    name = match["name"]
    numbers = tuple(int(n) for n in (match["a"], match["b"]) if n is not None)
    parsed: DataType = _atomic(text, _ALIASES.get(name, name), numbers, match["zone"] or "")
    return _suffixes(parsed, match["rest"])


def _suffixes(parsed: DataType, rest: str) -> DataType:
    """Apply what follows the name: nullability, then ARRAY or MULTISET around it."""
    for word in _SUFFIX.findall(rest):
        if word == "ARRAY":
            parsed = Array(parsed)
        elif word == "MULTISET":
            parsed = Multiset(parsed)
        else:
            parsed = with_nullability(parsed, nullable=word == "NULL")
    return parsed


def _atomic(text: str, name: str, numbers: tuple[int, ...], zone: str) -> Atomic:
    if name in _PLAIN and not numbers:
        return Atomic(Root(name))
    if name in {"STRING", "BYTES"} and not numbers:
        return Atomic(Root.VARCHAR if name == "STRING" else Root.VARBINARY, length=MAX_LENGTH)
    if name in _LENGTHS and len(numbers) <= 1:
        length = _within(text, (*numbers, 1)[0], 1, MAX_LENGTH)
        return Atomic(Root(name), length=length)
    if name == "DECIMAL":
        precision = _within(text, (*numbers, 10)[0] if numbers else 10, 1, 38)
        scale = _within(text, numbers[1] if len(numbers) > 1 else 0, 0, precision)
        return Atomic(Root.DECIMAL, precision=precision, scale=scale)
    if name in {"TIME", "TIMESTAMP", "TIMESTAMP_LTZ"} and len(numbers) <= 1:
        return _temporal(text, name, numbers, zone)
    if name in {"VARIANT", "BLOB"} and not numbers:
        return Atomic(Root(name))
    if name in {"GEOMETRY", "GEOGRAPHY"}:
        raise UnsupportedFeatureError(f"type {text!r} is not supported", feature=name)
    raise SchemaError(f"not a type: {text[:_SHOWN]!r}", problems=[f"not a type: {text[:_SHOWN]!r}"])


def _temporal(text: str, name: str, numbers: tuple[int, ...], zone: str) -> Atomic:
    if zone and "OUT" not in zone and "LOCAL" not in zone:
        raise SchemaError(f"not a type: {text[:_SHOWN]!r}", problems=["TIMESTAMP WITH TIME ZONE"])
    if name == "TIMESTAMP" and "LOCAL" in zone:
        name = "TIMESTAMP_LTZ"
    default = 0 if name == "TIME" else 6
    return Atomic(Root(name), precision=_within(text, (*numbers, default)[0], 0, 9))


def _within(text: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        what = f"{text!r}: {value} is not between {low} and {high}"
        raise SchemaError(what, problems=[what])
    return value


def type_from_json(document: object) -> DataType:
    """Read a type as a schema file stores it: a string, or an object for a type with parts."""
    if isinstance(document, str):
        return parse_type(document)
    if not isinstance(document, dict) or not isinstance(document.get("type"), str):
        raise SchemaError(f"not a type: {document!r}", problems=[f"not a type: {document!r}"])
    name, _, rest = document["type"].strip().upper().partition(" ")
    nullable = "NOT NULL" not in re.sub(r"\s+", " ", rest)
    try:
        return _constructed(name, document, nullable=nullable)
    except (KeyError, TypeError) as error:
        raise SchemaError(f"type {name} lacks {error}", problems=[str(document)]) from error


def _constructed(name: str, document: dict[str, Any], *, nullable: bool) -> DataType:
    if name == "ARRAY":
        return Array(type_from_json(document["element"]), nullable)
    if name == "MULTISET":
        return Multiset(type_from_json(document["element"]), nullable)
    if name == "MAP":
        return Map(type_from_json(document["key"]), type_from_json(document["value"]), nullable)
    if name == "ROW":
        return Row(tuple(field_from_json(f) for f in document["fields"]), nullable)
    if name == "VECTOR":
        return Vector(type_from_json(document["element"]), int(document["length"]), nullable)
    raise SchemaError(f"not a type: {document!r}", problems=[f"not a type: {document!r}"])


def field_from_json(document: Any) -> Field:
    """Read one member of ``fields``."""
    if not isinstance(document, dict) or type(document.get("id")) is not int:
        raise SchemaError(f"not a field: {document!r}", problems=[f"not a field: {document!r}"])
    name = document.get("name")
    if not isinstance(name, str):
        raise SchemaError(f"field without a name: {document!r}", problems=["name: missing"])
    return Field(
        document["id"],
        name,
        type_from_json(document.get("type")),
        document.get("description"),
        document.get("defaultValue"),
    )


def field_to_json(field: Field) -> dict[str, object]:
    """Write one member of ``fields``, as Java does."""
    document: dict[str, object] = {
        "id": field.id,
        "name": field.name,
        "type": type_to_json(field.type),
    }
    if field.description is not None:
        document["description"] = field.description
    if field.default is not None:
        document["defaultValue"] = field.default
    return document


def type_to_json(type_: DataType) -> str | dict[str, object]:
    """Write a type as Java does: a string, or an object for a type with parts."""
    suffix = "" if type_.nullable else " NOT NULL"
    match type_:
        case Atomic():
            return _atomic_text(type_) + suffix
        case Array(element):
            return {"type": f"ARRAY{suffix}", "element": type_to_json(element)}
        case Multiset(element):
            return {"type": f"MULTISET{suffix}", "element": type_to_json(element)}
        case Map(key, value):
            return {
                "type": f"MAP{suffix}",
                "key": type_to_json(key),
                "value": type_to_json(value),
            }
        case Vector(element, length):
            return {
                "type": f"VECTOR{suffix}",
                "element": type_to_json(element),
                "length": length,
            }
        case Row(fields):
            return {"type": f"ROW{suffix}", "fields": [field_to_json(f) for f in fields]}


def _atomic_text(type_: Atomic) -> str:
    root = type_.root
    if root is Root.DECIMAL:
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if root is Root.TIMESTAMP_LTZ:
        return f"TIMESTAMP({type_.precision}) WITH LOCAL TIME ZONE"
    if root in {Root.TIME, Root.TIMESTAMP}:
        return f"{root}({type_.precision})"
    if root.value in _LENGTHS:
        if type_.length == MAX_LENGTH and root in {Root.VARCHAR, Root.VARBINARY}:
            return "STRING" if root is Root.VARCHAR else "BYTES"
        return f"{root}({type_.length})"
    return root.value


def type_text(type_: DataType) -> str:
    """The SQL text of a type, e.g. ``MAP<STRING NOT NULL, ROW<`x` INT>>``."""
    return _nullable_text(type_) + ("" if type_.nullable else " NOT NULL")


def _nullable_text(type_: DataType) -> str:
    match type_:
        case Atomic():
            return _atomic_text(type_)
        case Array(element):
            return f"ARRAY<{type_text(element)}>"
        case Vector(element, length):
            return f"VECTOR<{type_text(element)}, {length}>"
        case Multiset(element):
            return f"MULTISET<{type_text(element)}>"
        case Map(key, value):
            return f"MAP<{type_text(key)}, {type_text(value)}>"
        case Row(fields):
            return f"ROW<{', '.join(map(_member_text, fields))}>"


def _member_text(field: Field) -> str:
    described = (
        "" if field.description is None else " '" + field.description.replace("'", "''") + "'"
    )
    return f"`{field.name}` {type_text(field.type)}{described}"
