"""Records of Confluent's Avro form as the JSON that Kafka Connect's JSON converter would write.

A record is a zero byte, four bytes with the number of its schema in a registry, and Avro.  As JSON
it takes the way of all other events; the schema's text is the same in every line and is cut out
before anything parses it.  A default of bytes, which Avro has as a letter for each byte, becomes base64.

Source: ``io.confluent.connect.avro.AvroData``; Confluent's documentation, "Wire format".
"""

from __future__ import annotations

import base64
import io
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import fastavro

from table_core.cdc.model.bad import UNFORESEEN
from table_core.errors import EventError, UnsupportedFeatureError
from table_core.validation_errors import too_large, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["AvroEvents", "connect_schema"]

_MAGIC: Final = 0
_ASK_AGAIN_MS: Final = 5000
"""A registry may get a schema a moment after the record; hostile records name any number of others."""
_HEAD_BYTES: Final = 5
_PLAIN: Final = {
    "int": "int32",
    "long": "int64",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
    "enum": "string",
    "fixed": "bytes",
}
_LOGICAL: Final = {
    "decimal": "org.apache.kafka.connect.data.Decimal",
    "date": "org.apache.kafka.connect.data.Date",
    "time-millis": "org.apache.kafka.connect.data.Time",
    "time-micros": "io.debezium.time.MicroTime",
    "timestamp-millis": "org.apache.kafka.connect.data.Timestamp",
    "timestamp-micros": "io.debezium.time.MicroTimestamp",
}


@dataclass(frozen=True, slots=True)
class _Form:
    schema: Any
    """As fastavro takes it, without logical types: values stay as they travel."""
    text: bytes
    """The member ``"schema":…``."""


@dataclass(slots=True)
class AvroEvents:
    """Turns bodies of records into JSON; asks for each schema once."""

    schema_of: Callable[[int], str]
    """The text of the Avro schema with a number."""
    other_key: Callable[[bytes | None], bytes]
    """JSON of a key that is no Avro."""
    max_bytes: int = 16 << 20
    """Of a record."""
    now_ms: Callable[[], int] = lambda: 0
    """The time; without one a schema that was not there is not asked for again."""
    _forms: dict[int, _Form | str] = field(default_factory=dict)
    """By number; text says why a schema cannot be used."""
    _until: dict[int, float] = field(default_factory=dict)
    """By number: when a registry that did not know a schema is asked again."""

    def value(self, body: bytes | None) -> bytes:
        """``{"schema":…,"payload":…}``; a body that is no Avro says why where it is read."""
        if body is None:
            return b"null"
        decoded = self._decoded(body)
        if isinstance(decoded, str):
            return unreadable(decoded, body)
        form, payload = decoded
        return b'{"schema":' + form.text + b',"payload":' + _json(payload) + b"}"

    def key(self, body: bytes | None) -> bytes:
        """The key as JSON."""
        decoded = self._decoded(body) if body and body[0] == _MAGIC else ""
        return self.other_key(body) if isinstance(decoded, str) else _json(decoded[1])

    def _decoded(self, body: bytes) -> tuple[_Form, Any] | str:
        if len(body) < _HEAD_BYTES or body[0] != _MAGIC:
            return _no_head(body)
        if len(body) > self.max_bytes:
            return too_large(len(body), self.max_bytes)
        number = int.from_bytes(body[1:_HEAD_BYTES], "big")
        form = self._form_of(number)
        if isinstance(form, str):
            return form
        try:
            return form, fastavro.schemaless_reader(
                io.BytesIO(memoryview(body)[_HEAD_BYTES:]), form.schema, None
            )
        except (EOFError, AssertionError, *UNFORESEEN) as error:
            return f"no Avro of schema {number}: {type(error).__name__}: {error}"

    def _form_of(self, number: int) -> _Form | str:
        """A schema, or why it cannot be used; one that the registry does not know is asked for again."""
        form = self._forms.get(number)
        if form is not None and self.now_ms() < self._until.get(number, math.inf):
            return form
        try:
            form = _form(json.loads(self.schema_of(number)))
            self._until.pop(number, None)
        except EventError as error:
            form = f"schema {number} cannot be had: {error}"[:400]
            self._until[number] = self.now_ms() + _ASK_AGAIN_MS
        except (UnsupportedFeatureError, *UNFORESEEN) as error:
            form = f"schema {number} cannot be used: {error}"[:400]
        self._forms[number] = form
        return form


def _no_head(body: bytes) -> str:
    if body[:1] == bytes([_MAGIC]):
        return (
            f"no Avro of a registry: it has {len(body)} bytes, and its head alone has {_HEAD_BYTES}"
        )
    return f"no Avro of a registry: it begins with {body[:_HEAD_BYTES].hex()}, not with 00"


def _form(schema: Any) -> _Form:
    _refuse_bombs(schema, {})
    text = json.dumps(connect_schema(schema), separators=(",", ":"))
    try:
        return _Form(fastavro.parse_schema(_travelling(schema)), text.encode())
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise ValueError(f"no Avro schema: {error}") from error


def _refuse_bombs(schema: Any, known: dict[str, bool | None], space: str = "") -> bool:
    """Whether a value takes at least a byte; ``known``: that of named types, None while one is open.

    Raises:
        ValueError: arrays or maps of values that take none: ten bytes could say a billion of them; or
            a type within itself: what decodes it goes as deep as the bytes say, and dies of it.
    """
    if isinstance(schema, list):
        for one in schema:
            _refuse_bombs(one, known, space)
        return True
    if isinstance(schema, str):
        takes = known.get(_whole_name(schema, space), known.get(schema, True))
        if takes is None:
            raise ValueError(f"type {schema!r} is within itself, so its values have no bound")
        return schema != "null" and takes
    kind = schema.get("type")
    if kind == "array" and not _refuse_bombs(schema["items"], known, space):
        raise ValueError("an array of values without bytes has no bound")
    if kind == "map":
        _refuse_bombs(schema["values"], known, space)
    if kind in {"record", "error"}:
        space = schema.get("namespace", space)
        name = _whole_name(schema["name"], space)
        known[name] = None
        space = name.rpartition(".")[0]
        taking = [_refuse_bombs(member["type"], known, space) for member in schema["fields"]]
        known[name] = any(taking)
        return any(taking)
    if kind == "fixed":
        name = _whole_name(schema["name"], schema.get("namespace", space))
        known[name] = bool(schema["size"] > 0)
        return bool(known[name])
    return kind in {"array", "map"} or _refuse_bombs(kind, known, space)


def _whole_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _travelling(schema: Any) -> Any:
    """The schema without what only says how values are meant."""
    if isinstance(schema, list):
        return [_travelling(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if k not in {"logicalType", "default"}}
    for member in ("type", "items", "values"):
        if member in kept:
            kept[member] = _travelling(kept[member])
    if "fields" in kept:
        kept["fields"] = [_travelling(one) for one in kept["fields"]]
    return kept


def connect_schema(schema: Any) -> dict[str, Any]:
    """The schema as Kafka Connect's JSON converter writes it."""
    return _Names().converted(schema, "")


@dataclass(slots=True)
class _Names:
    """Types that were defined, for those that are named only later."""

    known: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def converted(self, schema: Any, space: str) -> dict[str, Any]:
        if isinstance(schema, list):
            return self._union(schema, space)
        if isinstance(schema, str):
            if schema in _PLAIN:
                return {"type": _PLAIN[schema], "optional": False}
            connect = self.known.get(schema) or self.known.get(f"{space}.{schema}")
            return dict(connect) if connect is not None else {"type": schema, "optional": False}
        kind = schema["type"]
        if not isinstance(kind, str):
            return {**self.converted(kind, space), **_members(schema)}
        if kind == "record":
            return self._record(schema, space)
        if kind == "array":
            items = self.converted(schema["items"], space)
            return {"type": "array", "items": items, "optional": False, **_members(schema)}
        if kind == "map":
            values = self.converted(schema["values"], space)
            text = {"type": "string", "optional": False}
            return {"type": "map", "keys": text, "values": values, "optional": False}
        if kind not in _PLAIN:
            return {**self.converted(kind, space), **_members(schema)}
        plain = {"type": schema.get("connect.type", _PLAIN[kind]), "optional": False}
        connect = {**plain, **_meant(schema), **_members(schema)}
        if "name" in schema:  # enums and fixed have names
            self._define(schema, space, connect)
        return connect

    def _union(self, schema: list[Any], space: str) -> dict[str, Any]:
        others = [one for one in schema if one != "null"]
        if len(others) != 1:
            return {"type": "union", "optional": len(others) < len(schema)}
        return {**self.converted(others[0], space), "optional": len(others) < len(schema)}

    def _record(self, schema: Mapping[str, Any], space: str) -> dict[str, Any]:
        space = schema.get("namespace", space)
        connect: dict[str, Any] = {"type": "struct", "optional": False, **_members(schema)}
        self._define(schema, space, connect)
        fields = []
        for member in schema["fields"]:
            node = {**self.converted(member["type"], space), "field": member["name"]}
            if member.get("default") is not None:
                node["default"] = member["default"]
            if node["type"] == "bytes" and isinstance(node.get("default"), str):
                node["default"] = _base64(node["default"].encode("latin-1"))
            if member.get("doc"):
                node["doc"] = member["doc"]
            fields.append(node)
        connect["fields"] = fields
        return connect

    def _define(self, schema: Mapping[str, Any], space: str, connect: dict[str, Any]) -> None:
        name = schema["name"]
        whole = name if "." in name or not space else f"{space}.{name}"
        self.known[whole] = self.known[name] = connect


def _meant(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a logical type says."""
    logical = schema.get("logicalType")
    if logical not in _LOGICAL:
        return {}
    logical_type: dict[str, Any] = {"name": _LOGICAL[logical]}
    if logical == "decimal":
        precision = {"connect.decimal.precision": str(schema["precision"])}
        logical_type["parameters"] = {"scale": str(schema.get("scale", 0)), **precision}
    return logical_type


def _members(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What Connect put beside the Avro."""
    members = {}
    for member in ("name", "version", "parameters", "default", "doc"):
        if f"connect.{member}" in schema:
            members[member] = schema[f"connect.{member}"]
    return members


def _json(value: Any) -> bytes:
    try:
        text = json.dumps(
            value, separators=(",", ":"), ensure_ascii=False, default=_base64, allow_nan=False
        )
    except ValueError:  # NaN and infinities, which the JSON converter writes as text
        text = json.dumps(
            _finite(value), separators=(",", ":"), ensure_ascii=False, default=_base64
        )
    return text.encode()


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    return value
