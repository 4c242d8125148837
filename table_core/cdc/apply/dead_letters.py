"""Events that cannot be applied, kept with the reason in a table of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from table_core.errors import TableError
    from table_core.table.api.catalog import Catalog

__all__ = ["DEAD_SCHEMA", "DeadLetters"]

_EVENT_BYTES: Final = 1 << 20
"""So much of an event is kept."""
_WAITING_BYTES: Final = 8 << 20
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
    _waiting_bytes: int = 0

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
        column, value = facts.get("column"), facts.get("value")
        body = event if isinstance(event, bytes) else event.encode(errors="backslashreplace")
        text = body[:_EVENT_BYTES].decode(errors="replace").rstrip("\n")
        self.count += 1
        self._waiting_bytes += len(text)
        self.waiting.append(
            {
                "place": _written(place),
                "source_table": None if source_table is None else _written(source_table),
                "column": None if column is None else _written(str(column)),
                "value": None if value is None else _written(str(value)),
                "reason": _written(str(error).removeprefix(f"{place}: ")),
                "event": text,
                "seen_at": self.catalog.clock.now_ms(),
            }
        )
        if self._waiting_bytes > _WAITING_BYTES:
            self.flush()

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
        self.waiting, self._waiting_bytes = [], 0


def _written(text: str) -> str:
    """Text that can be written, whatever an event held."""
    return text.encode(errors="backslashreplace").decode()
