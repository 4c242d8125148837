"""Records of Kafka Connect's JSON as Confluent's Avro converter writes them, and their registry."""

from __future__ import annotations

import base64
import io
import json
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import fastavro

KINDS = {
    "int8": "int", "int16": "int", "int32": "int", "int64": "long", "float": "float",
    "double": "double", "boolean": "boolean", "string": "string", "bytes": "bytes",
}  # fmt: skip


def avro_schema(node: dict[str, Any], known: set[str], path: str = "R") -> Any:
    """``io.confluent.connect.avro.AvroData#fromConnectSchema``; a type is defined once."""
    kind = node["type"]
    told = {
        f"connect.{member}": node[member]
        for member in ("name", "version", "parameters", "default")
        if member in node
    }
    if kind == "bytes" and isinstance(node.get("default"), str):  # a letter for each byte
        told["connect.default"] = base64.b64decode(node["default"]).decode("latin-1")
    found: Any
    if kind == "struct":
        name = node.get("name") or path
        found = name
        if name not in known:
            known.add(name)
            space, _, short = name.rpartition(".")
            fields = [avro_field(f, known, f"{path}_{f['field']}") for f in node["fields"]]
            found = {"type": "record", "name": short, "namespace": space, "fields": fields, **told}
    elif kind == "array":
        found = {"type": "array", "items": avro_schema(node["items"], known, path), **told}
    else:
        found = {"type": KINDS[kind], **told}
        if kind in {"int8", "int16"}:
            found["connect.type"] = kind
        if node.get("name") == "org.apache.kafka.connect.data.Decimal":
            found["logicalType"] = "decimal"
            found["scale"] = int(node["parameters"]["scale"])
            found["precision"] = int(node["parameters"].get("connect.decimal.precision", 64))
        found = found["type"] if found.keys() == {"type"} else found
    return ["null", found] if node.get("optional") else found


def avro_field(node: dict[str, Any], known: set[str], path: str) -> dict[str, Any]:
    found = {"name": node["field"], "type": avro_schema(node, known, path)}
    if node.get("optional"):
        found["default"] = None
    if node.get("doc"):
        found["doc"] = node["doc"]
    return found


def avro_value(value: Any, node: dict[str, Any]) -> Any:
    if value is None:
        return None
    match node["type"]:
        case "struct":
            return {f["field"]: avro_value(value.get(f["field"]), f) for f in node["fields"]}
        case "array":
            return [avro_value(one, node["items"]) for one in value]
        case "bytes":
            return base64.b64decode(value)
        case "float" | "double":
            return float(value)
    return value


class Registry:
    """A schema registry over HTTP; ``password`` is wanted of whoever asks, if there is one."""

    def __init__(self, password: str | None = None) -> None:
        self.texts: list[str] = []
        self.asked: list[str] = []
        self.busy: list[int] = []
        """Statuses of the next answers, the last one first."""
        self.password = password
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                number = int(self.path.rpartition("/")[2])
                pair = base64.b64encode(f"u:{registry.password}".encode()).decode()
                if registry.password and self.headers.get("Authorization") != f"Basic {pair}":
                    self.send_error(401)
                elif registry.busy:
                    self.send_error(registry.busy.pop())
                elif not 1 <= number <= len(registry.texts):
                    self.send_error(404)
                else:
                    body = json.dumps({"schema": registry.texts[number - 1]}).encode()
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._written: dict[str, tuple[int, Any]] = {}

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def encoded(self, part: dict[str, Any] | None) -> bytes | None:
        """``{"schema", "payload"}`` as the body of a record."""
        if part is None:
            return None
        text = json.dumps(part["schema"], sort_keys=True)
        if text not in self._written:
            schema = avro_schema(part["schema"], set())
            self.texts.append(json.dumps(schema))
            self._written[text] = len(self.texts), fastavro.parse_schema(_plain(schema))
        number, schema = self._written[text]
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, avro_value(part["payload"], part["schema"]))
        return struct.pack(">bI", 0, number) + out.getvalue()


def _plain(schema: Any) -> Any:
    """Without logical types, so that the writer takes values as they travel."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if isinstance(schema, dict):
        return {k: _plain(v) for k, v in schema.items() if k not in {"logicalType", "default"}}
    return schema
