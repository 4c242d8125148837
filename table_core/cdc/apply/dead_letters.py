"""Events that cannot be applied, kept with the reason in a table of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.position.source import MySqlId, PostgresId, TopicsId
from table_core.schema.change import AddColumn
from table_core.validation_errors import is_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.errors import TableError
    from table_core.position.source import SourceId
    from table_core.table.api.catalog import Catalog

__all__ = ["DEAD_SCHEMA", "DeadLetters", "source_name"]

_WAITING_BYTES: Final = 8 << 20
DEAD_SCHEMA: Final = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("place", pa.string(), nullable=False),
        pa.field("source_table", pa.string()),
        pa.field("column", pa.string()),
        pa.field("value", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("event", pa.string()),
        pa.field("event_bytes", pa.binary()),
        pa.field("seen_at", pa.timestamp("ms", "UTC")),
    ]
)
"""``source`` (of a topic its cluster and its id) and ``place`` (file and line, or topic, partition and
offset) are the key: told twice, kept once.  ``event_bytes`` is the event where it is no text."""
_ADDED: Final = ("source", "event_bytes")
"""Columns that a table of an earlier release does not have; its key is ``place`` alone."""
_RECORD: Final = re.compile(r"topic (.*), partition \d+, offset \d+", re.DOTALL)


def source_name(source: SourceId | None, place: str) -> str:
    """What tells the source of an event from another one that has, or had, its place.

    >>> source_name(TopicsId(cluster="c1", topics={"t": "i7"}), "topic t, partition 0, offset 5")
    'kafka c1/i7'
    """
    if isinstance(source, TopicsId):
        topic = _RECORD.fullmatch(place)
        return f"kafka {source.cluster}/{source.topics.get(topic[1], '') if topic else ''}"
    if isinstance(source, MySqlId):
        return f"mysql {source.server}"
    return f"postgres {source.system}" if isinstance(source, PostgresId) else ""


@dataclass(slots=True, kw_only=True)
class DeadLetters:
    """Collects bad events of a run; ``flush`` comes before the commits that leave them out."""

    catalog: Catalog
    name: str
    source: SourceId | None = None
    """That of the run."""
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
        body = body.rstrip(b"\n")
        self.count += 1
        self._waiting_bytes += len(body)
        self.waiting.append(
            {
                "source": _written(source_name(self.source, place)),
                "place": _written(place),
                "source_table": None if source_table is None else _written(source_table),
                "column": None if column is None else _written(str(column)),
                "value": None if value is None else _written(str(value)),
                "reason": _written(str(error).removeprefix(f"{place}: ")),
                "event": body.decode(errors="replace"),
                "event_bytes": None if is_text(body) else body,
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
            primary_key=("source", "place"),
            options={"bucket": "1"},
            if_not_exists=True,
        )
        rows = pa.Table.from_pylist(self._told(table.primary_key), schema=DEAD_SCHEMA)
        there = {field.name for field in table.definition.fields}
        if lacking := [name for name in _ADDED if name not in there]:
            types = (AddColumn(name, DEAD_SCHEMA.field(name).type) for name in lacking)
            self.catalog.alter_table(self.name, list(types))
            table = self.catalog.table(self.name)
        with table.write() as writer:
            writer.write(rows.select([field.name for field in table.definition.fields]))
            writer.commit()
        self.waiting, self._waiting_bytes = [], 0

    def _told(self, key: Sequence[str]) -> list[dict[str, Any]]:
        """What was collected; in a table of an earlier release the place says of which source it is."""
        if "source" in key:
            return self.waiting
        return [
            {
                **one,
                "place": f"{one['place']} of {one['source']}" if one["source"] else one["place"],
            }
            for one in self.waiting
        ]


def _written(text: str) -> str:
    """Text that can be written, whatever an event held."""
    return text.encode(errors="backslashreplace").decode()
