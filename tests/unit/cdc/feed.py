"""One file of event lines and the table that ``sync_table`` makes of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import table_core as tc
from table_core.datatypes.kinds import DataType, Field
from table_core.datatypes.text import parse_type, type_text

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
    """A table with key ``id`` that follows the file ``f.jsonl``, in a folder of its own."""

    def __init__(
        self, fields: Sequence[Field] = (), *, keep_before: bool = True, **source: Any
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="feed")
        root = Path(self._folder.name)
        self.file = root / "f.jsonl"
        self.catalog = tc.open_catalog(f"file://{root}/wh")
        self.catalog.create_database("d")
        self.options = {"changelog-producer": "input" if keep_before else "none"}
        self._declared = {field.name for field in fields}
        if fields:
            self.catalog.create_table("d.t", fields, primary_key=("id",), options=self.options)
        self.source = tc.FilesSource(f"file://{root}/*.jsonl", **source)

    def give(self, body: bytes, first_line: int = 1) -> tc.ResultDocument:
        """Put lines at the end of the file, the first at least at ``first_line``, and sync."""
        there = self.file.read_bytes() if self.file.exists() else b""
        blank = b"\n" * max(first_line - 1 - there.count(b"\n"), 0)
        self.file.write_bytes(there + blank + body)
        return tc.sync_table(
            self.catalog, "d.t", self.source, primary_key=("id",), options=self.options
        )

    @property
    def table(self) -> Any:
        return self.catalog.table("d.t")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The changes with their kinds, those of one commit by their keys."""
        return list(self.table.changes(after=0, mode="changelog").to_arrow().to_pylist())

    @property
    def state(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        return {(row["id"],): row for row in self.table.read().to_arrow().to_pylist()}

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(self.table.definition.fields)

    @property
    def added(self) -> list[tuple[str, str]]:
        """The columns that came with events, and their types."""
        return [(f.name, type_text(f.type)) for f in self.fields if f.name not in self._declared]
