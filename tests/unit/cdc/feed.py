"""Event lines to rows, as ``cdc.sync`` does it, without a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from table_core.cdc.debezium.json_blocks import DebeziumDecoder
from table_core.cdc.model.encoding import PlainSettings
from table_core.cdc.model.infer import missing_columns
from table_core.cdc.model.record import EventBatch, LineBlock, SourceTable
from table_core.cdc.model.rows import Target, event_batch
from table_core.cdc.model.truncates import cuts, within
from table_core.cdc.model.unavailable_values import with_earlier_values
from table_core.datatypes.kinds import DataType, Field, not_null
from table_core.datatypes.text import parse_type

__all__ = ["Feed", "columns", "event", "lines"]


def columns(**types: str | DataType) -> tuple[Field, ...]:
    return tuple(
        Field(n, name, parse_type(given) if isinstance(given, str) else given)
        for n, (name, given) in enumerate(types.items())
    )


def event(
    op: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    **source: Any,
) -> dict[str, Any]:
    found: dict[str, Any] = {"before": before, "after": after, "op": op, "ts_ms": 7}
    return found | ({"source": {"db": "shop", "ts_ms": 5, **source}} if source else {})


def lines(*values: Any) -> bytes:
    return b"".join((v if isinstance(v, bytes) else json.dumps(v).encode()) + b"\n" for v in values)


class Feed:
    """Applies events to fields and to rows by key."""

    def __init__(
        self,
        fields: Sequence[Field] = (),
        key: Sequence[str] = ("id",),
        *,
        keep_before: bool = True,
        settings: PlainSettings | None = None,
    ) -> None:
        self.fields = tuple(fields)
        self.key = tuple(key)
        self.keep_before = keep_before
        self.settings = settings or PlainSettings()
        self.added: list[tuple[str, str]] = []
        self.state: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.rows: list[dict[str, Any]] = []
        self.decoder: Any = DebeziumDecoder(lambda _: self.fields, self.wants, self.settings)

    def wants(self, table: SourceTable) -> bool:
        return True

    def give(self, body: bytes, first_line: int = 1, file: str = "f.jsonl") -> list[EventBatch]:
        found = self.decode(LineBlock(file, first_line, body))
        edges = [0, *cuts(found), 1 << 60]
        batches = []
        for first, end in pairwise(edges):
            part = within(found, first, end)
            if part:
                batches.append(self._apply(part))
        return batches

    def decode(self, block: LineBlock) -> list[Any]:
        return self.decoder.decode(block)

    def _apply(self, part: list[Any]) -> EventBatch:
        added = missing_columns(part, self.fields)
        self.added += [(a.name, str(a.type)) for a in added]
        self.fields = tuple(
            Field(f.id, f.name, not_null(f.type) if f.name in self.key else f.type)
            for f in (*self.fields, *(Field(-1, a.name, a.type) for a in added))
        )
        target = Target(fields=self.fields, key=self.key, keep_before=self.keep_before)
        batch = event_batch(part, target, self.settings, added)
        if batch.truncate:
            self.state.clear()
        rows = with_earlier_values(
            batch,
            self.key,
            lambda _: None,
            lambda keys, names: {
                k: [self.state[k].get(name) for name in names] for k in keys if k in self.state
            },
            part[0].place,
        )
        for row in rows.to_pylist():
            self.rows.append(dict(row))
            kind = row.pop("_ROW_KIND")
            key = tuple(row[name] for name in self.key)
            if kind in {"+I", "+U"}:
                self.state[key] = row
            else:
                self.state.pop(key, None)
        return batch
