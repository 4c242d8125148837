"""Files of events, and the tables that a sync makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import table_core as tc

__all__ = ["Lake"]


class Lake:
    def __init__(self, folder: Path) -> None:
        self.events = folder / "events"
        self.events.mkdir()
        self.catalog = tc.open_catalog(f"file://{folder}/wh")
        self.source = tc.FilesSource(f"file://{self.events}/*.jsonl")

    def put(self, name: str, *records: Any) -> None:
        lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
        (self.events / name).write_text("\n".join(lines) + "\n")

    def sync(self, **more: Any) -> Any:
        return tc.sync_database(self.catalog, "lake", self.source, **more)

    def rows(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            self.catalog.table(f"lake.{table}").read().to_arrow().to_pylist()
        )
        return found
