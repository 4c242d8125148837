"""Records as Debezium shapes them: events, embedded schemas, the schema-change topic of MariaDB."""

from __future__ import annotations

import base64
import datetime as dt
from typing import Any

__all__ = [
    "ID", "MILLIS", "MOMENT", "UNAVAILABLE", "bytes_of", "news", "of_mariadb", "record", "with_schema",
]  # fmt: skip

UNAVAILABLE = "__debezium_unavailable_value"
ABOUT: dict[str, Any] = {"connector": "postgresql", "db": "shop", "schema": "s", "table": "t"}


def record(op: str, before: Any, after: Any, *, lsn: int = 0, **more: Any) -> dict[str, Any]:
    """One record; its place in the source's log is ``lsn``."""
    row = after or before or {}
    key = None if op == "t" else {"id": row.get("id")}
    source = {**ABOUT, "ts_ms": 1_700_000_000_000, **more.pop("source", {})}
    if lsn:
        source |= {"lsn": lsn, "sequence": f'["{lsn}","{lsn}"]'}
    value = {"op": op, "before": before, "after": after, "source": source}
    return {"topic": "p.s.t", "partition": 0, "key": key, "value": value, **more}


def with_schema(told: dict[str, Any], *records: dict[str, Any]) -> list[dict[str, Any]]:
    """The same with schemas; a column is ``(type, logical name, parameters, default)``."""
    fields = []
    for name, (type_, logical, parameters, default) in told.items():
        node = {"field": name, "type": type_, "optional": name != "id", "name": logical,
                "parameters": parameters, "default": default}  # fmt: skip
        fields.append({k: v for k, v in node.items() if v is not None})
    row = {"type": "struct", "fields": fields, "optional": True}
    schema = {"type": "struct", "fields": [{**row, "field": side} for side in ("before", "after")]}
    return [{**r, "value": {"schema": schema, "payload": r["value"]}} for r in records]


ID = ("int32", None, None, None)


def bytes_of(number: int) -> str:
    size = number.bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


def news(columns: list[tuple[str, str, int | None]], n: int) -> dict[str, Any]:
    """A record of the schema-change topic of MariaDB."""
    told = [
        {"name": name, "typeName": type_, "length": size, "position": at, "optional": at > 0}
        for at, (name, type_, size) in enumerate(columns)
    ]
    table = {"primaryKeyColumnNames": ["id"], "columns": told}
    change = {"type": "ALTER", "id": '"s"."t"', "table": table}
    source = {"db": "s", "table": "t", "file": "f.1", "pos": n, "snapshot": "false"}
    value = {"source": source, "databaseName": "s", "ddl": "ALTER …", "tableChanges": [change]}
    return {"topic": "p", "partition": 0, "key": {"databaseName": "s"}, "value": value}


def of_mariadb(row: dict[str, Any], n: int) -> dict[str, Any]:
    source = {"connector": "mariadb", "db": "s", "schema": None, "file": "f.1", "pos": n, "row": 0}
    return record("c", None, row, source=source)


MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5)
MILLIS = 1_704_164_645_000
