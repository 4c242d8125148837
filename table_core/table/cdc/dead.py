"""Events that cannot be applied, kept with the reason in a table of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from table_core.errors import TableError
    from table_core.table.catalog import Catalog

__all__ = ["DEAD_SCHEMA", "DeadLetters"]

DEAD_SCHEMA: Final = pa.schema(
    [
        pa.field("place", pa.string(), nullable=False),
        pa.field("source_table", pa.string()),
        pa.field("column", pa.string()),
        pa.field("value", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("event", pa.string()),
        pa.field("seen_at", pa.timestamp("ms", "UTC")),
    ]
)
"""``place`` (file and line, or topic, partition and offset) is the key: told twice, kept once."""


@dataclass(slots=True, kw_only=True)
class DeadLetters:
    """Collects bad events of a run; ``flush`` comes before the commits that leave them out."""

    catalog: Catalog
    name: str
    count: int = 0
    waiting: list[dict[str, Any]] = field(default_factory=list)
    muted: bool = False

    def put(
        self,
        error: TableError,
        place: str,
        event: bytes | str,
        source_table: str | None = None,
    ) -> None:
        """Keep one event, where it stands and why it is here."""
        if self.muted:
            return
        facts = error.facts
        reason = str(error).removeprefix(f"{place}: ")
        text = event.decode(errors="replace") if isinstance(event, bytes) else event
        column, value = facts.get("column"), facts.get("value")
        self.count += 1
        self.waiting.append(
            {
                "place": place,
                "source_table": source_table,
                "column": None if column is None else str(column),
                "value": None if value is None else str(value),
                "reason": reason,
                "event": text.rstrip("\n"),
                "seen_at": self.catalog.clock.now_ms(),
            }
        )

    def silent(self) -> DeadLetters:
        """One that skips bad events and keeps none: they were told before."""
        return DeadLetters(catalog=self.catalog, name=self.name, muted=True)

    def flush(self) -> None:
        """Make what was collected visible."""
        if not self.waiting:
            return
        self.catalog.create_database(self.name.partition(".")[0], if_not_exists=True)
        table = self.catalog.create_table(
            self.name,
            DEAD_SCHEMA,
            primary_key=("place",),
            options={"bucket": "1"},
            if_not_exists=True,
        )
        with table.write() as writer:
            writer.write(pa.Table.from_pylist(self.waiting, schema=DEAD_SCHEMA))
            writer.commit()
        self.waiting = []
