"""Records of a topic as Debezium writes them, of any table."""

from __future__ import annotations

from typing import Any


def record(
    table: str, op: str, row: dict[str, Any] | None, *, key: str | None = "id", **more: Any
) -> dict[str, Any]:
    """A change of a row of ``table``, ``database.table``."""
    database, _, name = table.partition(".")
    source = {"db": database, "table": name, "ts_ms": 1_700_000_000_000, **more.pop("at", {})}
    value = {
        "op": op,
        "before": row if op == "d" else None,
        "after": None if op in "dt" else row,
        "source": source,
    }
    of = {key: row[key]} if key and row is not None else None
    return {"topic": f"s.{table}", "partition": 0, "key": of, "value": value, **more}


def emptied(table: str) -> dict[str, Any]:
    """A truncate of ``table``."""
    return record(table, "t", None)
